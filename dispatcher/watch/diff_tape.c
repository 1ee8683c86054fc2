/* diff_tape.c: reads a tape into lists of instructions with their hashes: see diff.h. A tape may
 * have millions of lines, of which most matter little here, so lines are taken apart by hand and no
 * instruction is parsed. The file is untrusted: an unknown line is skipped.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"
#include "runtime/inst/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLIENTS_MAX = 4096 };
#define ADDED_ID (UINT64_C(1) << 63) /* ids from here on are the dispatcher's */

/* The rest of a line. */
typedef struct Text {
    const char *at, *end;
} Text;

/* ---- Taking lines apart ---- */

/* The next word, up to a space, which is passed. */
static Text word(Text *t) {
    Text w = {t->at, t->at};
    while (w.end < t->end && *w.end != ' ') w.end++;
    t->at = w.end < t->end ? w.end + 1 : w.end;
    return w;
}

static bool is_word(Text w, const char *s) {
    size_t n = strlen(s);
    return (size_t)(w.end - w.at) == n && !memcmp(w.at, s, n);
}

/* Reads digits; false: there are none, or too many. */
static bool number(Text *t, uint64_t *out) {
    const char *begin = t->at;
    uint64_t v = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        v = 10 * v + (uint64_t)(*t->at - '0');
    *out = v;
    return t->at > begin && t->at - begin <= 19;
}

/* Reads "t12" or "t12,t13": *n ids, each one more than the previous one. */
static bool results(Text *t, uint64_t *id, int *n) {
    uint64_t next;
    for (*n = 0; t->at < t->end && *t->at == 't'; ++*n) {
        t->at++;
        if (!number(t, &next) || *n == MAX_OUT || (*n && next != *id + 1)) return false;
        if (!*n) *id = next;
        if (t->at < t->end && *t->at == ',') t->at++;
    }
    return *n > 0 && (t->at == t->end || *t->at == ' ');
}

static uint32_t name_hash(const char *s, const char *end) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; s < end; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h ? h : 1;
}

/* The line of "... @train.gt:6"; 0: there is none. */
static uint32_t source_line(Text t) {
    const char *at = t.end;
    uint64_t line = 0, unit = 1;
    while (at > t.at && at[-1] >= '0' && at[-1] <= '9' && unit < UINT64_C(10000000000))
        line += unit * (uint64_t)(*--at - '0'), unit *= 10;
    bool is_there =
        unit > 1 && at > t.at && at[-1] == ':' && memrchr(t.at, '@', (size_t)(at - t.at));
    return is_there && line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* ---- Clients and their instructions ---- */

static DiffClient *client_of(DiffTape *t, Text w) {
    uint32_t number = tape_client(w.at, (size_t)(w.end - w.at));
    if (!number) return NULL;
    for (int i = t->n_clients; i-- > 0;)
        if (t->client[i].number == number) return &t->client[i];
    if (t->n_clients == CLIENTS_MAX) return NULL;
    t->client = xrealloc(t->client, sizeof *t->client * ((size_t)t->n_clients + 1));
    DiffClient *c = &t->client[t->n_clients++];
    *c = (DiffClient){.number = number};
    return c;
}

/* The index of the last step whose id is at most `id`; n: there is none. */
static size_t step_before(const DiffClient *c, uint64_t id) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->step[mid].id <= id)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : c->n;
}

const DiffStep *diff_step(const DiffClient *c, uint64_t id) {
    size_t i = step_before(c, id);
    return i < c->n && id - c->step[i].id < c->step[i].n_out ? &c->step[i] : NULL;
}

/* Reports come mostly in the order of the stream: the next step is tried first. */
static DiffStep *reported(DiffClient *c, uint64_t id) {
    for (size_t i = c->hint; i < c->n && i < c->hint + 8; i++)
        if (c->step[i].id == id) return &c->step[c->hint = i];
    size_t i = step_before(c, id);
    if (i == c->n || c->step[i].id != id) return NULL;
    return &c->step[c->hint = i];
}

/* ">": t2 = matmul t0 t1 -> f32[10,10] @hello.gt:3 */
static void on_received(DiffTape *t, Text client, Text rest) {
    DiffStep s = {.text = rest.at};
    int n;
    if (rest.at == rest.end || *rest.at != 't' || !results(&rest, &s.id, &n)) return;
    if (rest.end - rest.at < 3 || memcmp(rest.at, " = ", 3)) return;
    rest.at += 3;
    DiffClient *c = client_of(t, client);
    if (!c) return;
    s.line = source_line(rest);
    Text op = word(&rest);
    s.op = name_hash(op.at, op.end);
    s.n_out = (uint8_t)n;
    if (c->n && s.id < c->step[c->n - 1].id + c->step[c->n - 1].n_out) return; /* ids must rise */
    ARRAY_PUSH(c->step, c->n, c->cap, 1024, s);
}

