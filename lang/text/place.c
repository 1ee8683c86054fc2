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

/* Appends the distinct devices of the ranks, from the answer: " on NVIDIA A100 (0), ...". */
static void put_devices(const char *answer, const bool *has, Bytes *out) {
    char key[32], name[96], number[16], all[512] = "";
    for (int i = 0; i < MAX_WORKERS; i++) {
        char text[128];
        snprintf(key, sizeof key, "w%d.device", i);
        if (!has[i] || !place_line(answer, key, name, sizeof name)) continue;
        snprintf(key, sizeof key, "w%d.device_number", i);
        if (!place_line(answer, key, number, sizeof number)) number[0] = 0;
        snprintf(text, sizeof text, "%s (%s)", name, number);
        if (strstr(all, text) || strlen(all) + strlen(text) + 3 > sizeof all) continue;
        if (all[0]) strcat(all, ", ");
        strcat(all, text);
    }
    if (all[0]) bytes_printf(out, "on %s", all);
}

/* devices: NULL, or their names are appended. */
static bool find_place(Interp *in, const Tensor *t, bool *has, char *layout, Bytes *devices) {
    char group[8 * MAX_WORKERS];
    LangError ignored = {0};
    Bytes text = {0};
    bool ok = stream_where(in->stream, t->handle, interp_span(in), &text, &ignored);
    bytes_putc(&text, 0);
    ok = ok && place_line(text.data, "layout", layout, 64) &&
         place_line(text.data, "group", group, sizeof group);
    for (char *s = group; ok && *(s += strcspn(s, "0123456789"));) {
        unsigned long rank = strtoul(s, &s, 10);
        if (rank < MAX_WORKERS) has[rank] = true;
    }
    if (ok && devices) put_devices(text.data, has, devices);
    bytes_fini(&text);
    return ok;
}

bool place_of_tensor(Interp *in, const Tensor *t, bool *has, char *layout) {
    return find_place(in, t, has, layout, NULL);
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
    Bytes devices = {0};
    if (!stream_workers(in->stream, &workers, &ignored) ||
        (workers < 2 && !stream_has_devices(in->stream)) ||
        !find_place(in, t, has, layout, &devices))
        return;
    for (int i = 0; i < MAX_WORKERS; i++) holders += has[i];
    if (workers < 2) {
        bytes_add(out, devices.data, devices.n);
        bytes_fini(&devices);
        return;
    }
    if (sscanf(layout, "split %d", &axis) == 1)
        bytes_printf(out, "shard axis %d × ", axis);
    else if (strncmp(layout, "replicate", 9))
        bytes_printf(out, "%s × ", layout);
    else if (holders > 1)
        bytes_puts(out, "replicated × ");
    place_put_workers(has, out);
    if (devices.n) bytes_printf(out, " %.*s", (int)devices.n, devices.data);
    bytes_fini(&devices);
}
