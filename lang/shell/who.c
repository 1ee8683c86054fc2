/* who.c: see who.h.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/who.h"
#include "lang/eval/import.h"
#include "lang/eval/operate.h"
#include "lang/tensor/tensor.h"
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include "runtime/base/utf8.h"
#include <stdio.h>
#include <string.h>

void who_describe(Interp *in, Value v, Bytes *out) {
    char shape[256];
    if (v.kind == V_TENSOR) {
        const TensorType *t = tensor_type(v.tensor);
        bytes_printf(out, "tensor %s, %llu bytes%s", type_text(t, shape),
                     (unsigned long long)type_bytes(t),
                     v.tensor->is_param ? v.tensor->is_buffer ? ", buffer" : ", param" : "");
    } else if (v.kind == V_FN)
        fn_signature(v.fn->ast, out);
    else if (v.kind == V_MODULE) {
        bytes_puts(out, "module ");
        fn_signature(v.module->make->ast, out);
    } else if (v.kind == V_LIST)
        bytes_printf(out, "list of %u", v.list->n);
    else if (v.kind == V_MAP)
        bytes_printf(out, "map of %zu", map_count(v.map));
    else if (v.kind <= V_STR || v.kind == V_RANGE) {
        LangError e = {0};
        size_t from = out->n;
        if (!value_repr(in, v, out, &e)) {
            out->n = from;
            bytes_puts(out, value_type_name(v));
        }
        size_t keep = utf8_skip(out->data + from, out->n - from, 60);
        if (from + keep < out->n) {
            out->n = from + keep;
            bytes_puts(out, "…");
        }
        for (size_t i = from; i < out->n; i++)
            if (out->data[i] == '\n') out->data[i] = ' ';
    } else
        bytes_puts(out, value_type_name(v));
}

void who_print(Interp *in) {
    const char *name;
    Value v;
    Bytes b = {0};
    for (size_t i = 0; interp_global(in, i, &name, &v); i++) {
        if (v.kind == V_UNDEF || !strcmp(name, "_")) continue; /* `_` is ans */
        bytes_printf(&b, "%-12s  ", name);
        who_describe(in, v, &b);
        bytes_putc(&b, '\n');
    }
    fputs(b.n ? b.data : "no variables\n", stdout);
    bytes_fini(&b);
}
