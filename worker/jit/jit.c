/* jit.c: requests for kernels, and the thread that serves them. jit_cache.c handles the cache's
 * files, jit_cc.c the compiler.
 *
 * All workers of a process with the same configuration share a JitService: one thread, one queue,
 * each kernel once. Each worker has its own Jit and JitEntries, which no other thread touches; a
 * JitEntry points to an Item of the JitService. Items are made and requested under the JitService's
 * lock. A kernel is published through an atomic pointer, so that a hit takes no lock.
 * SPDX-License-Identifier: MIT */
#include "worker/jit/jit.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"
#include "worker/kernel/emit.h"
#include "worker/jit/jit_cache.h"
#include "worker/jit/jit_cc.h"
#include "worker/jit/jit_shipped.h"
#include "runtime/wire/lru.h"
#include "worker/engine/pool.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef enum ItemState {
    ITEM_ASKED,  /* not looked up on disk yet */
    ITEM_WANTED, /* not on disk; compiled once it is worth it */
    ITEM_BUSY,
    ITEM_COMPILED, /* ready, compiled by this process ... */
    ITEM_CACHED,   /* ... or loaded from the disk cache ... */
    ITEM_SHIPPED,  /* ... or of those that came with the program */
    ITEM_FAILED
} ItemState;

/* A kernel. Owned by the JitService. Its lock protects same_hash, next, refs, state, the marks of
 * urgency, why, compile_ms and batch. The thread that makes the kernel sets key, suffix, handle and
 * bytes before `state`. */
typedef struct Item Item;
struct Item {
    Item *same_hash, *next; /* next: in the list of unfinished items */
    uint32_t refs;          /* from JitEntries; at 0 it is freed */
    uint64_t hash;
    void *handle; /* from dlopen; NULL: none */
    _Atomic(const FusedKernel *) kernel;
    _Atomic uint64_t lost_ns; /* time lost without it, in all workers */
    Bytes source;
    char key[MAKER_KEY]; /* hash of source and environment */
    const char *suffix;  /* of its file in the cache; NULL: ".so" */
    ItemState state;
    bool is_soon;
    bool is_wanted;    /* an earlier program asked for it and ended too soon */
    char *why;         /* of ITEM_FAILED; owned */
    double compile_ms; /* of the compiler call that made it ... */
    int batch;         /* ... and the kernels in that call */
    uint64_t bytes;    /* size of its file */
    size_t n;
    unsigned char signature[];
};

enum {
    /* Kernels per compiler call: those of charlm take 0.12 s of CPU each alone, 0.09 in calls of 2
     * and 0.08 in calls of 4, 8 or 16. */
    BATCH_MAX = 8,
    WHY_ROOM = sizeof((Err *)0)->text
};

typedef struct JitService JitService;
struct JitService {
    JitService *next; /* in the process's list, under services_lock */
    int refs;
    uint64_t worth_ns;
    bool is_list;
    Engine *maker; /* the engine that makes the kernels; NULL: the C compiler does */
    Cc cc;
    Cache cache;
    Shipped shipped;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of items, open, compiler_calls, call, and of opening `shipped` */
    pthread_cond_t wake, idle;
    Map items;  /* signature's hash -> Item */
    Item *open; /* the unfinished ones, newest first */
    uint64_t compiler_calls;
    JitCall call[JIT_CALLS]; /* the last ones, by n_calls % JIT_CALLS */
    _Atomic uint64_t n_calls, n_told;
    _Atomic bool ends, is_off; /* is_off: there is no compiler or no cache ... */
    char why_off[WHY_ROOM];    /* ... and this is why */

    /* Used by the thread only: */
    bool is_ready;          /* the compiler is identified, or is_off */
    bool has_cache;         /* the cache may be used */
    bool compiler_disabled; /* no more kernels are compiled, see why_disabled */
    char why_disabled[WHY_ROOM];
    /* Already logged: the cache cannot be written; sources cannot be saved; a kernel does not
     * compile. */
    bool has_logged_lost, has_logged_save, has_logged_failed;
    uint64_t environment[2];
};

struct JitEntry {
    LruItem used; /* first member: see oldest_free */
    JitEntry *same_hash;
    uint64_t hash;
    uint32_t holders;
    Item *item;   /* NULL: not requested yet */
    bool is_ours; /* this worker was the first to request it */
    int requests;
    bool is_soon; /* an earlier jit_want had is_soon */
    uint32_t number;
    uint64_t hits;
    const FusedKernel *kernel;
    Choice choice;
    size_t n;
    unsigned char signature[];
};

