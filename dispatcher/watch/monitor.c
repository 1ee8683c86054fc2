/* monitor.c: see monitor.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/monitor.h"
#include "dispatcher/watch/past.h"
#include "runtime/base/clock.h"
#include "runtime/net/endpoint.h"
#include "runtime/net/net.h"
#include "runtime/wire/wire_watch.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MS = 10000, STEP_MS = 1000, PAST_CHUNK = 256 << 10 };

struct Monitor {
    Link *link;
    Endpoint endpoint;
    int64_t seen_ms;
    uint64_t unacknowledged; /* bytes read since the last CREDIT */
    char *text;              /* of the last event */
    size_t cap;
    bool has_first; /* `first` is to be returned before anything else */
    MonitorEvent first;
    Past *past;      /* what came of the past, until all has */
    Bytes lines;     /* the past as text, of which ... */
    size_t lines_at; /* ... this much was returned */
    bool has_lines;
    bool is_over;
    Err why;
};

static void send_listen(Monitor *m, const Listen *l) {
    Msg out;
    if (m->is_over) return;
    wire_listen(l, &out);
    link_send(m->link, &out);
}

void monitor_events(Monitor *m, bool on) {
    send_listen(m, &(Listen){.verb = on ? LISTEN_EVENTS : LISTEN_QUIET});
}

void monitor_past(Monitor *m, double seconds) {
    double ms = seconds * 1000;
    if (!(ms > 1)) ms = 1; /* 0 asks for nothing */
    if (ms > PAST_MS_MAX) ms = PAST_MS_MAX;
    send_listen(m, &(Listen){.verb = LISTEN_PAST, .past_ms = (uint32_t)ms});
}

void monitor_cancel(Monitor *m, uint32_t client) {
    send_listen(m, &(Listen){.verb = LISTEN_CANCEL, .client = client});
}

const char *monitor_endpoint(const Monitor *m) { return m->endpoint.text; }

/* ---- Events ---- */

static MonitorKind over(Monitor *m, ErrCode code, const char *why) {
    if (!m->is_over) err_set(&m->why, code, "%s", why);
    m->is_over = true;
    return MONITOR_END;
}

/* Copies the text, so that the message can be freed. */
static MonitorKind keep(Monitor *m, MonitorKind kind, const char *text, size_t n,
                        MonitorEvent *out) {
    if (n + 1 > m->cap) m->text = xrealloc(m->text, m->cap = n + 1);
    if (n) memcpy(m->text, text, n);
    m->text[n] = 0;
    out->text = m->text, out->n = n;
    return kind;
}

static MonitorKind take_events(Monitor *m, const Msg *msg, MonitorEvent *out) {
    Events e;
    if (!wire_read_events(msg, &e, NULL)) return MONITOR_NOTHING;
    if (e.is_past) { /* all of it is here */
        if (m->past && !m->has_lines) past_write(m->past, &m->lines);
        past_end(&m->past);
        m->has_lines = true;
        return MONITOR_NOTHING;
    }
    keep(m, MONITOR_LINES, e.text, e.n, out);
    if (!e.dropped) return MONITOR_LINES;
    m->first = *out;
    m->first.kind = MONITOR_LINES;
    m->has_first = true;
    out->dropped = e.dropped;
    return MONITOR_DROPPED;
}

/* Returns the next whole lines of the past, or its end. */
static MonitorKind next_past(Monitor *m, MonitorEvent *out) {
    size_t left = m->lines.n - m->lines_at, n = left;
    const char *text = m->lines.data + m->lines_at;
    if (left > PAST_CHUNK) {
        const char *end = memchr(text + PAST_CHUNK, '\n', left - PAST_CHUNK);
        if (end) n = (size_t)(end + 1 - text);
    }
    m->lines_at += n;
    if (n > 0) return keep(m, MONITOR_PAST, text, n, out);
    bytes_fini(&m->lines);
    m->lines_at = 0;
    m->has_lines = false;
    return MONITOR_PAST_END;
}

/* May consume msg. */
static MonitorKind take(Monitor *m, Msg *msg, MonitorEvent *out) {
    const char *text;
    size_t n;
    Err why = {0};
    m->seen_ms = now_ms();
    m->unacknowledged += msg_bytes(msg);
    switch (wire_kind(msg)) {
    case MSG_SNAPSHOT:
        if (!wire_read_text(msg, &text, &n, NULL)) return MONITOR_NOTHING;
        return keep(m, MONITOR_SNAPSHOT, text, n, out);
    case MSG_EVENTS: return take_events(m, msg, out);
    case MSG_PAST:
        if (!m->past) m->past = past_begin();
        past_take(m->past, msg);
        return MONITOR_NOTHING;
    case MSG_REFUSE:
        if (!wire_read_refuse(msg, &why, NULL)) err_set(&why, ERR_GONE, "it refused");
        m->why = why;
        m->is_over = true;
        return MONITOR_END;
    case MSG_BYE: return over(m, ERR_GONE, "the dispatcher has stopped");
    default: return MONITOR_NOTHING;
    }
}

