/* autograd_tape.c: the tape as text and as values. It is not stored: it is the list of nodes of
 * live tensors, in order of creation.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/autograd_tape.h"
#include "lang/value/mapv.h"
#include "lang/tensor/signal.h"
#include <stdlib.h>

static const char *node_name(const GradNode *n) {
    return n->op == NODE_LEAF         ? "param"
           : n->op == NODE_CHECKPOINT ? "checkpoint"
                                      : op_info[n->op].name;
}

void autograd_tape_print(Interp *in, Tensor *below, Bytes *out) {
    GradNode **node;
    size_t n = grad_tape_nodes(in, below, &node), ops = 0;
    for (size_t i = 0; i < n; i++) ops += node[i]->op != NODE_LEAF;
    if (!ops)
        bytes_puts(out, "Autograd Tape: Empty (no operations recorded)\n");
    else
        bytes_printf(out, "Autograd Tape (%zu operation%s, %zu parameter%s):\n", ops,
                     ops == 1 ? "" : "s", n - ops, n - ops == 1 ? "" : "s");
    for (size_t i = 0; ops && i < n; i++) {
        const GradNode *p = node[i];
        char shape[256];
        bytes_printf(out, "  %llu. %s: inputs=[", (unsigned long long)p->seq, node_name(p));
        for (int k = 0, first = 1; k < p->n_in; k++)
            if (p->in[k].node)
                bytes_printf(out, first ? "%llu" : ", %llu",
                             (unsigned long long)p->in[k].node->seq),
                    first = 0;
        bytes_printf(out, "] shape=%s", type_shape_text(&p->type, shape));
        if (p->made.src) bytes_printf(out, " @%s:%u", p->made.src->name, p->made.line);
        if (p->signal) bytes_printf(out, " signal=%s", signal_label(in, p->signal));
        bytes_putc(out, '\n');
    }
    free(node);
}

static void put(Value map, const char *key, Value v) { mapv_put(map.map, v_cstr(key), v); }

Value autograd_tape_list(Interp *in, Tensor *below) {
    GradNode **node;
    size_t n = grad_tape_nodes(in, below, &node);
    Value list = v_list(in, n);
    for (size_t i = 0; i < n; i++) {
        const GradNode *p = node[i];
        Value m = v_map(in), shape = v_list(in, p->type.rank), inputs = v_list(in, (size_t)p->n_in);
        for (int k = 0; k < p->type.rank; k++) list_push(shape.list, v_int(p->type.shape[k]));
        for (int k = 0; k < p->n_in; k++)
            if (p->in[k].node) list_push(inputs.list, v_int((int64_t)p->in[k].node->seq));
        put(m, "output_id", v_int((int64_t)p->seq));
        put(m, "output_shape", shape);
        put(m, "input_ids", inputs);
        put(m, "grad_fn", v_cstr(node_name(p)));
        put(m, "requires_grad", v_bool(true));
        put(m, "line", p->made.src ? v_int(p->made.line) : v_none());
        put(m, "signal", p->signal ? v_cstr(signal_label(in, p->signal)) : v_none());
        list_push(list.list, m);
    }
    free(node);
    return list;
}