struct Jit {
    JitService *service;
    Map entries;  /* signature's hash -> JitEntry */
    Map numbered; /* number -> JitEntry */
    Lru used;
    uint32_t last_number;
    int min_requests;
    uint64_t hits, misses;
    void (*on_evict)(void *ctx);
    void *evict_ctx;
};

/* ---- The thread: one batch ---- */

static void turn_off(JitService *s, const char *why, const char *what) {
    snprintf(s->why_off, sizeof s->why_off, "%.180s%s%.160s", why, what ? ": " : "",
             what ? what : "");
    s->is_off = true;
    log_line("COMPILE", "operations are not fused: %s", s->why_off);
}

static void disable_compiler(JitService *s, const char *why, const char *what) {
    if (s->compiler_disabled) return;
    s->compiler_disabled = true;
    snprintf(s->why_disabled, sizeof s->why_disabled, "%.250s%s%.160s", why, what ? ": " : "",
             what ? what : "");
    log_line("COMPILE", "no more kernels are compiled: %s", s->why_disabled);
}

/* Call this if kernels cannot be compiled or kept. If kernels came with the program, those stay in
 * use; otherwise there are no kernels. */
static void go_without(JitService *s, const char *why, const char *what) {
    pthread_mutex_lock(&s->lock);
    bool is_shipped = shipped_open(&s->shipped);
    pthread_mutex_unlock(&s->lock);
    if (is_shipped)
        disable_compiler(s, why, what);
    else
        turn_off(s, why, what);
}

/* Once, before the first kernel: identifies the compiler, and checks that it and the cache
 * exist. */
static void get_ready(JitService *s) {
    char why[256];
    s->is_ready = true;
    Bytes all = {0};
    if (s->is_list) {
        cc_identify(&s->cc, &all); /* for cc_flags */
        bytes_fini(&all);
        s->compiler_disabled = true;
        snprintf(s->why_disabled, sizeof s->why_disabled, "sources are only listed");
        return;
    }
    if (!cache_open(&s->cache, why, sizeof why)) {
        go_without(s, why, NULL);
        return;
    }
    cache_sweep(&s->cache);
    bytes_printf(&all, "%s|%zu|", s->cc.isa, sizeof(FusedArgs));
    s->has_cache = cc_identify(&s->cc, &all);
    if (!s->has_cache) {
        if (errno != ENOENT) snprintf(why, sizeof why, "no C compiler (%s)", strerror(errno));
        go_without(s, errno == ENOENT ? "no C compiler" : why, s->cc.command);
    }
    bytes_puts(&all, emit_head);
    for (int i = 0; i < 2; i++) s->environment[i] = hash_bytes(all.data, all.n, (uint64_t)i);
    bytes_fini(&all);
}

static void set_key(JitService *s, Item *e) {
    if (s->is_list) {
        shipped_key(&s->shipped, &e->source, e->key);
        return;
    }
    uint64_t h[2];
    for (int i = 0; i < 2; i++) h[i] = hash_bytes(e->source.data, e->source.n, s->environment[i]);
    snprintf(e->key, sizeof e->key, "%016llx%016llx", (unsigned long long)h[0],
             (unsigned long long)h[1]);
}

/* Loads the kernel from an intact shared object. On failure returns false and writes the reason to
 * why, unless why is NULL. */
static bool load(JitService *s, Item *e, const char *path, char why[WHY_ROOM]) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char symbol[64];
    snprintf(symbol, sizeof symbol, "k%s_kernel", e->key);
    const FusedKernel *k = handle ? dlsym(handle, symbol) : NULL;
    if (!k || k->signature_bytes != (int64_t)e->n || memcmp(k->signature, e->signature, e->n)) {
        const char *words = handle ? "it does not contain the kernel" : dlerror();
        size_t n = strlen(path); /* dlerror's text begins with the path */
        if (words && !strncmp(words, path, n) && words[n] == ':') words += n + 1;
        if (why)
            snprintf(why, WHY_ROOM, "the object that '%.100s' wrote cannot be loaded: %.200s",
                     s->cc.command, words ? words + (*words == ' ') : "");
        if (handle) dlclose(handle);
        return false;
    }
    e->handle = handle;
    struct stat st;
    e->bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;
    atomic_store_explicit(&e->kernel, k, memory_order_release);
    return true;
}
static bool load_cached(JitService *s, Item *e) {
    char path[PATH_MAX];
    if (!s->has_cache) return false;
    cache_path(&s->cache, e->key, path);
    return cache_verify(path) && load(s, e, path, NULL);
}

