/* replay_lines.c: see replay_lines.h.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_lines.h"
#include "runtime/base/map.h"
#include "runtime/inst/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A first line that gtsh wrote names the program or its kind. */
static bool is_machines(const char *s, size_t n) {
    return memmem(s, n, " prog=", 6) || memmem(s, n, " kind=", 6);
}

bool lines_open(Lines *l, const Source *src, const char *data, size_t n, LangError *e) {
    *l = (Lines){.src = src, .data = data, .end = n, .n_data = n};
    l->is_binary = gtb_is(data, n);
    if (!l->is_binary) {
        const char *end = memchr(data, '\n', n);
        l->is_machines = is_machines(data, end ? (size_t)(end - data) : n);
        return true;
    }
    Err err = {0};
    if (gtb_open(&l->gtb, data, n, &err)) return true;
    e->kind = E_SYNTAX;
    return error_at(e, (Span){.src = src, .line = 1}, "%s", err.text);
}

void lines_close(Lines *l) {
    if (l->is_binary) gtb_close(&l->gtb);
    arena_fini(&l->arena);
}

void lines_rewind(Lines *l) {
    l->at = 0, l->line = 0;
    if (l->is_binary) gtb_rewind(&l->gtb);
}

/* ---- Reading ---- */

static bool next_raw_line(Lines *l) {
    if (l->at >= l->end) return false;
    const char *s = l->data + l->at, *end = memchr(s, '\n', l->end - l->at);
    l->is_incomplete = !end;
    l->text = s, l->n = end ? (size_t)(end - s) : l->end - l->at;
    l->shift = 0;
    l->at += l->n + 1;
    l->line++;
    return true;
}

static bool next_line(Lines *l) {
    TapeLine tape;
    while (next_raw_line(l)) {
        if (!l->is_tape) return true;
        if (!tape_read(l->text, l->n, &tape, NULL) || tape.event != TAPE_RECEIVED ||
            tape.client != l->client)
            continue;
        l->seconds = strtod(l->text, NULL);
        l->text += tape.text, l->n -= tape.text;
        l->shift = tape.text;
        return true;
    }
    return false;
}

static LinesGot next_record(Lines *l, Err *err) {
    l->at = (size_t)(l->gtb.at - l->gtb.start);
    if (l->at >= l->end) return LINES_END;
    GtbGot got = gtb_next(&l->gtb, &l->arena, &l->now, err);
    if (got == GTB_END) return LINES_END;
    l->line++;
    l->text = l->gtb.text ? l->gtb.text : "";
    l->n = l->gtb.text ? l->gtb.n_text : 0;
    l->is_incomplete = got == GTB_TORN;
    return got == GTB_LINE ? LINES_LINE : got == GTB_TORN ? LINES_TORN : LINES_BAD;
}

LinesGot lines_next(Lines *l, Err *err) {
    arena_reset(&l->arena);
    if (l->is_binary) return next_record(l, err);
    if (!next_line(l)) return LINES_END;
    if (l->is_incomplete && l->is_machines) return LINES_TORN;
    return inst_parse(l->text, l->n, &l->arena, &l->now, err) ? LINES_LINE : LINES_BAD;
}

/* ---- Errors ---- */

Span lines_span(const Lines *l, int column) {
    bool has_column = column > 0 && !l->is_binary;
    return (Span){.src = l->src,
                  .line = l->src->first_line + l->line - 1,
                  .col = (uint16_t)(has_column ? column + (int)l->shift : 0),
                  .len = has_column};
}

bool lines_fail(const Lines *l, const Err *err, LangError *e) {
    int column = 0, skip = 0;
    if (sscanf(err->text, "column %d: %n", &column, &skip) < 1 || column > UINT16_MAX) column = 0;
    e->kind = E_SYNTAX;
    error_at(e, lines_span(l, column), "%s", err->text + skip);
    return err->hint[0] ? error_hint(e, "%s", err->hint) : false;
}

void lines_cut(Lines *l, Interp *in) {
    LangError w = {.kind = E_RUN};
    l->end = l->is_binary ? l->at : (size_t)(l->text - l->shift - l->data);
    error_at(&w, lines_span(l, 0), "the last line is incomplete and was skipped");
    interp_warn_once(in, &w);
}

