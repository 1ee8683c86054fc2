/* jit_test: requests for kernels and their compilation (fuse_test checks their results). Workers of
 * a process share kernels, processes with one cache compile each once, and nothing is compiled
 * before it is worth it. Without a C compiler the test passes and says so.
 * SPDX-License-Identifier: MIT */
#include "worker/jit/jit.h"
#include "tests/unit/check.h"
#include "worker/jit/jit_cc.h"
#include "worker/jit/jit_shipped.h"
#include "worker/kernel/emit.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[64];
static int n_made;

/* A kernel that consists of its signature, a number. */
static void make_nothing(void *ctx, Bytes *out) {
    const int *n = ctx;
    n_made++;
    bytes_printf(out, "static const unsigned char FUSED(sign)[] = {%d, 0, 0, 0};\n", *n);
    bytes_puts(out, "const FusedKernel FUSED(kernel) = {.signature = FUSED(sign), "
                    ".signature_bytes = 4};\n");
}
static const FusedKernel *ask(Jit *j, int n) {
    return jit_get(j, &n, sizeof n, (uint64_t)n % 3, make_nothing, &n);
}
static JitEntry *want(Jit *j, int n, bool is_soon) {
    JitEntry *e = jit_entry(j, &n, sizeof n, (uint64_t)n % 3);
    jit_want(j, e, (uint64_t)n % 3, make_nothing, &n, is_soon);
    return e;
}

static int n_files(bool removes) {
    int n = 0;
    DIR *d = opendir(dir);
    char path[400];
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (removes) unlink(path);
    }
    if (d) closedir(d);
    return n;
}

/* Two workers: one finds the kernel that the other compiled; a kernel that only one requested is
 * compiled for it. */
static void test_shared(const JitConfig *config) {
    Jit *a = jit_new(config), *b = jit_new(config);
    n_made = 0;
    ask(a, 1);
    ask(b, 1);
    ask(b, 4); /* the same hash */
    CHECK(jit_wait(a, 60000) && jit_wait(b, 60000));
    const FusedKernel *k = ask(a, 1);
    CHECK(k && ask(b, 1) == k && ask(b, 4) && ask(b, 4) != k);
    CHECK_INT(n_made, 2);
    CHECK(jit_stats(a).compiled == 1 && jit_stats(b).compiled == 1);
    jit_free(&a);
    CHECK(ask(b, 1) == k && k->signature[0] == 1); /* still cached */
    jit_free(&b);
    CHECK_INT(n_files(true), 2);
}

static JitEntry *seen(Jit *j, int n) { return jit_entry(j, &n, sizeof n, (uint64_t)n); }

/* More signatures than there is room for: the least recently requested are evicted with their
 * kernels, except for held ones; later ones still get kernels. */
static void test_many(const JitConfig *config) {
    enum { MANY = 2 * JIT_ENTRIES_MAX + 1000, LAST = 200 };
    Jit *j = jit_new(config);
    const FusedKernel *held = NULL, *k = NULL;
    ask(j, 1), ask(j, 2);
    CHECK(jit_wait(j, 60000));
    held = ask(j, 1);
    CHECK(held && ask(j, 2));
    uint32_t kept = jit_number(want(j, 1, false)), gone = jit_number(want(j, 2, false));
    jit_hold(want(j, 1, false));
    for (int n = 300; n < 300 + MANY; n++)
        if (!seen(j, n)) CHECK_MSG(false, "no entry for the %d-th", n);
    JitAbout about;
    CHECK(jit_about(j, kept, &about) && about.state == JIT_COMPILED);
    CHECK(!jit_about(j, gone, &about));
    CHECK(ask(j, 1) == held && held->signature[0] == 1);
    ask(j, LAST);
    CHECK(jit_wait(j, 60000));
    k = ask(j, LAST);
    CHECK(k && k->signature[0] == LAST);
    CHECK(jit_wait(j, 60000) && ask(j, 2) == NULL); /* loaded again, from disk */
    CHECK(jit_wait(j, 60000) && ask(j, 2));
    jit_let_go(want(j, 1, false));
    jit_free(&j);
    n_files(true);
}