static void acknowledge(Monitor *m) {
    Msg out;
    if (!m->unacknowledged || m->is_over) return;
    wire_credit(&(Credit){0, m->unacknowledged}, &out);
    m->unacknowledged = 0;
    link_send(m->link, &out);
}

static MonitorKind next(Monitor *m, int timeout_ms, MonitorEvent *out) {
    int64_t end = now_ms() + timeout_ms;
    if (m->has_first) {
        *out = m->first;
        m->has_first = false;
        return out->kind;
    }
    for (bool is_last = false; !m->is_over;) {
        Msg msg;
        acknowledge(m);
        if (m->has_lines) return next_past(m, out);
        int r = link_recv(m->link, &msg);
        if (r < 0) {
            const Err *why = link_error(m->link);
            if (!why) return over(m, ERR_GONE, "the dispatcher has ended");
            m->why = *why;
            m->is_over = true;
        } else if (r > 0) {
            MonitorKind kind = take(m, &msg, out);
            msg_fini(&msg);
            if (kind != MONITOR_NOTHING) return kind;
        } else {
            int64_t now = now_ms(), left = timeout_ms < 0 ? STEP_MS : end - now;
            bool is_silent = now - m->seen_ms > ANSWER_MS;
            if (is_silent && !link_has_bytes(m->link, ANSWER_MS))
                return over(m, ERR_TIMEOUT, "the dispatcher has been silent for 10 s");
            if (left <= 0 || is_last) return MONITOR_NOTHING;
            if (left > STEP_MS) left = STEP_MS;
            is_last = !link_wait(m->link, (int)left) && now_ms() < now + left; /* a signal */
        }
    }
    return MONITOR_END;
}

MonitorKind monitor_next(Monitor *m, int timeout_ms, MonitorEvent *out) {
    *out = (MonitorEvent){0};
    out->kind = next(m, timeout_ms, out);
    if (out->kind == MONITOR_END) out->why = m->why;
    return out->kind;
}

/* ---- Opening and closing ---- */

/* True if the endpoint is the socket of a program (find.c) whose process exists. */
static bool is_running_program(const Monitor *m) {
    const char *name = strstr(m->endpoint.text, "/run-");
    long pid;
    return name && sscanf(name, "/run-%ld", &pid) == 1 && pid > 0 &&
           !(kill((pid_t)pid, 0) && errno == ESRCH);
}

/* A program replaces its socket when somebody knocks (door.h in dispatcher/): for a moment there is
 * none. */
static bool is_served(const Monitor *m, Err *err) {
    bool ok;
    for (int i = 0; !(ok = endpoint_is_served(m->endpoint.text, err)) && i < 20; i++) {
        if (!is_running_program(m)) break;
        usleep(50000);
    }
    return ok;
}

static bool is_local(const Monitor *m) { return !strncmp(m->endpoint.text, "ipc:", 4); }

static bool await_first(Monitor *m, Err *err) {
    int64_t end = now_ms() + ANSWER_MS;
    MonitorEvent e;
    while (now_ms() < end) {
        switch (monitor_next(m, 200, &e)) {
        case MONITOR_SNAPSHOT: m->first = e; return m->has_first = true;
        case MONITOR_END: *err = e.why; return false;
        default: /* the process may have ended since it accepted the connection */
            if (is_local(m)) TRY(is_served(m, err));
        }
    }
    return err_set(err, ERR_TIMEOUT, "no answer from %s within 10 s", m->endpoint.text);
}

/* The name of the dispatcher to watch: `where`, else GT_DISPATCHER, else the only one. */
static bool choose(const char *where, Endpoint *out, Err *err) {
    char found[ENDPOINT_MAX];
    if (!where || !where[0]) where = getenv("GT_DISPATCHER");
    if (!where || !where[0]) {
        TRY(monitor_find(found, sizeof found, err));
        where = found;
    }
    return endpoint_find(where, out, err);
}

Monitor *monitor_open(const char *where, Err *err) {
    Monitor *m = xcalloc(1, sizeof *m);
    if (!choose(where, &m->endpoint, err)) {
        free(m);
        return NULL;
    }
    net_set_token(m->endpoint.token, m->endpoint.file);
    m->seen_ms = now_ms();
    m->link = link_open(m->endpoint.text, err);
    bool ok = m->link && is_served(m, err);
    if (ok) {
        Hello hello = {.version = WIRE_VERSION,
                       .table_hash = op_table_hash(),
                       .role = ROLE_WATCHER,
                       .name = "watcher"};
        Msg out;
        wire_hello(&hello, &out);
        link_send(m->link, &out);
        ok = await_first(m, err);
    }
    if (!ok) monitor_close(&m);
    return m;
}

void monitor_close(Monitor **mp) {
    Monitor *m = *mp;
    *mp = NULL;
    if (!m) return;
    if (m->link && !m->is_over) {
        Msg bye;
        wire_text(MSG_BYE, "", 0, &bye);
        link_send(m->link, &bye);
    }
    link_close(&m->link);
    past_end(&m->past);
    bytes_fini(&m->lines);
    free(m->text);
    free(m);
}
