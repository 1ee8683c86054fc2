/* jit_cc.c: see jit_cc.h. SPDX-License-Identifier: MIT */
#include "worker/jit/jit_cc.h"
#include "worker/jit/jit_cache.h"
#include "runtime/base/clock.h"
#include "runtime/base/env.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* NICE: a step on all cores loses a tenth of its speed or less to a compiler beside it (with 0:
 * half), yet kernels still get compiled while all cores are busy. An urgent call has half of it:
 * beside four other programs on two cores a kernel is ready within about 3 s, which it otherwise is
 * not. */
enum { NICE = 10 };

/* Words of a call: those of the command, and our own. */
enum { ARGS_MAX = sizeof((Cc *)0)->command / 2 + 32 };

/* The output that a call may print, and the size of any file that it writes. */
enum { SAID_MAX = 1 << 20, FILE_MAX = 64 << 20 };

static const char *march(const char *isa) {
    if (!strcmp(isa, "v4")) return "-march=x86-64-v4 -mprefer-vector-width=512";
    if (!strcmp(isa, "v3")) return "-march=x86-64-v3";
#ifdef __x86_64__
    return "-march=x86-64";
#else
    return "";
#endif
}
/* The floating-point flags are those of the built-in kernels (Makefile). The others take half the
 * time of GCC's -O3 and make kernels as fast: loops are vectorised and functions inlined, as there.
 * Without -ftree-pre and -fgcse, consecutive loops over one piece take twice the time. Clang has
 * other names for all this, and does not need most of them. */
#define FLAGS_OF_BITS "-ffp-contract=off -fno-math-errno -fno-trapping-math"
#define FLAGS_OF_ALL  "-w -shared -fPIC " FLAGS_OF_BITS
const char cc_flags_of_bits[] = FLAGS_OF_BITS;
const char *cc_flags(const Cc *c) {
    return c->is_clang
               ? "-std=c11 -O2 " FLAGS_OF_ALL
               : "-std=c11 -O1 -ftree-loop-vectorize -fvect-cost-model=dynamic -finline-functions "
                 "-finline-small-functions -ftree-pre -fgcse -fschedule-insns2 " FLAGS_OF_ALL;
}

/* ---- What is left if the process ends now ---- */

/* What cc_abandon reads, with plain loads only. BEGINNING: the child is being started and its
 * process id is not known yet; the starting thread blocks signals meanwhile. */
enum { TRACES = 4, BEGINNING = -1 };
struct CcTrace {
    _Atomic bool is_taken, has_object;
    _Atomic pid_t child;
    char object[PATH_MAX];
    char temp_dir[PATH_MAX]; /* of the running call, valid while child is set */
};
static struct CcTrace traces[TRACES];

static struct CcTrace *trace_new(void) {
    for (int i = 0; i < TRACES; i++)
        if (!atomic_exchange(&traces[i].is_taken, true)) return &traces[i];
    return NULL;
}

void cc_abandon(void) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int i = 0; i < TRACES; i++) {
        pid_t child = atomic_load(&traces[i].child);
        for (int n = 2500; n && child == BEGINNING; n--) {
            nanosleep(&pause, NULL);
            child = atomic_load(&traces[i].child);
        }
        if (child > 0) kill(-child, SIGTERM);
        if (atomic_load(&traces[i].has_object)) unlink(traces[i].object);
        /* After SIGTERM a compiler removes its own files; then the directory is empty. */
        for (int n = child ? 100 : 0; n && rmdir(traces[i].temp_dir) && errno != ENOENT; n--)
            nanosleep(&pause, NULL);
    }
}

void cc_forget(Cc *c) {
    if (c->trace) atomic_store(&c->trace->has_object, false);
}

/* ---- Which it is ---- */

void cc_init(Cc *c, const char *command, const char *isa) {
    *c = (Cc){.child = 0};
    if (!command) command = getenv("GT_CC");
    if (!command || !*command) command = "cc";
    c->is_long = strlen(command) >= sizeof c->command;
    snprintf(c->command, sizeof c->command, "%s", command);
    snprintf(c->isa, sizeof c->isa, "%s", isa);
    c->limit_ms = env_int("GT_CC_SECONDS") * 1000;
    c->cpu_s = c->limit_ms / 3000 ? c->limit_ms / 3000 : 1;
    pthread_mutex_init(&c->lock, NULL);
    c->trace = trace_new();
}
void cc_fini(Cc *c) {
    pthread_mutex_destroy(&c->lock);
    if (c->trace) atomic_store(&c->trace->is_taken, false);
}

/* Splits text at blanks into args[n] onwards, in place. Quotes, single or double, make one word or
 * part of one. Returns the new n, or -1: a quote is not closed, or there are too many words. */
