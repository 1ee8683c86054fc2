/* tape.c: see tape.h. The file is non-blocking, so that a pipe whose reader sleeps costs memory
 * (WAIT_BYTES at most), not the writer's time; on a disk a write is a copy into the page cache.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/tape.h"
#include "runtime/base/clock.h"
#include "runtime/inst/beside.h"
#include "runtime/inst/inst_print.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 64 << 10, /* collected before a write */
    WAIT_BYTES = 64 << 20,  /* pending at most for the reader of a pipe */
    CLOSE_MS = 1000,
};

struct Tape {
    char *path;
    int fd;
    int64_t start_ns;
    uint64_t n_lines;
    Bytes text;   /* not yet written */
    size_t line;  /* where the line being written begins in it */
    size_t tried; /* text.n when the last write would have blocked: retry one chunk later */
    bool is_broken, is_reported;
    Err err;
    Beside *beside;             /* NULL: there can be none */
    bool is_full, is_full_told; /* ... and why */
    Err full;
};

/* PATH.data, if the tape is a file; created when needed. */
static void beside_init(Tape *t) {
    struct stat st;
    if (fstat(t->fd, &st) == 0 && S_ISREG(st.st_mode)) t->beside = beside_new(t->path);
}

/* Opens an empty file, a pipe or a device. A new file is closed to others, because users' data will
 * be in it. A link or another user's file may have been planted: it is neither written nor
 * truncated. Returns NULL, or why not. */
static const char *open_log(const char *path, int *fd) {
    int flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC;
    struct stat st;
    *fd = open(path, flags | O_CREAT | O_NOFOLLOW, 0600);
    bool is_link = *fd < 0 && errno == ELOOP;
    if (is_link) *fd = open(path, flags); /* perhaps /dev/stdout */
    if (*fd < 0) return errno == ENXIO ? "this pipe has no reader" : strerror(errno);
    const char *why = NULL;
    if (fstat(*fd, &st) != 0)
        why = strerror(errno);
    else if (S_ISREG(st.st_mode) && is_link)
        why = "it is a link: name the file itself";
    else if (S_ISREG(st.st_mode) && st.st_uid != geteuid())
        why = "it is another user's file";
    else if (S_ISREG(st.st_mode) && ftruncate(*fd, 0) != 0)
        why = strerror(errno);
    if (why) close(*fd);
    return why;
}

Tape *tape_open(const char *path, Err *err) {
    int fd;
    const char *why = open_log(path, &fd);
    if (why) {
        err_set(err, ERR_IO, "cannot write the instruction log '%.300s': %s", path, why);
        return NULL;
    }
    Tape *t = xcalloc(1, sizeof *t);
    t->path = xstrdup(path);
    t->fd = fd;
    t->start_ns = now_ns();
    beside_init(t);
    bytes_puts(&t->text, "gti 1 kind=tape\n");
    return t;
}

Tape *tape_new(int64_t start_ns) {
    Tape *t = xcalloc(1, sizeof *t);
    t->fd = -1;
    t->start_ns = start_ns;
    return t;
}

static void fail(Tape *t, const char *why) {
    t->is_broken = true;
    err_set(&t->err, ERR_IO, "the instruction log '%.300s' ends here: %s", t->path, why);
    bytes_fini(&t->text);
}

/* write(2), but a pipe without reader is an error of the call, whatever the handler of SIGPIPE
 * is. */
