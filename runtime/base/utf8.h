/* utf8.h: code points in byte strings, their width in terminal columns, and hexadecimal digits.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_UTF8_H
#define GT_RUNTIME_BASE_UTF8_H
#include "runtime/base/arena.h"

/* Bytes of the code point at s (1 to 4), or 0 when n == 0 or the bytes are not UTF-8 (surrogates,
 * overlong forms and numbers above 10FFFF are not). cp may be NULL. */
int utf8_decode(const char *s, size_t n, uint32_t *cp);
int utf8_encode(uint32_t cp, char out[4]);  /* bytes written; 0: not a code point          */
size_t utf8_count(const char *s, size_t n); /* code points; an invalid byte counts as one  */
size_t utf8_skip(const char *s, size_t n, size_t count); /* bytes of the first count code points */
int utf8_width(uint32_t cp);               /* columns: 0 combining, 2 wide, else 1        */
int utf8_columns(const char *s, size_t n); /* of all code points; an invalid byte has one  */
/* Appends a string of JSON, escaped so that it cannot control a terminal; what is not UTF-8 becomes
 * U+FFFD. */
void utf8_put_json(const char *s, size_t n, Bytes *out);
int hex_digit(char c); /* 0 to 15, or -1                               */
#endif
