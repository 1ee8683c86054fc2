/* diff_run.c: runs a command with a tape, with hashes of all its results: see diff.h.
 *
 * The command gets GT_INSTRUCTION_LOG and GT_HASH in its environment. A gtsh that starts its own
 * workers obeys them; a dispatcher that runs already does not see them.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"
#include "runtime/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 10, END_MS = 2000 };

static volatile sig_atomic_t running; /* the child's process group; 0: none */

void diff_run_stop(void) {
    if (running) kill(-(pid_t)running, SIGTERM);
}

/* The child: never returns. */
static void execute(const DiffCommand *c, const char *keep, const char *kept) {
    char list[4200];
    int in = open("/dev/null", O_RDONLY);
    int out = open(c->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    setpgid(0, 0);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(127);
    setenv("GT_INSTRUCTION_LOG", c->tape, 1);
    setenv("GT_HASH", "all", 1);
    unsetenv("GT_HASH_KEEP");
    snprintf(list, sizeof list, "%s:%s", keep ? keep : "", kept ? kept : "");
    if (keep) setenv("GT_HASH_KEEP", list, 1);
    execl("/bin/sh", "sh", "-c", c->text, (char *)NULL);
    _exit(127);
}

static int count_files(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        n += e->d_name[0] == 't' && (length < 4 || strcmp(e->d_name + length - 4, ".new"));
    }
    if (d) closedir(d);
    return n;
}

/* Waits until the child has ended, which it does soon once what is to be kept is there. */
static int await(pid_t pid, const char *kept, int n_kept) {
    int status = 0;
    while (kept && waitpid(pid, &status, WNOHANG) == 0) {
        sleep_ms(LOOK_MS);
        if (count_files(kept) < n_kept) continue;
        kill(-pid, SIGTERM);
        for (int ms = 0; ms < END_MS; ms += LOOK_MS) {
            if (waitpid(pid, &status, WNOHANG) != 0) return status;
            sleep_ms(LOOK_MS);
        }
        kill(-pid, SIGKILL);
        break;
    }
    while (!kept && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (kept) waitpid(pid, &status, 0);
    return status;
}

bool diff_run(DiffCommand *c, const char *keep, const char *kept, int n_kept, Err *err) {
    struct stat st;
    snprintf(c->tape, sizeof c->tape, "%s/tape", c->dir);
    snprintf(c->log, sizeof c->log, "%s/output", c->dir);
    unlink(c->tape);
    pid_t pid = fork();
    if (pid < 0) return err_set(err, ERR_IO, "cannot start '%.200s': %s", c->text, strerror(errno));
    if (pid == 0) execute(c, keep, kept);
    setpgid(pid, pid); /* the child does so too: the one that runs first */
    running = pid;
    c->status = await(pid, kept, n_kept);
    running = 0;
    if (kept || stat(c->tape, &st) == 0) return true;
    char line[200];
    diff_last_words(c, line, sizeof line);
    err_set(err, ERR_IO, "%.200s: it wrote no tape%s%s", c->text, line[0] ? "; it printed: " : "",
            line);
    if (c->status != 0) return false; /* it failed, which its words explain */
    return err_hint(err, "workers of a running dispatcher: start gt-dispatcher with --log and "
                         "--hash=all, and compare the tapes");
}

/* The last line with an error, which may have its source line and a hint behind it; else the last
 * one. Cuts the text after it. */
static char *telling_line(char *text) {
    char *found = NULL;
    for (char *at = text; (at = strstr(at, "error: ")); at += 7) found = at;
    if (!found) found = text + strlen(text);
    found[strcspn(found, "\n")] = 0;
    char *before = memrchr(text, '\n', (size_t)(found - text));
    return before ? before + 1 : text;
}

const char *diff_last_words(const DiffCommand *c, char *buf, size_t size) {
    char text[4096];
    buf[0] = 0;
    FILE *f = fopen(c->log, "re");
    if (!f) return buf;
    if (fseek(f, -(long)(sizeof text - 1), SEEK_END) != 0) rewind(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    for (size_t i = 0; i < n; i++)
        if (!text[i]) text[i] = ' ';
    text[n] = 0;
    snprintf(buf, size, "%s", telling_line(text));
    for (char *s = buf; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = ' ';
    return buf;
}
