/* chrome.h: checks what trace_chrome writes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CHROME_H
#define GT_TESTS_UNIT_CHROME_H
#include <stdio.h>
#include <string.h>

enum { CHROME_WORKERS = 10, CHROME_LANES = 1024 }; /* the first worker's pid */

/* Returns how many slices ("X") of the workers begin before the one before them in their lane has
 * ended. Perfetto refuses such. Slices of a lane are written in order. */
static int chrome_overlaps(const char *text) {
    static double end[CHROME_LANES][128];
    int pid, tid, n = 0;
    for (int i = 0; i < CHROME_LANES; i++)
        for (int k = 0; k < 128; k++) end[i][k] = -1e300;
    for (const char *s = text; (s = strstr(s, "\n{\"ph\":\"X\"")); s++) {
        const char *ts = strstr(s, ",\"ts\":"), *dur = strstr(s, ",\"dur\":");
        double at, us;
        if (sscanf(s, "\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d", &pid, &tid) != 2 || !ts || !dur ||
            sscanf(ts, ",\"ts\":%lf", &at) != 1 || sscanf(dur, ",\"dur\":%lf", &us) != 1)
            return -1;
        if (pid < CHROME_WORKERS || pid >= CHROME_LANES || tid >= 128) continue;
        n += at < end[pid][tid] - 0.0005;
        end[pid][tid] = at + us;
    }
    return n;
}
#endif