/* Under the lock. */
static bool load_shipped(JitService *s, Item *e) {
    const FusedKernel *k = shipped_kernel(&s->shipped, &e->source, e->signature, e->n);
    if (!k) return false;
    shipped_key(&s->shipped, &e->source, e->key);
    atomic_store_explicit(&e->kernel, k, memory_order_release);
    return true;
}

static void put_source(const Item *e, Bytes *out) {
    bytes_printf(out, "\n#define FUSED(x) k%s_##x\n", e->key);
    bytes_add(out, e->source.data, e->source.n);
    bytes_puts(out, "#undef FUSED\n");
}

/* GT_SAVE_COMPILED_CODE: writes the head once, and each kernel to a file that includes it. With
 * is_list, also writes the compiler's flags. */
static void save_code(JitService *s, const Item *e) {
    const char *dir = getenv("GT_SAVE_COMPILED_CODE");
    if (!dir || !*dir || s->has_logged_save) return;
    char path[PATH_MAX], name[sizeof e->key + 2];
    Bytes text = {0};
    bytes_puts(&text, "#include \"fused.h\"\n");
    put_source(e, &text);
    snprintf(name, sizeof name, "%s.c", e->key);
    bool ok = cache_save_code("fused.h", emit_head, name, &text, path);
    if (ok && s->is_list) {
        snprintf(path, sizeof path, "%s/flags", dir);
        ok = cache_write(path, cc_flags(&s->cc), strlen(cc_flags(&s->cc)));
    }
    if (!ok)
        log_line("COMPILE", "GT_SAVE_COMPILED_CODE: no more sources are saved: %.300s: %s", path,
                 strerror(errno));
    s->has_logged_save = !ok;
    bytes_fini(&text);
}

static void set_state(JitService *s, Item *e, ItemState state) {
    pthread_mutex_lock(&s->lock);
    e->state = state;
    pthread_mutex_unlock(&s->lock);
}

static void set_failed(JitService *s, Item *e, const char *why) {
    pthread_mutex_lock(&s->lock);
    e->state = ITEM_FAILED;
    e->why = xstrdup(why);
    pthread_mutex_unlock(&s->lock);
}

/* Logs the first failure of a kind that may recur; with GT_DEBUG_COMPILE=1, every one. */
static void log_once(bool *has_logged, const char *what, const char *why) {
    if (!*has_logged || log_is(LOG_COMPILE))
        log_line("COMPILE", "%s: %s%s", what, why,
                 log_is(LOG_COMPILE) ? "" : " (reported once; GT_DEBUG_COMPILE=1 reports all)");
    *has_logged = true;
}
static void log_lost(JitService *s, const char *why) {
    log_once(&s->has_logged_lost, "kernels cannot be saved; operations without one run one by one",
             why);
}
static void log_failed(JitService *s, const char *why) {
    log_once(&s->has_logged_failed, "a kernel cannot be compiled; its operations run one by one",
             why);
}

/* REFUSED: by the compiler; NO_PLACE: the cache's disk is full or gone; OVER_LIMIT: see
 * CcResult. */
typedef enum Made { MADE, REFUSED, NO_PLACE, OVER_LIMIT } Made;

/* Compiles the sources to the shared object `object`, not sealed yet. If the result is not MADE,
 * why says the reason. */
static Made make_object(JitService *s, const Bytes *text, bool is_urgent, char object[PATH_MAX],
                        char why[WHY_ROOM]) {
    bool is_again = false; /* the directory may vanish while the compiler runs */
    do {
        if (!cache_open(&s->cache, why, WHY_ROOM)) break;
        cache_temporary(&s->cache, object);
        CcResult result = cc_compile(&s->cc, text, object, is_urgent, why, WHY_ROOM);
        if (result == CC_MADE) return MADE;
        unlink(object);
        cc_forget(&s->cc);
        if (result == CC_OVER_LIMIT) return OVER_LIMIT;
        if (!cache_is_lost(&s->cache, why, WHY_ROOM)) return REFUSED;
        is_again = !is_again;
    } while (is_again && !s->ends);
    return NO_PLACE;
}

/* Adds the kernels that were loaded from a new object to the cache. */
static void keep(JitService *s, Item **e, int n, const char *object) {
    char path[PATH_MAX], why[WHY_ROOM];
    snprintf(path, sizeof path, "%s", object);
    bool ok = cache_seal(object);
    for (int i = 0; i < n && ok; i++) {
        cache_path(&s->cache, e[i]->key, path);
        ok = e[i]->state != ITEM_COMPILED || cache_link(&s->cache, object, path);
    }
    int error = errno;
    unlink(object);
    cc_forget(&s->cc);
    if (ok) cache_trim(&s->cache);
    for (int i = 0; i < n && ok; i++) cache_want(&s->cache, e[i]->key, false);
    if (ok || (error == ENOENT && cache_open(&s->cache, why, sizeof why))) return;
    snprintf(why, sizeof why, "%.250s: %s", path, strerror(error));
    log_lost(s, why);
}