static int add_words(char **args, int n, char *text) {
    char *to = text;
    for (const char *s = text + strspn(text, " "); *s; s += strspn(s, " ")) {
        if (n == ARGS_MAX - 8) return -1;
        args[n++] = to;
        for (char quote = 0; *s && (quote || *s != ' '); s++) {
            if (quote ? *s == quote : *s == '\'' || *s == '"')
                quote = quote ? 0 : *s;
            else
                *to++ = *s;
            if (quote && !s[1]) return -1;
        }
        s += *s != 0; /* before `to` overwrites it */
        *to++ = 0;
    }
    return n;
}

/* Finds the file of the program `word`, as a shell does. */
static bool find_program(const char *word, char file[PATH_MAX], struct stat *st) {
    if (strchr(word, '/')) {
        snprintf(file, PATH_MAX, "%s", word);
        if (stat(word, st) || access(word, X_OK)) return false;
        errno = EISDIR; /* if it is not a regular file */
        return S_ISREG(st->st_mode);
    }
    const char *path = getenv("PATH");
    for (const char *dir = path ? path : "/bin:/usr/bin"; dir;) {
        const char *end = strchr(dir, ':');
        int n = end ? (int)(end - dir) : (int)strlen(dir);
        int size = snprintf(file, PATH_MAX, "%.*s/%s", n, n ? dir : ".", word);
        if (size < PATH_MAX && !access(file, X_OK) && !stat(file, st) && S_ISREG(st->st_mode))
            return true;
        dir = end ? end + 1 : NULL;
    }
    errno = ENOENT;
    return false;
}

/* By its name, or by the name of the file that a link, such as cc, points to. */
static bool is_clang(const char *file) {
    char *path = realpath(file, NULL);
    const char *name = path ? strrchr(path, '/') : NULL;
    bool is = name && strstr(name, "clang");
    free(path);
    return is;
}

