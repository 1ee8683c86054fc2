/* msg.c: see msg.h. SPDX-License-Identifier: MIT */
#include "runtime/base/msg.h"

#include <string.h>

void msg_fini(Msg *m) {
    for (int i = 0; i < m->n; i++) buf_unref(&m->part[i]);
    m->n = 0;
}

void msg_move(Msg *to, Msg *from) {
    to->n = from->n;
    memcpy(to->part, from->part, (size_t)from->n * sizeof from->part[0]);
    from->n = 0;
}