/* Call this after disable_compiler. Fails all kernels that wait for the compiler, which is not
 * called again: a compiler that hangs once would hang for each kernel. Kernels on disk are still
 * used, unless there is no compiler: their names depend on it. */
static void fail_wanted(JitService *s) {
    for (Item *e = s->open; e; e = e->next) {
        if (e->state != ITEM_WANTED) continue;
        e->state = ITEM_FAILED;
        e->why = xstrdup(s->why_disabled);
    }
}

/* Under the lock. */
static void note_call(JitService *s, const Item *first, int n, int64_t begin, int64_t end) {
    char key[17];
    snprintf(key, sizeof key, "%.16s", first->key);
    s->call[s->n_calls % JIT_CALLS] = (JitCall){begin, end, (uint32_t)n, strtoull(key, NULL, 16)};
    s->n_calls++;
}

/* Compiles n items in one compiler call; if it refuses, each in a call of its own. */
static void compile_batch(JitService *s, Item **e, int n) {
    if (n == 0 || s->ends) return;
    char object[PATH_MAX], why[WHY_ROOM] = "";
    Bytes text = {0};
    bytes_puts(&text, emit_head);
    bool is_wanted = false;
    for (int i = 0; i < n; i++) put_source(e[i], &text), is_wanted |= e[i]->is_wanted;
    int64_t begin = now_ns();
    pool_lend();
    Made made = make_object(s, &text, is_wanted, object, why);
    pool_return();
    int64_t end = now_ns();
    double ms = (double)(end - begin) * 1e-6;
    bytes_fini(&text);
    if (s->ends && made != MADE) return;
    if (log_is(LOG_COMPILE) && made == MADE) log_line("COMPILE", "compiled %d in %.0f ms", n, ms);
    pthread_mutex_lock(&s->lock);
    s->compiler_calls++;
    if (made == MADE) note_call(s, e[0], n, begin, end);
    for (int i = 0; made == MADE && i < n; i++) e[i]->compile_ms = ms, e[i]->batch = n;
    pthread_mutex_unlock(&s->lock);
    if (made == NO_PLACE) log_lost(s, why);
    if (made == OVER_LIMIT) disable_compiler(s, why, NULL);
    for (int i = 0; i < n; i++) {
        if (made == MADE && load(s, e[i], object, why)) {
            set_state(s, e[i], ITEM_COMPILED);
        } else if (made == REFUSED && n > 1 && !s->compiler_disabled) {
            compile_batch(s, &e[i], 1);
        } else {
            set_failed(s, e[i], s->compiler_disabled ? s->why_disabled : why);
            if (made == NO_PLACE || s->compiler_disabled) continue;
            cache_want(&s->cache, e[i]->key, false);
            log_failed(s, why);
        }
    }
    if (made == MADE) keep(s, e, n, object);
}

/* Of the processes that share the cache one compiles at a time; the others then find its kernels
 * on disk. None waits longer than a compiler call may take. */
static void make_kernels(JitService *s, Item **e, int n) {
    int lock = cache_lock(&s->cache, s->cc.limit_ms, &s->ends), rest = 0;
    for (int i = 0; i < n; i++) {
        if (!load_cached(s, e[i])) {
            e[rest++] = e[i];
            if (log_is(LOG_COMPILE)) log_line("COMPILE", "compiling %s", e[i]->key);
            continue;
        }
        set_state(s, e[i], ITEM_CACHED);
    }
    compile_batch(s, e, rest);
    cache_unlock(lock);
}

/* Looks on disk for a newly requested kernel. */
static void look_up(JitService *s, Item *e) {
    bool is_wanted = false;
    ItemState state = ITEM_WANTED;
    if (!s->is_ready) get_ready(s);
    if (!s->is_off) {
        set_key(s, e);
        save_code(s, e);
        if (load_cached(s, e)) state = ITEM_CACHED;
        is_wanted = state == ITEM_WANTED && s->has_cache && cache_is_wanted(&s->cache, e->key);
        if (log_is(LOG_COMPILE) && state == ITEM_CACHED)
            log_line("COMPILE", "%s is in the cache", e->key);
    }
    if (s->is_off || (s->compiler_disabled && state == ITEM_WANTED)) {
        set_failed(s, e, s->is_off ? s->why_off : s->why_disabled);
        return;
    }
    pthread_mutex_lock(&s->lock);
    e->is_wanted = is_wanted;
    e->state = state;
    pthread_mutex_unlock(&s->lock);
}

