/* wire_test.c: records and messages survive the binary form. No truncation, flipped bit or noise
 * makes a reader crash, over-read or allocate without bound (run it under ASan). What decodes
 * encodes again.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/make_inst.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/time_text.h"
#include "runtime/wire/wire_hash.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include "tests/unit/check.h"
#include "tests/unit/random_inst.h"
#include <sys/mman.h>

static uint64_t seed = 1;

/* ---- Frames ---- */

static void release(void *data, void *ctx) { free(data); }

/* A message whose head is malloc'ed with its exact size, so that ASan detects over-reads. */
static Msg hostile_msg(const Msg *m, const uint8_t *head, size_t n) {
    Msg h = {0};
    uint8_t *q = xmalloc(n);
    if (n) memcpy(q, head, n);
    msg_push(&h, buf_wrap(q, n, release, NULL));
    for (int i = 1; i < m->n; i++) msg_push(&h, buf_ref(m->part[i]));
    return h;
}

static void drop(Msg *m) {
    for (int i = 0; i < m->n; i++) buf_unref(&m->part[i]);
    m->n = 0;
}

/* Decodes everything; returns the number of instructions, or -1. Reads all memory that the views
 * point at. */
static int decode_all(const Msg *m, Arena *scratch) {
    FrameReader r;
    Err err;
    if (!frame_open(&r, m, &err)) return -1;
    Inst in;
    int n = 0, rc;
    volatile uint64_t sum = 0;
    while ((rc = frame_next(&r, scratch, &in, NULL, NULL, &err)) > 0) {
        for (int i = 0; i < in.n_in; i++) sum += in.in[i].id;
        for (int i = 0; i < in.n_attr; i++) {
            const Attr *a = &in.attr[i];
            if (attr_info[a->key].type == AT_STR) sum += strlen(a->str);
            if (attr_info[a->key].type == AT_INTS)
                for (uint32_t k = 0; k < a->n; k++) sum += (uint64_t)a->ints[k];
        }
        for (uint64_t i = 0; i < in.payload_bytes; i++) sum += ((const uint8_t *)in.payload)[i];
        n++;
    }
    return rc < 0 ? -1 : n;
}

static void test_round_trip(void) {
    Rand r = {seed};
    Arena a = {0}, scratch = {0};
    for (int round = 0; round < 300; round++) {
        FrameWriter w = {.edge_id = rand_below(&r, 2) ? UINT64_MAX : (uint64_t)rand_below(&r, 60)},
                    raw = {0};
        frame_begin(&w, 7, 1000), frame_begin(&raw, 7, 1000);
        int n = rand_below(&r, 12);
        Inst *sent = arena_alloc(&a, (size_t)n * sizeof *sent);
        for (int i = 0; i < n; i++) {
            sent[i] = rand_inst(&r, &a);
            frame_add(&w, &sent[i]);
        }
        Msg m, again;
        frame_end(&w, &m);
        FrameReader fr;
        Err err;
        CHECK(frame_open(&fr, &m, &err));
        CHECK(fr.client == 7 && fr.seq == 1000 && fr.count == (uint32_t)n);
        Inst in;
        const void *record;
        size_t bytes;
        for (int i = 0; i < n; i++) {
            int rc = frame_next(&fr, &scratch, &in, &record, &bytes, &err);
            CHECK_MSG(rc == 1, "%s", err.text);
            if (rc != 1) break;
            CHECK_MSG(same_inst(&sent[i], &in), "op %s, seed %llu", op_info[in.op].name,
                      (unsigned long long)seed);
            CHECK(in.pos.line == sent[i].pos.line && in.pos.col == sent[i].pos.col &&
                  in.pos.file == sent[i].pos.file);
            frame_add_raw(&raw, &in, record, bytes);
        }
        CHECK_INT(frame_next(&fr, &scratch, &in, &record, &bytes, &err), 0);
        frame_end(&raw, &again);
        CHECK(again.part[0]->n == m.part[0]->n &&
              !memcmp(again.part[0]->data, m.part[0]->data, m.part[0]->n));
        drop(&m), drop(&again);
        arena_reset(&a), arena_reset(&scratch);
    }
    arena_fini(&a), arena_fini(&scratch);
}