static DiffHash *sum_of(DiffClient *c, uint64_t id) {
    DiffHash *h = map_get(&c->sums, id);
    if (!h) map_put(&c->sums, id, h = xcalloc(1, sizeof *h));
    return h;
}

/* "=": the group that executes an instruction, and the collectives that add up terms. */
static void on_sent(DiffTape *t, Text client, Text place, Text rest) {
    uint64_t id, of, group;
    int n, n_of;
    Text name = {place.at + 1, place.end};
    if (rest.at == rest.end || *rest.at != 't' || *place.at != 'g') return;
    if (!number(&name, &group) || group > UINT32_MAX || !results(&rest, &id, &n)) return;
    DiffClient *c = client_of(t, client);
    if (!c || rest.end - rest.at < 3 || memcmp(rest.at, " = ", 3)) return;
    if (id < ADDED_ID) {
        DiffStep *s = reported(c, id);
        if (s) s->got.group = (uint32_t)group;
        return;
    }
    rest.at += 3;
    Text op = word(&rest);
    if (!is_word(op, "all_reduce") && !is_word(op, "reduce_scatter")) return;
    if (!results(&rest, &of, &n_of) || of >= ADDED_ID) return;
    DiffStep *s = reported(c, of);
    if (!s || s->sum) return;
    s->sum = id;
    sum_of(c, id)->group = (uint32_t)group;
}

