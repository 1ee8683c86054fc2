/* record.c: see record.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/record.h"
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static void put(char *out, size_t size, size_t *n, char c) {
    if (*n + 1 < size && c) out[(*n)++] = c;
}

/* Copies to `out` up to a blank or the byte `stop`. */
static void take_word(Record *r, char stop, char *out, size_t size) {
    size_t n = 0;
    while (r->at < r->end && !is_blank(*r->at) && *r->at != stop) put(out, size, &n, *r->at++);
    out[n] = '\0';
}

static int hex(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *hit = c ? strchr(digits, c) : NULL;
    return hit ? (int)(hit - digits) : -1;
}

/* The character that an escape means, with the cursor behind its backslash. */
static char take_escape(Record *r) {
    char c = *r->at++;
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'x':
        if (r->end - r->at < 2 || hex(r->at[0]) < 0 || hex(r->at[1]) < 0) return '?';
        r->at += 2;
        return (char)(hex(r->at[-2]) << 4 | hex(r->at[-1]));
    default: return c;
    }
}

static void take_string(Record *r, char *out, size_t size) {
    size_t n = 0;
    r->at++;
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at++;
        put(out, size, &n, c == '\\' && r->at < r->end ? take_escape(r) : c);
    }
    if (r->at < r->end) r->at++;
    out[n] = '\0';
}

bool record_begin(Record *r, const char *line, size_t n) {
    *r = (Record){.at = line, .end = line + n};
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    take_word(r, '\0', r->kind, sizeof r->kind);
    return r->kind[0] != '\0';
}

bool record_next(Record *r, RecordPair *out) {
    for (;;) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        if (r->at == r->end) return false;
        const char *before = r->at;
        take_word(r, '=', out->key, sizeof out->key);
        if (r->at < r->end && *r->at == '=' && r->at > before) {
            r->at++;
            if (r->at < r->end && *r->at == '"')
                take_string(r, out->value, sizeof out->value);
            else
                take_word(r, '\0', out->value, sizeof out->value);
            return true;
        }
        if (r->at == before) r->at++; /* a '=' without a key */
    }
}