static ssize_t write_quietly(int fd, const void *p, size_t n) {
    sigset_t pipe_set, pending, old;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t r = write(fd, p, n);
    int error = errno;
    if (r < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_set, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return r;
}

void tape_flush(Tape *t) {
    size_t done = 0;
    if (t->fd < 0) return;
    while (!t->is_broken && done < t->text.n) {
        ssize_t n = write_quietly(t->fd, t->text.data + done, t->text.n - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            if (t->text.n - done > WAIT_BYTES) fail(t, "its reader is too slow");
            break;
        } else if (n == 0 || errno != EINTR) {
            fail(t, n == 0 ? "the write failed" : strerror(errno));
        }
    }
    if (t->is_broken) return;
    t->text.n -= done;
    if (done && t->text.n) memmove(t->text.data, t->text.data + done, t->text.n);
    t->tried = t->text.n;
}

void tape_finish(Tape *t) {
    int64_t end = now_ns() + CLOSE_MS * INT64_C(1000000);
    for (tape_flush(t); t->fd >= 0 && t->text.n > 0 && now_ns() < end; tape_flush(t))
        poll(&(struct pollfd){.fd = t->fd, .events = POLLOUT}, 1, 50);
    if (t->fd >= 0 && t->text.n > 0) fail(t, "its reader is too slow");
}

void tape_close(Tape **tp) {
    Tape *t = *tp;
    *tp = NULL;
    if (!t) return;
    tape_finish(t);
    if (t->fd >= 0) close(t->fd);
    bytes_fini(&t->text);
    beside_free(&t->beside);
    free(t->path);
    free(t);
}

/* ---- Beside the tape ---- */

bool tape_keep(Tape *t, const void *data, size_t n, InstBeside *out) {
    if (!t->beside || t->is_full || t->is_broken) return false;
    if (beside_keep(t->beside, data, n, out, &t->full)) return true;
    t->is_full = true;
    return false;
}

int64_t tape_now_ns(const Tape *t) { return now_ns() - t->start_ns; }

/* ---- Lines ---- */

/* "0.003104 ": by hand, because it is done for every line. */
static void put_seconds(Bytes *b, int64_t ns) {
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0, whole = us / 1000000, part = us % 1000000;
    char text[] = ".000000 ";
    for (int i = 6; i > 0; i--, part /= 10) text[i] = (char)('0' + part % 10);
    inst_put_u64(b, whole);
    bytes_add(b, text, sizeof text - 1);
}

static void put_number(Bytes *b, char prefix, uint64_t v) {
    if (prefix) bytes_putc(b, prefix);
    inst_put_u64(b, v);
    bytes_putc(b, ' ');
}

Bytes *tape_begin(Tape *t, int64_t at_ns, TapeEvent event, uint32_t client, char kind,
                  uint32_t number) {
    Bytes *b = &t->text;
    t->line = b->n;
    put_seconds(b, at_ns);
    put_number(b, 0, ++t->n_lines);
    bytes_putc(b, (char)event);
    bytes_putc(b, ' ');
    if (client)
        put_number(b, 'c', client);
    else
        bytes_puts(b, "- ");
    if (kind == '-')
        bytes_puts(b, "- ");
    else
        put_number(b, kind, number);
    return b;
}

const char *tape_line(Tape *t, size_t *n) {
    bytes_putc(&t->text, '\n');
    *n = t->text.n - t->line;
    return t->text.data + t->line;
}

void tape_end(Tape *t) {
    if (t->text.n == t->line || t->text.data[t->text.n - 1] != '\n') bytes_putc(&t->text, '\n');
    if (t->is_broken || t->fd < 0)
        t->text.n = 0;
    else if (t->text.n >= t->tried + CHUNK_BYTES)
        tape_flush(t);
}

bool tape_take_error(Tape *t, Err *err) {
    if (t->is_full && !t->is_full_told) {
        *err = t->full;
        return t->is_full_told = true;
    }
    if (!t->is_broken || t->is_reported) return false;
    *err = t->err;
    return t->is_reported = true;
}

/* ---- Reading ---- */

bool tape_is_header(const char *line, size_t n) {
    static const char key[] = " kind=tape";
    const char *at = n > 4 && !memcmp(line, "gti ", 4) ? memmem(line, n, key, strlen(key)) : NULL;
    if (!at) return false;
    at += strlen(key);
    return at == line + n || *at == ' ' || *at == '\r' || *at == '\n';
}

uint32_t tape_client(const char *name, size_t n) {
    uint64_t v = 0;
    if (n < 2 || n > 11 || name[0] != 'c') return 0;
    for (size_t i = 1; i < n; i++) {
        if (name[i] < '0' || name[i] > '9') return 0;
        v = 10 * v + (uint64_t)(name[i] - '0');
    }
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static bool is_number(const char *s, size_t n, bool point) {
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && point)
            point = false;
        else if (s[i] >= '0' && s[i] <= '9')
            digits++;
        else
            return false;
    }
    return digits > 0;
}

static bool is_place(const char *s, size_t n) {
    if (n == 1) return *s == '-';
    return (*s == 'w' || *s == 'g') && is_number(s + 1, n - 1, false);
}

bool tape_read(const char *line, size_t n, TapeLine *out, Err *err) {
    static const char *const what[] = {"seconds", "the line's number", "an event", "a client",
                                       "a worker or group"};
    *out = (TapeLine){0};
    size_t at = 0;
    for (int i = 0; i < 5; i++) {
        while (at < n && (line[at] == ' ' || line[at] == '\t')) at++;
        const char *s = line + at;
        size_t k = 0;
        while (at + k < n && s[k] != ' ' && s[k] != '\t' && s[k] != '\r') k++;
        bool ok = false;
        switch (i) {
        case 0: ok = is_number(s, k, true); break;
        case 1: ok = is_number(s, k, false); break;
        case 2:
            ok = k == 1 && memchr("><=!+-", *s, 6);
            if (ok) out->event = (TapeEvent)*s;
            break;
        case 3:
            out->client = tape_client(s, k);
            ok = out->client > 0 || (k == 1 && *s == '-');
            break;
        default: ok = k > 0 && is_place(s, k);
        }
        if (!ok)
            return err_set(err, ERR_PARSE, "column %d: %s is expected in column %d of a tape",
                           (int)at + 1, what[i], i + 1);
        at += k;
    }
    while (at < n && (line[at] == ' ' || line[at] == '\t')) at++;
    out->text = at;
    return true;
}
