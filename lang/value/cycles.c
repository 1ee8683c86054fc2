/* cycles.c: frees cycles of containers. Reference counts free everything else at once, so this runs
 * rarely: when the number of containers has doubled, after statements at the prompt, and at the
 * end.
 *
 * Trial deletion (D. F. Bacon and V. T. Rajan, "Concurrent cycle collection in reference counted
 * systems", ECOOP 2001, in the simple form that CPython uses): subtract from every count the
 * references from other containers. Containers whose count stays above zero are referenced from
 * outside and live, with all that they reach; the rest is garbage. References on the C stack count
 * as outside.
 * SPDX-License-Identifier: MIT */
#include "lang/error/interrupt.h"
#include "lang/value/cycles.h"
#include "lang/value/mapv.h"
#include <stdlib.h>

enum { COLLECT_MIN = 10000 };
#define REACHED UINT32_MAX /* mark of a container known to be live */

typedef struct Work {
    Container **item;
    size_t n, cap;
} Work;
typedef void (*Visit)(Work *w, Container *c);

static void kid(Work *w, Value v, Visit visit) {
    switch (v.kind) {
    case V_LIST:
    case V_MAP:
    case V_SET:
    case V_FN:
    case V_BOUND:
    case V_MODULE:
    case V_OBJECT:
    case V_CELL: visit(w, (Container *)v.heap); break;
    default: break; /* strings, ranges, tensors and text hold no containers */
    }
}

static void each_kid(Work *w, Container *c, Visit visit) {
    switch (c->h.kind) {
    case V_LIST: {
        const List *l = (const List *)c;
        for (uint32_t i = 0; i < l->n; i++) kid(w, l->v[i], visit);
        break;
    }
    case V_MAP: {
        const MapV *m = (const MapV *)c;
        for (uint32_t i = 0; i < m->n; i++) kid(w, m->entry[i].value, visit);
        break;
    }
    case V_CELL: kid(w, ((const Cell *)c)->v, visit); break;
    case V_FN: {
        const Fn *f = (const Fn *)c;
        for (int i = 0; i < f->n_cells; i++) visit(w, &f->cell[i]->c);
        break;
    }
    case V_BOUND:
        kid(w, ((const Bound *)c)->self, visit);
        kid(w, ((const Bound *)c)->f, visit);
        break;
    case V_MODULE:
        if (((const Module *)c)->make) visit(w, &((const Module *)c)->make->c);
        if (((const Module *)c)->method) visit(w, &((const Module *)c)->method->c);
        break;
    case V_OBJECT:
        if (((const Object *)c)->module) visit(w, &((const Object *)c)->module->c);
        if (((const Object *)c)->field) visit(w, &((const Object *)c)->field->c);
        break;
    default: break;
    }
}

static void subtract(Work *w, Container *c) {
    (void)w;
    c->mark--;
}

static void push(Work *w, Container *c) { ARRAY_PUSH(w->item, w->n, w->cap, 1024, c); }

static void reach(Work *w, Container *c) {
    if (c->mark == REACHED) return;
    c->mark = REACHED;
    push(w, c);
}

static bool must_stop(const Interp *in) { return interrupt_count && !in->is_ending; }

/* Sets the mark of each container: 0 if it is garbage. False if Ctrl-C came first. */
static bool mark_live(Interp *in, Work *w) {
    Container *head = &in->containers;
    for (Container *c = head->next; c != head && !must_stop(in); c = c->next) c->mark = c->h.refs;
    for (Container *c = head->next; c != head && !must_stop(in); c = c->next)
        each_kid(w, c, subtract);
    for (Container *c = head->next; c != head && !must_stop(in); c = c->next)
        if (c->mark != 0 && c->mark != REACHED) {
            reach(w, c);
            while (w->n && !must_stop(in)) each_kid(w, w->item[--w->n], reach);
        }
    return !must_stop(in);
}

void cycles_collect(Interp *in) {
    Container *head = &in->containers;
    Work w = {0};
    if (in->is_freeing || !mark_live(in, &w)) {
        free(w.item);
        return;
    }
    for (Container *c = head->next; c != head; c = c->next)
        if (c->mark == 0) {
            c->h.refs++; /* so that clearing one does not free another */
            push(&w, c);
        }
    /* what Ctrl-C leaves stays garbage for the next time */
    for (size_t i = 0; i < w.n && !must_stop(in); i++) container_clear(w.item[i]);
    for (size_t i = 0; i < w.n; i++)
        if (--w.item[i]->h.refs == 0) heap_free(&w.item[i]->h);
    free(w.item);
    in->collect_at = in->n_containers * 2 > COLLECT_MIN ? in->n_containers * 2 : COLLECT_MIN;
}
