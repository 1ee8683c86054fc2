/* position.c: where the program is: carets point there, in the program rather than in the prelude.
 * SPDX-License-Identifier: MIT */
#include "lang/value/frame.h"
#include "lang/value/interp.h"

Span interp_span(const Interp *in) {
    const Node *at = in->at;
    const Frame *f = in->frame;
    while (at && at->at.src && at->at.src->is_prelude && f && f->call) {
        at = f->call;
        f = f->up;
    }
    return at ? at->at : (Span){0};
}
