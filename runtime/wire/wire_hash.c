/* wire_hash.c: see wire_hash.h. SPDX-License-Identifier: MIT */
#include "runtime/wire/wire_hash.h"
#include "runtime/base/env.h"
#include "runtime/wire/wire_io.h"
#include "runtime/wire/wire_peer.h"

enum { ROW_BYTES = 8 * (2 + MAX_OUT) + 16 };

static void hashes_row_fields(Fields *f, HashRow *row) {
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
MESSAGE_ROWS(hashes, Hashes, MSG_HASHES, row, HASHES_MAX, ROW_BYTES)

bool watch_hashing(const char *how, uint8_t *out, Err *err) {
    if (!how) how = env_word("GT_HASH");
    *out = !strcmp(how, "all") ? WATCH_ALL : !strcmp(how, "some") ? WATCH_HASHES : 0;
    return *out || !*how || err_set(err, ERR_ARG, "--hash needs some or all, not '%.60s'", how);
}
