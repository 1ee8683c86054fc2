/* stage.c: see stage.h. SPDX-License-Identifier: MIT */
#include "worker/exec/stage.h"
#include "worker/exec/issue.h"

void stages_put(Exec *x, Stage *s) {
    if (!s) return;
    s->x = x;
    s->next = x->stages;
    x->stages = s;
    if (s->look) x->looks = s;
    if (s->take) x->takes = s;
}

void stages_free(Exec *x) {
    for (Stage *s; (s = x->stages);) {
        x->stages = s->next;
        s->free(s);
    }
}

void stages_end(Exec *x, const Client *c) {
    if (x->looks) x->looks->forget(x->looks, c);
    stages_flush(x);
}

bool stages_settle(Exec *x, Job *j, ErrCode *poison) {
    *poison = ERR_NONE;
    if (!x->pending_of || !job_reads_pending(j)) return true;
    stages_flush(x);
    Err none;
    exec_gather(x, j, poison, &none);
    return !*poison;
}
