/* err.c: errors as values, and the two reasons to stop the process: a broken invariant and
 * exhausted host memory.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/err.h"

#include <stdlib.h>
#include <string.h>

static const char *const err_names[ERR_COUNT] = {
#define ERROR(id, name, doc) [ERR_##id] = name,
#include "runtime/base/errors.def"
};

void format_into(char *buf, size_t size, const char *format, va_list ap) {
    int n = vsnprintf(buf, size, format, ap);
    if (n < 0) {
        buf[0] = 0;
        return;
    }
    if ((size_t)n < size) return;
    size_t end = size - 1;
    while (end > 0 && ((unsigned char)buf[end - 1] & 0xC0) == 0x80) end--; /* of UTF-8 */
    size_t tail = size - 1 - end;
    unsigned char lead = end > 0 ? (unsigned char)buf[end - 1] : 0;
    size_t wants = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (wants > 0 && tail < wants) buf[end - 1] = 0;
}

static void print_into(char *buf, size_t size, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    format_into(buf, size, format, ap);
    va_end(ap);
}

bool err_set(Err *e, ErrCode code, const char *format, ...) {
    if (!e) return false;
    FORMAT_INTO(e->text, format);
    e->code = code;
    e->at = e->count = 0;
    e->hint[0] = 0;
    return false;
}

bool err_hint(Err *e, const char *format, ...) {
    if (!e) return false;
    FORMAT_INTO(e->hint, format);
    return false;
}

void err_join(Err *e, const Err *other) {
    bool counts = e->count > 0 && other->count > 0 && other->count <= INT64_MAX - e->count &&
                  e->code == other->code && (e->at & ERR_AT_INF) == (other->at & ERR_AT_INF);
    int64_t count = counts ? e->count + other->count : 0;
    if (other->at < e->at) *e = *other;
    char *label = strchr(e->text, '\n'), *number = label ? strstr(label, " for ") : NULL;
    if (!counts || !number) return;
    number += strlen(" for ");
    char rest[sizeof e->text];
    snprintf(rest, sizeof rest, "%s", number + strspn(number, "0123456789"));
    print_into(number, sizeof e->text - (size_t)(number - e->text), "%lld%s", (long long)count,
               rest);
    e->count = count;
}

/* Text may come from a peer: `?` replaces what could control a terminal, the controls of ASCII and
 * of Latin-1 as UTF-8. */
static void put_clean(FILE *out, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        bool is_latin = *s == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0;
        if (is_latin) s++;
        fputc(is_latin || *s == 0x7f || (*s < ' ' && *s != '\n') ? '?' : *s, out);
    }
}

void err_report_to(FILE *out, const char *program, const Err *e) {
    fprintf(out, "%s: ", program);
    put_clean(out, e->text);
    if (e->hint[0]) fputs("\n  hint: ", out), put_clean(out, e->hint);
    fputc('\n', out);
}
void err_report(const char *program, const Err *e) { err_report_to(stderr, program, e); }

const char *err_name(ErrCode code) {
    return (unsigned)code < ERR_COUNT ? err_names[code] : "unknown";
}

_Noreturn void err_panic(const char *file, int line, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "%s:%d: panic: ", file, line);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

/* ---- Host memory ---- */

void *xmalloc(size_t size_bytes) {
    void *p = malloc(size_bytes ? size_bytes : 1);
    if (!p) panic("out of host memory: %zu bytes", size_bytes);
    return p;
}

void *xcalloc(size_t count, size_t size_bytes) {
    void *p = calloc(count ? count : 1, size_bytes ? size_bytes : 1);
    if (!p) panic("out of host memory: %zu times %zu bytes", count, size_bytes);
    return p;
}

void *xrealloc(void *p, size_t size_bytes) {
    void *q = realloc(p, size_bytes ? size_bytes : 1);
    if (!q) panic("out of host memory: %zu bytes", size_bytes);
    return q;
}

char *xstrdup(const char *s) { return xstrndup(s, strlen(s)); }

char *xstrndup(const char *s, size_t n) {
    char *p = xmalloc(n + 1);
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}
