/* wire_fuzz.c: arbitrary bytes from the network. The result must be an instruction or an error.
 * What decodes must encode to the same, survive inference with any operand types, and print as
 * text.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_hash.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include "dispatcher/watch/past.h"
#include "tests/unit/random_inst.h"
#include "tests/fuzz/fuzz.h"

static Buf *part; /* a payload for frames that refer to one */

static void encode_again(const Inst *in, Arena *a) {
    FrameWriter w = {.edge_id = 5};
    frame_begin(&w, 1, 2);
    frame_add(&w, in);
    Msg m;
    frame_end(&w, &m);
    FrameReader r;
    Inst got;
    if (!frame_open(&r, &m, NULL) || frame_next(&r, a, &got, NULL, NULL, NULL) != 1) abort();
    if (!same_inst(in, &got)) abort();
    for (int i = 0; i < m.n; i++) buf_unref(&m.part[i]);
}

/* Valid types, as a dispatcher's tables would give them, but unrelated to the op. */
static bool infer_with_any_types(const Inst *in, Rand *r, Arena *a) {
    TensorType *t = arena_zalloc(a, ((size_t)in->n_in + 1) * sizeof *t), out[MAX_OUT];
    for (int i = 0; i < in->n_in; i++) {
        t[i].dtype = (uint8_t)rand_below(r, DT_COUNT),
        t[i].rank = (uint8_t)rand_below(r, MAX_DIMS + 1);
        for (int k = 0; k < t[i].rank; k++) t[i].shape[k] = rand_below(r, 4);
    }
    int n_out;
    Err err;
    if (!inst_infer(in, t, out, &n_out, &err)) return false;
    for (int i = 0; i < n_out; i++) {
        if (out[i].rank > MAX_DIMS || out[i].dtype >= DT_COUNT) abort();
        if (type_numel(&out[i]) < 0 || type_numel(&out[i]) > MAX_NUMEL) abort();
    }
    return true;
}

/* Every instruction prints; one that inference accepts must also parse again to the same. */
static void print_it(const Inst *in, bool is_sound, Arena *a) {
    Bytes text = {0};
    InstLine line;
    inst_print(in, NULL, &text);
    bool reads = inst_parse(text.data, text.n, a, &line, NULL) && !line.is_empty;
    if (is_sound && in->op != OP_BODY && (!reads || !same_inst(in, &line.inst))) {
        fprintf(stderr, "%s\n", text.data);
        abort();
    }
    bytes_fini(&text);
}

static void read_frame(const Msg *m, Arena *a, Rand *r) {
    FrameReader reader;
    Inst in;
    Err err;
    const void *record;
    size_t bytes;
    Bodies bodies = {0}, placed = {.may_insert = true};
    if (!frame_open(&reader, m, &err)) return;
    if (reader.count > 100000) return; /* one hot record could expand to so many */
    reader.bodies = &bodies, reader.placed = &placed;
    while (frame_next(&reader, a, &in, &record, &bytes, &err) == 1) {
        encode_again(&in, a);
        print_it(&in, infer_with_any_types(&in, r, a), a);
    }
    bodies_fini(&bodies), bodies_fini(&placed);
}

static void read_others(const Msg *m, Arena *a) {
    Hello hello;
    Welcome welcome;
    Err e, err;
    Ack ack;
    Failure failure;
    Cancel cancel;
    uint32_t client;
    const char *s;
    size_t n;
    Reply reply;
    wire_read_hello(m, &hello, &err), wire_read_welcome(m, &welcome, &err),
        wire_read_refuse(m, &e, &err);
    wire_read_ack(m, &ack, &err), wire_read_failure(m, &failure, &err),
        wire_read_cancel(m, &cancel, &err);
    wire_read_gone(m, &client, &err), wire_read_text(m, &s, &n, &err), wire_client(m, &client);
    Times times;
    WatchAsk ask;
    volatile uint64_t sum = 0;
    wire_read_watch(m, &ask, &err);
    if (wire_read_times(m, a, &times, &err))
        for (uint32_t i = 0; i < times.n; i++) sum += times.row[i].bytes;
    Hashes hashes;
    if (wire_read_hashes(m, a, &hashes, &err))
        for (uint32_t i = 0; i < hashes.n; i++) sum += hashes.row[i].hash[hashes.row[i].n_out - 1];
    if (!wire_read_reply(m, a, &reply, &err)) return;
    for (uint32_t i = 0; i < reply.n; i++)
        for (uint64_t k = 0; k < reply.value[i].bytes; k++)
            sum += ((const uint8_t *)reply.value[i].data)[k];
}

/* The lines that a watcher makes of a flight recorder's entries. */
static void read_past(const Msg *m) {
    if (wire_kind(m) != MSG_PAST) return;
    Past *p = past_begin();
    Bytes text = {0};
    Msg copy = {0};
    msg_push(&copy, buf_copy(m->part[0]->data, m->part[0]->n));
    past_take(p, &copy);
    past_write(p, &text);
    bytes_fini(&text);
    past_end(&p);
}

