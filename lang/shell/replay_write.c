/* replay_write.c: gtsh --emit --replay: the lines of a file as text or in the binary form.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_state.h"

/* Writes a line without an instruction. A tape becomes a program. */
static void write_text(Replay *r) {
    const char *s = r->l.text;
    size_t n = r->l.n;
    while (n && (s[n - 1] == '\r' || s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
    inst_file_text(r->config.file, s, n);
}

void replay_write(Replay *r, Handle *const *out, int n) {
    InstLine line = r->l.now;
    Attr attr[3];
    if (line.is_empty) {
        write_text(r);
        return;
    }
    line.has_types = n > 0;
    for (int i = 0; i < n; i++) line.types[i] = out[i]->type;
    if (r->whole) { /* the elements of a file */
        const Attr *other = inst_attr(&line.inst, ATTR_OTHER);
        const TensorType *t = &line.types[0];
        attr[0] = (Attr){.key = ATTR_SHAPE, .n = t->rank, .ints = t->shape};
        attr[1] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)t->dtype};
        if (other) attr[2] = *other;
        line.inst.op = OP_DATA;
        line.inst.attr = attr, line.inst.n_attr = (uint16_t)(2 + (other != NULL));
        line.inst.payload = r->whole->data, line.inst.payload_bytes = type_bytes(t);
    }
    inst_file_put(r->config.file, &line);
    buf_unref(&r->whole);
}