/* ---- The thread: what is next ---- */
/* The caller holds the lock, except that item_unref and thread_main take it. */

static uint64_t gain_of(const Item *e) {
    uint64_t ns = atomic_load_explicit(&e->lost_ns, memory_order_relaxed);
    return e->is_soon || e->is_wanted ? ns | UINT64_C(1) << 63 : ns;
}
static bool is_pending(const JitService *s, const Item *e) {
    return e->state == ITEM_ASKED || e->state == ITEM_BUSY ||
           (e->state == ITEM_WANTED && gain_of(e) >= s->worth_ns);
}
static int n_pending(const JitService *s) {
    int n = 0;
    for (const Item *e = s->open; e; e = e->next) n += is_pending(s, e);
    return n;
}
static void item_free(const JitService *s, Item *e) {
    if (e->handle) dlclose(e->handle);
    const FusedKernel *k = atomic_load_explicit(&e->kernel, memory_order_relaxed);
    if (k && s->maker) s->maker->ops->maker->drop(s->maker, k);
    bytes_fini(&e->source);
    free(e->why);
    free(e);
}

/* Frees an item that has no references left. */
static void item_drop(JitService *s, Item *e) {
    Item *first = map_get(&s->items, e->hash), **at = &first;
    while (*at != e) at = &(*at)->same_hash;
    *at = e->same_hash;
    if (first)
        map_put(&s->items, e->hash, first);
    else
        map_remove(&s->items, e->hash);
    item_free(s, e);
}

static void drop_done(JitService *s) {
    for (Item **at = &s->open; *at;) {
        Item *e = *at;
        bool is_done = e->state > ITEM_BUSY, is_left = !e->refs && e->state != ITEM_BUSY;
        if (!is_done && !is_left) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        if (is_left) item_drop(s, e);
    }
}

static void item_unref(JitService *s, Item *e) {
    pthread_mutex_lock(&s->lock);
    /* An open item stays: the thread drops it, or service_free records that it was wanted. */
    bool is_open = false;
    for (const Item *o = s->open; o && !is_open; o = o->next) is_open = o == e;
    if (--e->refs == 0 && !is_open) item_drop(s, e);
    pthread_mutex_unlock(&s->lock);
}
/* Returns the item to compile next, or NULL. Urgent ones come first, then the one that lost most
 * time. Items that have lost less than worth_ns wait. */
static Item *best_wanted(const JitService *s) {
    Item *best = NULL;
    for (Item *e = s->open; e; e = e->next)
        if (e->state == ITEM_WANTED && is_pending(s, e) && (!best || gain_of(e) > gain_of(best)))
            best = e;
    return best;
}

/* Returns the number of kernels for the next compiler call: 1, 2, 4, then BATCH_MAX; always
 * BATCH_MAX if worth_ns is 0. A call for several kernels takes less time than a call for each. But
 * the first call has only the best kernel, so that a short program finishes it for the next run. */
static int batch_limit(const JitService *s) {
    if (!s->worth_ns || s->compiler_calls >= BATCH_MAX) return BATCH_MAX;
    int n = 1 << s->compiler_calls;
    return n < BATCH_MAX ? n : BATCH_MAX;
}

static void *thread_main(void *arg) {
    JitService *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->ends) {
        Item *batch[BATCH_MAX], *asked = NULL;
        for (Item *e = s->open; e; e = e->next)
            if (e->state == ITEM_ASKED) asked = e; /* the oldest */
        int n = 0;
        while (!asked && n < batch_limit(s)) {
            Item *e = best_wanted(s);
            if (!e) break;
            e->state = ITEM_BUSY;
            batch[n++] = e;
        }
        if (asked) asked->state = ITEM_BUSY;
        if (asked || n) {
            pthread_mutex_unlock(&s->lock);
            if (asked)
                look_up(s, asked);
            else
                make_kernels(s, batch, n);
            pthread_mutex_lock(&s->lock);
            if (s->compiler_disabled) fail_wanted(s);
            drop_done(s);
        }
        if (!n_pending(s)) pthread_cond_broadcast(&s->idle);
        if (!asked && !n && !s->ends) pthread_cond_wait(&s->wake, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- Services ---- */

static pthread_mutex_t services_lock = PTHREAD_MUTEX_INITIALIZER;
static JitService *services; /* of this process, few */

static bool is_same(const JitService *a, const JitService *b) {
    return !strcmp(a->cc.isa, b->cc.isa) && !strcmp(a->cc.command, b->cc.command) &&
           !strcmp(a->cache.dir, b->cache.dir) && a->cache.bytes_max == b->cache.bytes_max &&
           a->worth_ns == b->worth_ns && a->is_list == b->is_list && !a->maker && !b->maker &&
           !strcmp(a->shipped.path ? a->shipped.path : "", b->shipped.path ? b->shipped.path : "");
}

static void service_free(JitService *s) {
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->ends = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
        cc_end(&s->cc);
        pthread_join(s->thread, NULL);
    }
    for (const Item *e = s->open; e; e = e->next) /* not compiled in time */
        if (is_pending(s, e) && e->key[0]) cache_want(&s->cache, e->key, true);
    for (MapItem it = {0}; map_next(&s->items, &it);) {
        for (Item *e = it.value, *next; e; e = next) {
            next = e->same_hash;
            item_free(s, e);
        }
    }
    map_fini(&s->items);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->idle);
    cc_fini(&s->cc);
    shipped_fini(&s->shipped);
    free(s);
}

