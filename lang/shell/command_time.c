/* command_time.c: see command_time.h. Wall time is that of the client's clock until all work is
 * done. The client's time is that of its processor, with its own dispatcher if it has one; the
 * worker's is what its engine computed for this client (the largest, of several workers); the rest
 * is the wire: messages, and waiting for them. Without instructions the client waited for the disk
 * or for its processor.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/command_time.h"
#include "lang/shell/commands.h"
#include "runtime/base/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIME_NS = 200000000, /* a measurement lasts about as long */
    TIME_BEST = 5,       /* of so many, the best counts; of one if they take long */
    TIME_MOST = 1000000  /* repetitions */
};

/* Microseconds that the workers' engines computed for this client, the largest of them. */
static int64_t worker_us(Repl *r) {
    Bytes text = {0};
    LangError ignored = {0};
    char key[48];
    long long most = 0;
    uint32_t id = stream_client(r->in->stream);
    if (id && stream_stats(r->in->stream, &text, &ignored)) {
        int n = snprintf(key, sizeof key, ".client.%u.us=", id);
        for (const char *at = text.data; at && (at = strstr(at, key)); at += n) {
            long long us = strtoll(at + n, NULL, 10);
            if (us > most) most = us;
        }
    }
    bytes_fini(&text);
    return most;
}

void timing_begin(Repl *r, Timing *t) {
    LangError ignored = {0};
    stream_sync(r->in->stream, &ignored);
    t->worker_us = worker_us(r);
    t->instructions = stream_count(r->in->stream);
    t->client_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    t->wall_ns = now_ns();
    t->is_begun = true;
}

/* What has passed since t; n repetitions share it. */
typedef struct Passed {
    double wall, client, worker; /* ns */
    uint64_t instructions;
} Passed;

static Passed passed(Repl *r, const Timing *t, double n) {
    Passed p;
    p.wall = (double)(now_ns() - t->wall_ns) / n;
    p.client = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - t->client_ns) / n;
    p.instructions = stream_count(r->in->stream) - t->instructions;
    p.worker = (double)(worker_us(r) - t->worker_us) * 1e3 / n;
    if (!p.instructions) p.worker = 0; /* what a worker frees behind an answer */
    if (p.client > p.wall) p.client = p.wall;
    return p;
}

/* Appends a time with its unit, in three digits. */
static void put_time(double ns, Bytes *out) {
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int k = 0;
    for (; k < 3 && ns >= 999.5; k++) ns /= 1000;
    bytes_printf(out, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, unit[k]);
}

/* has_work: workers had a part in it. */
static void put_parts(const Passed *p, bool has_work, Bytes *out) {
    double rest = p->wall - p->client - p->worker;
    bytes_puts(out, ": client ");
    put_time(p->client, out);
    bytes_puts(out, has_work ? ", wire " : ", waiting ");
    put_time(rest > 0 ? rest : 0, out);
    if (!has_work) return;
    bytes_puts(out, ", worker ");
    put_time(p->worker, out);
}

void timing_print(Repl *r, const Timing *t) {
    Passed p = passed(r, t, 1);
    Bytes b = {0};
    bytes_puts(&b, "[");
    put_time(p.wall, &b);
    put_parts(&p, p.instructions > 0, &b);
    bytes_printf(&b, "; %llu instr]\n", (unsigned long long)p.instructions);
    fflush(stdout);
    fputs(b.data, stderr);
    bytes_fini(&b);
}

/* Evaluates the expression n times in a function, whose variables are its own; n 0: once, without a
 * loop, which issues an instruction of its own. waits: each time waits for the result: one that
 * nothing uses would not be computed. */
static bool repeat(Repl *r, const char *expr, long n, bool waits, Timing *t, Passed *p) {
    Bytes code = {0};
    if (n)
        bytes_printf(&code, "(fn() { for time_i in range(%ld) { time_x = (%s\n)%s } })()", n, expr,
                     waits ? "; sync()" : "");
    else
        bytes_printf(&code, "(fn() { time_x = (%s\n) })()", expr);
    timing_begin(r, t);
    bool ok = command_code(r, code.data);
    *p = passed(r, t, n ? (double)n : 1);
    bytes_fini(&code);
    return ok;
}

static void measure(Repl *r, const char *expr) {
    Timing t;
    Passed best, p;
    Bytes b = {0};
    if (!command_code(r, "sync()")) return; /* work behind the prompt, and its failures */
    if (!repeat(r, expr, 0, false, &t, &best)) return;
    bool waits = best.instructions > 0;
    if (waits && !repeat(r, expr, 1, true, &t, &best)) return;
    double first = best.wall;
    long n = first < TIME_NS ? (long)(TIME_NS / (first + 1)) : 1;
    if (n > TIME_MOST) n = TIME_MOST;
    for (int k = 0; k < (first < TIME_NS ? TIME_BEST : 1); k++) {
        if (!repeat(r, expr, n, waits, &t, &p)) return;
        if (!k || p.wall < best.wall) best = p;
    }
    put_time(best.wall, &b);
    bytes_printf(&b, " each, best of %d × %ld", first < TIME_NS ? TIME_BEST : 1, n);
    put_parts(&best, waits, &b);
    bytes_putc(&b, '\n');
    fputs(b.data, stdout);
    bytes_fini(&b);
}

/* True if the text is one expression; otherwise says so. */
static bool is_expression(Repl *r, const char *text) {
    LangError e = {0};
    Source src = {
        .name = "command", .text = text, .n = strlen(text), .first_line = 1, .is_prompt = true};
    Program *p = parse_program(&src, NULL, NULL, NULL, &e);
    bool ok = p && p->body->n_kids == 1 && p->body->kid[0]->kind == N_EXPR_STMT;
    if (!p)
        fprintf(stderr, ":time: %s\n", e.what);
    else if (!ok)
        fputs(":time needs one expression, on or off; time { } measures statements\n", stderr);
    program_free(&p);
    return ok;
}

void command_time(Repl *r, const char *rest) {
    if (!strcmp(rest, "on") || !strcmp(rest, "off"))
        r->is_timed = rest[1] == 'n';
    else if (*rest && is_expression(r, rest))
        measure(r, rest);
    if (!*rest) printf(":time %s\n", r->is_timed ? "on" : "off");
}
