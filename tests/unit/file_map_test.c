/* file_map_test.c: mapped files: their bytes, what a file that is cut off, replaced or written to
 * does to them, the handler of SIGBUS and signals of others; formats read from a mapping against
 * the same files read; the memory that a checkpoint takes.
 * SPDX-License-Identifier: MIT */
#include "lang/file/file_map.h"
#include "tests/unit/io_dir.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MANY = 3 * 1024 * 1024 + 5 };

/* Writes n bytes, byte i being i * 7 + i / 256. */
static void write_file(const char *name, size_t n) {
    uint8_t *p = xmalloc(n + 1);
    Err e = {0};
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)(i * 7 + i / 256);
    CHECK(io_write(in_dir(name), p, n, &e));
    free(p);
}

static bool is_right(const Buf *b, size_t from, size_t to) {
    while (from < to && b->data[from] == (uint8_t)(from * 7 + from / 256)) from++;
    return from == to;
}

static Buf *map_n(const char *name, size_t n) {
    int fd = open(in_dir(name), O_RDONLY);
    Buf *b = file_map(fd, n, in_dir(name));
    close(fd);
    return b;
}

/* As another program: in a process of its own. */
static void cut(const char *name, off_t n) {
    pid_t pid = fork();
    if (!pid) _exit(truncate(in_dir(name), n) != 0);
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
}

static void test_bytes(void) {
    static const size_t size[] = {4096, 8192, 8193, 12287, FILE_MAP_LEAST, MANY};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        write_file("a", size[i]);
        Buf *b = map_n("a", size[i]);
        CHECK_MSG(b && b->n == size[i] && is_right(b, 0, size[i]) && b->data[size[i]] == 0,
                  "%zu bytes", size[i]);
        CHECK(b && file_map_has(b->data) && file_map_has(b->data + b->n));
        file_map_forget(b->data, b->n);
        CHECK(is_right(b, 0, size[i]));
        const uint8_t *p = b->data;
        buf_unref(&b);
        CHECK(!file_map_has(p));
    }
    file_map_forget(size, sizeof size); /* no mapping: nothing happens */
}

static void test_unmapped(void) {
    write_file("a", 4095);
    CHECK(!map_n("a", 4095)); /* less than a page */
    CHECK(!map_n("a", 8192)); /* more than there is */
    int fds[2];
    CHECK(pipe(fds) == 0);
    CHECK(!file_map(fds[0], 4096, "a pipe"));
    close(fds[0]), close(fds[1]);
    int fd = open("/proc/self/status", O_RDONLY);
    CHECK(!file_map(fd, 4096, "status"));
    close(fd);
    fd = open(dir, O_RDONLY);
    CHECK(!file_map(fd, 4096, "a directory"));
    close(fd);
}

static void test_many(void) {
    static Buf *all[300];
    int n = 0;
    write_file("a", 8192);
    while (n < 300 && (all[n] = map_n("a", 8192))) n++;
    CHECK(n >= 200 && n < 300); /* the table is full: read, then */
    for (int i = 0; i < n; i++) {
        CHECK(is_right(all[i], 0, 8192));
        buf_unref(&all[i]);
    }
    CHECK((all[0] = map_n("a", 8192)));
    buf_unref(&all[0]);
}

static void test_cut_off(void) {
    Err e = {0};
    LangError first = {0}, again = {0};
    write_file("a", MANY);
    Buf *b = map_n("a", MANY);
    CHECK(is_right(b, 0, 20000) && file_map_is_whole(b->data, b->n, &e));
    cut("a", 8200); /* within a page, whose rest is zeros */
    CHECK(is_right(b, 0, 8200) && file_map_is_whole(b->data, 8200, &e));
    CHECK_INT(b->data[8200], 0);
    CHECK_FAIL(file_map_is_whole(b->data, b->n, &err), ERR_IO);
    CHECK_FAIL(file_map_is_whole(b->data + 8100, 101, &err), ERR_IO);
    CHECK(file_map_has_all(&first)); /* no signal yet */
    CHECK_INT(b->data[16384], 0);
    size_t last = MANY / 4096 * 4096; /* the last page is a copy */
    for (size_t i = 8200; i < last; i++)
        if (b->data[i]) CHECK(false);
    CHECK(is_right(b, last, MANY));
    file_map_forget(b->data, b->n);
    CHECK_INT(b->data[100000], 0);
    CHECK(file_map_is_whole(b->data, 8200, &e) && file_map_is_whole(b->data + last, 5, &e));
    CHECK(file_map_is_whole(test_cut_off, 1, &e)); /* not mapped */
    CHECK(truncate(in_dir("a"), MANY) == 0);       /* too late: zeros were read */
    CHECK_FAIL(file_map_is_whole(b->data, b->n, &err), ERR_IO);

    write_file("b", MANY);
    Buf *other = map_n("b", MANY);
    cut("b", 0);
    CHECK_INT(other->data[7], 0);
    CHECK(!file_map_has_all(&first) && strstr(first.what, "was cut off"));
    CHECK(file_map_has_all(&again)); /* once; of the bytes themselves always: */
    CHECK(!file_map_is_whole(other->data, 1, &e));
    CHECK(strstr(e.text, "/b' was cut off") && strstr(e.hint, "rename"));
    CHECK(!file_map_is_good(other->data, 1, &again) && strstr(again.what, "/b' was cut off"));
    buf_unref(&b), buf_unref(&other);
    CHECK_INT(file_map_count, 0);
}