static void test_worth(JitConfig config) {
    config.worth_ns = 1000000;
    config.min_requests = 2;
    Jit *j = jit_new(&config);
    n_made = 0;
    JitEntry *e = want(j, 1, false);
    CHECK(n_made == 0 && jit_pending(j) == 0);
    want(j, 1, false); /* requested again, and not on disk */
    CHECK(jit_wait(j, 60000) && n_made == 1 && !jit_kernel(e));
    jit_lost(j, e, 900000);
    CHECK(jit_wait(j, 60000) && !jit_kernel(e) && jit_stats(j).compiler_calls == 0);
    jit_lost(j, e, 100000);
    CHECK(jit_wait(j, 60000) && jit_kernel(e));
    CHECK(jit_kernel(want(j, 2, true)) == NULL); /* now looked for; not on disk */
    CHECK(jit_wait(j, 60000) && jit_kernel(want(j, 2, false)));
    CHECK_INT((int)jit_stats(j).compiler_calls, 2);
    jit_free(&j);
    /* On disk: loaded at the second request, without compiling. */
    j = jit_new(&config);
    e = want(j, 1, false);
    want(j, 1, false);
    CHECK(jit_wait(j, 60000) && jit_kernel(e));
    CHECK(jit_stats(j).compiler_calls == 0 && jit_stats(j).cached == 1);
    jit_free(&j);
    n_files(true);
}

static int n_wanted(void) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, ".want") != NULL;
    if (d) closedir(d);
    return n;
}

/* A kernel that was worth compiling, and not compiled in time, is compiled at the next request,
 * whatever it is worth then; one that was not worth it is not. */
static void test_wanted(JitConfig config) {
    config.worth_ns = 1000000;
    Jit *j = jit_new(&config);
    JitEntry *e = want(j, 1, false);
    want(j, 2, false);
    CHECK(jit_wait(j, 60000) && !jit_kernel(e));
    jit_lost(j, e, 2000000);
    jit_free(&j);
    CHECK_INT(n_wanted(), 1);
    j = jit_new(&config);
    e = want(j, 1, false);
    JitEntry *other = want(j, 2, false);
    CHECK(jit_wait(j, 60000) && jit_kernel(e) && !jit_kernel(other));
    jit_free(&j);
    CHECK_INT(n_wanted(), 0);
    CHECK_INT(n_files(true), 1);
}

/* Several processes at once: all get the kernels, and each is compiled once. */
static void test_processes(const JitConfig *config) {
    enum { N = 3, KERNELS = 5 };
    pid_t child[N];
    int compiled = 0;
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        if (child[i]) continue;
        Jit *j = jit_new(config);
        for (int k = 1; k <= KERNELS; k++) ask(j, k);
        bool ok = jit_wait(j, 60000);
        for (int k = 1; k <= KERNELS; k++) ok = ok && ask(j, k);
        int n = ok ? (int)jit_stats(j).compiled : 100;
        jit_free(&j);
        _exit(n);
    }
    for (int i = 0; i < N; i++) {
        int status = 0;
        waitpid(child[i], &status, 0);
        compiled += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
    }
    CHECK_INT(compiled, KERNELS);
    CHECK_INT(n_files(true), KERNELS);
}

/* Freed while a compiler runs: returns soon, and no file is left. */
static void test_ended(const JitConfig *config) {
    setenv("TMPDIR", dir, 1); /* the compiler's */
    for (int ms = 0; ms < 40; ms += 7) {
        Jit *j = jit_new(config);
        ask(j, 20 + ms);
        nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
        jit_free(&j);
    }
    DIR *d = opendir(dir);
    int left = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        left += e->d_name[0] != '.' && !(strlen(e->d_name) == 35 && strstr(e->d_name, ".so")) &&
                !(strlen(e->d_name) == 37 && strstr(e->d_name, ".want"));
    if (d) closedir(d);
    CHECK_INT(left, 0);
    n_files(true);
    unsetenv("TMPDIR");
}

/* Makes a compiler of these lines. Limits of a call: wall-clock time and CPU time. */
static CcResult call(const char *lines, int clock_s, int cpu_s, char why[360]) {
    char path[128], object[128];
    snprintf(path, sizeof path, "%s/cc.sh", dir);
    snprintf(object, sizeof object, "%s/object", dir);
    FILE *f = fopen(path, "w");
    fprintf(f, "#!/bin/sh\n%s\n", lines);
    fclose(f);
    chmod(path, 0700);
    Cc c;
    cc_init(&c, path, "base");
    CHECK(c.limit_ms == 60000 && c.cpu_s == 20);
    c.limit_ms = clock_s * 1000, c.cpu_s = cpu_s;
    Bytes source = {0};
    bytes_puts(&source, "int x;");
    CcResult result = cc_compile(&c, &source, object, true, why, 360);
    bytes_fini(&source);
    cc_fini(&c);
    n_files(true);
    return result;
}

