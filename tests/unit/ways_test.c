/* ways_test.c: a program that is typed or pasted at the prompt of a terminal prints the same bytes
 * as from a file. (tests/cli/ways.sh has pipes and -c.)
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include "runtime/base/err.h"
#include <sys/stat.h>

static char folder[] = "/tmp/gt-ways-XXXXXX";

static void read_into(const char *path, Bytes *b) {
    b->n = 0;
    bytes_reserve(b, 1);
    b->data[0] = '\0';
    CHECK_MSG(bytes_read(b, path, 1 << 20), "%s", path);
}

/* Standard output goes to a file; the terminal has the keys and standard error. */
static Session start_into(const char *path) {
    Session s = {0};
    s.pid = forkpty(&s.fd, NULL, NULL, &pty_size);
    if (s.pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDOUT_FILENO);
        setenv("TERM", "dumb", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        execl(gtsh(), gtsh(), "-q", "--norc", (char *)NULL);
        _exit(127);
    }
    expect(&s, "gt> ");
    return s;
}

static void from_file(const char *program, Bytes *out) {
    char command[300], path[100];
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(command, sizeof command, "%s %s >%s 2>/dev/null </dev/null", gtsh(), program, path);
    CHECK_INT(system(command), 0);
    read_into(path, out);
}

/* Types line by line, and waits for a prompt after each; or pastes all at once. */
static void at_terminal(const Bytes *text, bool pastes, Bytes *out) {
    char path[100];
    snprintf(path, sizeof path, "%s/terminal", folder);
    Session s = start_into(path);
    if (pastes) type(&s, "\033[200~");
    for (const char *p = text->data; *p;) {
        size_t n = strcspn(p, "\n");
        char *one = xstrndup(p, n);
        type(&s, one);
        type(&s, "\r");
        if (!pastes) expect(&s, "> "); /* of any prompt */
        free(one);
        p += n + (p[n] == '\n');
        more(&s, now_ms() + 1); /* the echo, so that the terminal is never full */
    }
    if (pastes) type(&s, "\033[201~\r");
    type(&s, "print(\"e\" + \"nd\")\r");
    long until = now_ms() + LIMIT_MS;
    do {
        more(&s, now_ms() + 50);
        if (access(path, R_OK) == 0) read_into(path, out);
    } while ((out->n < 4 || strcmp(out->data + out->n - 4, "end\n")) && now_ms() < until);
    CHECK_MSG(out->n >= 4 && !strcmp(out->data + out->n - 4, "end\n"), "%s", out->data);
    if (out->n >= 4) out->data[out->n -= 4] = '\0';
    leave(&s, "\004", 0);
}

/* Binary output is refused on a terminal. */
static void binary(void) {
    Session s = start((const char *[]){"--format=npy", "-p", "ones(2)", NULL});
    expect(&s, "npy is binary: not for a terminal");
    CHECK_INT(finish(&s), 1);
    s = prompt();
    line(&s, ":mode npy", "npy is binary: not for a terminal");
    line(&s, ":mode json", "\n:mode json\n");
    line(&s, "ones(2)", "\n[1.0, 1.0]\n");
    leave(&s, "\004", 0);
}

int main(void) {
    static const char *const programs[] = {"tests/programs/kmeans.gt", "tests/programs/metrics.gt",
                                           "tests/programs/newton.gt", "scripts/hello.gt"};
    Bytes text = {0}, want = {0}, got = {0};
    if (!pty_begin("ways")) return CHECK_SKIPPED;
    if (!mkdtemp(folder)) return 1;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        read_into(programs[i], &text);
        from_file(programs[i], &want);
        CHECK(want.n > 0);
        for (int pastes = 0; pastes < 2; pastes++) {
            at_terminal(&text, pastes, &got);
            CHECK_MSG(!strcmp(got.data, want.data), "%s%s:\n%s\nnot\n%s", programs[i],
                      pastes ? ", pasted" : "", got.data, want.data);
        }
    }
    binary();
    bytes_fini(&text);
    bytes_fini(&want);
    bytes_fini(&got);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) return 1;
    return check_report("ways");
}