/* That one mapping is whole says nothing of another one. */
static void test_two(void) {
    LangError e = {0};
    write_file("a", MANY), write_file("b", MANY);
    Buf *a = map_n("a", MANY), *b = map_n("b", MANY);
    cut("a", 8192);
    CHECK_INT(a->data[8192], 0);
    CHECK(file_map_is_good(b->data, b->n, &e) && file_map_is_good(a->data, 8192, &e));
    CHECK(!file_map_has_all(&e) && strstr(e.what, "/a' was cut off"));
    file_map_note(b->data, b->n), file_map_note(a->data, 8192), file_map_note(test_two, 1);
    CHECK(file_map_has_all(&e));
    file_map_note(a->data, 8193);
    CHECK(!file_map_has_all(&e) && file_map_has_all(&e));
    cut("b", 8200); /* within a page: no signal */
    CHECK_INT(b->data[8200], 0);
    file_map_note(b->data, b->n); /* a was reported, and is still there */
    CHECK(!file_map_has_all(&e) && strstr(e.what, "/b' was cut off"));
    file_map_note(b->data, b->n);
    buf_unref(&b);
    CHECK(file_map_has_all(&e)); /* what was noted is gone */
    buf_unref(&a);
}

static void test_changed(void) {
    Err e = {0};
    write_file("a", MANY);
    Buf *b = map_n("a", MANY);
    CHECK(io_write(in_dir("a"), "new", 3, &e)); /* by rename: the old bytes stay */
    CHECK(is_right(b, 0, MANY) && file_map_is_whole(b->data, b->n, &e));
    remove(in_dir("a"));
    CHECK(is_right(b, 0, MANY) && file_map_is_whole(b->data, b->n, &e));
    buf_unref(&b);
    write_file("a", MANY);
    b = map_n("a", MANY);
    CHECK(io_append(in_dir("a"), "more", 4, &e));
    CHECK(is_right(b, 0, MANY) && b->data[MANY] == 0); /* behind the end as it was */
    buf_unref(&b);
}

/* ---- signals of others ---- */

static void on_bus(int sig) { _exit(sig == SIGBUS ? 42 : 1); }

/* How a process with a mapping ends that reads behind the end of a file of its own. */
static int end_of(void (*handler)(int), bool is_sent) {
    pid_t pid = fork();
    if (!pid) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGBUS, handler);
        Buf *b = map_n("a", 8192);
        int fd = open(in_dir("c"), O_RDWR | O_CREAT, 0600);
        const char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        if (is_sent) kill(getpid(), SIGBUS);
        _exit(is_sent || !b ? 3 : *p);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
}

static void test_foreign(void) {
    write_file("a", 8192);
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        int status = end_of(SIG_DFL, is_sent);
        CHECK_INT(WIFSIGNALED(status) ? WTERMSIG(status) : -1, SIGBUS);
        CHECK_INT(WEXITSTATUS(end_of(on_bus, is_sent)), 42);
        status = end_of(SIG_IGN, is_sent);
        CHECK_INT(is_sent ? WEXITSTATUS(status) : WTERMSIG(status), is_sent ? 3 : SIGBUS);
    }
}

/* ---- formats ---- */

