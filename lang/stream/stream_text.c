/* stream_text.c: see stream_text.h.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/stream_text.h"
#include "runtime/base/sha256.h"
#include <assert.h>

enum { FEW_ELEMENTS = 64 }; /* of a value that is written with its elements */

void stream_text_open(Stream *s) {
    const StreamConfig *c = &s->config;
    s->file = c->file;
    if (!s->file && s->mode == STREAM_EMIT) {
        assert(c->emit_to);
        s->file = s->own_file = inst_file_new(&(InstFileConfig){.to = c->emit_to});
    }
    if (!s->file) return;
    Bytes header = {0};
    bytes_printf(&header, "gti 1%s", c->emit_header ? c->emit_header : "");
    inst_file_text(s->file, header.data, header.n);
    bytes_fini(&header);
}

void stream_text_close(Stream *s) {
    s->file = NULL;
    inst_file_free(&s->own_file, NULL);
}

void stream_text_end(Stream *s, const char *why) {
    if (!s->file || s->mode != STREAM_LIVE) return;
    Bytes line = {0};
    bytes_printf(&line, "# ends here: %s", why);
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.data[i] < ' ') line.data[i] = ' ';
    inst_file_text(s->file, line.data, line.n);
    bytes_fini(&line);
    s->file = NULL;
}

void stream_text_put(Stream *s, const Inst *inst, const TensorType *out) {
    if (inst->op == OP_FILE || inst->op == OP_BODY) return; /* text has names, and no bodies */
    InstLine line = {.inst = *inst, .has_types = out && inst->n_out};
    SrcPos *pos = &line.inst.pos;
    if (pos->line && pos->file < s->n_sources) line.file = s->names[pos->file];
    pos->col = 0;
    for (int i = 0; line.has_types && i < inst->n_out; i++) line.types[i] = out[i];
    inst_file_put(s->file, &line);
}

static void put_value(Stream *s, uint64_t id, const ReplyValue *v) {
    char hex[65];
    Operand operand = {.kind = IN_TENSOR, .id = id};
    Attr attr[4] = {{.key = ATTR_SHAPE, .n = v->type.rank, .ints = v->type.shape},
                    {.key = ATTR_DTYPE, .dtype = (DType)v->type.dtype}};
    InstLine line = {
        .inst = {.op = OP_VALUE, .n_in = 1, .in = &operand, .attr = attr, .n_attr = 2}};
    Inst *inst = &line.inst;
    if (v->edge) attr[inst->n_attr++] = (Attr){.key = ATTR_EDGE, .i = v->edge};
    if (!v->edge && type_numel(&v->type) <= FEW_ELEMENTS) {
        inst->payload = v->data, inst->payload_bytes = v->bytes;
    } else {
        sha256_hex(v->data, v->bytes, hex);
        attr[inst->n_attr++] = (Attr){.key = ATTR_SHA256, .n = 64, .str = hex};
    }
    inst_file_put(s->file, &line);
}

void stream_text_values(Stream *s, const Pending *p, const Reply *r) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->value[i].status == 0) put_value(s, p->handle[i]->id, &r->value[i]);
}
