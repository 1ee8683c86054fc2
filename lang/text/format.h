/* format.h: Python's format language for host values:
 * [[fill]align][sign][#][0][width][,][.precision][type], types d f F e E g G s x X o b % n c. One
 * parser, used by f-strings, by printed tensors and by replayed `print` lines.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_FORMAT_H
#define GT_LANG_TEXT_FORMAT_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/inst/op.h"

typedef struct FormatSpec {
    char fill[5];
    char align, sign, type, group;
    bool alt, zero;
    int width, precision; /* -1: none */
} FormatSpec;

bool format_parse(const char *spec, size_t n, FormatSpec *out, Err *err); /* "" is valid */
bool format_int(int64_t v, const FormatSpec *f, Bytes *out,
                Err *err); /* float types convert, as in Python */
bool format_float(double v, const FormatSpec *f, Bytes *out, Err *err);
bool format_str(const char *s, size_t n, const FormatSpec *f, Bytes *out, Err *err);
/* Shortest decimal that reads back as the same float64 (or as the same element of a float dtype),
 * as Python's repr: 0.1, 1e-05, 3.0, inf, nan. */
void format_double(double v, Bytes *out);
void format_element(DType d, double v, Bytes *out);
#endif
