/* wire_hash.c: see wire_hash.h. SPDX-License-Identifier: MIT */
#include "runtime/wire/wire_hash.h"
#include "runtime/base/env.h"
#include "runtime/wire/wire_io.h"
#include "runtime/wire/wire_peer.h"
#include <assert.h>

enum { ROW_BYTES = 8 * (2 + MAX_OUT) + 16 };

static void row_fields(Fields *f, HashRow *row) {
    FIELD(f, row->id);
    FIELD(f, row->at_ns);
    FIELD(f, row->hash);
    FIELD(f, row->client);
    FIELD(f, row->op);
    FIELD(f, row->sample);
    FIELD(f, row->n_out);
    FIELD(f, row->part);
    field_pad(f);
    field_check(f, row->op < OP_COUNT && row->part < HASHED_PARTS && row->sample > 0 &&
                       row->n_out > 0 && row->n_out <= MAX_OUT);
}

static void hashes_fields(Fields *f, Hashes *h) {
    FIELD(f, h->n);
    field_pad(f);
}

void wire_hashes(const Hashes *h, Msg *out) {
    assert(h->n <= HASHES_MAX);
    Fields f = {.out = head_new(MSG_HASHES, 0, 16 + ROW_BYTES * (size_t)h->n)};
    hashes_fields(&f, (Hashes *)h);
    for (uint32_t i = 0; i < h->n; i++) row_fields(&f, &h->row[i]);
    finish(f.out, out);
}

bool wire_read_hashes(const Msg *m, Arena *arena, Hashes *h, Err *err) {
    Fields f = {0};
    Reader *r = &f.in;
    *h = (Hashes){0};
    TRY(reader_open(r, m, MSG_HASHES, err));
    hashes_fields(&f, h);
    if (h->n > HASHES_MAX || (size_t)(r->end - r->at) != ROW_BYTES * (size_t)h->n) r->bad = true;
    if (!r->bad) h->row = arena_zalloc(arena, h->n * sizeof *h->row);
    for (uint32_t i = 0; i < h->n && !r->bad; i++) row_fields(&f, &h->row[i]);
    return done(r, err);
}

bool watch_hashing(const char *how, uint8_t *out, Err *err) {
    if (!how) how = env_word("GT_HASH");
    *out = !strcmp(how, "all") ? WATCH_ALL : !strcmp(how, "some") ? WATCH_HASHES : 0;
    return *out || !*how || err_set(err, ERR_ARG, "--hash needs some or all, not '%.60s'", how);
}