static void test_large_payloads(void) {
    size_t n = INLINE_BYTES + 8;
    Buf *big = buf_new(n);
    memset(big->data, 5, n), big->n = n;
    int64_t shape[1] = {(int64_t)n};
    Inst in = {.op = OP_DATA,
               ATTRS(attr_dtype(DT_U8), attr_ints(ATTR_SHAPE, 1, shape)),
               RESULTS(0),
               BYTES(big->data, n),
               .payload_buf = big};
    FrameWriter w = {0}, raw = {0};
    frame_begin(&w, 1, 0), frame_begin(&raw, 1, 0);
    for (uint64_t i = 0; i < MAX_MSG_PARTS + 3; i++) { /* more parts than there are */
        in.out[0] = i;
        if (i == 1) in.payload_buf = NULL; /* copied into a part of its own */
        frame_add(&w, &in);
        in.payload_buf = big;
    }
    CHECK(frame_is_full(&w));
    Msg m, again;
    frame_end(&w, &m);
    CHECK_INT(m.n, MAX_MSG_PARTS);
    CHECK(m.part[1] == big && m.part[2] != big);
    Arena scratch = {0};
    FrameReader r;
    Inst got;
    const void *record;
    size_t bytes;
    int count = 0;
    CHECK(frame_open(&r, &m, NULL));
    while (frame_next(&r, &scratch, &got, &record, &bytes, NULL) == 1) {
        CHECK(got.payload_bytes == n && !memcmp(got.payload, big->data, n));
        if (count++ > 0) frame_add_raw(&raw, &got, record, bytes); /* parts move down by one */
    }
    CHECK_INT(count, MAX_MSG_PARTS + 3);
    frame_end(&raw, &again);
    CHECK(again.n == MAX_MSG_PARTS - 1 && again.part[1] == m.part[2]);
    CHECK_INT(decode_all(&again, &scratch), MAX_MSG_PARTS + 2);
    drop(&m), drop(&again);
    CHECK_INT(atomic_load(&big->refs), 1);
    buf_unref(&big);
    arena_fini(&scratch);
}

/* A frame is full at its number of instructions or of bytes, whichever comes first. */
static void unmap(void *data, void *ctx) { munmap(data, *(size_t *)ctx); }
static void keep(void *data, void *ctx) { (void)data, (void)ctx; }

/* Large payloads end a frame before its parts do. */
static void test_many_bytes(void) {
    static char bytes[FRAME_PART_BYTES / 4];
    Buf *b = buf_wrap(bytes, sizeof bytes, keep, NULL);
    Inst in = {.op = OP_DATA, .n_out = 1, BYTES(bytes, sizeof bytes), .payload_buf = b};
    FrameWriter w = {0};
    Msg m;
    frame_begin(&w, 1, 0);
    for (uint64_t i = 0; i < 4; i++) {
        CHECK(!frame_is_full(&w));
        in.out[0] = i;
        frame_add(&w, &in);
    }
    CHECK(frame_is_full(&w));
    frame_end(&w, &m), drop(&m);
    frame_begin(&w, 1, 4);
    CHECK(!frame_is_full(&w));
    frame_end(&w, &m), drop(&m);
    buf_unref(&b);
}

/* A payload too large for any head is kept by reference, and takes no space in it. */
static void test_huge_payload(void) {
    static size_t bytes = (size_t)3 << 30;
    void *data = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    Buf *b = buf_wrap(data, bytes, unmap, &bytes);
    FrameWriter w = {0};
    frame_begin(&w, 1, 0);
    frame_add(
        &w,
        &(Inst){
            .op = OP_DATA, .n_out = 1, .payload = data, .payload_bytes = bytes, .payload_buf = b});
    CHECK(w.head->cap < 65536);
    Msg m;
    frame_end(&w, &m);
    CHECK(m.n == 2 && m.part[1] == b);
    drop(&m);
    buf_unref(&b);
}

static void test_full(void) {
    Operand in = {.kind = IN_TENSOR, .id = 1};
    static char text[MAX_STR + 1];
    memset(text, 'x', MAX_STR);
    Attr attr = {.key = ATTR_FORMAT, .n = MAX_STR, .str = text};
    Inst neg = {.op = OP_NEG, .n_in = 1, .n_out = 1, .in = &in},
         note = {.op = OP_NOTE, .n_attr = 1, .attr = &attr};
    FrameWriter w = {0};
    Msg m;
    frame_begin(&w, 1, 0);
    for (uint64_t i = 0; i < FRAME_INSTS; i++) {
        CHECK(!frame_is_full(&w));
        neg.out[0] = 100 + i;
        frame_add(&w, &neg);
    }
    CHECK(frame_is_full(&w));
    frame_end(&w, &m), drop(&m);
    frame_begin(&w, 1, 0);
    frame_add(&w, &note); /* one that is larger than a frame is still sent */
    CHECK(frame_is_full(&w) && frame_bytes(&w) > FRAME_BYTES);
    frame_end(&w, &m);
    Arena scratch = {0};
    CHECK_INT(decode_all(&m, &scratch), 1);
    drop(&m);
    arena_fini(&scratch);
}