static JitService *service_new(const JitConfig *config) {
    JitService *s = xcalloc(1, sizeof *s);
    s->refs = 1;
    s->worth_ns = config->worth_ns;
    s->is_list = config->is_list;
    if (config->engine && config->engine->ops->maker) s->maker = config->engine;
    shipped_init(&s->shipped, config->shipped);
    cc_init(&s->cc, config->compiler, config->isa);
    cache_init(&s->cache, config->dir, config->bytes_max);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->idle, &clock);
    pthread_condattr_destroy(&clock);
    return s;
}

static JitService *service_ref(const JitConfig *config) {
    JitService *s = service_new(config);
    pthread_mutex_lock(&services_lock);
    JitService *other = services;
    while (other && !is_same(other, s)) other = other->next;
    if (other) {
        other->refs++;
    } else {
        s->next = services;
        services = s;
    }
    pthread_mutex_unlock(&services_lock);
    if (other) service_free(s);
    return other ? other : s;
}

static void service_unref(JitService *s) {
    pthread_mutex_lock(&services_lock);
    bool is_last = --s->refs == 0;
    JitService **at = &services;
    while (is_last && *at != s) at = &(*at)->next;
    if (is_last) *at = s->next;
    pthread_mutex_unlock(&services_lock);
    if (is_last) service_free(s);
}

/* ---- Requests ---- */

Jit *jit_new(const JitConfig *config) {
    Jit *j = xcalloc(1, sizeof *j);
    j->service = service_ref(config);
    j->min_requests = config->min_requests > 0 ? config->min_requests : 1;
    return j;
}

/* Frees an entry that has no holders. */
static void entry_free(Jit *j, JitEntry *e) {
    JitEntry *first = map_get(&j->entries, e->hash), **at = &first;
    while (*at != e) at = &(*at)->same_hash;
    *at = e->same_hash;
    if (first)
        map_put(&j->entries, e->hash, first);
    else
        map_remove(&j->entries, e->hash);
    map_remove(&j->numbered, e->number);
    lru_remove(&j->used, &e->used);
    if (e->item) item_unref(j->service, e->item);
    free(e);
}

/* Returns roughly the least recently used entry without holders: held entries that it passes count
 * as used. NULL: all are held. */
static JitEntry *oldest_free(Jit *j) {
    for (uint64_t i = 0; i < j->used.n; i++) {
        JitEntry *e = (JitEntry *)j->used.oldest;
        if (!e->holders) return e;
        lru_use(&j->used, &e->used);
    }
    return NULL;
}

void jit_free(Jit **jp) {
    Jit *j = *jp;
    if (!j) return;
    while (j->used.oldest) entry_free(j, (JitEntry *)j->used.oldest);
    service_unref(j->service);
    map_fini(&j->entries);
    map_fini(&j->numbered);
    free(j);
    *jp = NULL;
}

static JitEntry *find(const Jit *j, const void *signature, size_t n, uint64_t hash) {
    JitEntry *e = map_get(&j->entries, hash);
    while (e && (e->n != n || memcmp(e->signature, signature, n))) e = e->same_hash;
    return e;
}

