/* builtin_string.c: methods of strings (LANGUAGE 3.1, 3.4). Strings are UTF-8; positions and widths
 * count code points. Text with tensors in it is looked at first, so these wait for them; only join
 * does not. SPDX-License-Identifier: MIT */
#include "lang/value/heap.h"
#include "lang/text/pieces.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "lang/error/utf8.h"
#include <stdlib.h>
#include <string.h>

#define TEXT (1u << V_STR | 1u << V_TEXT)

/* ---- arguments ---- */

/* *out is a new reference to a V_STR. */
static bool text_arg(Interp *in, Value v, const char *what, Value *out, LangError *e) {
    if (v.kind != V_STR && v.kind != V_TEXT) {
        error_set(e, "%s must be a string, not %s", what, value_type_name(v));
        return v.kind == V_LIST || v.kind == V_NONE ? false : error_hint(e, "str(x)");
    }
    return value_look(in, v, out, e);
}

static bool int_arg(Value v, const char *what, int64_t *out, LangError *e) {
    if (v.kind != V_INT && v.kind != V_BOOL)
        return error_set(e, "%s must be a whole number, not %s", what, value_type_name(v));
    *out = v.kind == V_INT ? v.i : v.b;
    return true;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static const char *find(const char *s, size_t n, const Str *sub) {
    return sub->n == 0 ? s : memmem(s, n, sub->s, sub->n);
}

static void push_text(Value list, const char *s, size_t n) { list_push(list.list, v_str(s, n)); }

/* ---- taking apart ---- */

static void split_blanks(const Str *s, int64_t limit, Value list) {
    size_t i = 0;
    for (;;) {
        while (i < s->n && is_blank(s->s[i])) i++;
        if (i == s->n) return;
        size_t from = i;
        if (limit-- == 0) {
            size_t end = s->n;
            while (is_blank(s->s[end - 1])) end--;
            push_text(list, s->s + from, end - from);
            return;
        }
        while (i < s->n && !is_blank(s->s[i])) i++;
        push_text(list, s->s + from, i - from);
    }
}

static bool bi_split(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s, sep = v_none();
    int64_t limit = 0;
    TRY(int_arg(arg[2], "maxsplit", &limit, e));
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (arg[1].kind != V_NONE && !text_arg(in, arg[1], "the separator", &sep, e)) {
        value_drop(s);
        return false;
    }
    if (sep.kind == V_STR && sep.str->n == 0) {
        value_drop(s);
        value_drop(sep);
        error_set(e, "the separator is empty");
        return error_hint(e, "list(s) gives the characters");
    }
    *out = v_list(in, 4);
    if (limit < 0) limit = INT64_MAX;
    if (sep.kind == V_NONE)
        split_blanks(s.str, limit, *out);
    else {
        const char *at = s.str->s, *end = at + s.str->n, *hit;
        for (; limit-- > 0 && (hit = find(at, (size_t)(end - at), sep.str)); at = hit + sep.str->n)
            push_text(*out, at, (size_t)(hit - at));
        push_text(*out, at, (size_t)(end - at));
    }
    value_drop(s);
    value_drop(sep);
    return true;
}

static bool bi_splitlines(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    *out = v_list(in, 4);
    for (const char *at = s.str->s, *end = at + s.str->n; at < end;) {
        size_t n = 0, left = (size_t)(end - at);
        while (n < left && at[n] != '\n' && at[n] != '\r') n++;
        push_text(*out, at, n);
        at += n;
        if (at < end) at += end - at > 1 && at[0] == '\r' && at[1] == '\n' ? 2 : 1;
    }
    value_drop(s);
    return true;
}

/* Which ends to strip: 1 left, 2 right. chars: none for blanks, else a set of code points. */
static bool strip(Interp *in, const Value *arg, int ends, Value *out, LangError *e) {
    Value s, set = v_none();
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (arg[1].kind != V_NONE && !text_arg(in, arg[1], "the characters to strip", &set, e)) {
        value_drop(s);
        return false;
    }
    const char *from = s.str->s, *to = from + s.str->n;
    while ((ends & 1) && from < to) {
        int len = utf8_decode(from, (size_t)(to - from), NULL);
        if (len == 0) len = 1;
        if (set.kind == V_NONE ? !is_blank(*from)
                               : !memmem(set.str->s, set.str->n, from, (size_t)len))
            break;
        from += len;
    }
    while ((ends & 2) && from < to) {
        const char *last = to - 1;
        while (last > from && ((unsigned char)*last & 0xc0) == 0x80) last--;
        if (set.kind == V_NONE ? !is_blank(*last)
                               : !memmem(set.str->s, set.str->n, last, (size_t)(to - last)))
            break;
        to = last;
    }
    *out = v_str(from, (size_t)(to - from));
    value_drop(s);
    value_drop(set);
    return true;
}
static bool bi_strip(Interp *in, const Value *arg, Value *out, LangError *e) {
    return strip(in, arg, 3, out, e);
}
static bool bi_lstrip(Interp *in, const Value *arg, Value *out, LangError *e) {
    return strip(in, arg, 1, out, e);
}
static bool bi_rstrip(Interp *in, const Value *arg, Value *out, LangError *e) {
    return strip(in, arg, 2, out, e);
}

/* ---- looking ---- */

/* arg[1] is a string or a list of them: does any lie at the start (or the end)? */
static bool at_end(Interp *in, const Value *arg, bool start, Value *out, LangError *e) {
    Value s, sub;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    bool is_list = arg[1].kind == V_LIST, hit = false, ok = true;
    int64_t n = is_list ? sequence_count(arg[1]) : 1;
    for (int64_t k = 0; k < n && ok && !hit; k++) {
        ok = text_arg(in, is_list ? list_get(arg[1].list, k) : arg[1],
                      start ? "the start" : "the end", &sub, e);
        if (!ok) break;
        hit = sub.str->n <= s.str->n &&
              !memcmp(start ? s.str->s : s.str->s + s.str->n - sub.str->n, sub.str->s, sub.str->n);
        value_drop(sub);
    }
    value_drop(s);
    *out = v_bool(hit);
    return ok;
}
static bool bi_startswith(Interp *in, const Value *arg, Value *out, LangError *e) {
    return at_end(in, arg, true, out, e);
}
static bool bi_endswith(Interp *in, const Value *arg, Value *out, LangError *e) {
    return at_end(in, arg, false, out, e);
}

static bool bi_find(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s, sub;
    int64_t start = 0;
    TRY(int_arg(arg[2], "start", &start, e));
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (!text_arg(in, arg[1], "what to find", &sub, e)) {
        value_drop(s);
        return false;
    }
    if (start < 0) {
        start += (int64_t)utf8_count(s.str->s, s.str->n);
        if (start < 0) start = 0;
    }
    size_t skip = utf8_skip(s.str->s, s.str->n, (size_t)start);
    bool beyond = (uint64_t)start > utf8_count(s.str->s, s.str->n);
    const char *hit = beyond ? NULL : find(s.str->s + skip, s.str->n - skip, sub.str);
    *out = v_int(hit ? (int64_t)utf8_count(s.str->s, (size_t)(hit - s.str->s)) : -1);
    value_drop(s);
    value_drop(sub);
    return true;
}

static bool bi_count(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s, sub;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (!text_arg(in, arg[1], "what to count", &sub, e)) {
        value_drop(s);
        return false;
    }
    int64_t n = 0;
    if (sub.str->n == 0)
        n = (int64_t)utf8_count(s.str->s, s.str->n) + 1;
    else
        for (const char *at = s.str->s, *end = at + s.str->n, *hit;
             (hit = find(at, (size_t)(end - at), sub.str)); at = hit + sub.str->n)
            n++;
    *out = v_int(n);
    value_drop(s);
    value_drop(sub);
    return true;
}

/* ---- changing ---- */

static void replace(const Str *s, const Str *old, const Str *with, int64_t limit, Bytes *b) {
    const char *at = s->s, *end = at + s->n;
    while (limit-- > 0) {
        if (old->n == 0) { /* between all characters, as in Python */
            bytes_add(b, with->s, with->n);
            if (at == end) return;
            int len = utf8_decode(at, (size_t)(end - at), NULL);
            bytes_add(b, at, (size_t)(len ? len : 1));
            at += len ? len : 1;
            continue;
        }
        const char *hit = find(at, (size_t)(end - at), old);
        if (!hit) break;
        bytes_add(b, at, (size_t)(hit - at));
        bytes_add(b, with->s, with->n);
        at = hit + old->n;
    }
    bytes_add(b, at, (size_t)(end - at));
}

static bool bi_replace(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s, old, with;
    int64_t limit = 0;
    TRY(int_arg(arg[3], "count", &limit, e));
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (!text_arg(in, arg[1], "what to replace", &old, e)) {
        value_drop(s);
        return false;
    }
    if (!text_arg(in, arg[2], "the replacement", &with, e)) {
        value_drop(s);
        value_drop(old);
        return false;
    }
    Bytes b = {0};
    uint64_t hits = old.str->n ? s.str->n / old.str->n : s.str->n + 1;
    bool fits = with.str->n == 0 || hits < (1u << 30) / with.str->n;
    if (fits) {
        replace(s.str, old.str, with.str, limit < 0 ? INT64_MAX : limit, &b);
        *out = v_str(b.data ? b.data : "", b.n);
    } else
        error_set(e, "the text would have more than 2 ** 30 bytes");
    bytes_fini(&b);
    value_drop(s);
    value_drop(old);
    value_drop(with);
    return fits;
}

/* The other case of a letter: ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic; the same
 * everywhere, whatever the locale. */
static uint32_t to_upper(uint32_t c) {
    if ((c >= 'a' && c <= 'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7) ||
        (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x44f))
        return c - 32;
    if (c >= 0x450 && c <= 0x45f) return c - 80;
    if (c >= 0x100 && c <= 0x177 && (c < 0x130 || c > 0x131) && (c < 0x138 || c > 0x148))
        return c & ~1u;
    if (c >= 0x139 && c <= 0x148 && c % 2 == 0) return c - 1;
    return c == 0xff ? 0x178 : c;
}
static uint32_t to_lower(uint32_t c) {
    if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
        (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c >= 0x400 && c <= 0x40f) return c + 80;
    if (c >= 0x100 && c <= 0x177 && (c < 0x130 || c > 0x131) && (c < 0x138 || c > 0x148))
        return c | 1;
    if (c >= 0x139 && c <= 0x147 && c % 2 == 1) return c + 1;
    return c == 0x178 ? 0xff : c;
}

static bool change_case(Interp *in, Value text, uint32_t (*f)(uint32_t), Value *out, LangError *e) {
    Value s;
    TRY(text_arg(in, text, "the text", &s, e));
    Bytes b = {0};
    for (size_t i = 0; i < s.str->n;) {
        uint32_t cp;
        char utf8[4];
        int len = utf8_decode(s.str->s + i, s.str->n - i, &cp);
        if (len)
            bytes_add(&b, utf8, (size_t)utf8_encode(f(cp), utf8));
        else
            bytes_putc(&b, s.str->s[i]);
        i += len ? (size_t)len : 1;
    }
    *out = v_str(b.data ? b.data : "", b.n);
    bytes_fini(&b);
    value_drop(s);
    return true;
}
static bool bi_lower(Interp *in, const Value *arg, Value *out, LangError *e) {
    return change_case(in, arg[0], to_lower, out, e);
}
static bool bi_upper(Interp *in, const Value *arg, Value *out, LangError *e) {
    return change_case(in, arg[0], to_upper, out, e);
}

static bool justify(Interp *in, const Value *arg, bool left, Value *out, LangError *e) {
    Value s, fill;
    int64_t width = 0;
    TRY(int_arg(arg[1], "width", &width, e));
    if (width > 1 << 20) return error_set(e, "a width of %lld is too wide", (long long)width);
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (!text_arg(in, arg[2], "fill", &fill, e)) {
        value_drop(s);
        return false;
    }
    Bytes b = {0};
    bool ok = utf8_count(fill.str->s, fill.str->n) == 1;
    int64_t pad = width - (int64_t)utf8_count(s.str->s, s.str->n);
    if (!ok) error_set(e, "fill must be one character");
    if (left) bytes_add(&b, s.str->s, s.str->n);
    for (int64_t k = 0; ok && k < pad; k++) bytes_add(&b, fill.str->s, fill.str->n);
    if (!left) bytes_add(&b, s.str->s, s.str->n);
    if (ok) *out = v_str(b.data ? b.data : "", b.n);
    bytes_fini(&b);
    value_drop(s);
    value_drop(fill);
    return ok;
}
static bool bi_ljust(Interp *in, const Value *arg, Value *out, LangError *e) {
    return justify(in, arg, true, out, e);
}
static bool bi_rjust(Interp *in, const Value *arg, Value *out, LangError *e) {
    return justify(in, arg, false, out, e);
}

/* sep.join(xs): text with tensors in it stays as it is. */
static bool bi_join(Interp *in, const Value *arg, Value *out, LangError *e) {
    Iter it;
    Pieces p = {0};
    Value item;
    int more;
    TRY(iter_open(in, in->at, arg[1], &it, e));
    bool ok = true, first = true;
    while (ok && (more = iter_next(in, &it, &item, e)) != 0) {
        if (more < 0) {
            ok = false;
            break;
        }
        if (item.kind != V_STR && item.kind != V_TEXT) {
            error_set(e, "join() needs strings, but an element is %s", value_type_name(item));
            ok = error_hint(e, "sep.join([str(x) for x in xs])");
        } else
            ok = (first || pieces_value(in, &p, arg[0], false, e)) &&
                 pieces_value(in, &p, item, false, e);
        first = false;
        value_drop(item);
    }
    iter_close(in, &it);
    if (ok)
        *out = v_pieces(&p);
    else
        pieces_fini(&p);
    return ok;
}

const Builtin builtins_string[] = {
    {"split", "s, sep=none, maxsplit=-1", bi_split,
     "The parts between separators; without one, between blanks.", TEXT},
    {"splitlines", "s", bi_splitlines, "The lines, without their ends.", TEXT},
    {"join", "s, xs", bi_join, "The strings of xs with s between them.", TEXT},
    {"strip", "s, chars=none", bi_strip, "Without blanks (or the given characters) at both ends.",
     TEXT},
    {"lstrip", "s, chars=none", bi_lstrip, "Without blanks (or the given characters) at the start.",
     TEXT},
    {"rstrip", "s, chars=none", bi_rstrip, "Without blanks (or the given characters) at the end.",
     TEXT},
    {"replace", "s, old, new, count=-1", bi_replace,
     "With new in place of old, at most count times.", TEXT},
    {"lower", "s", bi_lower, "In small letters.", TEXT},
    {"upper", "s", bi_upper, "In capital letters.", TEXT},
    {"startswith", "s, start", bi_startswith,
     "Whether s begins so; start may be a list of strings.", TEXT},
    {"endswith", "s, end", bi_endswith, "Whether s ends so; end may be a list of strings.", TEXT},
    {"find", "s, sub, start=0", bi_find, "The first position of sub, or -1.", TEXT},
    {"count", "s, sub", bi_count, "How often sub occurs, without overlaps.", TEXT},
    {"ljust", "s, width, fill=\" \"", bi_ljust, "Padded on the right to width characters.", TEXT},
    {"rjust", "s, width, fill=\" \"", bi_rjust, "Padded on the left to width characters.", TEXT},
    {0}};
