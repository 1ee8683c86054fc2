/* record_test.c: records of proofs (worker/prove/record.h): written and read again; every damaged,
 * cut, doubled or foreign one is none; files that are none are not waited for; and what
 * `--engine auto` makes of them without a device.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "worker/prove/choose.h"
#include "worker/prove/record.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char state[64]; /* XDG_STATE_HOME */

static const Record some = {
    .engine = "cuda",
    .device = {.name = "NVIDIA H100 80GB HBM3",
               .capability = "9.0",
               .driver = "CUDA 13.0, 580.65.06",
               .toolkit = "NVRTC 13.0"},
    .build = "0123456789abcdef",
    .seed = "1",
    .passed = "2026-11-28T17:44:21Z",
};

static bool is_same(const Record *a, const Record *b) {
    return !strcmp(a->engine, b->engine) && !strcmp(a->device.name, b->device.name) &&
           !strcmp(a->device.capability, b->device.capability) &&
           !strcmp(a->device.driver, b->device.driver) &&
           !strcmp(a->device.toolkit, b->device.toolkit) && !strcmp(a->build, b->build) &&
           !strcmp(a->seed, b->seed) && !strcmp(a->passed, b->passed);
}

static void put(const char *path, const char *text, size_t n) {
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(text, 1, n, f) == n);
    if (f) fclose(f);
    chmod(path, 0600);
}

/* ---- Text ---- */

static void test_text(void) {
    char text[RECORD_MAX], wrong[RECORD_MAX + 100];
    Record r;
    record_print(&some, text);
    size_t n = strlen(text);
    CHECK(record_parse(text, n, &r) && is_same(&r, &some));
    for (size_t cut = 0; cut < n; cut++) CHECK_MSG(!record_parse(text, cut, &r), "cut at %zu", cut);
    /* A line twice, one that nobody knows, one without a value, text behind the end. */
    static const char *const more[] = {"seed 1\n", "colour red\n", "seed\n", "seed \n", "x", "\n"};
    for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
        int length = snprintf(wrong, sizeof wrong, "%s%s", text, more[k]);
        CHECK_MSG(!record_parse(wrong, (size_t)length, &r), "with '%s'", more[k]);
    }
    CHECK(!record_parse("gt-proof 2\n", 11, &r));
    memset(wrong, 'x', sizeof wrong);
    CHECK(!record_parse(wrong, sizeof wrong, &r));
    int length = snprintf(wrong, sizeof wrong, "gt-proof 1\nengine %0200d\n", 0);
    CHECK(!record_parse(wrong, (size_t)length, &r)); /* too long for its field */
    Record odd = some;
    snprintf(odd.device.name, sizeof odd.device.name, "\033[31mred\n\xff");
    record_print(&odd, text);
    CHECK(record_parse(text, strlen(text), &r));
    CHECK_STR(r.device.name, "?[31mred??");
}

/* Any changed byte gives no record, or one with another value: never one that reads past its end.
 */
static void test_damage(uint64_t seed) {
    char text[RECORD_MAX], wrong[RECORD_MAX];
    Rand rand = {seed};
    Record r;
    record_print(&some, text);
    size_t n = strlen(text);
    for (int k = 0; k < rand_rounds(20000); k++) {
        memcpy(wrong, text, n);
        for (int i = 1 + rand_below(&rand, 3); i > 0; i--)
            wrong[rand_below(&rand, (int)n)] = (char)rand_u64(&rand);
        if (!memcmp(wrong, text, n) || !record_parse(wrong, n, &r)) continue;
        CHECK(!is_same(&r, &some));
        CHECK(strlen(r.build) < sizeof r.build && strlen(r.device.name) < sizeof r.device.name);
    }
}

/* ---- Files ---- */

static void test_files(void) {
    static Record all[RECORDS_MAX];
    Record r, other = some;
    char path[RECORD_PATH], odd[RECORD_PATH + 8], text[RECORD_MAX];
    CHECK_INT(record_all("cuda", all), 0); /* there is no folder */
    CHECK(record_write(&some, NULL) && record_path(&some, path));
    CHECK(record_read(path, &r) && is_same(&r, &some));
    snprintf(other.build, sizeof other.build, "another");
    CHECK(record_write(&other, NULL)); /* in the place of the first */
    CHECK_INT(record_all("cuda", all), 1);
    CHECK_STR(all[0].build, "another");
    snprintf(other.device.name, sizeof other.device.name, "NVIDIA A100");
    CHECK(record_write(&other, NULL));
    CHECK_INT(record_all("cuda", all), 2);
    CHECK_INT(record_all("cud", all), 0);
    record_remove(&other);
    CHECK_INT(record_all("cuda", all), 1);
    /* What is no record of this user's: a file that others can write, a link, a pipe, a folder. */
    record_print(&some, text);
    snprintf(odd, sizeof odd, "%sf", path);
    put(odd, text, strlen(text));
    CHECK(record_read(odd, &r));
    chmod(odd, 0666);
    CHECK(!record_read(odd, &r));
    unlink(odd);
    CHECK(!symlink(path, odd) && !record_read(odd, &r));
    unlink(odd);
    CHECK(!mkfifo(odd, 0600) && !record_read(odd, &r)); /* nobody writes it: not waited for */
    unlink(odd);
    CHECK(!mkdir(odd, 0700) && !record_read(odd, &r));
    CHECK_INT(record_all("cuda", all), 1);
    rmdir(odd);
    put(odd, text, 40);
    CHECK_INT(record_all("cuda", all), 1);
    unlink(odd);
}

/* A program that does not know its build, as this one, takes no record. */
static void test_choose(void) {
    char why[200], path[RECORD_PATH];
    CHECK(choose_engine(&(EngineConfig){0}, why, sizeof why) == &engine_cpu);
    CHECK_STR(why, "NVIDIA H100 80GB HBM3 was proved by another build");
    CHECK(record_path(&some, path) && !unlink(path));
    CHECK(choose_engine(&(EngineConfig){0}, why, sizeof why) == &engine_cpu);
    CHECK_STR(why, "no device was proved here");
}

static void test_no_place(void) {
    char path[RECORD_PATH];
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "", 1);
    CHECK(!record_folder(path));
    CHECK_FAIL(record_write(&some, &err), ERR_IO);
    setenv("XDG_STATE_HOME", "/proc/none", 1);
    CHECK_FAIL(record_write(&some, &err), ERR_IO);
}

int main(int argc, char **argv) {
    char path[128];
    snprintf(state, sizeof state, "%s/gt_record_test.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(state)) return 1;
    setenv("XDG_STATE_HOME", state, 1);
    test_text();
    test_damage(rand_seed(argc, argv));
    test_files();
    test_choose();
    test_no_place();
    static const char *const folders[] = {"/gt/proofs", "/gt", ""};
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s%s", state, folders[k]);
        CHECK(!rmdir(path));
    }
    return check_report("record");
}
