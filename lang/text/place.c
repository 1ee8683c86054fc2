/* place.c: see place.h. SPDX-License-Identifier: MIT */
#include "lang/text/place.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool place_line(const char *text, const char *key, char *out, size_t cap) {
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) || line[n] != '=') continue;
        snprintf(out, cap, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
        return true;
    }
    return false;
}

bool place_of_tensor(Interp *in, const Tensor *t, bool *has, char *layout) {
    char group[8 * MAX_WORKERS];
    LangError ignored = {0};
    Bytes text = {0};
    bool ok = stream_where(in->stream, t->handle, interp_span(in), &text, &ignored);
    bytes_putc(&text, 0);
    ok = ok && place_line(text.data, "layout", layout, 64) &&
         place_line(text.data, "group", group, sizeof group);
    bytes_fini(&text);
    for (char *s = group; ok && *(s += strcspn(s, "0123456789"));) {
        unsigned long rank = strtoul(s, &s, 10);
        if (rank < MAX_WORKERS) has[rank] = true;
    }
    return ok;
}

void place_put_workers(const bool *has, Bytes *out) {
    const char *before = "";
    for (int from = 0, to; from < MAX_WORKERS; from = to + 1) {
        to = from;
        if (!has[from]) continue;
        while (to + 1 < MAX_WORKERS && has[to + 1]) to++;
        bytes_printf(out, "%sw%d", before, from);
        if (to > from) bytes_printf(out, "%sw%d", to > from + 1 ? "–" : ",", to);
        before = ",";
    }
    if (!*before) bytes_puts(out, "-");
}

void place_describe(Interp *in, const Tensor *t, Bytes *out) {
    bool has[MAX_WORKERS] = {0};
    char layout[64];
    int workers = 0, axis, holders = 0;
    LangError ignored = {0};
    if (!stream_workers(in->stream, &workers, &ignored) || workers < 2 ||
        !place_of_tensor(in, t, has, layout))
        return;
    for (int i = 0; i < MAX_WORKERS; i++) holders += has[i];
    if (sscanf(layout, "split %d", &axis) == 1)
        bytes_printf(out, "shard axis %d × ", axis);
    else if (strncmp(layout, "replicate", 9))
        bytes_printf(out, "%s × ", layout);
    else if (holders > 1)
        bytes_puts(out, "replicated × ");
    place_put_workers(has, out);
}
