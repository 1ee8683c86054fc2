/* wire_hash.h: hashes of results (runtime/inst/hash.h), which workers report for the tape while
 * they are asked to (WATCH_HASHES, WATCH_ALL in wire_peer.h). As in wire.h, a function writes the
 * message and one reads it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_HASH_H
#define GT_RUNTIME_WIRE_WIRE_HASH_H
#include "runtime/wire/wire.h"

/* The part of a result that a worker has hashed. */
typedef enum HashedPart {
    HASHED_WHOLE,   /* all of it */
    HASHED_SPLIT,   /* the worker's part: the hashes of all parts add up to the whole's */
    HASHED_PARTIAL, /* the worker's term of a sum (layout.h) */
    HASHED_PARTS
} HashedPart;

/* The results of an instruction on one worker. */
typedef struct HashRow {
    uint64_t id;   /* of the first result */
    int64_t at_ns; /* by the worker's clock: when it was hashed */
    uint64_t hash[MAX_OUT];
    uint32_t client;
    uint16_t op;
    uint16_t sample; /* one block in so many was hashed (hash_sample) */
    uint8_t n_out;
    uint8_t part;
} HashRow;
enum { HASHES_MAX = 1024 }; /* rows of one message */
typedef struct Hashes {
    uint32_t n;
    HashRow *row; /* in the arena after reading */
} Hashes;
void wire_hashes(const Hashes *h, Msg *out);
bool wire_read_hashes(const Msg *m, Arena *arena, Hashes *h, Err *err);

/* The value of an option --hash, "some" or "all"; NULL: that of GT_HASH. *out: WATCH_HASHES,
 * WATCH_ALL, or 0: none. */
bool watch_hashing(const char *how, uint8_t *out, Err *err);
#endif