static bool read_hash(Text *t, uint64_t *out) {
    *out = 0;
    if (t->end - t->at < 16) return false;
    for (int i = 0; i < 16; i++) {
        char c = *t->at++;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return true;
}

static void add_report(DiffHash *h, const DiffRow *row) {
    DiffState state = row->state;
    const uint64_t *hash = row->hash;
    if (h->n_rows && (h->state != state || h->sample != row->sample)) h->is_torn = true;
    for (int k = 0; k < row->n; k++) {
        if (state == DIFF_SPLIT)
            h->hash[k] += hash[k];
        else if (h->n_rows && state == DIFF_WHOLE)
            h->is_torn |= h->hash[k] != hash[k];
        else
            h->hash[k] = hash[k];
    }
    h->state = (uint8_t)state;
    h->sample = row->sample;
    if (h->n_rows < UINT16_MAX) h->n_rows++;
}

/* Reads what follows the columns of "<": hash t2 op=matmul hash=0123456789abcdef part=split. False:
 * it is another line. */
static bool read_report(Text rest, uint64_t *id, DiffRow *row) {
    Text verb = word(&rest);
    int k = 0;
    row->state = DIFF_WHOLE;
    row->sample = 1;
    if (!is_word(verb, "hash")) return false;
    if (!results(&rest, id, &row->n)) return false;
    while (rest.at < rest.end) {
        Text w = word(&rest);
        if (w.end - w.at > 5 && !memcmp(w.at, "hash=", 5)) {
            w.at += 5;
            for (k = 0; k < row->n && read_hash(&w, &row->hash[k]); k++)
                w.at += k + 1 < row->n && w.at < w.end;
        }
        if (w.end - w.at > 7 && !memcmp(w.at, "sample=", 7)) {
            uint64_t n;
            w.at += 7;
            row->sample = number(&w, &n) && n <= UINT16_MAX ? (uint16_t)n : 0;
        }
        if (is_word(w, "part=split")) row->state = DIFF_SPLIT;
        if (is_word(w, "part=partial")) row->state = DIFF_PARTIAL;
    }
    return k == row->n;
}

static void on_done(DiffTape *t, Text client, Text rest) {
    uint64_t id;
    DiffRow row;
    DiffClient *c = read_report(rest, &id, &row) ? client_of(t, client) : NULL;
    if (!c) return;
    t->n_hashes++;
    if (id >= ADDED_ID) { /* only collectives that were sent are known */
        DiffHash *h = map_get(&c->sums, id);
        if (h) add_report(h, &row);
        return;
    }
    DiffStep *s = reported(c, id);
    if (s && s->n_out == row.n) add_report(&s->got, &row);
}

/* "+": group w0 w1 */
static void on_comes(DiffTape *t, Text place, Text rest) {
    uint64_t group;
    Text name = {place.at + 1, place.end};
    if (*place.at != 'g' || !number(&name, &group) || group > UINT32_MAX) return;
    if (!is_word(word(&rest), "group")) return;
    uintptr_t n = 0;
    for (; rest.at < rest.end; n++) word(&rest);
    if (n) map_put(&t->groups, group, (void *)n);
}

static void on_line(DiffTape *t, Text line) {
    const char *begin = line.at;
    word(&line);
    word(&line);
    Text event = word(&line), client = word(&line), place = word(&line);
    if (event.end - event.at != 1 || place.at == place.end) return;
    switch (*event.at) {
    case TAPE_RECEIVED: on_received(t, client, line); break;
    case TAPE_SENT: on_sent(t, client, place, line); break;
    case TAPE_DONE: on_done(t, client, line); break;
    case TAPE_COMES: on_comes(t, place, line); break;
    case TAPE_FAILED:
        if (!t->failure) t->failure = begin;
        break;
    default: break;
    }
}

/* ---- Opening ---- */

static bool map_file(DiffTape *t, const char *path, Err *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (!ok) err_set(err, ERR_IO, "cannot read '%.300s': %s", path, strerror(errno));
    if (ok && !S_ISREG(st.st_mode))
        ok = err_set(err, ERR_IO, "cannot read '%.300s': it is not a file", path);
    t->n = ok ? (size_t)st.st_size : 0;
    if (t->n) {
        void *p = mmap(NULL, t->n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            ok = err_set(err, ERR_IO, "cannot read '%.300s': %s", path, strerror(errno));
        else
            t->text = p;
    }
    if (fd >= 0) close(fd);
    return ok;
}

bool diff_tape_open(DiffTape *t, const char *path, const char *name, Err *err) {
    *t = (DiffTape){.name = name};
    TRY(map_file(t, path, err));
    const char *at = t->text, *end = at + t->n;
    const char *line = t->n ? memchr(at, '\n', t->n) : NULL;
    if (!line || !tape_is_header(at, (size_t)(line - at))) {
        diff_tape_close(t);
        err_set(err, ERR_PARSE, "'%.300s' is not a tape", path);
        return err_hint(err, "GT_INSTRUCTION_LOG=run.tape gtsh --hash PROGRAM writes one");
    }
    for (at = line + 1; at < end; at = line + 1, t->n_lines++) {
        line = memchr(at, '\n', (size_t)(end - at));
        t->is_cut = line == NULL;
        if (!line) break;
        on_line(t, (Text){at, line});
    }
    return true;
}

void diff_tape_close(DiffTape *t) {
    for (int i = 0; i < t->n_clients; i++) {
        DiffClient *c = &t->client[i];
        for (MapItem it = {0}; map_next(&c->sums, &it);) free(it.value);
        map_fini(&c->sums);
        free(c->step);
    }
    free(t->client);
    map_fini(&t->groups);
    if (t->text) munmap((void *)t->text, t->n);
    *t = (DiffTape){0};
}

void diff_rows(const DiffTape *t, const DiffClient *c, uint64_t id,
               void (*fn)(void *ctx, const DiffRow *row), void *ctx) {
    const char *at = t->text, *end = at + t->n, *line;
    for (; at < end && (line = memchr(at, '\n', (size_t)(end - at))); at = line + 1) {
        Text rest = {at, line};
        word(&rest);
        word(&rest);
        Text event = word(&rest), client = word(&rest), place = word(&rest);
        uint64_t rank, got;
        DiffRow row;
        if (event.at == event.end || *event.at != TAPE_DONE || place.at == place.end) continue;
        if (tape_client(client.at, (size_t)(client.end - client.at)) != c->number) continue;
        place.at++;
        if (!number(&place, &rank) || !read_report(rest, &got, &row) || got != id) continue;
        row.worker = (uint32_t)rank;
        fn(ctx, &row);
    }
}

/* ---- Whole tensors ---- */

static uint64_t workers_of(const DiffTape *t, const DiffHash *h) {
    return h->group ? (uintptr_t)map_get(&t->groups, h->group) : 1;
}

const DiffHash *diff_whole(const DiffTape *t, const DiffClient *c, const DiffStep *s) {
    const DiffHash *h = &s->got;
    if (h->state == DIFF_PARTIAL) h = s->sum ? map_get(&c->sums, s->sum) : NULL;
    if (!h || h->is_torn || h->state == DIFF_NONE || h->state == DIFF_PARTIAL) return NULL;
    return h->state == DIFF_SPLIT && h->n_rows != workers_of(t, h) ? NULL : h;
}

bool diff_hash(const DiffTape *t, const DiffClient *c, const DiffStep *s, int k, uint64_t *out) {
    const DiffHash *h = diff_whole(t, c, s);
    if (h) *out = h->hash[k];
    return h != NULL;
}
