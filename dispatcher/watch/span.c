/* span.c: see span.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/span.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool span_read(const char *what, const char *s, int64_t *out_ns, Err *err) {
    static const struct {
        const char *name;
        double ns;
    } unit[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}};
    char *end;
    double v = strtod(s, &end);
    bool is_number = end != s && (*s == '.' || (*s >= '0' && *s <= '9'));
    for (size_t i = 0; is_number && i < sizeof unit / sizeof *unit; i++) {
        if (strcmp(end, unit[i].name) != 0) continue;
        if (!(v >= 0) || v * unit[i].ns > 9e18) break;
        *out_ns = llround(v * unit[i].ns);
        return true;
    }
    err_set(err, ERR_ARG, "%s needs a time, not '%.40s'", what, s);
    return err_hint(err, "seconds such as 1.5, or with a unit: 20ms, 300us");
}