static bool is_equal(const IoValue *a, const IoValue *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == IO_TENSOR) {
        Buf *x, *y;
        Err e = {0};
        if (!io_elements(a->tensor, &x, &e) || !io_elements(b->tensor, &y, &e)) return false;
        bool is = type_equal(&a->tensor->type, &b->tensor->type) && x->n == y->n &&
                  !memcmp(x->data, y->data, x->n);
        buf_unref(&x), buf_unref(&y);
        return is;
    }
    if (a->kind != IO_MAP) return a->i == b->i;
    bool is = a->n == b->n;
    for (uint32_t i = 0; is && i < a->n; i++)
        is = !strcmp(a->key[i], b->key[i]) && is_equal(&a->kid[i], &b->kid[i]);
    return is;
}

static bool has_mapped(const IoValue *v) {
    bool has = v->kind == IO_TENSOR && v->tensor->is_mapped;
    for (uint32_t i = 0; v->kind == IO_MAP && i < v->n; i++) has |= has_mapped(&v->kid[i]);
    return has;
}

/* The file is read as it is mapped. */
static void check_same(const char *name, const char *element, bool is_mapped) {
    IoValue read, map;
    Err e = {0};
    CHECK_MSG(io_load(in_dir(name), element, NULL, &read, &e), "%s: %s", name, e.text);
    CHECK_MSG(io_map(in_dir(name), element, NULL, &map, &e), "%s: %s", name, e.text);
    CHECK_MSG(is_equal(&map, &read), "%s %s", name, element ? element : "");
    CHECK_MSG(has_mapped(&map) == is_mapped && !has_mapped(&read), "%s", name);
    io_fini(&read), io_fini(&map);
    remove(in_dir(name));
}

static void test_formats(void) {
    enum { N = 400000 };
    Err e = {0};
    double *data = xmalloc(N * sizeof *data);
    for (int i = 0; i < N; i++) data[i] = i / 7.0 - 1000;
    for (int d = 0; d < DT_COUNT; d++) {
        int64_t n = N * 8 / dtype_info[d].size_bytes;
        if (d == DT_BOOL) n = N;
        TensorType t = {.dtype = (uint8_t)d, .rank = 2, .shape = {n / 100, 100}};
        uint8_t *p = (uint8_t *)data, *bools = xcalloc(N, 1);
        for (int i = 0; i < N; i++) bools[i] = i % 3 == 0;
        if (d == DT_BOOL) p = bools;
        IoItem one = {"", t, p}, two[2] = {{"a", t, p}, {"m/b", {.dtype = DT_F64}, data}};
        bool is_small = n * dtype_info[d].size_bytes < (int64_t)FILE_MAP_LEAST;
        CHECK(io_save(in_dir("x.safetensors"), two, 2, "{\"n\": 5}", 8, &e));
        check_same("x.safetensors", NULL, !is_small);
        if (d != DT_BF16) {
            CHECK(io_save(in_dir("x.npz"), two, 2, "{\"n\": 5}", 8, &e));
            check_same("x.npz", NULL, !is_small);
            CHECK(io_save(in_dir("x.npy"), &one, 1, "", 0, &e));
            check_same("x.npy", NULL, !is_small);
        }
        free(bools);
    }
    static const char *const element[] = {"uint16", "int16", "uint32", "bool", "float32", "half"};
    for (size_t i = 0; i < sizeof element / sizeof *element; i++) {
        CHECK(io_write(in_dir("x.bin"), data, N * sizeof *data, &e));
        check_same("x.bin", element[i], true);
    }
    CHECK(io_write(in_dir("x.txt"), data, N * sizeof *data, &e));
    check_same("x.txt", NULL, true);
    free(data);
}

/* Writes head and n bytes of elements, of which each says its place. */
static void put_file(const char *name, const void *head, size_t n_head, size_t n) {
    Bytes b = {0};
    Err e = {0};
    bytes_add(&b, head, n_head);
    for (size_t i = 0; i < n; i++) bytes_putc(&b, (char)(i % 251));
    CHECK(io_write(in_dir(name), b.data, b.n, &e));
    bytes_fini(&b);
}