/* Entries of every kind, with a frame among them. */
static Buf *past_seed(Rand *r, const Msg *frame, const Times *times) {
    static const char file[] = "a.gt", line[] = "client \"a\"";
    Buf *b = past_new(64);
    Msg rows;
    wire_times(times, &rows);
    PastEntry e = {.kind = PAST_SINCE};
    past_add(b, &e);
    e = (PastEntry){.kind = PAST_LINE, .event = '+', .place = '-', .client = 1, .at_ns = 5};
    e.data = line, e.n = sizeof line - 1;
    if (rand_below(r, 2)) past_add(b, &e);
    e = (PastEntry){.kind = PAST_FILE, .client = 1, .data = file, .n = sizeof file - 1};
    if (rand_below(r, 2)) past_add(b, &e);
    e = (PastEntry){.kind = PAST_FRAME, .client = 1, .at_ns = 9};
    e.data = frame->part[0]->data, e.n = frame->part[0]->n;
    past_add(b, &e);
    e = (PastEntry){.kind = PAST_ROWS, .number = 1};
    e.data = rows.part[0]->data, e.n = rows.part[0]->n;
    if (rand_below(r, 2)) past_add(b, &e);
    msg_fini(&rows);
    return b;
}

static void read_watchers(const Msg *m, Arena *a) {
    Err err;
    Listen listen;
    Events events;
    Usage usage;
    volatile uint64_t sum = 0;
    PastEntry entry;
    for (size_t at = 0; past_read(m, &at, &entry) > 0;)
        for (size_t i = 0; i < entry.n; i++) sum += ((const uint8_t *)entry.data)[i];
    if (wire_read_listen(m, &listen, &err)) sum += listen.past_ms;
    if (wire_read_events(m, &events, &err))
        for (size_t i = 0; i < events.n; i++) sum += (unsigned char)events.text[i];
    if (wire_read_usage(m, a, &usage, &err))
        for (uint32_t i = 0; i < usage.n; i++) sum += usage.op[i].ns;
}

static void read_peers(const Msg *m) {
    Err err;
    int32_t rank[MAX_INTS];
    uint32_t id;
    int count;
    uint64_t bytes;
    PeerInfo peer;
    Shard shard;
    Get get;
    Piece piece;
    Taken taken;
    const void *data;
    size_t n;
    volatile uint64_t sum = 0;
    if (wire_read_group(m, &id, rank, &count, &err))
        for (int i = 0; i < count; i++) sum += (uint64_t)rank[i];
    if (wire_read_peer(m, &peer, &err)) sum += strlen(peer.data.host) + strlen(peer.data.endpoint);
    wire_read_peer_gone(m, &id, &err), wire_read_peer_hello(m, &(PeerHello){0}, &err);
    wire_read_group_gone(m, &(uint32_t){0}, &err);
    wire_read_get(m, &get, &err), wire_read_taken(m, &taken, &err);
    if (wire_read_shard(m, &shard, &err))
        for (uint64_t i = 0; shard.data && i < shard.bytes; i++)
            sum += ((const uint8_t *)shard.data)[i];
    if (wire_read_piece(m, &piece, &data, &bytes, &err))
        for (uint64_t i = 0; i < bytes; i++) sum += ((const uint8_t *)data)[i];
    if (wire_read_card(m, &data, &n, &err))
        for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)data)[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena a = {0};
    Rand r = {n};
    Msg m = {0};
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact) exit(1);
    if (n) memcpy(exact, data, n);
    if (!part) part = buf_copy("0123456789abcdef", 16);
    Buf *head = buf_copy(NULL, 0);
    free(head->data);
    head->data = exact, head->n = head->cap = n;
    msg_push(&m, head), msg_push(&m, part);
    read_frame(&m, &a, &r);
    read_others(&m, &a);
    read_peers(&m);
    read_watchers(&m, &a);
    read_past(&m);
    buf_unref(&head);
    arena_fini(&a);
    return 0;
}

/* A body of one instruction, and its arguments twice; defined by a client or by the dispatcher,
 * which may have inserted it. */
static void hot_seed(Rand *r, Arena *a, Msg *m) {
    Inst in = rand_inst(r, a);
    bool is_placed = rand_below(r, 2);
    void (*add)(FrameWriter *, const Inst *) =
        is_placed && rand_below(r, 2) ? frame_insert : frame_add;
    uint64_t id = in.n_out ? in.out[0] : 5;
    FrameWriter w = {.edge_id = UINT64_MAX, .next_id = id, .next_added = id};
    Bodies bodies = {.may_insert = is_placed};
    Msg alone;
    size_t n;
    w.is_placed = is_placed;
    frame_begin(&w, 1, 2);
    add(&w, &in);
    const void *form = frame_form(&w, &n);
    Bytes forms = {0};
    bytes_add(&forms, form, n);
    memcpy(forms.data, &(uint32_t){(uint32_t)n}, 4);
    frame_end(&w, &alone);
    for (int i = 0; i < alone.n; i++) buf_unref(&alone.part[i]);
    w.next_id = w.next_added = id;
    frame_begin(&w, 1, 2);
    Operand number = {.kind = IN_IMM_INT, .i = is_placed ? BODY_PLACED : 0};
    Inst body = {.op = OP_BODY, .n_in = 1, .in = &number, .payload = forms.data};
    body.payload_bytes = forms.n;
    if (is_placed)
        frame_insert(&w, &body);
    else
        frame_add(&w, &body);
    w.next_id = w.next_added = id;
    if (bodies_define(&bodies, 0, forms.data, forms.n, NULL))
        frame_expect(&w, bodies_get(&bodies, 0), 0);
    add(&w, &in);
    for (int i = 0; i < in.n_out; i++) in.out[i] += in.n_out;
    add(&w, &in);
    frame_end(&w, m);
    bodies_fini(&bodies);
    bytes_fini(&forms);
}