/* Counts beyond the limits, in an otherwise valid record. */
static void test_counts(void) {
    Operand in = {.kind = IN_TENSOR, .id = 1};
    Inst neg = {.op = OP_NEG, .n_in = 1, .n_out = 1, .in = &in, .out = {7}};
    static const struct {
        size_t at;
        uint16_t value;
    } wrong[] = {{4, OP_COUNT}, {6, MAX_OUT + 1}, {6, 0},          {7, MAX_ATTRS + 1},
                 {8, 255},      {9, 3},           {10, MAX_IN + 1}};
    Arena scratch = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FrameWriter w = {0};
        Msg m;
        frame_begin(&w, 1, 0);
        frame_add(&w, &neg);
        frame_end(&w, &m);
        CHECK_INT(decode_all(&m, &scratch), 1);
        uint8_t *record = m.part[0]->data + 32;
        record[wrong[i].at] = (uint8_t)wrong[i].value;
        if (wrong[i].at == 4 || wrong[i].at == 10)
            record[wrong[i].at + 1] = (uint8_t)(wrong[i].value >> 8);
        CHECK_MSG(decode_all(&m, &scratch) < 0, "%u at byte %zu is accepted", wrong[i].value,
                  wrong[i].at);
        drop(&m);
    }
    arena_fini(&scratch);
}

static void test_hostile_frames(void) {
    Rand r = {seed};
    Arena a = {0}, scratch = {0};
    FrameWriter w = {0};
    frame_begin(&w, 7, 1000);
    for (int i = 0; i < 40; i++) {
        Inst in = rand_inst(&r, &a);
        frame_add(&w, &in);
    }
    Msg m;
    frame_end(&w, &m);
    const Buf *b = m.part[0];
    CHECK_INT(decode_all(&m, &scratch), 40);
    for (size_t n = 0; n < b->n; n++) {
        Msg h = hostile_msg(&m, b->data, n);
        CHECK_MSG(decode_all(&h, &scratch) < 0, "a frame cut to %zu bytes is accepted", n);
        drop(&h), arena_reset(&scratch);
    }
    uint8_t *bytes = xmalloc(b->n);
    for (size_t i = 0; i < b->n; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bytes, b->data, b->n);
            bytes[i] ^= (uint8_t)(1 << bit);
            Msg h = hostile_msg(&m, bytes, b->n);
            decode_all(&h, &scratch);
            drop(&h), arena_reset(&scratch);
        }
    for (int round = 0; round < 3000; round++) {
        memcpy(bytes, b->data, b->n);
        for (int k = 1 + rand_below(&r, 20); k > 0; k--)
            bytes[rand_below(&r, (int)b->n)] = rand_below(&r, 3) ? (uint8_t)rand_u64(&r) : 0xff;
        Msg h = hostile_msg(&m, bytes, b->n);
        decode_all(&h, &scratch);
        drop(&h), arena_reset(&scratch);
    }
    free(bytes);
    drop(&m);
    arena_fini(&a), arena_fini(&scratch);
}

/* A transport may put a message at any address: lists and payloads are aligned nevertheless. */
static void test_unaligned(void) {
    Rand r = {seed + 1};
    Arena a = {0}, scratch = {0};
    FrameWriter w = {0};
    frame_begin(&w, 7, 0);
    for (int i = 0; i < 100; i++) {
        Inst in = rand_inst(&r, &a);
        frame_add(&w, &in);
    }
    Msg m, odd = {0};
    frame_end(&w, &m);
    uint8_t *q = xmalloc(m.part[0]->n + 1);
    memcpy(q + 1, m.part[0]->data, m.part[0]->n);
    Buf *whole = buf_wrap(q, m.part[0]->n + 1, release, NULL);
    whole->data++, whole->n--;
    msg_push(&odd, whole);
    CHECK_INT(decode_all(&odd, &scratch), 100);
    whole->data--;
    drop(&odd), drop(&m);
    arena_fini(&a), arena_fini(&scratch);
}

/* ---- Messages ---- */

typedef bool (*Reads)(const Msg *m, Arena *a);
#define READS(name, Type)                                                                          \
    static bool reads_##name(const Msg *m, Arena *a) {                                             \
        Type t;                                                                                    \
        return wire_read_##name(m, &t, NULL);                                                      \
    }