JitEntry *jit_entry(Jit *j, const void *signature, size_t n, uint64_t hash) {
    JitEntry *e = find(j, signature, n, hash);
    if (e) {
        lru_use(&j->used, &e->used);
        return e;
    }
    if (j->used.n >= JIT_ENTRIES_MAX) {
        JitEntry *old = oldest_free(j);
        if (!old) return NULL;
        if (j->on_evict) j->on_evict(j->evict_ctx);
        entry_free(j, old);
    }
    e = xcalloc(1, sizeof *e + n);
    e->n = n;
    e->hash = hash;
    memcpy(e->signature, signature, n);
    e->same_hash = map_get(&j->entries, hash);
    map_put(&j->entries, hash, e);
    e->number = ++j->last_number;
    map_put(&j->numbered, e->number, e);
    lru_add(&j->used, &e->used, 0);
    return e;
}

void jit_on_evict(Jit *j, void (*call)(void *ctx), void *ctx) {
    j->on_evict = call, j->evict_ctx = ctx;
}

void jit_hold(JitEntry *e) { e->holders++; }
void jit_let_go(JitEntry *e) {
    assert(e->holders > 0);
    e->holders--;
}

const FusedKernel *jit_kernel(JitEntry *e) {
    if (!e->kernel && e->item)
        e->kernel = atomic_load_explicit(&e->item->kernel, memory_order_acquire);
    return e->kernel;
}

void jit_launched(Jit *j, JitEntry *e) { j->hits++, e->hits++; }

bool jit_is_requested(const JitEntry *e) { return e->item != NULL; }
Choice *jit_choice(JitEntry *e) { return &e->choice; }

