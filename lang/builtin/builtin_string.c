/* builtin_string.c: methods of strings. Strings are UTF-8; positions and widths
 * count code points. Methods wait for the tensors in their text, except join.
 * SPDX-License-Identifier: MIT */
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "runtime/base/utf8.h"
#include "lang/builtin/builtin_host.h"
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

/* The texts of the first n arguments, as V_STRs for text_drop; what: what each is, for errors. */
static bool text_args(Interp *in, const Value *arg, int n, const char *const *what, Value *s,
                      LangError *e) {
    for (int i = 0; i < n; i++) {
        if (text_arg(in, arg[i], what[i], &s[i], e)) continue;
        while (i) value_drop(s[--i]);
        return false;
    }
    return true;
}
#define TEXTS(...) ((const char *const[]){"the text", __VA_ARGS__})
static bool text_drop(Value *s, int n, bool ok) {
    for (int i = 0; i < n; i++) value_drop(s[i]);
    return ok;
}
/* The text of the first argument, and of the second, unless it is none. */
static bool text_and_option(Interp *in, const Value *arg, const char *what, Value *s,
                            LangError *e) {
    s[1] = v_none();
    return text_args(in, arg, arg[1].kind == V_NONE ? 1 : 2, TEXTS(what), s, e);
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
static const char *find_last(const char *s, size_t n, const Str *sub) {
    for (size_t i = n; sub->n <= n && i + 1 > sub->n; i--)
        if (!memcmp(s + i - sub->n, sub->s, sub->n)) return s + i - sub->n;
    return NULL;
}

static void push_text(Value list, const char *s, size_t n) { list_push(list.list, v_str(s, n)); }

/* ---- splitting ---- */

static void split_blanks(const Str *s, int64_t limit, Value list) {
    size_t i = 0;
    while (!interrupt_count) {
        while (i < s->n && is_blank(s->s[i])) i++;
        if (i == s->n) return;
        size_t from = i;
        if (limit-- == 0) {
            push_text(list, s->s + from, s->n - from);
            return;
        }
        while (i < s->n && !is_blank(s->s[i])) i++;
        push_text(list, s->s + from, i - from);
    }
}

/* Splits from the end; the parts are pushed in reverse. */
static void rsplit_blanks(const Str *s, int64_t limit, Value list) {
    for (size_t end = s->n, from; !interrupt_count; end = from) {
        while (end && is_blank(s->s[end - 1])) end--;
        if (!end) return;
        from = limit-- == 0 ? 0 : end;
        while (from && !is_blank(s->s[from - 1])) from--;
        push_text(list, s->s + from, end - from);
    }
}

static void rsplit(const Str *s, const Str *sep, int64_t limit, Value list) {
    const char *hit;
    size_t end = s->n;
    for (; limit-- > 0 && !interrupt_count && (hit = find_last(s->s, end, sep));
         end = (size_t)(hit - s->s))
        push_text(list, hit + sep->n, (size_t)(s->s + end - hit) - sep->n);
    push_text(list, s->s, end);
}

static bool split(Interp *in, const Value *arg, bool from_end, Value *out, LangError *e) {
    Value text[2];
    int64_t limit = 0;
    TRY(int_arg(arg[2], "maxsplit", &limit, e));
    TRY(text_and_option(in, arg, "the separator", text, e));
    const Str *s = text[0].str, *sep = text[1].kind == V_STR ? text[1].str : NULL;
    if (sep && sep->n == 0) {
        error_set(e, "the separator is empty");
        return text_drop(text, 2, error_hint(e, "list(s) gives the characters"));
    }
    *out = v_list(in, 4);
    if (limit < 0) limit = INT64_MAX;
    if (from_end) {
        if (sep)
            rsplit(s, sep, limit, *out);
        else
            rsplit_blanks(s, limit, *out);
        list_reverse(out->list);
    } else if (!sep)
        split_blanks(s, limit, *out);
    else {
        const char *at = s->s, *end = at + s->n, *hit;
        for (; limit-- > 0 && !interrupt_count && (hit = find(at, (size_t)(end - at), sep));
             at = hit + sep->n)
            push_text(*out, at, (size_t)(hit - at));
        push_text(*out, at, (size_t)(end - at));
    }
    return text_drop(text, 2, true);
}
BUILTIN_AS(split, split, false)
BUILTIN_AS(rsplit, split, true)

/* [before, sep, after]. If sep is missing, the text comes first, or (last) third, and the others
 * are "". */
static bool partition(Interp *in, const Value *arg, bool last, Value *out, LangError *e) {
    Value text[2];
    TRY(text_args(in, arg, 2, TEXTS("the separator"), text, e));
    const Str *s = text[0].str, *sep = text[1].str;
    const char *at = s->s, *end = at + s->n, *hit = (last ? find_last : find)(at, s->n, sep);
    bool ok = sep->n > 0 || error_set(e, "the separator is empty");
    if (ok) {
        *out = v_list(in, 3);
        const char *first = hit ? hit : last ? at : end, *second = hit ? hit + sep->n : first;
        push_text(*out, at, (size_t)(first - at));
        push_text(*out, first, (size_t)(second - first));
        push_text(*out, second, (size_t)(end - second));
    }
    return text_drop(text, 2, ok);
}
BUILTIN_AS(partition, partition, false)
BUILTIN_AS(rpartition, partition, true)

static bool bi_splitlines(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    *out = v_list(in, 4);
    for (const char *at = s.str->s, *end = at + s.str->n; at < end && !interrupt_count;) {
        size_t n = 0, left = (size_t)(end - at);
        while (n < left && at[n] != '\n' && at[n] != '\r') n++;
        push_text(*out, at, n);
        at += n;
        if (at < end) at += end - at > 1 && at[0] == '\r' && at[1] == '\n' ? 2 : 1;
    }
    value_drop(s);
    return true;
}

/* ends: 1 left, 2 right. chars: none strips blanks, else a set of code points. */
static bool strip(Interp *in, const Value *arg, int ends, Value *out, LangError *e) {
    Value text[2];
    TRY(text_and_option(in, arg, "the characters to strip", text, e));
    const Str *s = text[0].str, *set = text[1].kind == V_STR ? text[1].str : NULL;
    const char *from = s->s, *to = from + s->n;
    while ((ends & 1) && from < to) {
        int len = utf8_decode(from, (size_t)(to - from), NULL);
        if (len == 0) len = 1;
        if (set ? !memmem(set->s, set->n, from, (size_t)len) : !is_blank(*from)) break;
        from += len;
    }
    while ((ends & 2) && from < to) {
        const char *last = to - 1;
        while (last > from && ((unsigned char)*last & 0xc0) == 0x80) last--;
        if (set ? !memmem(set->s, set->n, last, (size_t)(to - last)) : !is_blank(*last)) break;
        to = last;
    }
    *out = v_str(from, (size_t)(to - from));
    return text_drop(text, 2, true);
}
BUILTIN_AS(strip, strip, 3)
BUILTIN_AS(lstrip, strip, 1)
BUILTIN_AS(rstrip, strip, 2)

/* ---- searching ---- */

/* True if arg[1], a string or one of a list of strings, stands at the start (or the end). */
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
BUILTIN_AS(startswith, at_end, true)
BUILTIN_AS(endswith, at_end, false)

/* The position of `hit` in the text, in code points; NULL: -1. */
static Value position_of(const Str *s, const char *hit) {
    return v_int(hit ? (int64_t)utf8_count(s->s, (size_t)(hit - s->s)) : -1);
}

static bool bi_find(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value text[2];
    int64_t start = 0;
    TRY(int_arg(arg[2], "start", &start, e));
    TRY(text_args(in, arg, 2, TEXTS("what to find"), text, e));
    const Str *s = text[0].str;
    if (start < 0) {
        start += (int64_t)utf8_count(s->s, s->n);
        if (start < 0) start = 0;
    }
    size_t skip = utf8_skip(s->s, s->n, (size_t)start);
    bool beyond = (uint64_t)start > utf8_count(s->s, s->n);
    *out = position_of(s, beyond ? NULL : find(s->s + skip, s->n - skip, text[1].str));
    return text_drop(text, 2, true);
}

static bool bi_index(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(bi_find(in, arg, out, e));
    if (out->i >= 0) return true;
    error_set(e, "the string does not contain it");
    return error_hint(e, "s.find(sub) returns -1 instead");
}

static bool bi_rfind(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value text[2];
    TRY(text_args(in, arg, 2, TEXTS("what to find"), text, e));
    const Str *s = text[0].str;
    *out = position_of(s, find_last(s->s, s->n, text[1].str));
    return text_drop(text, 2, true);
}

/* The text without sub at one end, if it stands there. */
static bool remove_end(Interp *in, const Value *arg, bool start, Value *out, LangError *e) {
    Value text[2], hit;
    TRY(at_end(in, arg, start, &hit, e));
    TRY(text_args(in, arg, 2, TEXTS("what to remove"), text, e));
    const Str *s = text[0].str;
    size_t n = hit.b ? text[1].str->n : 0;
    *out = v_str(s->s + (start ? n : 0), s->n - n);
    return text_drop(text, 2, true);
}
BUILTIN_AS(removeprefix, remove_end, true)
BUILTIN_AS(removesuffix, remove_end, false)

static bool bi_count(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value text[2];
    TRY(text_args(in, arg, 2, TEXTS("what to count"), text, e));
    const Str *s = text[0].str, *sub = text[1].str;
    int64_t n = 0;
    if (sub->n == 0)
        n = (int64_t)utf8_count(s->s, s->n) + 1;
    else
        for (const char *at = s->s, *end = at + s->n, *hit;
             (hit = find(at, (size_t)(end - at), sub)); at = hit + sub->n)
            n++;
    *out = v_int(n);
    return text_drop(text, 2, true);
}

/* ---- changing ---- */

static void replace(const Str *s, const Str *old, const Str *with, int64_t limit, Bytes *b) {
    const char *at = s->s, *end = at + s->n;
    while (limit-- > 0 && !interrupt_count) {
        if (old->n == 0) { /* inserts between all characters, as in Python */
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
    Value text[3];
    int64_t limit = 0;
    TRY(int_arg(arg[3], "count", &limit, e));
    TRY(text_args(in, arg, 3, TEXTS("what to replace", "the replacement"), text, e));
    const Str *s = text[0].str, *old = text[1].str, *with = text[2].str;
    Bytes b = {0};
    uint64_t hits = old->n ? s->n / old->n : s->n + 1;
    bool fits = with->n == 0 || hits < (1u << 30) / with->n;
    if (fits)
        replace(s, old, with, limit < 0 ? INT64_MAX : limit, &b);
    else
        error_set(e, "the text would have more than 2 ** 30 bytes");
    fits = fits && not_interrupted(e); /* then nothing is copied */
    return text_drop(text, 3, give_bytes(fits, &b, out));
}

/* The upper case of a letter: ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic, independent of
 * the locale. */
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

/* Beyond ASCII, blocks decide: whatever is not in a block of signs or punctuation is a letter. */
static bool is_letter(uint32_t c) {
    if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z';
    bool is_sign = c < 0xc0 || c == 0xd7 || c == 0xf7 || (c >= 0x2000 && c < 0x2c00) ||
                   (c >= 0x3000 && c < 0x3005) || (c >= 0xe000 && c < 0xf900) ||
                   (c >= 0xfe00 && c < 0xfe70) || c >= 0x1f000;
    return !is_sign || c == 0xaa || c == 0xb5 || c == 0xba;
}
static bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }
static bool is_letter_or_digit(uint32_t c) { return is_letter(c) || is_digit(c); }
static bool is_space(uint32_t c) { return c < 0x80 && is_blank((char)c); }
static bool is_not_lower(uint32_t c) { return to_upper(c) == c; }
static bool is_not_upper(uint32_t c) { return to_lower(c) == c; }
static bool has_case(uint32_t c) { return to_upper(c) != c || to_lower(c) != c; }

/* True if the text is not empty, f holds for all characters and g, unless NULL, for at least
 * one. */
static bool all_are(Interp *in, const Value *arg, bool (*f)(uint32_t), bool (*g)(uint32_t),
                    Value *out, LangError *e) {
    Value s;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    bool all = true, any = g == NULL && s.str->n;
    for (size_t i = 0; i < s.str->n && all;) {
        uint32_t c = 0;
        int len = utf8_decode(s.str->s + i, s.str->n - i, &c);
        all = len && f(c);
        any = any || (g && len && g(c));
        i += len ? (size_t)len : 1;
    }
    *out = v_bool(all && any);
    value_drop(s);
    return true;
}
BUILTIN_AS(isalpha, all_are, is_letter, NULL)
BUILTIN_AS(isdigit, all_are, is_digit, NULL)
BUILTIN_AS(isalnum, all_are, is_letter_or_digit, NULL)
BUILTIN_AS(isspace, all_are, is_space, NULL)
BUILTIN_AS(isupper, all_are, is_not_lower, has_case)
BUILTIN_AS(islower, all_are, is_not_upper, has_case)

typedef enum Case { CASE_LOWER, CASE_UPPER, CASE_FIRST, CASE_TITLE, CASE_SWAP } Case;

static bool change_case(Interp *in, const Value *arg, Case how, Value *out, LangError *e) {
    Value s;
    TRY(text_arg(in, arg[0], "the text", &s, e));
    Bytes b = {0};
    bool begins = true;
    for (size_t i = 0; i < s.str->n && !interrupt_count;) {
        uint32_t c;
        char utf8[4];
        int len = utf8_decode(s.str->s + i, s.str->n - i, &c);
        bool up = how == CASE_UPPER || (how >= CASE_FIRST && how <= CASE_TITLE && begins) ||
                  (how == CASE_SWAP && len && to_upper(c) != c);
        if (len)
            bytes_add(&b, utf8, (size_t)utf8_encode(up ? to_upper(c) : to_lower(c), utf8));
        else
            bytes_putc(&b, s.str->s[i]);
        begins = how == CASE_TITLE && !(len && is_letter(c));
        i += len ? (size_t)len : 1;
    }
    value_drop(s);
    return give_bytes(true, &b, out);
}
BUILTIN_AS(lower, change_case, CASE_LOWER)
BUILTIN_AS(upper, change_case, CASE_UPPER)
BUILTIN_AS(capitalize, change_case, CASE_FIRST)
BUILTIN_AS(title, change_case, CASE_TITLE)
BUILTIN_AS(swapcase, change_case, CASE_SWAP)

static bool width_arg(Value v, int64_t *width, LangError *e) {
    TRY(int_arg(v, "width", width, e));
    return *width <= 1 << 20 || error_set(e, "a width of %lld is too large", (long long)*width);
}

/* side: -1 aligns left, 1 right, 0 centres. */
static bool justify(Interp *in, const Value *arg, int side, Value *out, LangError *e) {
    Value s, fill;
    int64_t width = 0;
    TRY(width_arg(arg[1], &width, e));
    TRY(text_arg(in, arg[0], "the text", &s, e));
    if (!text_arg(in, arg[2], "fill", &fill, e)) return give_if(false, s, out);
    Bytes b = {0};
    bool ok = utf8_count(fill.str->s, fill.str->n) == 1;
    int64_t pad = width - (int64_t)utf8_count(s.str->s, s.str->n);
    if (!ok) error_set(e, "fill must be one character");
    if (pad < 0) pad = 0;
    /* centring puts an odd blank where Python does */
    int64_t before = side < 0 ? 0 : side > 0 ? pad : pad / 2 + (pad & width & 1);
    for (int64_t k = 0; ok && k < before; k++) bytes_add(&b, fill.str->s, fill.str->n);
    bytes_add(&b, s.str->s, s.str->n);
    for (int64_t k = before; ok && k < pad; k++) bytes_add(&b, fill.str->s, fill.str->n);
    value_drop(s);
    value_drop(fill);
    return give_bytes(ok, &b, out);
}
BUILTIN_AS(ljust, justify, -1)
BUILTIN_AS(rjust, justify, 1)
BUILTIN_AS(center, justify, 0)

/* Pads with zeros after the sign. */
static bool bi_zfill(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s;
    int64_t width = 0;
    TRY(width_arg(arg[1], &width, e) && text_arg(in, arg[0], "the text", &s, e));
    Bytes b = {0};
    size_t sign = s.str->n && (s.str->s[0] == '-' || s.str->s[0] == '+');
    bytes_add(&b, s.str->s, sign);
    for (int64_t k = (int64_t)utf8_count(s.str->s, s.str->n); k < width; k++) bytes_putc(&b, '0');
    bytes_add(&b, s.str->s + sign, s.str->n - sign);
    value_drop(s);
    return give_bytes(true, &b, out);
}

/* sep.join(xs): tensors in the text are kept, without waiting. */
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
    return give_pieces(ok, &p, out);
}

/* ---- format ---- */

typedef struct Fields {
    Interp *in;
    const List *given;
    const MapV *named;
    int64_t next; /* index of the value that the next {} takes */
} Fields;

/* The value named by a field's text before ! and : (borrowed). */
static bool field_value(Fields *f, const char *s, size_t n, Value *out, LangError *e) {
    size_t digits = strspn(s, "0123456789");
    if (digits >= n) {
        int64_t i = n ? strtoll(s, NULL, 10) : f->next++;
        if (i < f->given->n)
            *out = f->given->v[i];
        else
            error_set(e, "format() got %u value%s, but a field asks for number %lld", f->given->n,
                      f->given->n == 1 ? "" : "s", (long long)i);
        return i < f->given->n;
    }
    Value name = v_str(s, n);
    const Value *found = map_find(f->named, name);
    value_drop(name);
    if (found) {
        *out = *found;
        return true;
    }
    error_set(e, "format() got no '%.*s'", (int)(n < 80 ? n : 80), s);
    return error_hint(e, "an f-string takes any expression: f\"{x.y[0]:.3f}\"");
}

static bool format_fields(Fields *f, const char *s, size_t n, int depth, Pieces *p, LangError *e);

/* Formats one field; s: the n bytes after `{`, up to its `}`. */
static bool format_field(Fields *f, const char *s, size_t n, int depth, Pieces *p, LangError *e) {
    size_t name = 0;
    while (name < n && s[name] != '!' && s[name] != ':') name++;
    Value v, spec = v_none();
    TRY(field_value(f, s, name, &v, e));
    bool has_conversion = name < n && s[name] == '!';
    char conversion = has_conversion && n - name > 1 ? s[name + 1] : 's';
    bool is_repr = conversion == 'r';
    if (has_conversion) name += 2;
    if (name > n || (name < n && s[name] != ':') || (!is_repr && conversion != 's'))
        return error_set(e, "a conversion is !r or !s");
    if (name == n) return pieces_format(f->in, p, v, "", 0, is_repr, e);
    Pieces inner = {0};
    if (!format_fields(f, s + name + 1, n - name - 1, depth + 1, &inner, e)) {
        pieces_fini(&inner);
        return false;
    }
    Value text = v_pieces(&inner);
    bool ok = value_look(f->in, text, &spec, e);
    value_drop(text);
    ok = ok && pieces_format(f->in, p, v, spec.str->s, spec.str->n, is_repr, e);
    value_drop(spec);
    return ok;
}

static bool format_fields(Fields *f, const char *s, size_t n, int depth, Pieces *p, LangError *e) {
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && s[end] != '{' && s[end] != '}'; end++) {}
        pieces_text(p, s + i, end - i);
        if (end == n) break;
        if (end + 1 < n && s[end + 1] == s[end]) {
            pieces_text(p, s + end, 1);
            end += 2;
            continue;
        }
        size_t from = ++end;
        int open = s[from - 1] == '{';
        if (!open) return error_set(e, "a lone '}' in the text of format()");
        for (; end < n && open; end++) open += (s[end] == '{') - (s[end] == '}');
        if (open) return error_set(e, "a '{' in the text of format() is never closed");
        if (depth > 1) return error_set(e, "fields of format() nest only once");
        TRY(format_field(f, s + from, end - 1 - from, depth, p, e));
    }
    return true;
}

