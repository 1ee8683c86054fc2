/* stream_tape.c: the last instructions of this client, as text, from the flight recorder of its
 * dispatcher. The client keeps none itself: so they cost nothing until they are asked for.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/past.h"
#include "lang/stream/stream_link.h"
#include "runtime/inst/tape.h"
#include <string.h>

/* True for a line about an instruction or a failure. *text: where its text begins, after the
 * columns. */
static bool is_shown(const char *line, size_t n, size_t *text) {
    TapeLine l;
    if (!tape_read(line, n, &l, NULL)) return false;
    *text = l.text;
    if (l.event == TAPE_FAILED) return true;
    return l.event == TAPE_RECEIVED && strncmp(line + l.text, "file ", 5);
}

/* Appends the shown lines of a tape after the first `skip`, without columns. Returns their number.
 */
static size_t put_last(const Bytes *tape, size_t skip, Bytes *out) {
    size_t text, count = 0;
    for (const char *line = tape->data, *end = line + tape->n, *next; line < end; line = next) {
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((nl ? nl : end) - line);
        next = nl ? nl + 1 : end;
        if (!is_shown(line, n, &text) || count++ < skip || !out) continue;
        bytes_add(out, line + text, n - text);
        bytes_putc(out, '\n');
    }
    return count;
}

bool stream_tape(Stream *s, size_t n, Bytes *out, LangError *e) {
    Bytes past = {0}, tape = {0};
    if (s->mode != STREAM_LIVE || !s->is_started) return true;
    if (!stream_ask(s, "past", (Span){0}, &past, e)) {
        bytes_fini(&past);
        return false;
    }
    Past *p = past_begin();
    Msg m = {0};
    msg_push(&m, buf_copy(past.data ? past.data : "", past.n));
    past_take(p, &m);
    past_write(p, &tape);
    past_end(&p);
    size_t count = put_last(&tape, 0, NULL);
    put_last(&tape, count > n ? count - n : 0, out);
    bytes_fini(&past);
    bytes_fini(&tape);
    return true;
}