static void fuzz_seed(Rand *r, Bytes *out) {
    Arena a = {0};
    Msg m = {0};
    if (rand_below(r, 5) == 0) {
        hot_seed(r, &a, &m);
    } else if (rand_below(r, 4)) {
        FrameWriter w = {.edge_id = 5};
        frame_begin(&w, 1, 2);
        for (int i = rand_below(r, 4); i >= 0; i--) {
            Inst in = rand_inst(r, &a);
            frame_add(&w, &in);
        }
        frame_end(&w, &m);
    } else {
        double data[4] = {1, 2, 3, 4};
        ReplyValue v[2] = {{.type = {DT_F64, 2, {2, 2}}, .data = data, .bytes = 32},
                           {.status = ERR_MEMORY, .edge = 3, .type = {DT_U8, 1, {9}}}};
        Reply reply = {1, 2, 2, v};
        Failure failure = {1, 2, {0, 1, 2}, OP_ADD, 0, {ERR_SHAPE, 3, 4, "text", "hint"}};
        Hello hello = {WIRE_VERSION, op_table_hash(), ROLE_WORKER, 1, 2, "cpu"};
        Welcome welcome = {1, 0, 1, 2, 3, 0, "cpu"};
        TimeRow row[2] = {{.number = 1, .id = 2, .op = OP_ADD, .n_out = 1}, {.op = OP_SYNC}};
        HashRow hash = {.id = 2, .client = 1, .op = OP_ADD, .sample = 1, .n_out = 1};
        Hashes hashes = {.n = 1, .row = &hash};
        Times times = {.n = 2, .row = row};
        PeerInfo peer = {1, 2, {.fd = -1, .host = "a", .endpoint = "ring://b"}};
        Shard shard = {1, 2, 0, {DT_F64, 2, {2, 2}}, 64, {2, 1}, data, 32};
        int32_t ranks[] = {0, 2, 1};
        switch (rand_below(r, 19)) {
        case 18: wire_watch(&(WatchAsk){WATCH_TIMES, 5000}, &m); break;
        case 15: wire_listen(&(Listen){1, LISTEN_PAST, 5000}, &m); break;
        case 16: wire_events(&(Events){.is_past = true, .text = "a\n", .n = 2}, &m); break;
        case 17: wire_usage(&(Usage){.insts = 1, .n = 1, .op = &(OpUsage){OP_ADD, 1}}, &m); break;
        case 14: wire_group_gone(&(uint32_t){1}, &m); break;
        case 5: wire_group(1, ranks, 3, &m); break;
        case 6: wire_peer(&peer, &m); break;
        case 7: wire_peer_gone(&(uint32_t){1}, &m); break;
        case 8: wire_peer_hello(&(PeerHello){1, 2}, &m); break;
        case 9: wire_shard(&shard, &m); break;
        case 10: wire_get(&(Get){1, 2, 3, 4}, &m); break;
        case 11: wire_piece(&(Piece){1, 2, 3}, buf_copy("x", 1), &m); break;
        case 12: wire_taken(&(Taken){1, 2}, &m); break;
        case 13: wire_card("card", 4, &m); break;
        case 4: rand_below(r, 2) ? wire_times(&times, &m) : wire_hashes(&hashes, &m); break;
        case 0: wire_reply(&reply, NULL, &m); break;
        case 1: wire_failure(&failure, &m); break;
        case 2: wire_hello(&hello, &m); break;
        default: wire_welcome(&welcome, &m);
        }
    }
    if (wire_kind(&m) == MSG_FRAME && rand_below(r, 3) == 0) {
        TimeRow row[2] = {{.number = 1, .id = 2, .op = OP_ADD, .n_out = 1},
                          {.op = OP_COUNT, .kind = TIME_IDLE, .from = 1}};
        Buf *b = past_seed(r, &m, &(Times){.n = 2, .row = row});
        msg_fini(&m);
        msg_push(&m, b);
    }
    bytes_add(out, m.part[0]->data, m.part[0]->n);
    for (int i = 0; i < m.n; i++) buf_unref(&m.part[i]);
    arena_fini(&a);
}