READS(hello, Hello)
READS(welcome, Welcome)
READS(refuse, Err)
READS(ack, Ack)
READS(failure, Failure)
READS(cancel, Cancel)
READS(gone, uint32_t)
READS(watch, WatchAsk)
READS(get, Get)
READS(taken, Taken)
static bool reads_reply(const Msg *m, Arena *a) {
    Reply r;
    if (!wire_read_reply(m, a, &r, NULL)) return false;
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; i < r.n; i++)
        for (uint64_t k = 0; k < r.value[i].bytes; k++)
            sum += ((const uint8_t *)r.value[i].data)[k];
    return true;
}

static bool reads_hashes(const Msg *m, Arena *a) {
    Hashes h;
    if (!wire_read_hashes(m, a, &h, NULL)) return false;
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; i < h.n; i++) sum += h.row[i].hash[h.row[i].n_out - 1];
    return true;
}

static bool reads_times(const Msg *m, Arena *a) {
    Times t;
    if (!wire_read_times(m, a, &t, NULL)) return false;
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; i < t.n; i++) sum += t.row[i].ns;
    return true;
}

READS(listen, Listen)
static bool reads_events(const Msg *m, Arena *a) {
    Events e;
    if (!wire_read_events(m, &e, NULL)) return false;
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < e.n; i++) sum += (unsigned char)e.text[i];
    return true;
}

static bool reads_usage(const Msg *m, Arena *a) {
    Usage u;
    if (!wire_read_usage(m, a, &u, NULL)) return false;
    for (uint32_t i = 0; i < u.n; i++) CHECK(u.op[i].op < OP_COUNT);
    return true;
}

static bool reads_group(const Msg *m, Arena *a) {
    int32_t rank[MAX_INTS];
    uint32_t id;
    int n;
    if (!wire_read_group(m, &id, rank, &n, NULL)) return false;
    for (int i = 0; i < n; i++) CHECK(rank[i] >= 0 && rank[i] < MAX_WORKERS);
    return true;
}
static bool reads_peer(const Msg *m, Arena *a) {
    PeerInfo p;
    if (!wire_read_peer(m, &p, NULL)) return false;
    CHECK(p.rank < MAX_WORKERS && memchr(p.data.host, 0, sizeof p.data.host) &&
          memchr(p.data.endpoint, 0, sizeof p.data.endpoint));
    return true;
}
static bool reads_peer_gone(const Msg *m, Arena *a) {
    uint32_t rank;
    return wire_read_peer_gone(m, &rank, NULL) && rank < MAX_WORKERS;
}
static bool reads_peer_hello(const Msg *m, Arena *a) {
    PeerHello hello;
    return wire_read_peer_hello(m, &hello, NULL) && hello.rank < MAX_WORKERS;
}
static bool reads_shard(const Msg *m, Arena *a) {
    Shard s;
    volatile uint64_t sum = 0;
    if (!wire_read_shard(m, &s, NULL)) return false;
    CHECK(s.box.rank <= MAX_DIMS && s.box.dtype < DT_COUNT && s.status < ERR_COUNT);
    CHECK_INT(s.bytes, type_bytes(&s.box));
    for (uint64_t i = 0; s.data && i < s.bytes; i++) sum += ((const uint8_t *)s.data)[i];
    return true;
}
static bool reads_piece(const Msg *m, Arena *a) {
    Piece p;
    const void *data;
    uint64_t bytes;
    volatile uint64_t sum = 0;
    if (!wire_read_piece(m, &p, &data, &bytes, NULL)) return false;
    for (uint64_t i = 0; i < bytes; i++) sum += ((const uint8_t *)data)[i];
    return true;
}
static bool reads_card(const Msg *m, Arena *a) {
    const void *card;
    size_t n;
    volatile uint64_t sum = 0;
    if (!wire_read_card(m, &card, &n, NULL)) return false;
    for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)card)[i];
    return true;
}

static void torture(const Msg *m, Reads reads, bool exact) {
    Arena a = {0};
    const Buf *b = m->part[0];
    CHECK(reads(m, &a));
    for (size_t n = 0; n < b->n; n++) {
        Msg h = hostile_msg(m, b->data, n);
        if (exact)
            CHECK(!reads(&h, &a));
        else
            reads(&h, &a);
        drop(&h), arena_reset(&a);
    }
    uint8_t *bytes = xmalloc(b->n);
    for (size_t i = 0; i < b->n; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bytes, b->data, b->n);
            bytes[i] ^= (uint8_t)(1 << bit);
            Msg h = hostile_msg(m, bytes, b->n);
            reads(&h, &a);
            drop(&h), arena_reset(&a);
        }
    free(bytes);
    arena_fini(&a);
}

