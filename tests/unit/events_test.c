/* events_test.c: TensorBoard's event files, byte for byte as its own writer makes them (tensorboard
 * 2.21: RecordWriter, Event.SerializeToString).
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "tests/unit/check.h"
#include <math.h>
#include <string.h>

static const char golden[] =
    "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\x00\x00\x10\x40\xfc\x54\xd9"
    "\x41\x1a\x0d\x62\x72\x61\x69\x6e\x2e\x45\x76\x65\x6e\x74\x3a\x32\x33\x8d\x2f\xe9"
    "\x0d\x00\x00\x00\x00\x00\x00\x00\x3c\x37\xb8\x34\x09\x00\x00\x10\x40\xfc\x54\xd9"
    "\x41\x3a\x02\x08\x01\x8c\x8e\x54\xcd\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b"
    "\x22\x09\x00\x00\x60\x40\xfc\x54\xd9\x41\x2a\x0d\x0a\x0b\x0a\x04\x6c\x6f\x73\x73"
    "\x15\x00\x00\x20\x40\x7e\xca\x36\xe4\x2e\x00\x00\x00\x00\x00\x00\x00\xc5\xcb\x57"
    "\xfa\x09\x00\x00\xa0\x40\xfc\x54\xd9\x41\x10\xac\x02\x2a\x20\x0a\x0b\x0a\x04\x6c"
    "\x6f\x73\x73\x15\x00\x00\x00\x3e\x0a\x11\x0a\x0a\x6c\x72\x2f\x67\x72\xc3\xb6\xc3"
    "\x9f\x65\x15\x00\x00\xc0\x7f\x20\xe7\x80\x9e";

static void test_golden(void) {
    Bytes b = {0};
    events_begin(1700000000.25, &b);
    CHECK_INT(b.n, 40 + 29);
    events_scalars(1700000001.5, 0, (const char *[]){"loss"}, (double[]){2.5}, 1, &b);
    events_scalars(1700000002.5, 300, (const char *[]){"loss", "lr/größe"}, (double[]){0.125, NAN},
                   2, &b);
    CHECK_INT(b.n, sizeof golden - 1);
    for (size_t i = 0; i < b.n && i < sizeof golden - 1; i++)
        CHECK_MSG(b.data[i] == golden[i], "byte %zu is %02x, not %02x", i, b.data[i] & 255,
                  golden[i] & 255);
    bytes_fini(&b);
}

/* A name that is not UTF-8 would make readers refuse the record. */
static void test_names(void) {
    Bytes b = {0}, want = {0};
    events_scalars(1, 1, (const char *[]){"a\xffz\xc3"}, (double[]){1}, 1, &b);
    events_scalars(1, 1, (const char *[]){"a?z?"}, (double[]){1}, 1, &want);
    CHECK(b.n == want.n && !memcmp(b.data, want.data, b.n));
    b.n = 0;
    events_scalars(1, 1, (const char *[]){""}, (double[]){1}, 1, &b);
    CHECK_INT(b.n, 8 + 4 + 9 + 2 + 2 + 2 + 2 + 5 + 4);
    bytes_fini(&b);
    bytes_fini(&want);
}

int main(void) {
    test_golden();
    test_names();
    return check_report("events");
}
