/* tape_test: the writer of a tape (to a file, a full disk, a pipe without reader, a slow reader)
 * and the reader of its columns.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/beside.h"
#include "runtime/inst/tape.h"
#include "tests/unit/check.h"
#include "tests/unit/make_inst.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Err why;
static char dir[] = "/tmp/tape-test-XXXXXX", path[64];

static size_t read_file(char *buf, size_t size) {
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(buf, 1, size - 1, f) : 0;
    if (f) fclose(f);
    buf[n] = 0;
    return n;
}

static void test_writer(void) {
    char text[4096];
    Tape *t = tape_open(path, &why);
    CHECK(t != NULL);
    bytes_puts(tape_begin(t, 3104999, TAPE_RECEIVED, 1, '-', 0), "t0 = neg t1");
    tape_end(t);
    bytes_puts(tape_begin(t, INT64_C(12000000) * 1000000, TAPE_SENT, 20, 'g', 7), "a");
    tape_end(t);
    bytes_puts(tape_begin(t, -5, TAPE_COMES, 0, 'w', 0), "b");
    tape_end(t);
    CHECK_INT(read_file(text, sizeof text), 0); /* buffered */
    tape_flush(t);
    read_file(text, sizeof text);
    CHECK(!strcmp(text, "gti 1 kind=tape\n0.003104 1 > c1 - t0 = neg t1\n"
                        "12000.000000 2 = c20 g7 a\n0.000000 3 + - w0 b\n"));
    int64_t before = tape_now_ns(t);
    CHECK(before >= 0 && tape_now_ns(t) >= before);
    for (int i = 0; i < 100000; i++) { /* much is written without a flush */
        bytes_puts(tape_begin(t, i, TAPE_SENT, 1, 'w', 0), "t1 = add t2 t3");
        tape_end(t);
    }
    struct stat st;
    CHECK(stat(path, &st) == 0 && st.st_size > 3000000);
    tape_close(&t);
    CHECK(t == NULL && stat(path, &st) == 0 && st.st_size > 3500000);
}

/* Elements beside the tape: each content once, aligned, in a file of its own; a full disk is
 * reported once. */