static void test_messages(void) {
    Msg m;
    Hello hello = {WIRE_VERSION, op_table_hash(), ROLE_WORKER, 1u << 30, 4, "cpu"}, hello2;
    hello.spawned = 0xfedcba9876543210;
    wire_hello(&hello, &m);
    CHECK(wire_read_hello(&m, &hello2, NULL) && hello2.threads == 4 && !strcmp(hello2.name, "cpu"));
    CHECK(hello2.role == ROLE_WORKER && hello2.table_hash == op_table_hash() &&
          hello2.memory_bytes == 1u << 30 && hello2.spawned == hello.spawned);
    torture(&m, reads_hello, true), drop(&m);
    Welcome welcome = {3, 1, 2, WINDOW_INSTS, WINDOW_BYTES, 77, "cpu-avx512"}, welcome2;
    wire_welcome(&welcome, &m);
    CHECK(wire_read_welcome(&m, &welcome2, NULL) && welcome2.id == 3 && welcome2.rank == 1 &&
          welcome2.n_workers == 2);
    CHECK(welcome2.window_bytes == WINDOW_BYTES && !strcmp(welcome2.engine, "cpu-avx512"));
    torture(&m, reads_welcome, true), drop(&m);
    Err e = {.code = ERR_VERSION, .text = "too old", .hint = "update"}, e2;
    wire_refuse(&e, &m);
    CHECK(wire_read_refuse(&m, &e2, NULL) && e2.code == ERR_VERSION &&
          !strcmp(e2.text, "too old") && !strcmp(e2.hint, "update"));
    torture(&m, reads_refuse, true), drop(&m);
    Failure f = {5, 77, {1, 9, 12}, OP_MATMUL, 2, {ERR_MEMORY, -3, 4, "full", ""}}, f2;
    wire_failure(&f, &m);
    CHECK(wire_read_failure(&m, &f2, NULL) && f2.client == 5 && f2.seq == 77 && f2.pos.line == 12 &&
          f2.pos.col == 9);
    CHECK(f2.op == OP_MATMUL && f2.worker == 2 && f2.err.code == ERR_MEMORY && f2.err.at == -3 &&
          f2.err.count == 4 && !strcmp(f2.err.text, "full"));
    torture(&m, reads_failure, true), drop(&m);
    Ack ack = {5, 1u << 20, 99}, ack2;
    wire_ack(&ack, &m);
    uint32_t client;
    CHECK(wire_client(&m, &client) && client == 5);
    wire_set_client(&m, 6);
    CHECK(wire_read_ack(&m, &ack2, NULL) && ack2.client == 6 && ack2.seq == 1u << 20 &&
          ack2.bytes == 99);
    torture(&m, reads_ack, true), drop(&m);
    Cancel cancel = {4, 12}, cancel2;
    wire_cancel(&cancel, &m);
    CHECK(wire_read_cancel(&m, &cancel2, NULL) && cancel2.client == 4 && cancel2.seq == 12);
    torture(&m, reads_cancel, true), drop(&m);
    wire_gone(&(uint32_t){8}, &m);
    CHECK(wire_read_gone(&m, &client, NULL) && client == 8);
    torture(&m, reads_gone, true), drop(&m);
    const char *s;
    size_t n;
    wire_text(MSG_STATS_REPLY, "a=1\n", 4, &m);
    CHECK(wire_read_text(&m, &s, &n, NULL) && n == 4 && !memcmp(s, "a=1\n", 4));
    CHECK_FAIL(wire_read_ack(&m, &ack2, &err), ERR_PARSE);
    drop(&m);
}

