/* jit.c: what is asked for, and the thread that answers; the cache's files are jit_cache.c's.
 *
 * An Entry is made by the asking thread and stays; its kernel is published by the other one through
 * an atomic pointer, so that a hit takes no lock. SPDX-License-Identifier: MIT */
#include "worker/jit.h"
#include "runtime/log.h"
#include "runtime/map.h"
#include "worker/emit.h"
#include "worker/jit_cache.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef struct Entry Entry;
struct Entry {
    Entry *same_hash, *pending;
    _Atomic(const FusedKernel *) kernel;
    _Atomic int state; /* JitState; behind it the thread's key, bytes, compile_ms and batch */
    uint32_t number;
    uint64_t hits;
    uint64_t bytes;
    double compile_ms;
    int batch;
    Bytes source;
    int sights;   /* asked for so often while nothing was done about it; 0: it was */
    char key[33]; /* of source and environment, 32 hexadecimal digits */
    size_t n;
    unsigned char signature[];
};

enum { BATCH_MAX = 64, ARGS_MAX = 32 };

struct Jit {
    Map entries; /* signature's hash -> Entry; owned by the asking thread */
    Entry **numbered;
    uint32_t n_entries, latest;
    uint64_t hits, misses;
    char isa[8], compiler[256];
    int batch_max, sights;
    Cache cache;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake, idle;
    Entry *first, *last; /* to be done */
    int n_pending;
    pid_t child; /* the compiler; 0: none */
    _Atomic bool ends; /* written under the lock */
    JitStats stats;

    /* The thread's: */
    bool is_ready, is_off; /* the compiler is known; there is none */
    uint64_t environment[2];
    void **handle;
    size_t n_handles;
};

/* ---- Running the compiler ---- */

static const char *march(const char *isa) {
    if (!strcmp(isa, "v4")) return "-march=x86-64-v4 -mprefer-vector-width=512";
    if (!strcmp(isa, "v3")) return "-march=x86-64-v3";
#ifdef __x86_64__
    return "-march=x86-64";
#else
    return "";
#endif
}
/* The floats' flags are those of the kernels built with the program (Makefile). */
static const char *const flags = "-std=c11 -O3 -w -shared -fPIC -ffp-contract=off "
                                 "-fno-math-errno -fno-trapping-math";

/* text's words behind args[n]; text is cut up. */
static int add_words(char **args, int n, char *text) {
    char *rest = NULL;
    char *w = strtok_r(text, " ", &rest);
    for (; w && n < ARGS_MAX - 8; w = strtok_r(NULL, " ", &rest)) args[n++] = w;
    return n;
}

