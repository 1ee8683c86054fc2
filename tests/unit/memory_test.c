/* memory_test.c: arenas, byte strings, shared buffers and error texts.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "tests/unit/check.h"
#include <stdint.h>

static void test_arena(void) {
    Arena a = {0};
    arena_reset(&a), arena_fini(&a); /* empty is fine */
    for (int round = 0; round < 3; round++) {
        for (size_t n = 0; n < 3000; n++) {
            unsigned char *p = arena_alloc(&a, n);
            CHECK(((uintptr_t)p & 15) == 0);
            memset(p, (int)n, n); /* ASan sees overlap with the block's end */
        }
        unsigned char *big = arena_alloc(&a, 5 << 20), *zero = arena_zalloc(&a, 100);
        memset(big, 1, 5 << 20);
        for (int i = 0; i < 100; i++) CHECK(zero[i] == 0);
        arena_reset(&a);
    }
    CHECK_STR(arena_strndup(&a, "hello", 3), "hel");
    CHECK_STR(arena_printf(&a, "%d %s", 42, "x"), "42 x");
    char long_text[1000];
    memset(long_text, 'y', 999), long_text[999] = 0;
    CHECK_STR(arena_printf(&a, "%s", long_text), long_text);
    arena_fini(&a);
}

static void test_bytes(void) {
    Bytes b = {0};
    bytes_puts(&b, "");
    CHECK_STR(b.data, "");
    for (int i = 0; i < 1000; i++) bytes_putc(&b, (char)('a' + i % 26));
    CHECK(b.n == 1000 && b.data[1000] == 0 && b.data[27] == 'b');
    b.n = 0;
    bytes_printf(&b, "%0500d|", 7), bytes_printf(&b, "%s", "end");
    CHECK(b.n == 504 && !strcmp(b.data + 498, "07|end"));
    bytes_add(&b, "a\0b", 3);
    CHECK(b.n == 507 && b.data[507] == 0);
    bytes_fini(&b);
    CHECK(!b.data && b.n == 0);
}

static int released;
static void release(void *data, void *ctx) { released += *(int *)ctx; }

static void test_buf(void) {
    Buf *b = buf_new(10);
    CHECK(b->n == 0 && ((uintptr_t)b->data & 63) == 0);
    memcpy(b->data, "0123456789", 10), b->n = 10;
    buf_reserve(b, 100000);
    CHECK(b->cap - b->n >= 100000 && !memcmp(b->data, "0123456789", 10) &&
          ((uintptr_t)b->data & 63) == 0);
    Buf *again = buf_ref(b);
    buf_unref(&b);
    CHECK(!b && again->n == 10);
    buf_unref(&again), buf_unref(&again); /* NULL is fine */
    char text[] = "text";
    int one = 1;
    Buf *w = buf_wrap(text, 4, release, &one);
    Buf *w2 = buf_ref(w);
    buf_unref(&w);
    CHECK_INT(released, 0);
    buf_unref(&w2);
    CHECK_INT(released, 1);
    Buf *c = buf_copy("abc", 3);
    CHECK(c->n == 3 && !memcmp(c->data, "abc", 3));
    buf_unref(&c);
}

static void test_err(void) {
    Err e = {0};
    CHECK(!err_set(&e, ERR_SHAPE, "%d of %s", 3, "four"));
    CHECK_STR(e.text, "3 of four");
    CHECK(!err_hint(&e, "try %d", 5) && e.code == ERR_SHAPE);
    CHECK_STR(e.hint, "try 5");
    err_set(&e, ERR_IO, "again");
    CHECK_STR(e.hint, "");
    CHECK(!err_set(NULL, ERR_IO, "nobody listens") && !err_hint(NULL, "x"));
    CHECK_STR(err_name(ERR_MEMORY), "out_of_memory");
    CHECK_STR(err_name((ErrCode)999), "unknown");
    char many[600] = ""; /* cut at a character boundary, never inside */
    for (int shift = 0; shift < 4; shift++) {
        memset(many, 'x', 600);
        for (size_t i = (size_t)shift; i + 3 < 599; i += 3) memcpy(many + i, "\xe2\x82\xac", 3);
        many[599] = 0;
        err_set(&e, ERR_IO, "%s", many);
        size_t n = strlen(e.text);
        CHECK_MSG(n > 500 && n < sizeof e.text && (n - (size_t)shift) % 3 == 0,
                  "cut at %zu, shift %d", n, shift);
    }
}

int main(void) {
    test_arena();
    test_bytes();
    test_buf();
    test_err();
    return check_report("memory");
}