static void test_reply(void) {
    float small[6] = {1, 2, 3, 4, 5, 6};
    Buf *large = buf_new(1 << 20);
    memset(large->data, 3, 1 << 20), large->n = 1 << 20;
    uint8_t ok = 1;
    ReplyValue v[4] = {
        {.type = {DT_F32, 2, {2, 3}}, .data = small, .bytes = 24},
        {.type = {DT_U8, 1, {1 << 20}}, .data = large->data, .bytes = 1 << 20},
        {.status = ERR_MEMORY, .type = {DT_F64, 1, {4}}},
        {.edge = 3, .type = {DT_BOOL, 0, {0}}, .data = &ok, .bytes = 1},
    };
    Buf *bufs[4] = {NULL, large, NULL, NULL};
    Reply r = {9, 1234, 4, v}, r2;
    Msg m;
    wire_reply(&r, bufs, &m);
    CHECK_INT(m.n, 2);
    Arena a = {0};
    CHECK(wire_read_reply(&m, &a, &r2, NULL) && r2.client == 9 && r2.seq == 1234 && r2.n == 4);
    CHECK(type_equal(&r2.value[0].type, &v[0].type) && !memcmp(r2.value[0].data, small, 24));
    CHECK(r2.value[1].bytes == 1 << 20 && r2.value[1].data == m.part[1]->data);
    CHECK_INT(r2.value[2].status, ERR_MEMORY);
    CHECK(r2.value[3].edge == 3 && *(const uint8_t *)r2.value[3].data == 1);
    torture(&m, reads_reply, true);
    drop(&m);
    TensorType t = {DT_F32, 2, {100, 5}};
    CHECK_INT(reply_value_numel(&t, 3), 30);
    CHECK_INT(reply_value_numel(&t, 0), 500);
    arena_fini(&a);
}

static void test_times(void) {
    TimeRow row[4] = {
        {.number = 7, .id = 3, .begin_ns = -5, .ns = 9, .bytes = 64, .op = OP_ADD, 1},
        {.number = 8, .ns = UINT64_MAX, .op = OP_FETCH},
        {.number = 9, .id = UINT64_C(1) << 63, .op = OP_ALL_REDUCE, .n_out = 1},
        {.ns = 5, .from = 3, .op = OP_COUNT, .kind = TIME_IDLE, .n_out = IDLE_BLOCKED}};
    row[0].client = 4, row[2].from = 6, row[2].moved = 800;
    Times t = {.n = 4, .now_ns = 1234567, .is_past = true, .row = row}, t2;
    Msg m;
    Arena a = {0};
    WatchAsk ask;
    wire_times(&t, &m);
    CHECK(wire_read_times(&m, &a, &t2, NULL) && t2.n == 4 && t2.is_past && !t2.is_end);
    CHECK(t2.row[0].client == 4 && t2.row[2].from == 6 && t2.row[2].moved == 800);
    CHECK(t2.row[3].kind == TIME_IDLE && t2.row[3].n_out == IDLE_BLOCKED);
    CHECK_INT(t2.now_ns, 1234567);
    CHECK(t2.row[0].begin_ns == -5 && t2.row[0].id == 3 && t2.row[0].bytes == 64);
    CHECK(t2.row[1].ns == UINT64_MAX && t2.row[1].op == OP_FETCH && t2.row[1].n_out == 0);
    CHECK(t2.row[2].number == 9 && t2.row[2].id == UINT64_C(1) << 63 && t2.row[2].n_out == 1);
    torture(&m, reads_times, true), drop(&m);
    wire_watch(&(WatchAsk){WATCH_TIMES, 5000}, &m);
    CHECK(wire_read_watch(&m, &ask, NULL) && ask.what == WATCH_TIMES && ask.past_ms == 5000);
    torture(&m, reads_watch, true), drop(&m);
    row[1].kind = TIME_FUSED, row[1].op = OP_MATMUL, row[1].from = 5;
    wire_times(&t, &m);
    CHECK(wire_read_times(&m, &a, &t2, NULL) && t2.row[1].kind == TIME_FUSED);
    Bytes text = {0};
    tape_put_row(&t2.row[1], &text);
    CHECK_STR(text.data, "done - us=18446744073709551 bytes=0 op=matmul of=t5");
    bytes_fini(&text);
    drop(&m);
    row[3].kind = TIME_DONE; /* it has no operation */
    wire_times(&t, &m);
    CHECK(!wire_read_times(&m, &a, &t2, NULL));
    drop(&m);
    arena_fini(&a);
}

