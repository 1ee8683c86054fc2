/* unread.c: finds writes to a tensor that nothing reads afterwards. A tensor is a value: `x += 1`
 * and `x[i] = v` change only the variable x. If x is not read again, the write is lost, while in
 * PyTorch the tensor that x came from would change.
 *
 * This is a backward liveness analysis, one walk per function and one for the file: `live` is the
 * set of names that may still be read. A write counts as a read of its name only if the name is
 * live after it. Loops are not iterated to a fixed point: all that the body reads, except the
 * loop's own targets, counts as read by the next iteration. The evaluator warns at a marked write
 * if the value is a tensor.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/parse.h"

/* Limit of tracked names per function: one bit of the set each. */
enum { NAMES_MAX = 64 };

typedef struct Names {
    const AstFn *fn;    /* NULL: the names of the file             */
    const Map *escaped; /* names of the file that functions read   */
    int32_t slot[NAMES_MAX];
    const char *name[NAMES_MAX];
    int n;
    uint64_t at_break, at_continue; /* of the innermost loop */
} Names;

/* Returns the bit of a tracked name, else 0. Cells are not tracked, because inner functions may
 * read them at any time. */
static uint64_t bit_of(const Names *l, const Node *n) {
    if (n->kind != N_NAME || n->scope != (l->fn ? SCOPE_LOCAL : SCOPE_GLOBAL)) return 0;
    for (int i = 0; i < l->n; i++)
        if (l->fn ? l->slot[i] == n->slot : l->name[i] == n->str) return (uint64_t)1 << i;
    return 0;
}

static void add_name(Names *l, const Node *n) {
    if (n->kind != N_NAME || n->scope != (l->fn ? SCOPE_LOCAL : SCOPE_GLOBAL) || bit_of(l, n) ||
        l->n == NAMES_MAX)
        return;
    if (!l->fn && map_get(l->escaped, (uint64_t)(uintptr_t)n->str)) return;
    l->slot[l->n] = n->slot;
    l->name[l->n++] = n->str;
}

/* Returns x of a target x[...], or NULL. */
static const Node *written(const Node *target) {
    return target->kind == N_INDEX && target->kid[0]->kind == N_NAME ? target->kid[0] : NULL;
}

static void written_names(Names *l, const Node *n) {
    if (n->kind == N_AUGASSIGN) add_name(l, n->kid[0]);
    if (n->kind == N_INDEX && written(n)) add_name(l, n->kid[0]); /* reads too, which is harmless */
    for (uint32_t k = 0; k < n->n_kids; k++)
        if (n->kid[k]) written_names(l, n->kid[k]);
}

static uint64_t reads(const Names *l, const Node *n);

/* The names that a target reads: all except those that it writes. */
static uint64_t target_reads(const Names *l, const Node *n) {
    uint64_t set = 0;
    if (n->kind == N_NAME) return 0;
    for (uint32_t k = written(n) ? 1 : 0; k < n->n_kids; k++)
        set |= n->kind == N_LIST ? target_reads(l, n->kid[k]) : reads(l, n->kid[k]);
    return set;
}

/* All names that n may read. */
static uint64_t reads(const Names *l, const Node *n) {
    if (!n) return 0;
    uint64_t set = bit_of(l, n);
    uint32_t k = 0;
    if (n->kind == N_AUGASSIGN) set |= target_reads(l, n->kid[k++]);
    for (; n->kind == N_ASSIGN && k + 1 < n->n_kids; k++) set |= target_reads(l, n->kid[k]);
    if (n->kind == N_FOR) k++; /* its targets */
    for (; k < n->n_kids; k++) set |= reads(l, n->kid[k]);
    return set;
}

/* The names that a target rebinds. */
static uint64_t bound(const Names *l, const Node *n) {
    uint64_t set = bit_of(l, n);
    for (uint32_t k = 0; n->kind == N_LIST && k < n->n_kids; k++) set |= bound(l, n->kid[k]);
    return set;
}

static void mark(const Names *l, Node *n, const Node *name, uint64_t live) {
    uint64_t bit = bit_of(l, name);
    if (bit && !(live & bit)) n->flag |= NODE_UNREAD;
}

static void mark_targets(const Names *l, Node *n, uint64_t live) {
    if (written(n)) mark(l, n, n->kid[0], live);
    for (uint32_t k = 0; n->kind == N_LIST && k < n->n_kids; k++) mark_targets(l, n->kid[k], live);
}

static uint64_t before(Names *l, Node *n, uint64_t live);

static uint64_t before_loop(Names *l, Node *n, uint64_t live) {
    bool is_for = n->kind == N_FOR;
    Node *body = n->kid[is_for ? 2 : 1];
    uint64_t anew = is_for ? bound(l, n->kid[0]) : 0, outer_break = l->at_break,
             outer_continue = l->at_continue;
    uint64_t next = (is_for ? reads(l, body) : reads(l, n)) & ~anew;
    l->at_break = live;
    l->at_continue = live | next;
    uint64_t in = before(l, body, live | next) & ~anew;
    l->at_break = outer_break, l->at_continue = outer_continue;
    return live | in | reads(l, n->kid[is_for]);
}

/* Returns the names live before n; live: those live after it. Marks unread writes. */
static uint64_t before(Names *l, Node *n, uint64_t live) {
    uint64_t in = live, other;
    uint32_t k = n->n_kids;
    switch (n->kind) {
    case N_BLOCK:
    case N_SIGNAL:
    case N_NO_GRAD:
    case N_TIME:
        while (k-- > 0)
            if (n->kid[k]) in = before(l, n->kid[k], in);
        return in;
    case N_ASSIGN:
        for (uint32_t i = 0; i + 1 < k; i++) mark_targets(l, n->kid[i], live);
        for (uint32_t i = 0; i + 1 < k; i++) in &= ~bound(l, n->kid[i]);
        return in | reads(l, n);
    case N_AUGASSIGN:
        mark(l, written(n->kid[0]) ? n->kid[0] : n,
             written(n->kid[0]) ? n->kid[0]->kid[0] : n->kid[0], live);
        return in | reads(l, n);
    case N_IF:
        other = k % 2 ? before(l, n->kid[--k], live) : live;
        for (; k > 0; k -= 2) other |= before(l, n->kid[k - 1], live) | reads(l, n->kid[k - 2]);
        return other;
    case N_FOR:
    case N_WHILE: return before_loop(l, n, live);
    case N_BREAK: return l->at_break;
    case N_CONTINUE: return l->at_continue;
    case N_RETURN: return reads(l, n);
    default: return in | reads(l, n);
    }
}

void unread_writes(AstFn *fn, Node *body, const Map *escaped) {
    Names l = {.fn = escaped ? NULL : fn, .escaped = escaped};
    written_names(&l, body);
    if (l.n) before(&l, body, 0);
}
