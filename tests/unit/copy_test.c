/* copy_test: transposed copies of elements of every size, of any number of rows and columns: whole
 * squares and blocks and what is left of them, between distant rows; nothing else is written.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/cpu/cpu.h"
#include <stdlib.h>
#include <string.h>

static Rand rnd;

/* Returns how many of the bytes are wrong. */
static int64_t wrong_bytes(int64_t rows, int64_t columns, int64_t in, int64_t out, int size) {
    const int64_t from_bytes = ((columns - 1) * in + rows) * size,
                  to_bytes = ((rows - 1) * out + columns) * size;
    /* Of just these sizes, so that ASan sees what is read or written beyond. */
    uint8_t *from = malloc((size_t)from_bytes), *to = malloc((size_t)to_bytes);
    uint8_t *want = malloc((size_t)to_bytes);
    rand_fill(&rnd, (char *)from, (uint64_t)from_bytes);
    memset(to, 0xee, (size_t)to_bytes), memset(want, 0xee, (size_t)to_bytes);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            memcpy(want + (i * out + j) * size, from + (j * in + i) * size, (size_t)size);
    copy_transposed(to, out, from, in, rows, columns, size);
    int64_t wrong = 0;
    for (int64_t i = 0; i < to_bytes; i++) wrong += to[i] != want[i];
    free(from), free(to), free(want);
    return wrong;
}

static void test(int64_t rows, int64_t columns, int64_t more) {
    for (int size = 1; size <= 8; size *= 2) {
        int64_t wrong = wrong_bytes(rows, columns, rows + more, columns + 2 * more, size);
        CHECK_MSG(wrong == 0,
                  "%lld rows, %lld columns of %d bytes, rows %lld further apart: %lld "
                  "bytes are wrong",
                  (long long)rows, (long long)columns, size, (long long)more, (long long)wrong);
    }
}

int main(int argc, char **argv) {
    rnd.state = rand_seed(argc, argv);
    for (int64_t rows = 1; rows <= 67; rows++)
        for (int64_t columns = 1; columns <= 70; columns += 1 + rows % 3) test(rows, columns, 0);
    for (int i = 0; i < rand_rounds(300); i++) {
        int rows = 1 + rand_below(&rnd, 200), columns = 1 + rand_below(&rnd, 200);
        test(rows, columns, rand_below(&rnd, 40));
    }
    return check_report("copy");
}