bool cc_identify(Cc *c, Bytes *out) {
    char words[sizeof c->command], *args[ARGS_MAX], file[PATH_MAX];
    Bytes programs = {0};
    memcpy(words, c->command, sizeof words);
    int n = add_words(args, 0, words);
    if (n < 0 || c->is_long) {
        errno = c->is_long ? E2BIG : EINVAL;
        return false;
    }
    bool is_there = false;
    int error = ENOENT;
    for (int i = 0; i < n && (i == 0 || is_there); i++) { /* "ccache gcc" is two programs */
        struct stat st;
        bool is_one = find_program(args[i], file, &st);
        if (i == 0) is_there = is_one, error = errno;
        if (!is_one) continue;
        c->is_clang |= is_clang(file);
        bytes_printf(&programs, "%llu %lld %lld.%09ld|", (unsigned long long)st.st_ino,
                     (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    bytes_printf(out, "%s|%s|%s|", c->command, cc_flags(c), march(c->isa));
    bytes_add(out, programs.data, programs.n);
    bytes_fini(&programs);
    errno = error;
    return is_there;
}

/* ---- Running it ---- */

/* Returns the first line that reports an error, else the first that is not empty; NULL: none. */
static const char *telling_line(char *said) {
    const char *first = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(said, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (strstr(line, "error") || strstr(line, "failed")) return line;
        if (!first && line[strspn(line, " \t")]) first = line;
    }
    return first;
}

/* Appends s to text so that it cannot control a terminal: control characters (C1 ones in UTF-8 too)
 * and bytes that are not valid UTF-8 become \xNN. */
static void add_visible(char *text, size_t size, const char *s) {
    size_t n = strlen(text);
    for (int left = 0; *s && n + 5 < size; s++) {
        unsigned char c = (unsigned char)*s;
        bool is_next = (c & 0xc0) == 0x80;
        bool is_control = c < 0x20 || c == 0x7f || (is_next && !left) ||
                          (c == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0);
        left = is_control || c < 0x80 ? 0 : is_next ? left - 1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        n += (size_t)snprintf(text + n, size - n, is_control ? "\\x%02x" : "%c", c);
    }
}

/* Returns the descriptor of a new file in memory, or -1. */
static int memory_file(const char *data, size_t n) {
    int fd = memfd_create("gt-kernel", MFD_CLOEXEC);
    while (fd >= 0 && n > 0) {
        ssize_t k = write(fd, data, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            close(fd);
            return -1;
        }
        data += k, n -= (size_t)k;
    }
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

static void limit(pid_t pid, int resource, rlim_t soft, rlim_t hard) {
    struct rlimit was;
    if (prlimit(pid, resource, NULL, &was)) return;
    if (soft < was.rlim_cur) was.rlim_cur = soft;
    if (hard < was.rlim_max) was.rlim_max = hard;
    prlimit(pid, resource, &was, NULL);
}

/* Lowers the priority and limits of pid; the compiler proper, which pid starts, inherits them. */
static void hold_back(const Cc *c, pid_t pid, int nice) {
    rlim_t cpu_s = (rlim_t)c->cpu_s;
    setpriority(PRIO_PGRP, (id_t)pid, getpriority(PRIO_PROCESS, 0) + nice);
    limit(pid, RLIMIT_CPU, cpu_s, cpu_s + 1);
    limit(pid, RLIMIT_FSIZE, FILE_MAX, FILE_MAX);
}

/* Makes a directory for the temporary files of one call: a compiler killed at a bad moment leaves
 * some behind, and nothing else would tell whose they are. Empty: it cannot be made, and the
 * compiler uses its default directory. */
static void temp_dir_make(char *temp_dir, size_t size) {
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(temp_dir, size, "%s/gt-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n >= (int)size || !mkdtemp(temp_dir)) *temp_dir = 0;
}
static void temp_dir_remove(const char *temp_dir) {
    DIR *d = *temp_dir ? opendir(temp_dir) : NULL;
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(temp_dir);
}
/* Our environment with that TMPDIR. The array is owned by the caller, its strings are not. */
static char **environment(char *tmpdir) {
    size_t n = 0, k = 0;
    while (environ[n]) n++;
    char **all = xmalloc((n + 2) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7)) all[k++] = environ[i];
    all[k++] = tmpdir;
    all[k] = NULL;
    return all;
}

/* Starts args with that input and output; temp_dir, unless empty, becomes its TMPDIR. Returns 0 or
 * an errno. */
static int start(Cc *c, char **args, int input, int output, const char *temp_dir, int nice) {
    char tmpdir[PATH_MAX + 8];
    snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", temp_dir);
    char **variables = *temp_dir ? environment(tmpdir) : NULL;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    posix_spawnattr_init(&how);
    sigset_t none, usual, all, before;
    sigemptyset(&none);
    sigfillset(&all);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    sigaddset(&usual, SIGHUP);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setpgroup(&how, 0); /* it does not get the terminal's Ctrl-C */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    pthread_mutex_lock(&c->lock); /* so that cc_end sees the child */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (c->trace) snprintf(c->trace->temp_dir, sizeof c->trace->temp_dir, "%s", temp_dir);
    if (c->trace) atomic_store(&c->trace->child, BEGINNING);
    pid_t pid = 0;
    int error = c->has_ended ? ECANCELED
                             : posix_spawnp(&pid, args[0], &files, &how, args,
                                            variables ? variables : environ);
    c->child = error ? 0 : pid;
    if (c->trace) atomic_store(&c->trace->child, c->child);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) hold_back(c, pid, nice);
    pthread_mutex_unlock(&c->lock);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    free(variables);
    return error;
}

/* How a call ended: status -1: unknown. */
typedef struct End {
    int status, error; /* error: an errno; the call never started */
    int64_t cpu_ms;    /* of it and the children that it waited for */
    bool is_late;      /* it ran for more than limit_ms */
    bool is_loud;      /* it printed more than SAID_MAX */
} End;

static void end_child(Cc *c, int number) {
    pthread_mutex_lock(&c->lock);
    if (c->child) kill(-c->child, number);
    pthread_mutex_unlock(&c->lock);
}

static bool is_over_limit(const Cc *c, int64_t ms, int output, End *end) {
    struct stat said;
    end->is_late = ms > c->limit_ms;
    end->is_loud = fstat(output, &said) == 0 && said.st_size > SAID_MAX;
    return end->is_late || end->is_loud;
}

/* Waits until the child has ended. If it exceeds a limit it gets SIGTERM (a compiler then removes
 * its temporary files), later SIGKILL. A child that survives even SIGKILL, because it hangs in the
 * system, is abandoned. */
static void await_child(Cc *c, int output, End *end) {
    enum { GRACE_MS = 1000 };
    int64_t begin = now_ms(), asked = 0, killed = 0;
    struct rusage used = {0};
    for (;;) {
        siginfo_t info = {0};
        int error = waitid(P_PID, (id_t)c->child, &info, WEXITED | WNOWAIT | WNOHANG);
        int64_t now = now_ms(), pause_ms = 1 + (now - begin) / 16;
        if (info.si_pid || (error && errno != EINTR)) break;
        bool is_over = asked || c->has_ended || is_over_limit(c, now - begin, output, end);
        if (is_over && !asked) {
            asked = now;
            end_child(c, SIGTERM);
        } else if (is_over && !killed && now - asked > GRACE_MS) {
            killed = now;
            end_child(c, SIGKILL);
        } else if (killed && now - killed > GRACE_MS) {
            break;
        }
        if (pause_ms > POLL_MS) pause_ms = POLL_MS;
        nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000}, NULL);
    }
    pthread_mutex_lock(&c->lock);
    if (wait4(c->child, &end->status, WNOHANG, &used) != c->child) end->status = -1;
    c->child = 0; /* from here on the process id may be reused */
    if (c->trace) atomic_store(&c->trace->child, 0);
    pthread_mutex_unlock(&c->lock);
    end->cpu_ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * INT64_C(1000) +
                  (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    struct stat said;
    end->is_loud = fstat(output, &said) == 0 && said.st_size > SAID_MAX;
}

/* Decides from how the call ended, and writes to why the reason if there is no object. */
static CcResult judge(const Cc *c, const End *end, int output, const char *object, char *why,
                      size_t size) {
    enum { TICK_MS = 200 }; /* the resolution of the CPU time, and some more */
    char said[4096];
    int status = end->status;
    ssize_t n = output < 0 ? 0 : pread(output, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    const char *line = telling_line(said);
    struct stat st;
    bool says_why = line && !strstr(line, "signal"); /* "cc: ... signal terminated program cc1" */
    bool is_spent = status && !says_why &&
                    (end->cpu_ms + TICK_MS >= c->cpu_s * 1000 ||
                     (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU));
    if (end->error) {
        snprintf(why, size, "cannot run '%s': %s", c->command, strerror(end->error));
    } else if (end->is_loud) {
        snprintf(why, size, "'%s' printed more than %d KiB", c->command, SAID_MAX >> 10);
        return CC_OVER_LIMIT;
    } else if (end->is_late) {
        snprintf(why, size, "'%s' did not finish within %lld s", c->command,
                 (long long)c->limit_ms / 1000);
        return CC_OVER_LIMIT;
    } else if (is_spent) {
        snprintf(why, size, "'%s' did not finish within %lld s of CPU time", c->command,
                 (long long)c->cpu_s);
        return CC_OVER_LIMIT;
    } else if (status != -1 && WIFSIGNALED(status)) {
        snprintf(why, size, "'%s' was killed by signal %d (%s)", c->command, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else if (status && line) {
        why[0] = 0;
        add_visible(why, size < 240 ? size : 240, line);
    } else if (status) {
        snprintf(why, size, "'%s' failed, exit status %d, without a message", c->command,
                 status == -1 ? -1 : WEXITSTATUS(status));
    } else if (stat(object, &st) || st.st_size == 0) {
        snprintf(why, size, "'%s' reported success but wrote no object%s", c->command,
                 line ? ": " : "");
        add_visible(why, size, line ? line : "");
    } else {
        return CC_MADE;
    }
    return CC_REFUSED;
}

CcResult cc_compile(Cc *c, const Bytes *source, const char *object, bool is_urgent, char *why,
                    size_t why_size) {
    char *args[ARGS_MAX], command[sizeof c->command], rest[512];
    memcpy(command, c->command, sizeof command);
    snprintf(rest, sizeof rest, "%s %s", cc_flags(c), march(c->isa));
    int n = add_words(args, 0, command);
    n = add_words(args, n < 0 ? 0 : n,
                  rest); /* cc_identify has refused a command that does not split */
    args[n++] = (char *)"-o";
    args[n++] = (char *)object;
    args[n++] = (char *)"-x";
    args[n++] = (char *)"c";
    args[n++] = (char *)"-"; /* read from its input */
    args[n++] = (char *)"-lm";
    args[n] = NULL;
    if (c->trace) {
        snprintf(c->trace->object, sizeof c->trace->object, "%s", object);
        atomic_store(&c->trace->has_object, true);
    }
    int input = memory_file(source->data, source->n), output = memory_file(NULL, 0);
    int nice = is_urgent ? NICE / 2 : NICE;
    End end = {0};
    char temp_dir[PATH_MAX];
    temp_dir_make(temp_dir, sizeof temp_dir);
    end.error = input < 0 || output < 0 ? errno : start(c, args, input, output, temp_dir, nice);
    if (!end.error) await_child(c, output, &end);
    temp_dir_remove(temp_dir);
    CcResult result = judge(c, &end, output, object, why, why_size);
    if (input >= 0) close(input);
    if (output >= 0) close(output);
    return result;
}

void cc_end(Cc *c) {
    pthread_mutex_lock(&c->lock);
    c->has_ended = true; /* await_child does the rest */
    if (c->child) kill(-c->child, SIGTERM);
    pthread_mutex_unlock(&c->lock);
}