/* Messages for programs that watch the run. */
static void test_watchers(void) {
    Msg m;
    Arena a = {0};
    Listen listen = {.client = 3, .verb = LISTEN_PAST, .past_ms = 5000}, listen2;
    wire_listen(&listen, &m);
    CHECK(wire_read_listen(&m, &listen2, NULL) && listen2.client == 3);
    CHECK(listen2.verb == LISTEN_PAST && listen2.past_ms == 5000);
    torture(&m, reads_listen, true), drop(&m);
    listen.past_ms = PAST_MS_MAX + 1;
    wire_listen(&listen, &m);
    CHECK(!wire_read_listen(&m, &listen2, NULL));
    drop(&m);
    Events events = {.is_past = true, .dropped = 7, .text = "a\nb\n", .n = 4}, events2;
    wire_events(&events, &m);
    CHECK(wire_read_events(&m, &events2, NULL) && events2.is_past && !events2.is_end);
    CHECK(events2.dropped == 7 && events2.n == 4 && !memcmp(events2.text, "a\nb\n", 4));
    torture(&m, reads_events, false), drop(&m);
    OpUsage op[2] = {{OP_ADD, 1, 2, 3}, {OP_MATMUL, UINT64_MAX, 5, 6}};
    Usage usage = {.now_ns = -1, .insts = 9, .blocked_on = UINT32_MAX, .n = 2, .op = op}, usage2;
    usage.idle_ns[IDLE_COMPILE] = 44;
    usage.device = (DeviceUsage){"H100!", 5, 6, 7, -8, 9};
    wire_usage(&usage, &m);
    CHECK(wire_read_usage(&m, &a, &usage2, NULL) && usage2.n == 2 && usage2.now_ns == -1);
    CHECK(usage2.op[1].op == OP_MATMUL && usage2.op[1].count == UINT64_MAX);
    CHECK_STR(usage2.device.name, "H100!");
    CHECK(usage2.device.used == 5 && usage2.device.total == 6 && usage2.device.number == 7 &&
          usage2.device.celsius == -8 && usage2.device.busy == 9);
    CHECK(usage2.idle_ns[IDLE_COMPILE] == 44 && usage2.blocked_on == UINT32_MAX);
    torture(&m, reads_usage, true), drop(&m);
    op[1].op = OP_ADD; /* twice */
    wire_usage(&usage, &m);
    CHECK(!wire_read_usage(&m, &a, &usage2, NULL));
    drop(&m);
    arena_fini(&a);
}

/* Entries of the flight recorder: what one says of its parts must fit into it. */
static void test_past_entries(void) {
    static const uint64_t sizes[2] = {3, 4};
    for (uint8_t n_parts = 1; n_parts < 5; n_parts++) {
        Msg m = {0};
        Buf *b = past_new(0);
        PastEntry e = {.kind = PAST_FRAME, .n_parts = n_parts, .data = sizes, .n = sizeof sizes};
        PastEntry e2;
        size_t at = 0;
        past_add(b, &e);
        msg_push(&m, b);
        CHECK_INT(past_read(&m, &at, &e2), n_parts <= 2 ? 1 : -1);
        if (n_parts <= 2) CHECK_INT(past_read(&m, &at, &e2), 0);
        drop(&m);
    }
}

static void test_hashes(void) {
    HashRow row[2] = {
        {.id = 3, .hash = {5, 6}, .client = 4, .op = OP_TOPK, .sample = 1, .n_out = 2},
        {.id = UINT64_C(1) << 63, .sample = 9, .n_out = 1, .part = HASHED_SPLIT}};
    Hashes h = {.n = 2, .row = row}, h2;
    Msg m;
    Arena a = {0};
    wire_hashes(&h, &m);
    CHECK(wire_read_hashes(&m, &a, &h2, NULL) && h2.n == 2);
    CHECK(h2.row[0].id == 3 && h2.row[0].hash[1] == 6 && h2.row[0].client == 4);
    CHECK(h2.row[0].op == OP_TOPK && h2.row[0].n_out == 2 && h2.row[0].part == HASHED_WHOLE);
    CHECK(h2.row[1].id == UINT64_C(1) << 63 && h2.row[1].sample == 9);
    CHECK_INT(h2.row[1].part, HASHED_SPLIT);
    torture(&m, reads_hashes, true), drop(&m);
    row[1].n_out = 0;
    wire_hashes(&h, &m);
    CHECK(!wire_read_hashes(&m, &a, &h2, NULL));
    drop(&m);
    arena_fini(&a);
}