/* Runs args, its output into the file `said`. True: it gave 0. */
static bool spawn(Jit *j, char **args, const char *said) {
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
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setpgroup(&how, 0); /* a Ctrl-C at the terminal is not for it */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    pthread_mutex_lock(&j->lock); /* so that jit_free finds the child */
    pid_t pid = 0;
    bool ok = !j->ends && posix_spawnp(&pid, args[0], &files, &how, args, environ) == 0;
    j->child = ok ? pid : 0;
    pthread_mutex_unlock(&j->lock);
    int status = 0;
    siginfo_t info;
    while (ok && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    pthread_mutex_lock(&j->lock);
    ok = ok && waitpid(pid, &status, 0) == pid; /* from here on the number may be another's */
    j->child = 0;
    pthread_mutex_unlock(&j->lock);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void turn_off(Jit *j, const char *why, const char *what) {
    j->is_off = true;
    log_line("COMPILE", "kernels are not fused: %s%s%s", why, what ? ": " : "", what ? what : "");
}

/* Once, before the first kernel: which compiler it is, and that it and the cache are there. */
static void get_ready(Jit *j) {
    char why[256], said[PATH_ROOM], words[sizeof j->compiler], *args[ARGS_MAX];
    j->is_ready = true;
    if (!cache_open(&j->cache, why, sizeof why)) {
        turn_off(j, why, NULL);
        return;
    }
    memcpy(words, j->compiler, sizeof words);
    int n = add_words(args, 0, words);
    args[n++] = (char *)"--version";
    args[n] = NULL;
    cache_temporary(&j->cache, ".txt", said);
    bool ok = n > 1 && spawn(j, args, said);
    Bytes version = {0};
    ok = ok && cache_read(said, &version);
    unlink(said);
    if (!ok && !j->ends) turn_off(j, "no C compiler", j->compiler);
    Bytes all = {0};
    bytes_printf(&all, "%s|%s|%s|%s|%zu|", j->compiler, flags, march(j->isa), j->isa,
                 sizeof(FusedArgs));
    bytes_add(&all, version.data ? version.data : "", version.n);
    bytes_puts(&all, emit_head);
    for (int i = 0; i < 2; i++) j->environment[i] = hash_bytes(all.data, all.n, (uint64_t)i);
    bytes_fini(&all);
    bytes_fini(&version);
}

/* ---- One batch ---- */

static void set_key(const Jit *j, Entry *e) {
    uint64_t h[2];
    for (int i = 0; i < 2; i++)
        h[i] = hash_bytes(e->source.data, e->source.n, j->environment[i]);
    snprintf(e->key, sizeof e->key, "%016llx%016llx", (unsigned long long)h[0],
             (unsigned long long)h[1]);
}

/* The kernel from the shared object of that name in the cache, which has been verified. */
static bool load(Jit *j, Entry *e, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    char symbol[64];
    snprintf(symbol, sizeof symbol, "k%s_kernel", e->key);
    const FusedKernel *k = dlsym(handle, symbol);
    if (!k || k->signature_bytes != (int64_t)e->n || memcmp(k->signature, e->signature, e->n)) {
        dlclose(handle);
        return false;
    }
    j->handle = xrealloc(j->handle, (j->n_handles + 1) * sizeof *j->handle);
    j->handle[j->n_handles++] = handle;
    struct stat st;
    e->bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;
    atomic_store_explicit(&e->kernel, k, memory_order_release);
    return true;
}

static void settle(Entry *e, JitState state) {
    atomic_store_explicit(&e->state, state, memory_order_release);
}

static void put_source(const Entry *e, Bytes *out) {
    bytes_printf(out, "\n#define FUSED(x) k%s_##x\n", e->key);
    bytes_add(out, e->source.data, e->source.n);
    bytes_puts(out, "#undef FUSED\n");
}

/* GT_SAVE_COMPILED_CODE: the head once, each kernel as a file that includes it. */
static void save_code(const Entry *e) {
    const char *dir = getenv("GT_SAVE_COMPILED_CODE");
    if (!dir || !*dir) return;
    mkdir(dir, 0777);
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/fused.h", dir);
    if (access(path, F_OK)) cache_write(path, emit_head, strlen(emit_head));
    snprintf(path, sizeof path, "%s/%s.c", dir, e->key);
    Bytes text = {0};
    bytes_puts(&text, "#include \"fused.h\"\n");
    put_source(e, &text);
    if (!cache_write(path, text.data, text.n))
        log_line("COMPILE", "cannot write %s: %s", path, strerror(errno));
    bytes_fini(&text);
}

static bool compile(Jit *j, const char *source, const char *object, const char *said,
                    double *took_ms) {
    char *args[ARGS_MAX], compiler[sizeof j->compiler], rest[256];
    memcpy(compiler, j->compiler, sizeof compiler);
    snprintf(rest, sizeof rest, "%s %s", flags, march(j->isa));
    int n = add_words(args, add_words(args, 0, compiler), rest);
    args[n++] = (char *)"-o";
    args[n++] = (char *)object;
    args[n++] = (char *)source;
    args[n++] = (char *)"-lm";
    args[n] = NULL;
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    bool ok = spawn(j, args, said);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double ms = (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-6;
    *took_ms = ms;
    pthread_mutex_lock(&j->lock);
    j->stats.compiler_calls++;
    j->stats.compile_ms += ms;
    pthread_mutex_unlock(&j->lock);
    return ok;
}

static void count(Jit *j, uint64_t *what) {
    pthread_mutex_lock(&j->lock);
    ++*what;
    pthread_mutex_unlock(&j->lock);
}

/* One compiler call for n entries; when it fails, one for each of them. */
static void compile_batch(Jit *j, Entry **e, int n) {
    if (n == 0 || j->ends) return;
    char source[PATH_ROOM], object[PATH_ROOM], said[PATH_ROOM], path[PATH_ROOM];
    cache_temporary(&j->cache, ".c", source);
    cache_temporary(&j->cache, ".so", object);
    cache_temporary(&j->cache, ".txt", said);
    Bytes text = {0};
    bytes_puts(&text, emit_head);
    for (int i = 0; i < n; i++) put_source(e[i], &text);
    double ms = 0;
    bool ok = cache_write(source, text.data, text.n) && compile(j, source, object, said, &ms) &&
              cache_seal(object);
    bytes_fini(&text);
    if (log_is(LOG_COMPILE) && ok) log_line("COMPILE", "compiled %d in %.0f ms", n, ms);
    for (int i = 0; ok && i < n; i++) {
        cache_path(&j->cache, e[i]->key, path);
        e[i]->compile_ms = ms, e[i]->batch = n;
        bool is_there = cache_link(&j->cache, object, path) && load(j, e[i], path);
        count(j, is_there ? &j->stats.compiled : &j->stats.failed);
        settle(e[i], is_there ? JIT_COMPILED : JIT_FAILED);
    }
    if (!ok && !j->ends && n == 1) {
        Bytes words = {0};
        cache_read(said, &words);
        log_line("COMPILE", "a kernel cannot be compiled and is not fused: %.200s",
                 words.data ? words.data : strerror(errno));
        bytes_fini(&words);
        count(j, &j->stats.failed);
        settle(e[0], JIT_FAILED);
    }
    unlink(source);
    unlink(object);
    unlink(said);
    for (int i = 0; !ok && n > 1 && i < n; i++) compile_batch(j, &e[i], 1);
    if (ok) cache_trim(&j->cache);
}

static void do_batch(Jit *j, Entry **e, int n) {
    if (!j->is_ready) get_ready(j);
    if (j->is_off || j->ends) return;
    int rest = 0;
    for (int i = 0; i < n; i++) {
        char path[PATH_ROOM];
        set_key(j, e[i]);
        save_code(e[i]);
        cache_path(&j->cache, e[i]->key, path);
        bool is_there = cache_verify(path) && load(j, e[i], path);
        if (log_is(LOG_COMPILE))
            log_line("COMPILE", is_there ? "%s is in the cache" : "compiling %s", e[i]->key);
        if (is_there) {
            count(j, &j->stats.cached);
            settle(e[i], JIT_CACHED);
        } else {
            e[rest++] = e[i];
        }
    }
    compile_batch(j, e, rest);
}

static void *thread_main(void *arg) {
    Jit *j = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10); /* this thread's and its children's */
    pthread_mutex_lock(&j->lock);
    while (!j->ends) {
        if (!j->first) {
            pthread_cond_wait(&j->wake, &j->lock);
            continue;
        }
        Entry *batch[BATCH_MAX];
        int n = 0;
        for (; j->first && n < j->batch_max; j->first = j->first->pending) batch[n++] = j->first;
        if (!j->first) j->last = NULL;
        pthread_mutex_unlock(&j->lock);
        do_batch(j, batch, n);
        pthread_mutex_lock(&j->lock);
        j->stats.is_off = j->is_off;
        j->n_pending -= n;
        if (!j->n_pending) pthread_cond_broadcast(&j->idle);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* ---- Asking ---- */

Jit *jit_new(const JitConfig *config) {
    Jit *j = xcalloc(1, sizeof *j);
    snprintf(j->isa, sizeof j->isa, "%s", config->isa);
    const char *cc = config->compiler ? config->compiler : getenv("GT_CC");
    snprintf(j->compiler, sizeof j->compiler, "%s", cc && *cc ? cc : "cc");
    j->batch_max = config->batch_max > 0 ? config->batch_max : 16;
    if (j->batch_max > BATCH_MAX) j->batch_max = BATCH_MAX;
    j->sights = config->sights > 0 ? config->sights : 1;
    cache_init(&j->cache, config->dir, config->bytes_max);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&j->idle, &clock);
    pthread_condattr_destroy(&clock);
    return j;
}

void jit_free(Jit **jp) {
    Jit *j = *jp;
    if (!j) return;
    if (j->has_thread) {
        pthread_mutex_lock(&j->lock);
        j->ends = true;
        if (j->child) kill(-j->child, SIGKILL);
        pthread_cond_signal(&j->wake);
        pthread_mutex_unlock(&j->lock);
        pthread_join(j->thread, NULL);
    }
    for (size_t i = 0; i < j->n_handles; i++) dlclose(j->handle[i]);
    free(j->handle);
    uint64_t key;
    void *v;
    for (size_t i = 0; map_next(&j->entries, &i, &key, &v);) {
        for (Entry *e = v, *next; e; e = next) {
            next = e->same_hash;
            bytes_fini(&e->source);
            free(e);
        }
    }
    map_fini(&j->entries);
    free(j->numbered);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->wake);
    pthread_cond_destroy(&j->idle);
    free(j);
    *jp = NULL;
}

static Entry *find(const Jit *j, const void *signature, size_t n, uint64_t hash) {
    Entry *e = map_get(&j->entries, hash);
    while (e && (e->n != n || memcmp(e->signature, signature, n))) e = e->same_hash;
    return e;
}

/* is_soon: before all others, else behind them. */
static void ask(Jit *j, Entry *e, bool is_soon) {
    pthread_mutex_lock(&j->lock);
    if (!j->has_thread) {
        sigset_t all, before; /* signals belong to the program's own threads */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        j->has_thread = pthread_create(&j->thread, NULL, thread_main, j) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (j->has_thread) {
        if (is_soon)
            e->pending = j->first;
        if (is_soon || !j->last)
            j->first = e;
        else
            j->last->pending = e;
        if (!is_soon || !j->last) j->last = e;
        j->n_pending++;
        pthread_cond_signal(&j->wake);
    }
    pthread_mutex_unlock(&j->lock);
}

static const FusedKernel *get(Jit *j, const void *signature, size_t n, uint64_t hash, JitMake make,
                              void *ctx, bool is_soon) {
    Entry *e = find(j, signature, n, hash);
    j->latest = e ? e->number : 0;
    if (e) {
        const FusedKernel *k = atomic_load_explicit(&e->kernel, memory_order_acquire);
        if (k) {
            j->hits++;
            e->hits++;
            return k;
        }
    }
    j->misses++;
    if (!make) return NULL;
    if (!e) {
        e = xcalloc(1, sizeof *e + n);
        e->n = n;
        memcpy(e->signature, signature, n);
        e->same_hash = map_get(&j->entries, hash);
        map_put(&j->entries, hash, e);
        e->sights = 1;
        if (!(j->n_entries & (j->n_entries + 1))) /* room for twice as many and one */
            j->numbered = xrealloc(j->numbered, (2 * (size_t)j->n_entries + 1) * sizeof(Entry *));
        j->numbered[j->n_entries] = e;
        j->latest = e->number = ++j->n_entries;
    }
    if (e->sights && (e->sights++ >= j->sights || is_soon)) {
        e->sights = 0;
        settle(e, JIT_ASKED);
        make(ctx, &e->source);
        ask(j, e, is_soon);
    }
    return NULL;
}

const FusedKernel *jit_get(Jit *j, const void *signature, size_t n, uint64_t hash, JitMake make,
                           void *ctx) {
    return get(j, signature, n, hash, make, ctx, false);
}
const FusedKernel *jit_get_soon(Jit *j, const void *signature, size_t n, uint64_t hash,
                                JitMake make, void *ctx) {
    return get(j, signature, n, hash, make, ctx, true);
}

const char *jit_source(Jit *j, const void *signature, size_t n, uint64_t hash) {
    const Entry *e = find(j, signature, n, hash);
    return e ? e->source.data : NULL;
}

int jit_pending(Jit *j) {
    pthread_mutex_lock(&j->lock);
    int n = j->n_pending;
    pthread_mutex_unlock(&j->lock);
    return n;
}

bool jit_wait(Jit *j, int64_t timeout_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&j->lock);
    while (j->n_pending && pthread_cond_timedwait(&j->idle, &j->lock, &until) == 0) {}
    bool ok = j->n_pending == 0;
    pthread_mutex_unlock(&j->lock);
    return ok;
}

JitStats jit_stats(Jit *j) {
    pthread_mutex_lock(&j->lock);
    JitStats s = j->stats;
    s.pending = (uint64_t)j->n_pending;
    pthread_mutex_unlock(&j->lock);
    s.hits = j->hits;
    s.misses = j->misses;
    return s;
}

uint32_t jit_latest(const Jit *j) { return j->latest; }

bool jit_about(Jit *j, uint32_t number, JitAbout *out) {
    if (number == 0 || number > j->n_entries) return false;
    Entry *e = j->numbered[number - 1];
    JitState state = (JitState)atomic_load_explicit(&e->state, memory_order_acquire);
    *out = (JitAbout){.state = state, .source = e->source.data, .hits = e->hits};
    if (state < JIT_COMPILED) return true; /* the thread has it, perhaps */
    out->key = e->key;
    out->bytes = e->bytes;
    out->compile_ms = e->compile_ms;
    out->batch = e->batch;
    return true;
}