/* The limits of a call, each by itself. */
static void test_limits(void) {
    char why[360];
    CHECK_INT(call("while :; do :; done", 600, 1, why), CC_OVER_LIMIT);
    CHECK_MSG(strstr(why, "did not finish within 1 s of CPU time"), "%s", why);
    CHECK_INT(call("exec sleep 100", 1, 20, why), CC_OVER_LIMIT);
    CHECK_MSG(strstr(why, "did not finish within 1 s"), "%s", why);
    CHECK_INT(call("exec yes", 600, 20, why), CC_OVER_LIMIT);
    CHECK_MSG(strstr(why, "printed more than 1024 KiB"), "%s", why);
    CHECK_INT(call("while [ $# -gt 1 ]; do [ $1 = -o ] && out=$2; shift; done; exec yes >$out", 600,
                   20, why),
              CC_REFUSED);
    CHECK_MSG(strstr(why, "was killed by signal 25"), "%s", why);
    CHECK_INT(call("echo 'cc: error: none of that' >&2; exit 1", 60, 20, why), CC_REFUSED);
    CHECK_INT(call("exec cc \"$@\"", 60, 20, why), CC_MADE);
}

/* Writes a shared object with the kernel n under the name that the kernel `name` would have. */
static void ship(const char *path, int n, int name) {
    Shipped names;
    Cc cc;
    char key[MAKER_KEY], why[360];
    Bytes source = {0}, text = {0}, all = {0};
    shipped_init(&names, NULL);
    make_nothing(&name, &source);
    shipped_key(&names, &source, key);
    bytes_printf(&text, "%s\n#define FUSED(x) k%s_##x\n", emit_head, key);
    make_nothing(&n, &text);
    cc_init(&cc, NULL, "base");
    CHECK(cc_identify(&cc, &all));
    CHECK_INT(cc_compile(&cc, &text, path, false, why, sizeof why), CC_MADE);
    cc_fini(&cc);
    shipped_fini(&names);
    bytes_fini(&source), bytes_fini(&text), bytes_fini(&all);
}
/* Requests kernel 7 with these settings; returns its state. */
static JitState state_of(const JitConfig *config) {
    Jit *j = jit_new(config);
    JitAbout about = {.state = JIT_SEEN};
    ask(j, 7);
    CHECK(jit_wait(j, 60000));
    const FusedKernel *k = ask(j, 7);
    CHECK(jit_about(j, 1, &about));
    CHECK((k != NULL) == (about.state != JIT_FAILED) && (!k || *k->signature == 7));
    CHECK_INT((int)jit_stats(j).shipped, about.state == JIT_SHIPPED);
    jit_free(&j);
    return about.state;
}
/* A kernel that came with the program is used, also without a compiler and without a cache, unless
 * it is not the one that was asked for. */
static void test_shipped(JitConfig config) {
    char path[128], other[128];
    snprintf(path, sizeof path, "%s/shipped.so", dir);
    snprintf(other, sizeof other, "%s/other.so", dir);
    ship(path, 7, 7);
    config.shipped = path;
    CHECK_INT(state_of(&config), JIT_SHIPPED);
    config.compiler = "/no/such/compiler";
    CHECK_INT(state_of(&config), JIT_SHIPPED);
    JitConfig nowhere = {.isa = "base", .dir = "/dev/null/none", .shipped = path};
    CHECK_INT(state_of(&nowhere), JIT_SHIPPED);
    config.shipped = NULL;
    CHECK_INT(state_of(&config), JIT_FAILED);
    config.shipped = other; /* not there */
    CHECK_INT(state_of(&config), JIT_FAILED);
    config.compiler = NULL;
    ship(other, 8, 7); /* its name, but another signature */
    CHECK_INT(state_of(&config), JIT_COMPILED);
    n_files(true);
    ship(other, 8, 8);
    CHECK_INT(state_of(&config), JIT_COMPILED);
    config.shipped = path; /* before the cache */
    ship(path, 7, 7);
    CHECK_INT(state_of(&config), JIT_SHIPPED);
    config.shipped = NULL;
    CHECK_INT(state_of(&config), JIT_CACHED);
    config.shipped = path;
    n_files(true);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("no object", f) >= 0 && fclose(f) == 0);
    CHECK_INT(state_of(&config), JIT_COMPILED);
    n_files(true);
}

int main(void) {
    if (system("cc --version >/dev/null 2>&1")) {
        printf("jit: no C compiler here\n");
        return 0;
    }
    snprintf(dir, sizeof dir, "%s/gt_jit_test.XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp");
    if (!mkdtemp(dir)) return 1;
    unsetenv("GT_CC_SECONDS"); /* of the runner */
    JitConfig config = {.isa = "base", .dir = dir};
    test_limits();
    test_processes(&config); /* first: no threads yet */
    test_shared(&config);
    test_many(&config);
    test_worth(config);
    test_wanted(config);
    test_ended(&config);
    test_shipped(config);
    rmdir(dir);
    return check_report("jit");
}