/* Messages about peers, and between peers. */
static void test_peers(void) {
    Msg m = {0};
    int32_t rank[] = {7, 0, 1023}, rank2[MAX_INTS];
    uint32_t id = 0, r = 0;
    PeerHello hello;
    int n = 0;
    wire_group(12, rank, 3, &m);
    torture(&m, reads_group, true);
    CHECK(wire_read_group(&m, &id, rank2, &n, NULL) && id == 12 && n == 3);
    CHECK(!memcmp(rank, rank2, sizeof rank));
    msg_fini(&m);
    PeerInfo p = {.rank = 5,
                  .token = UINT64_C(0xfedcba9876543210),
                  .data = {.process = 1,
                           .arena_at = 2,
                           .arena_bytes = 3,
                           .pid = 4,
                           .fd = -1,
                           .inode = 6,
                           .lent = {7, 0, 0, 0, 0, 0, 0, 8},
                           .host = "a-b",
                           .endpoint = "tcp://10.0.0.1:5"}},
             p2;
    wire_peer(&p, &m);
    torture(&m, reads_peer, true);
    CHECK(wire_read_peer(&m, &p2, NULL) && p2.rank == 5 && p2.token == p.token);
    CHECK(p2.data.process == 1 && p2.data.arena_at == 2 && p2.data.arena_bytes == 3 &&
          p2.data.pid == 4 && p2.data.fd == -1 && p2.data.inode == 6 && p2.data.lent[0] == 7 &&
          p2.data.lent[7] == 8);
    CHECK_STR(p2.data.host, "a-b");
    CHECK_STR(p2.data.endpoint, "tcp://10.0.0.1:5");
    CHECK_FAIL(wire_read_peer_gone(&m, &r, &err), ERR_PARSE);
    msg_fini(&m);
    wire_peer_gone(&(uint32_t){9}, &m);
    torture(&m, reads_peer_gone, true);
    CHECK(wire_read_peer_gone(&m, &r, NULL) && r == 9);
    msg_fini(&m);
    wire_peer_gone(&(uint32_t){MAX_WORKERS}, &m);
    CHECK_FAIL(wire_read_peer_gone(&m, &r, &err), ERR_PARSE);
    msg_fini(&m);
    wire_peer_hello(&(PeerHello){3, p.token}, &m);
    torture(&m, reads_peer_hello, true);
    CHECK(wire_read_peer_hello(&m, &hello, NULL) && hello.rank == 3 && hello.token == p.token);
    msg_fini(&m);
    float data[6] = {1, 2, 3, 4, 5, 6};
    Shard s = {.client = 4,
               .number = 1u << 20,
               .offset = 4096,
               .bytes = sizeof data,
               .box = {.dtype = DT_F32, .rank = 2, .shape = {2, 3}},
               .stride = {100, -1}},
          s2;
    for (int with = 0; with < 2; with++) {
        s.data = with ? data : NULL;
        wire_shard(&s, &m);
        torture(&m, reads_shard, true);
        CHECK(wire_read_shard(&m, &s2, NULL) && s2.client == 4 && s2.number == 1u << 20);
        CHECK(s2.offset == 4096 && s2.bytes == 24 && s2.stride[0] == 100 && s2.stride[1] == -1);
        CHECK((s2.data != NULL) == with && (!with || !memcmp(s2.data, data, sizeof data)));
        msg_fini(&m);
    }
    Get get = {.client = 4, .number = 77, .begin = 5, .bytes = 6}, get2;
    wire_get(&get, &m);
    torture(&m, reads_get, true);
    CHECK(wire_read_get(&m, &get2, NULL) && get2.client == 4 && get2.number == 77);
    CHECK(get2.begin == 5 && get2.bytes == 6);
    msg_fini(&m);
    Piece piece = {.client = 4, .number = 77, .begin = 5}, piece2;
    const void *bytes;
    uint64_t n_bytes;
    wire_piece(&piece, buf_copy("123456", 6), &m);
    torture(&m, reads_piece, true);
    CHECK(wire_read_piece(&m, &piece2, &bytes, &n_bytes, NULL) && n_bytes == 6);
    CHECK(!memcmp(bytes, "123456", 6) && piece2.number == 77 && piece2.begin == 5);
    Msg bare = {.n = 1, .part = {m.part[0]}}; /* without its data */
    CHECK_FAIL(wire_read_piece(&bare, &piece2, &bytes, &n_bytes, &err), ERR_PARSE);
    msg_fini(&m);
    Taken taken = {.client = 4, .number = 77}, taken2;
    wire_taken(&taken, &m);
    torture(&m, reads_taken, true);
    CHECK(wire_read_taken(&m, &taken2, NULL) && taken2.client == 4 && taken2.number == 77);
    msg_fini(&m);
    size_t n_card = 0;
    wire_card("address and key", 15, &m);
    torture(&m, reads_card, false);
    CHECK(wire_read_card(&m, &bytes, &n_card, NULL) && n_card == 15);
    CHECK(!memcmp(bytes, "address and key", 15));
    CHECK_FAIL(wire_read_taken(&m, &taken2, &err), ERR_PARSE);
    msg_fini(&m);
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    test_round_trip();
    test_large_payloads();
    test_huge_payload();
    test_many_bytes();
    test_full();
    test_counts();
    test_hostile_frames();
    test_unaligned();
    test_messages();
    test_peers();
    test_reply();
    test_times();
    test_past_entries();
    test_hashes();
    test_watchers();
    return check_report("wire");
}
