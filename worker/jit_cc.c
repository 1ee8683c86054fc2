/* jit_cc.c: see jit_cc.h. SPDX-License-Identifier: MIT */
#include "worker/jit_cc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* So low that a step on all cores loses a tenth of its speed or less to a compiler beside it, not a
 * half as with 0; and not so low that kernels never come while all cores are busy. */
enum { ARGS_MAX = 40, NICE = 10, PATH_BYTES = 1024 };

static const char *march(const char *isa) {
    if (!strcmp(isa, "v4")) return "-march=x86-64-v4 -mprefer-vector-width=512";
    if (!strcmp(isa, "v3")) return "-march=x86-64-v3";
#ifdef __x86_64__
    return "-march=x86-64";
#else
    return "";
#endif
}
/* The floats' flags are those of the kernels built with the program (Makefile). Half the compiler's
 * time of -O3 there, for kernels as fast: loops are vectorised and functions inlined, as there;
 * without -ftree-pre and -fgcse loops that follow one another, in pieces, take twice their time. */
static const char *const flags =
    "-std=c11 -O1 -ftree-loop-vectorize -fvect-cost-model=dynamic -finline-functions "
    "-finline-small-functions -ftree-pre -fgcse -fschedule-insns2 -w -shared -fPIC "
    "-ffp-contract=off -fno-math-errno -fno-trapping-math";

void cc_init(Cc *c, const char *command, const char *isa) {
    *c = (Cc){.child = 0};
    if (!command) command = getenv("GT_CC");
    snprintf(c->command, sizeof c->command, "%s", command && *command ? command : "cc");
    snprintf(c->isa, sizeof c->isa, "%s", isa);
    pthread_mutex_init(&c->lock, NULL);
}
void cc_fini(Cc *c) { pthread_mutex_destroy(&c->lock); }

/* text's words behind args[n]; text is cut up. */
static int add_words(char **args, int n, char *text) {
    char *rest = NULL;
    char *w = strtok_r(text, " ", &rest);
    for (; w && n < ARGS_MAX - 8; w = strtok_r(NULL, " ", &rest)) args[n++] = w;
    return n;
}

/* ---- Which it is ---- */

/* The program that `word` calls: its file, as a shell finds it. */
static bool find_program(const char *word, struct stat *st) {
    char file[PATH_BYTES];
    if (strchr(word, '/')) return stat(word, st) == 0 && S_ISREG(st->st_mode);
    const char *path = getenv("PATH");
    for (const char *dir = path ? path : "/bin:/usr/bin"; dir;) {
        const char *end = strchr(dir, ':');
        int n = end ? (int)(end - dir) : (int)strlen(dir);
        int size = snprintf(file, sizeof file, "%.*s/%s", n, n ? dir : ".", word);
        if (size < (int)sizeof file && !access(file, X_OK) && !stat(file, st) &&
            S_ISREG(st->st_mode))
            return true;
        dir = end ? end + 1 : NULL;
    }
    return false;
}

bool cc_identify(const Cc *c, Bytes *out) {
    char words[sizeof c->command], *args[ARGS_MAX];
    bytes_printf(out, "%s|%s|%s|", c->command, flags, march(c->isa));
    memcpy(words, c->command, sizeof words);
    int n = add_words(args, 0, words);
    for (int i = 0; i < n; i++) { /* "ccache gcc" is two programs */
        struct stat st;
        if (find_program(args[i], &st))
            bytes_printf(out, "%llu %lld %lld.%09ld|", (unsigned long long)st.st_ino,
                         (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
        else if (i == 0)
            return false;
    }
    return n > 0;
}

/* ---- Running it ---- */

/* Runs args, its output into the file `said`. True: it gave 0. */
static bool spawn(Cc *c, char **args, const char *said) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_init(&how);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setpgroup(&how, 0); /* a Ctrl-C at the terminal is not for it */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    pthread_mutex_lock(&c->lock); /* so that cc_end finds the child */
    pid_t pid = 0;
    bool ok = !c->has_ended && posix_spawnp(&pid, args[0], &files, &how, args, environ) == 0;
    c->child = ok ? pid : 0;
    /* The compiler proper, which it starts, inherits it. */
    if (ok) setpriority(PRIO_PGRP, (id_t)pid, getpriority(PRIO_PROCESS, 0) + NICE);
    pthread_mutex_unlock(&c->lock);
    int status = 0;
    siginfo_t info;
    while (ok && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    pthread_mutex_lock(&c->lock);
    ok = ok && waitpid(pid, &status, 0) == pid; /* from here on the number may be another's */
    c->child = 0;
    pthread_mutex_unlock(&c->lock);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool cc_compile(Cc *c, const char *source, const char *object, const char *said) {
    char *args[ARGS_MAX], command[sizeof c->command], rest[512];
    memcpy(command, c->command, sizeof command);
    snprintf(rest, sizeof rest, "%s %s", flags, march(c->isa));
    int n = add_words(args, add_words(args, 0, command), rest);
    args[n++] = (char *)"-o";
    args[n++] = (char *)object;
    args[n++] = (char *)source;
    args[n++] = (char *)"-lm";
    args[n] = NULL;
    return spawn(c, args, said);
}

/* Asked to end a compiler removes its temporary files; what does not end is killed. */
void cc_end(Cc *c) {
    enum { POLL_MS = 2, TRIES = 250 };
    bool has_child = true;
    for (int i = 0; has_child && i <= TRIES; i++) {
        pthread_mutex_lock(&c->lock);
        c->has_ended = true;
        has_child = c->child != 0;
        if (has_child && (i == 0 || i == TRIES)) kill(-c->child, i ? SIGKILL : SIGTERM);
        pthread_mutex_unlock(&c->lock);
        if (has_child) nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
}