/* Files of other programs: elements to convert, odd places. */
static void test_conversions(void) {
    enum { BYTES = 2000000 };
#define NPY(dict) "\x93NUMPY\x01\x00\x4a\x00{" dict "}          \n"
    static const char *const npy[] = {
        NPY("'descr': '>f4', 'fortran_order': False, 'shape': (500000,), "),
        NPY("'descr': '>i2', 'fortran_order': False, 'shape': (100, 10000), "),
        NPY("'descr': '|b1', 'fortran_order': False, 'shape': (2000000,), "),
        NPY("'descr': '<f4', 'fortran_order': True, 'shape': (500, 1000), ")};
    for (int i = 0; i < 4; i++) {
        Bytes head = {0};
        bytes_add(&head, npy[i], 10); /* the length of the rest, and the rest */
        bytes_puts(&head, npy[i] + 10);
        head.data[8] = (char)(head.n - 10);
        put_file("x.npy", head.data, head.n, BYTES);
        check_same("x.npy", NULL, i < 3); /* Fortran's order is turned round at once */
        bytes_fini(&head);
    }
    put_file("x.idx", "\0\0\x0d\1\0\7\xa1\x20", 8, BYTES);
    check_same("x.idx", NULL, true);
    static const char *const type[] = {"U16", "I16", "U32", "F32", "BF16", "F64", "I64", "BOOL"};
    static const int size[] = {2, 2, 4, 4, 2, 8, 8, 1};
    for (int i = 0; i < 8; i++) { /* a header of an odd length: elements are not aligned */
        Bytes b = {0};
        bytes_add(&b, "\0\0\0\0\0\0\0\0", 8);
        bytes_printf(&b, "{\"x\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
                     type[i], BYTES / size[i], BYTES);
        if (b.n % 2 == 0) bytes_putc(&b, ' ');
        b.data[0] = (char)(b.n - 8);
        put_file("x.safetensors", b.data, b.n, BYTES);
        check_same("x.safetensors", NULL, true);
        bytes_fini(&b);
    }
}

/* ---- a checkpoint ---- */

enum { TENSORS = 16, TENSOR_BYTES = 4 << 20 };

static void put_checkpoint(const char *name) {
    float *data = xcalloc(TENSOR_BYTES, 1);
    IoItem item[TENSORS];
    char key[TENSORS][8];
    Err e = {0};
    for (int i = 0; i < TENSORS; i++) {
        snprintf(key[i], sizeof key[i], "w%d", i);
        item[i] = (IoItem){key[i], {.dtype = DT_F32, .rank = 1, .shape = {TENSOR_BYTES / 4}}, data};
    }
    data[1] = 5;
    CHECK(io_save(in_dir(name), item, TENSORS, "", 0, &e));
    free(data);
}

/* A file that is cut off between its tensors; and one that is cut off before the first. */
static void test_cut_checkpoint(void) {
    static const char *const name[] = {"x.safetensors", "x.npz"};
    for (int i = 0; i < 2; i++) {
        IoValue v;
        Err e = {0};
        put_checkpoint(name[i]);
        CHECK(io_map(in_dir(name[i]), NULL, NULL, &v, &e));
        cut(name[i], 5 * TENSOR_BYTES);
        int n_whole = 0;
        for (uint32_t k = 0; k < v.n; k++) {
            Buf *b;
            bool ok = io_elements(v.kid[k].tensor, &b, &e);
            n_whole += ok;
            if (!ok) CHECK_INT(e.code, ERR_IO);
            if (ok) CHECK(((float *)(void *)b->data)[1] == 5);
            if (ok) buf_unref(&b);
        }
        CHECK_INT(n_whole, 4);
        io_fini(&v);
        CHECK_FAIL(io_map(in_dir(name[i]), NULL, NULL, &v, &err), ERR_PARSE);
        remove(in_dir(name[i]));
    }
}

static long proc_kib(const char *key) {
    char line[128];
    long n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) n = atol(line + strlen(key));
    fclose(f);
    return n;
}

/* With room for three of sixteen tensors, in a process of its own. */
static void test_memory(void) {
    put_checkpoint("x.safetensors");
    pid_t pid = fork();
    if (!pid) {
        IoValue v;
        Err e = {0};
        size_t bytes = (size_t)proc_kib("VmData:") * 1024 + 3 * TENSOR_BYTES;
        struct rlimit limit = {bytes, bytes};
        bool ok = !setrlimit(RLIMIT_DATA, &limit) &&
                  io_map(in_dir("x.safetensors"), NULL, NULL, &v, &e) && v.n == TENSORS;
        for (int i = 0; ok && i < TENSORS; i++) {
            Buf *b;
            ok = io_elements(v.kid[i].tensor, &b, &e) && b->n == TENSOR_BYTES;
            if (ok) buf_unref(&b);
        }
        _exit(!ok || proc_kib("RssFile:") > 24 * 1024);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
}

int main(void) {
    dir_open("map");
    test_bytes();
    test_unmapped();
    test_many();
    test_cut_off();
    test_two();
    test_changed();
    test_foreign();
    test_formats();
    test_conversions();
    test_cut_checkpoint();
    test_memory();
    dir_close((const char *const[]){"a", "b", "c", "x.safetensors", NULL});
    return check_report("file map");
}
