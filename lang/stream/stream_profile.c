/* stream_profile.c: see stream_profile.h. Instructions are counted when they are issued, so that
 * the counts do not depend on the number of workers. Frees, which no line asks for, are not
 * counted.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/stream_profile.h"
#include "lang/stream/stream_link.h"
#include "lang/stream/stream_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct StreamProfile {
    ProfileLine *line; /* src is not set yet; file is */
    size_t n, cap;
    Map index; /* file and line -> index in line, + 1 */
    uint64_t last_key;
    size_t last; /* its index: neighbours are often of one line */
};

StreamProfile *profile_counts_new(void) { return xcalloc(1, sizeof(StreamProfile)); }

void profile_counts_free(StreamProfile **at) {
    StreamProfile *p = *at;
    *at = NULL;
    if (!p) return;
    map_fini(&p->index);
    free(p->line);
    free(p);
}

static ProfileLine *line_of(StreamProfile *p, uint16_t file, uint32_t line) {
    uint64_t key = (uint64_t)file << 32 | line;
    uintptr_t at = (uintptr_t)map_get(&p->index, key);
    if (at) return &p->line[at - 1];
    ARRAY_PUSH(p->line, p->n, p->cap, 64, (ProfileLine){.file = file, .line = line});
    map_put(&p->index, key, (void *)(uintptr_t)p->n);
    return &p->line[p->n - 1];
}

void profile_count(StreamProfile *p, SrcPos pos) {
    uint64_t key = (uint64_t)pos.file << 32 | pos.line;
    if (!pos.line) return;
    if (key != p->last_key) {
        p->last = (size_t)(line_of(p, pos.file, pos.line) - p->line);
        p->last_key = key;
    }
    p->line[p->last].insts++;
}

/* Adds the times of one worker and line, "w0.profile.FILE.LINE=NS MOVE_NS BYTES MOVED". */
static void add_times(StreamProfile *p, const Stream *s, const char *text) {
    unsigned file, line;
    unsigned long long ns, move_ns, bytes, moved;
    if (sscanf(text, "w%*u.profile.%u.%u=%llu %llu %llu %llu", &file, &line, &ns, &move_ns, &bytes,
               &moved) != 6 ||
        file > UINT16_MAX || (line && file >= s->n_sources))
        return;
    ProfileLine *l = line_of(p, (uint16_t)file, line);
    l->ns += ns, l->move_ns += move_ns, l->bytes += bytes, l->moved += moved;
}

static int by_time(const void *a, const void *b) {
    const ProfileLine *x = a, *y = b;
    uint64_t tx = x->ns + x->move_ns, ty = y->ns + y->move_ns;
    if (tx != ty) return tx < ty ? 1 : -1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

bool stream_profile(Stream *s, ProfileLine **lines, size_t *n, LangError *e) {
    StreamProfile *p = s->profile;
    Bytes text = {0};
    *lines = NULL, *n = 0;
    if (!p || !s->is_started) return true;
    bool ok = stream_ask(s, "profile", (Span){0}, &text, e);
    for (size_t i = 0; i < p->n; i++) /* of an earlier call */
        p->line[i].ns = p->line[i].move_ns = p->line[i].bytes = p->line[i].moved = 0;
    for (char *line = text.data, *next; ok && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        add_times(p, s, line);
        if (!next) break;
    }
    bytes_fini(&text);
    *n = p->n;
    *lines = xmalloc((p->n + 1) * sizeof **lines);
    if (p->n) memcpy(*lines, p->line, p->n * sizeof **lines);
    for (size_t i = 0; i < p->n; i++)
        (*lines)[i].src = p->line[i].line ? s->sources[p->line[i].file] : NULL;
    qsort(*lines, *n, sizeof **lines, by_time);
    return ok;
}