static void start_thread(JitService *s) {
    if (s->has_thread) return;
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->has_thread = pthread_create(&s->thread, NULL, thread_main, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Makes the kernel of a fusion with the engine's own compiler. False: a cancel came first. */
static bool make_at_once(JitService *s, Item *e, const struct Fusion *f) {
    MadeKernel made = {.is_compiled = false};
    Err err = {0};
    pthread_mutex_unlock(&s->lock); /* a service with a maker is one worker's, which may poll */
    bool ok = s->maker->ops->maker->make(s->maker, f, &e->source, &made, &err);
    pthread_mutex_lock(&s->lock);
    if (!ok && err.code == ERR_CANCELLED) return false;
    memcpy(e->key, made.key, sizeof e->key);
    e->suffix = made.suffix;
    e->state = !ok ? ITEM_FAILED : made.is_compiled ? ITEM_COMPILED : ITEM_CACHED;
    if (!ok) {
        e->why = xstrdup(err.text);
        log_failed(s, err.text);
        return true;
    }
    e->bytes = made.bytes;
    atomic_store_explicit(&e->kernel, made.kernel, memory_order_release);
    if (!made.is_compiled) return true;
    e->compile_ms = (double)(made.end_ns - made.begin_ns) * 1e-6, e->batch = 1;
    s->compiler_calls++;
    note_call(s, e, 1, made.begin_ns, made.end_ns);
    return true;
}

/* Sets e's item, and makes and requests that item if no worker has yet. */
static void ask(Jit *j, JitEntry *e, uint64_t hash, JitMake make, void *ctx, bool is_soon) {
    JitService *s = j->service;
    pthread_mutex_lock(&s->lock);
    if (!s->maker) start_thread(s);
    Item *item = map_get(&s->items, hash);
    while (item && (item->n != e->n || memcmp(item->signature, e->signature, e->n)))
        item = item->same_hash;
    e->is_ours |= !item;
    if (!item && (s->has_thread || s->maker)) {
        item = xcalloc(1, sizeof *item + e->n);
        item->n = e->n;
        memcpy(item->signature, e->signature, e->n);
        make(ctx, &item->source);
        if (s->maker && !make_at_once(s, item, ctx)) {
            item_free(s, item);
            pthread_mutex_unlock(&s->lock);
            return;
        }
        item->same_hash = map_get(&s->items, hash);
        map_put(&s->items, hash, item);
        item->hash = hash;
        if (s->maker) {
            /* it has been made, or never will be */
        } else if (load_shipped(s, item)) { /* at once: the thread may be waiting for a compiler */
            item->state = ITEM_SHIPPED;
        } else {
            item->next = s->open;
            s->open = item;
        }
    }
    if (item) item->is_soon |= is_soon;
    if (item && !e->item) item->refs++;
    e->item = item;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

void jit_want(Jit *j, JitEntry *e, uint64_t hash, JitMake make, void *ctx, bool is_soon) {
    j->misses++;
    bool is_hurried = is_soon && !e->is_soon;
    e->is_soon |= is_soon;
    if (e->item && !is_hurried) return;
    if (++e->requests >= j->min_requests || is_soon) ask(j, e, hash, make, ctx, is_soon);
}

void jit_lost(Jit *j, JitEntry *e, int64_t ns) {
    if (!e->item || ns <= 0) return;
    JitService *s = j->service;
    uint64_t add = (uint64_t)ns;
    uint64_t was = atomic_fetch_add_explicit(&e->item->lost_ns, add, memory_order_relaxed);
    if (was >= s->worth_ns || was + add < s->worth_ns) return;
    pthread_mutex_lock(&s->lock);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

bool jit_is_off(const Jit *j) {
    return atomic_load_explicit(&j->service->is_off, memory_order_relaxed);
}

const char *jit_why_off(const Jit *j) {
    return atomic_load(&j->service->is_off) ? j->service->why_off : NULL;
}

const FusedKernel *jit_get(Jit *j, const void *signature, size_t n, uint64_t hash, JitMake make,
                           void *ctx) {
    JitEntry *e = jit_entry(j, signature, n, hash);
    const FusedKernel *k = e ? jit_kernel(e) : NULL;
    if (k) jit_launched(j, e);
    if (e && !k && make) jit_want(j, e, hash, make, ctx, false);
    return k;
}

const char *jit_source(Jit *j, const void *signature, size_t n, uint64_t hash) {
    const JitEntry *e = find(j, signature, n, hash);
    return e && e->item ? e->item->source.data : NULL;
}

int jit_pending(Jit *j) {
    pthread_mutex_lock(&j->service->lock);
    int n = n_pending(j->service);
    pthread_mutex_unlock(&j->service->lock);
    return n;
}

bool jit_wait(Jit *j, int64_t timeout_ms) {
    JitService *s = j->service;
    int64_t end = now_ns() + timeout_ms * 1000000;
    struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    pthread_mutex_lock(&s->lock);
    while (n_pending(s) &&
           (timeout_ms < 0 ? pthread_cond_wait(&s->idle, &s->lock)
                           : pthread_cond_timedwait(&s->idle, &s->lock, &until)) == 0) {}
    bool ok = n_pending(s) == 0;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

JitStats jit_stats(Jit *j) {
    JitService *s = j->service;
    JitStats all = {.hits = j->hits, .misses = j->misses};
    pthread_mutex_lock(&s->lock);
    all.is_off = s->is_off;
    all.compiler_calls = s->compiler_calls;
    for (MapItem it = {0}; map_next(&j->entries, &it);) {
        for (const JitEntry *e = it.value; e; e = e->same_hash) {
            const Item *item = e->is_ours ? e->item : NULL;
            if (!item) continue;
            all.compiled += item->state == ITEM_COMPILED;
            all.cached += item->state == ITEM_CACHED;
            all.shipped += item->state == ITEM_SHIPPED;
            all.failed += item->state == ITEM_FAILED;
            all.pending += is_pending(s, item);
            all.compile_ms += item->batch ? item->compile_ms / item->batch : 0;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return all;
}

bool jit_call(Jit *j, JitCall *out) {
    JitService *s = j->service;
    if (atomic_load_explicit(&s->n_told, memory_order_relaxed) ==
        atomic_load_explicit(&s->n_calls, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&s->lock);
    uint64_t n = s->n_calls, told = s->n_told;
    if (n - told > JIT_CALLS) told = n - JIT_CALLS;
    bool is_there = told < n;
    if (is_there) *out = s->call[told++ % JIT_CALLS];
    s->n_told = told;
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

uint32_t jit_number(const JitEntry *e) { return e->number; }

bool jit_about(Jit *j, uint32_t number, JitAbout *out) {
    static const JitState states[] = {
        [ITEM_ASKED] = JIT_ASKED,       [ITEM_WANTED] = JIT_ASKED,  [ITEM_BUSY] = JIT_ASKED,
        [ITEM_COMPILED] = JIT_COMPILED, [ITEM_CACHED] = JIT_CACHED, [ITEM_SHIPPED] = JIT_SHIPPED,
        [ITEM_FAILED] = JIT_FAILED};
    const JitEntry *e = number ? map_get(&j->numbered, number) : NULL;
    if (!e) return false;
    const Item *item = e->item;
    *out = (JitAbout){.state = JIT_SEEN, .hits = e->hits};
    if (!item) return true;
    pthread_mutex_lock(&j->service->lock);
    out->state = states[item->state];
    out->source = item->source.data;
    if (item->state > ITEM_BUSY) {
        out->key = item->key;
        out->suffix = item->suffix ? item->suffix : ".so";
        out->bytes = item->bytes;
        out->compile_ms = item->compile_ms;
        out->batch = item->batch;
        out->why = item->why;
    }
    pthread_mutex_unlock(&j->service->lock);
    return true;
}