static bool bi_format(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s;
    Pieces p = {0};
    Fields f = {in, arg[1].list, arg[2].map, 0};
    TRY(text_arg(in, arg[0], "the text", &s, e));
    bool ok = format_fields(&f, s.str->s, s.str->n, 0, &p, e);
    value_drop(s);
    return give_pieces(ok, &p, out);
}

const Builtin builtins_string[] = {
    {"split", "s, sep=none, maxsplit=-1", bi_split,
     "The parts between separators; without sep, between blanks.", TEXT},
    {"splitlines", "s", bi_splitlines, "The lines, without line ends.", TEXT},
    {"join", "s, xs", bi_join, "The strings of xs with s between them.", TEXT},
    {"strip", "s, chars=none", bi_strip, "s without blanks (or the given characters) at both ends.",
     TEXT},
    {"lstrip", "s, chars=none", bi_lstrip,
     "s without blanks (or the given characters) at the start.", TEXT},
    {"rstrip", "s, chars=none", bi_rstrip, "s without blanks (or the given characters) at the end.",
     TEXT},
    {"replace", "s, old, new, count=-1", bi_replace,
     "s with old replaced by new, at most count times.", TEXT},
    {"rsplit", "s, sep=none, maxsplit=-1", bi_rsplit,
     "The parts between separators, split from the end: at most maxsplit times.", TEXT},
    {"partition", "s, sep", bi_partition, "[before, sep, after] at the first sep.", TEXT},
    {"rpartition", "s, sep", bi_rpartition, "[before, sep, after] at the last sep.", TEXT},
    {"format", "self, *values, **named", bi_format,
     "s with its fields {}, {0}, {name}, {:.3f} replaced by values, as in Python; f-strings are "
     "shorter.",
     TEXT},
    {"title", "s", bi_title, "s with each word capitalised.", TEXT},
    {"capitalize", "s", bi_capitalize,
     "s with its first letter in upper case, the others in lower case.", TEXT},
    {"swapcase", "s", bi_swapcase, "s with upper and lower case exchanged.", TEXT},
    {"isdigit", "s", bi_isdigit, "True if all characters are digits 0 to 9.", TEXT},
    {"isalpha", "s", bi_isalpha, "True if all characters are letters.", TEXT},
    {"isalnum", "s", bi_isalnum, "True if all characters are letters or digits.", TEXT},
    {"isspace", "s", bi_isspace, "True if all characters are blanks.", TEXT},
    {"isupper", "s", bi_isupper, "True if there are letters with case and all are upper case.",
     TEXT},
    {"islower", "s", bi_islower, "True if there are letters with case and all are lower case.",
     TEXT},
    {"index", "s, sub, start=0", bi_index, "The first position of sub; an error if there is none.",
     TEXT},
    {"rfind", "s, sub", bi_rfind, "The last position of sub, or -1.", TEXT},
    {"removeprefix", "s, start", bi_removeprefix, "s without the prefix start, if it has it.",
     TEXT},
    {"removesuffix", "s, end", bi_removesuffix, "s without the suffix end, if it has it.", TEXT},
    {"center", "s, width, fill=\" \"", bi_center, "s centred in width characters.", TEXT},
    {"zfill", "s, width", bi_zfill, "s padded with zeros after its sign to width characters.",
     TEXT},
    {"lower", "s", bi_lower, "s in lower case.", TEXT},
    {"upper", "s", bi_upper, "s in upper case.", TEXT},
    {"startswith", "s, start", bi_startswith,
     "True if s begins with start, a string or one of a list of strings.", TEXT},
    {"endswith", "s, end", bi_endswith,
     "True if s ends with end, a string or one of a list of strings.", TEXT},
    {"find", "s, sub, start=0", bi_find, "The first position of sub, or -1.", TEXT},
    {"count", "s, sub", bi_count, "The number of occurrences of sub, not counting overlaps.", TEXT},
    {"ljust", "s, width, fill=\" \"", bi_ljust, "s padded on the right to width characters.", TEXT},
    {"rjust", "s, width, fill=\" \"", bi_rjust, "s padded on the left to width characters.", TEXT},
    {0}};