/* The text of line `line` of a binary file as a source of its own, or NULL. */
static const Source *text_source(const Lines *l, Interp *in, uint32_t line) {
    Lines scan;
    LangError ignored = {0};
    const Source *out = NULL;
    if (!lines_open(&scan, l->src, l->data, l->n_data, &ignored)) return NULL;
    bool is_read = true;
    while (scan.line < line && is_read) is_read = lines_next(&scan, NULL) == LINES_LINE;
    if (is_read && !scan.now.is_empty && scan.now.inst.payload_bytes < 4096) {
        Bytes text = {0};
        inst_print(&scan.now.inst, &(InstPrint){.out = scan.now.has_types ? scan.now.types : NULL},
                   &text);
        out = interp_source(in, l->src->name, text.data, text.n, line, false);
        bytes_fini(&text);
    }
    lines_close(&scan);
    return out;
}

void lines_show(const Lines *l, Interp *in, LangError *e) {
    if (!l->is_binary) return;
    const Source *out = e->at.src == l->src ? text_source(l, in, e->at.line) : NULL;
    if (out) e->at.src = out;
    for (int i = 0; i < e->n_labels; i++) {
        out = e->label[i].at.src == l->src ? text_source(l, in, e->label[i].at.line) : NULL;
        if (out) e->label[i].at.src = out;
    }
}

/* ---- Tapes ---- */

enum { CLIENTS_SHOWN = 8 };

/* "c1, c2, ...", in ascending order. */
static const char *clients_text(Lines *l, const Map *senders) {
    Bytes b = {0};
    uint64_t last = 0;
    for (size_t k = 0; k < senders->n && k < CLIENTS_SHOWN; k++) {
        uint64_t next = UINT64_MAX;
        for (MapItem it = {0}; map_next(senders, &it);)
            if (it.key > last && it.key < next) next = it.key;
        bytes_printf(&b, "%sc%llu", k ? ", " : "", (unsigned long long)next);
        last = next;
    }
    if (senders->n > CLIENTS_SHOWN) bytes_puts(&b, ", ...");
    const char *text = arena_strndup(&l->arena, b.data, b.n);
    bytes_fini(&b);
    return text;
}

/* Chooses the client named by --client, else the only one. */
static bool choose_client(Lines *l, const Map *senders, LangError *e) {
    if (l->client && map_get(senders, l->client)) return true;
    if (!l->client && senders->n == 1) {
        MapItem only = {0};
        map_next(senders, &only);
        l->client = (uint32_t)only.key;
        return true;
    }
    const Span head = {.src = l->src, .line = l->src->first_line, .col = 1, .len = 1};
    e->kind = E_SYNTAX;
    if (senders->n == 0) return error_at(e, head, "no client sent an instruction on this tape");
    if (l->client) {
        error_at(e, head, "c%u sent no instruction on this tape", l->client);
        return error_hint(e, "it has %s", clients_text(l, senders));
    }
    error_at(e, head, "%zu clients are on this tape", senders->n);
    return error_hint(e, "choose one with --client: %s", clients_text(l, senders));
}

/* A tape's writer writes whole lines, so a last line without a newline is incomplete, even if it
 * parses. */
static bool check_columns(Lines *l, Interp *in, Map *senders, LangError *e) {
    Err err = {0};
    next_raw_line(l);
    if (!inst_parse(l->text, l->n, &l->arena, &l->now, &err)) /* the version line */
        return lines_fail(l, &err, e);
    while (next_raw_line(l)) {
        TapeLine tape;
        if (l->is_incomplete)
            lines_cut(l, in);
        else if (!tape_read(l->text, l->n, &tape, &err))
            return lines_fail(l, &err, e);
        else if (tape.event == TAPE_RECEIVED && tape.client)
            map_put(senders, tape.client, l);
    }
    return true;
}

bool lines_choose(Lines *l, Interp *in, LangError *e) {
    const char *end = memchr(l->data, '\n', l->n_data);
    if (l->is_binary || !tape_is_header(l->data, end ? (size_t)(end - l->data) : l->n_data))
        return true;
    Map senders = {0};
    bool ok = check_columns(l, in, &senders, e);
    lines_rewind(l);
    ok = ok && choose_client(l, &senders, e);
    map_fini(&senders);
    return l->is_tape = ok;
}