static void test_beside(void) {
    char data[80], text[4096];
    snprintf(data, sizeof data, "%s.data", path);
    FILE *victim = fopen("/dev/null", "w");
    CHECK(victim && symlink("/dev/null", data) == 0); /* a planted link is not followed */
    if (victim) fclose(victim);
    Tape *t = tape_open(path, &why);
    InstBeside a, b, c;
    CHECK(tape_keep(t, "hello", 5, &a) && a.at == 0);
    CHECK_STR(a.path, strrchr(data, '/') + 1);
    CHECK_STR(a.sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    CHECK(tape_keep(t, "world", 5, &b) && b.at == 64);
    CHECK(tape_keep(t, "hello", 5, &c) && c.at == 0);
    struct stat st;
    CHECK(lstat(data, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 69);
    int64_t n = 5;
    Inst in = {.op = OP_DATA,
               ATTRS(attr_dtype(DT_U8), attr_ints(ATTR_SHAPE, 1, &n)),
               RESULTS(7),
               BYTES("world", 5)};
    InstPrint how = {.payload_max = 1, .beside = &b};
    inst_print(&in, &how, tape_begin(t, 0, TAPE_RECEIVED, 1, '-', 0));
    tape_end(t);
    tape_flush(t);
    read_file(text, sizeof text);
    CHECK(strstr(text, "t7 = data u8 [5] path=\"") &&
          strstr(text, ".data\" at=64 sha256=486ea462"));
    CHECK(!tape_take_error(t, &why));
    CHECK(!tape_keep(t, "x", BESIDE_BYTES + 1, &c)); /* not looked at */
    CHECK(tape_take_error(t, &why) && strstr(why.text, "it holds 1 GiB"));
    CHECK(!tape_take_error(t, &why) && !tape_keep(t, "y", 1, &c)); /* once only */
    bytes_puts(tape_begin(t, 0, TAPE_SENT, 1, 'w', 0), "the tape goes on");
    tape_end(t);
    tape_close(&t);
    CHECK(read_file(text, sizeof text) > 0 && strstr(text, "the tape goes on"));
    unlink(data);
}

static void test_failures(void) {
    CHECK_FAIL(tape_open("/nowhere/tape", &err), ERR_IO);
    Tape *t = tape_open("/dev/full", &why);
    CHECK(t && !tape_take_error(t, &why));
    tape_flush(t);
    CHECK(tape_take_error(t, &why) && strstr(why.text, "No space left"));
    CHECK(!tape_take_error(t, &why)); /* once */
    for (int i = 0; i < 10000; i++) tape_begin(t, i, TAPE_SENT, 1, 'w', 0), tape_end(t);
    CHECK(!tape_take_error(t, &why));
    tape_close(&t);
}

static void test_pipe(void) {
    unlink(path);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK_FAIL(tape_open(path, &err), ERR_IO); /* no reader */
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    Tape *t = tape_open(path, &why);
    CHECK(t != NULL);
    /* The reader sleeps: nothing waits for it, and nothing is lost. */
    int lines = 40000;
    for (int i = 0; i < lines; i++) {
        bytes_puts(tape_begin(t, i, TAPE_SENT, 1, 'w', 0), "t1 = add t2 t3");
        tape_end(t);
    }
    CHECK(!tape_take_error(t, &why));
    static char buf[1 << 16];
    int seen = 0;
    for (int idle = 0; idle < 3; tape_flush(t)) {
        ssize_t n = read(fd, buf, sizeof buf);
        idle = n > 0 ? 0 : idle + 1;
        for (ssize_t i = 0; i < n; i++) seen += buf[i] == '\n';
    }
    CHECK_INT(seen, lines + 1);
    /* The reader is too slow: the tape ends, with a message. */
    char *much = xmalloc(1 << 20);
    memset(much, 'x', 1 << 20);
    for (int i = 0; i < 70; i++) {
        bytes_add(tape_begin(t, i, TAPE_SENT, 1, 'w', 0), much, 1 << 20);
        tape_end(t);
    }
    free(much);
    CHECK(tape_take_error(t, &why) && strstr(why.text, "too slow"));
    tape_close(&t);
    /* The reader goes: an error, no signal. */
    close(fd);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    t = tape_open(path, &why);
    close(fd);
    tape_flush(t);
    CHECK(tape_take_error(t, &why) && strstr(why.text, "Broken pipe"));
    tape_close(&t);
}

static void test_reader(void) {
    static const struct {
        const char *line;
        char event;
        uint32_t client;
        const char *text;
    } good[] = {
        {"0.003104 11 > c1 -  t2 = add t0 t1", '>', 1, "t2 = add t0 t1"},
        {"12 1 = c20 g7 a", '=', 20, "a"},
        {"0.1 2 + - w0 ", '+', 0, ""},
        {"0.1 2 - c4294967295 w0", '-', UINT32_MAX, ""},
        {"0.1\t2\t<\tc3\tw12\tdone t4\r", '<', 3, "done t4\r"},
    };
    static const struct {
        const char *line, *why;
    } bad[] = {
        {"", "column 1: seconds"},
        {"x 1 > c1 - a", "column 1: seconds"},
        {". 1 > c1 - a", "column 1: seconds"},
        {"0.1.2 1 > c1 - a", "column 1: seconds"},
        {"0.1", "column 4: the line's number"},
        {"0.1 1.5 > c1 - a", "column 5: the line's number"},
        {"0.1 1 >> c1 - a", "column 7: an event"},
        {"0.1 1 * c1 - a", "column 7: an event"},
        {"0.1 1 > 1 - a", "column 9: a client"},
        {"0.1 1 > c - a", "column 9: a client"},
        {"0.1 1 > c0 - a", "column 9: a client"},
        {"0.1 1 > c4294967296 - a", "column 9: a client"},
        {"0.1 1 > c1", "column 11: a worker"},
        {"0.1 1 > c1 q1 a", "column 12: a worker"},
        {"0.1 1 > c1 w a", "column 12: a worker"},
    };
    TapeLine out;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        size_t n = strlen(good[i].line);
        CHECK(tape_read(good[i].line, n, &out, &why));
        CHECK(out.event == (TapeEvent)good[i].event && out.client == good[i].client);
        CHECK(out.text <= n && !strcmp(good[i].line + out.text, good[i].text));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why = (Err){0};
        CHECK(!tape_read(bad[i].line, strlen(bad[i].line), &out, &why));
        CHECK(why.code == ERR_PARSE && strstr(why.text, bad[i].why));
    }
    static const char h[] = "gti 1 prog=\"a\" kind=tape";
    CHECK(tape_is_header(h, sizeof h - 1) && !tape_is_header(h, sizeof h - 2));
    CHECK(!tape_is_header("gti 1 kind=tapes", 16) && !tape_is_header("gt 1 kind=tape", 14));
}

int main(void) {
    signal(SIGPIPE, SIG_DFL);
    if (!mkdtemp(dir)) return 1;
    snprintf(path, sizeof path, "%s/tape", dir);
    test_writer();
    test_beside();
    test_failures();
    test_pipe();
    test_reader();
    unlink(path), rmdir(dir);
    return check_report("tape");
}
