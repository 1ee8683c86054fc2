/* utf8.c: see utf8.h. The width table is coarse, by blocks of characters, because it only places
 * carets and pads columns. SPDX-License-Identifier: MIT */
#include "runtime/base/utf8.h"

int utf8_decode(const char *text, size_t n, uint32_t *cp) {
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c;
    int len;
    if (n == 0) return 0;
    if (s[0] < 0x80) {
        c = s[0];
        len = 1;
    } else if ((s[0] & 0xe0) == 0xc0) {
        c = s[0] & 0x1f;
        len = 2;
    } else if ((s[0] & 0xf0) == 0xe0) {
        c = s[0] & 0x0f;
        len = 3;
    } else if ((s[0] & 0xf8) == 0xf0) {
        c = s[0] & 0x07;
        len = 4;
    } else
        return 0;
    if ((size_t)len > n) return 0;
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    if (cp) *cp = c;
    return len;
}

int utf8_encode(uint32_t c, char out[4]) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char head[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = len - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(head[len] | c);
    return len;
}

size_t utf8_count(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; count++) {
        int len = utf8_decode(s + i, n - i, NULL);
        i += len ? (size_t)len : 1;
    }
    return count;
}

size_t utf8_skip(const char *s, size_t n, size_t count) {
    size_t i = 0;
    for (; i < n && count > 0; count--) {
        int len = utf8_decode(s + i, n - i, NULL);
        i += len ? (size_t)len : 1;
    }
    return i;
}

int utf8_width(uint32_t c) {
    static const struct {
        uint32_t from, to;
        int width;
    } range[] = {
        {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},
        {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},
        {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2},
        {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i].from && c <= range[i].to) return range[i].width;
    return 1;
}

int utf8_columns(const char *s, size_t n) {
    int columns = 0;
    for (uint32_t cp; n;) {
        int step = utf8_decode(s, n, &cp);
        columns += step ? utf8_width(cp) : 1;
        if (!step) step = 1;
        s += step, n -= (size_t)step;
    }
    return columns;
}

void utf8_put_json(const char *s, size_t n, Bytes *out) {
    bytes_putc(out, '"');
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        int size = utf8_decode(s + i, n - i, &cp);
        if (!size)
            bytes_puts(out, "\xef\xbf\xbd"); /* U+FFFD */
        else if (cp == '"' || cp == '\\')
            bytes_printf(out, "\\%c", (char)cp);
        else if (cp == '\n' || cp == '\t')
            bytes_puts(out, cp == '\n' ? "\\n" : "\\t");
        else if (cp < ' ' || (cp >= 0x7f && cp < 0xa0))
            bytes_printf(out, "\\u%04x", (unsigned)cp);
        else
            bytes_add(out, s + i, (size_t)size);
        i += size ? (size_t)size : 1;
    }
    bytes_putc(out, '"');
}

int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
