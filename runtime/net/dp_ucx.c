/* dp_ucx.c: see dp_ucx.h. The caller's side is two lists under a lock: orders and finished
 * reads. The thread loops: take orders, let UCX progress, sleep on its descriptor and ours.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/dp_ucx.h"

#ifndef HAVE_UCX

Ucx *ucx_open(const void *memory, uint64_t bytes, void (*done)(void *ctx), void *ctx, Err *err) {
    (void)memory, (void)bytes, (void)done, (void)ctx;
    err_set(err, ERR_IO, "UCX is not built in");
    err_hint(err, "install libucx-dev and build again");
    return NULL;
}
void ucx_stop(Ucx *u) { (void)u; }
void ucx_close(Ucx **u) { *u = NULL; }
const void *ucx_card(const Ucx *u, size_t *n) {
    (void)u;
    *n = 0;
    return NULL;
}
UcxPeer *ucx_peer_open(Ucx *u, const void *card, size_t n) {
    (void)u, (void)card, (void)n;
    return NULL;
}
void ucx_peer_close(Ucx *u, UcxPeer **p) {
    (void)u;
    *p = NULL;
}
void ucx_read(Ucx *u, UcxPeer *p, const UcxRun *run, size_t n_runs, Buf *b, uint64_t name) {
    (void)u, (void)p, (void)run, (void)n_runs, (void)b, (void)name;
}
bool ucx_next(Ucx *u, uint64_t *name, Buf **b, bool *ok) {
    (void)u, (void)name, (void)b, (void)ok;
    return false;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

/* ---- The library ---- */

#define UCP_FUNCTIONS(F)                                                                           \
    F(ucp_config_read)                                                                             \
    F(ucp_config_modify)                                                                           \
    F(ucp_config_release)                                                                          \
    F(ucp_init_version)                                                                            \
    F(ucp_cleanup)                                                                                 \
    F(ucp_worker_create)                                                                           \
    F(ucp_worker_destroy)                                                                          \
    F(ucp_worker_get_address)                                                                      \
    F(ucp_worker_release_address)                                                                  \
    F(ucp_worker_progress)                                                                         \
    F(ucp_worker_get_efd)                                                                          \
    F(ucp_worker_arm)                                                                              \
    F(ucp_mem_map)                                                                                 \
    F(ucp_mem_unmap)                                                                               \
    F(ucp_rkey_pack)                                                                               \
    F(ucp_rkey_buffer_release)                                                                     \
    F(ucp_ep_create)                                                                               \
    F(ucp_ep_close_nbx)                                                                            \
    F(ucp_ep_rkey_unpack)                                                                          \
    F(ucp_rkey_destroy)                                                                            \
    F(ucp_get_nbx)                                                                                 \
    F(ucp_request_check_status)                                                                    \
    F(ucp_request_free)

#define AS_POINTER(name) __typeof__(name) *name;
static struct Api { UCP_FUNCTIONS(AS_POINTER) } api;
static pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library; /* kept until the process ends, because its threads and handlers are */

/* Called under the lock. */
static bool load(Err *err) {
    if (library) return true;
    /* No handlers for our signals, no patches of mmap and the like. */
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    setenv("UCX_ERROR_SIGNALS", "", 0);
    setenv("UCX_MEM_EVENTS", "n", 0);
    setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 0);
    setenv("UCX_LOG_LEVEL", "error", 0);
    void *at = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!at) {
        err_set(err, ERR_IO, "cannot load UCX: %s", dlerror());
        return err_hint(err, "apt install libucx0");
    }
    const char *missing = NULL;
#define LOOK_UP(name)                                                                              \
    *(void **)&api.name = dlsym(at, #name);                                                        \
    if (!api.name) missing = #name;
    UCP_FUNCTIONS(LOOK_UP)
    if (missing) {
        dlclose(at);
        return err_set(err, ERR_IO, "libucp.so.0 has no %s", missing);
    }
    library = at;
    return true;
}

/* ---- State ---- */

typedef struct Read {
    struct Read *next;
    UcxPeer *peer;
    Buf *buf;
    uint64_t name;
    size_t n_runs, n_open; /* n_open: in flight, plus one while they are being started */
    bool has_failed;
    UcxRun run[];
} Read;

struct UcxPeer {
    ucp_ep_h ep;
    ucp_rkey_h rkey;
    uint64_t base, bytes; /* of the peer's memory, in the peer's addresses */
    bool has_failed;
    size_t address_n, rkey_n;
    char *card; /* address, then key */
};

typedef enum OrderKind { ORDER_OPEN, ORDER_CLOSE, ORDER_READ } OrderKind;
typedef struct Order {
    struct Order *next;
    OrderKind kind;
    UcxPeer *peer;
    Read *read;
} Order;

struct Ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_mem_h memory;
    char *card;
    size_t card_n;
    pthread_t thread;
    bool has_thread;
    int wake_fd, ucx_fd;
    void (*done)(void *ctx);
    void *ctx;
    _Atomic bool ends;
    size_t n_open; /* the thread's: runs in flight */
    pthread_mutex_t lock;
    Order *orders, **last_order; /* under the lock, as everything below */
    Read *ended, **last_ended;
};

/* The beginning of a card; then the address, then the key. */
typedef struct CardHead {
    uint64_t base, bytes;
    uint32_t address_n, rkey_n;
} CardHead;

/* ---- The thread ---- */

static void finish(Ucx *u, Read *r) {
    r->next = NULL;
    pthread_mutex_lock(&u->lock);
    *u->last_ended = r;
    u->last_ended = &r->next;
    pthread_mutex_unlock(&u->lock);
    u->done(u->ctx);
}

static void run_ended(Ucx *u, Read *r, ucs_status_t status) {
    if (status != UCS_OK) r->has_failed = true;
    if (--r->n_open == 0) finish(u, r);
}

typedef struct Under {
    Ucx *u;
    Read *read;
} Under;

static void on_read(void *request, ucs_status_t status, void *user_data) {
    Under *under = user_data;
    under->u->n_open--;
    run_ended(under->u, under->read, status);
    free(under);
    api.ucp_request_free(request);
}

static void on_failure(void *arg, ucp_ep_h ep, ucs_status_t status) {
    (void)ep, (void)status;
    ((UcxPeer *)arg)->has_failed = true;
}

static void do_open(Ucx *u, UcxPeer *p) {
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (const ucp_address_t *)p->card,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = on_failure, .arg = p}};
    if (api.ucp_ep_create(u->worker, &params, &p->ep) != UCS_OK) p->ep = NULL;
    if (!p->ep || api.ucp_ep_rkey_unpack(p->ep, p->card + p->address_n, &p->rkey) != UCS_OK)
        p->has_failed = true, p->rkey = NULL;
}

/* While this waits, reads in flight from the peer end as failed. */
static void do_close(Ucx *u, UcxPeer *p) {
    if (p->ep) {
        ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_EP_CLOSE_FLAG_FORCE};
        ucs_status_ptr_t request = api.ucp_ep_close_nbx(p->ep, &param);
        if (UCS_PTR_IS_PTR(request)) {
            while (api.ucp_request_check_status(request) == UCS_INPROGRESS)
                api.ucp_worker_progress(u->worker);
            api.ucp_request_free(request);
        }
    }
    if (p->rkey) api.ucp_rkey_destroy(p->rkey);
    free(p->card);
    free(p);
}

static bool run_is_inside(const UcxPeer *p, const Read *r, const UcxRun *run) {
    return run->from <= p->bytes && run->n <= p->bytes - run->from && run->to <= r->buf->n &&
           run->n <= r->buf->n - run->to;
}

static void do_read(Ucx *u, Read *r) {
    UcxPeer *p = r->peer;
    r->n_open = 1;
    for (size_t i = 0; i < r->n_runs && !r->has_failed; i++) {
        const UcxRun *run = &r->run[i];
        if (p->has_failed || !run_is_inside(p, r, run)) {
            r->has_failed = true;
            break;
        }
        Under *under = xmalloc(sizeof *under);
        *under = (Under){u, r};
        ucp_request_param_t param = {.op_attr_mask =
                                         UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                     .cb.send = on_read,
                                     .user_data = under};
        r->n_open++, u->n_open++;
        ucs_status_ptr_t request = api.ucp_get_nbx(p->ep, r->buf->data + run->to, run->n,
                                                   p->base + run->from, p->rkey, &param);
        if (UCS_PTR_IS_PTR(request)) continue;
        u->n_open--;
        free(under);
        run_ended(u, r, UCS_PTR_STATUS(request));
    }
    run_ended(u, r, UCS_OK);
}

static void take_orders(Ucx *u) {
    pthread_mutex_lock(&u->lock);
    Order *o = u->orders;
    u->orders = NULL;
    u->last_order = &u->orders;
    pthread_mutex_unlock(&u->lock);
    for (Order *next; o; o = next) {
        next = o->next;
        switch (o->kind) {
        case ORDER_OPEN: do_open(u, o->peer); break;
        case ORDER_CLOSE: do_close(u, o->peer); break;
        case ORDER_READ: do_read(u, o->read); break;
        }
        free(o);
    }
}

static void *thread_main(void *ctx) {
    Ucx *u = ctx;
    while (!atomic_load(&u->ends)) {
        take_orders(u);
        while (api.ucp_worker_progress(u->worker)) continue;
        if (api.ucp_worker_arm(u->worker) != UCS_OK) continue; /* Events have arrived by now. */
        struct pollfd fd[] = {{.fd = u->ucx_fd, .events = POLLIN},
                              {.fd = u->wake_fd, .events = POLLIN}};
        poll(fd, 2, 1000);
        uint64_t n;
        if (fd[1].revents && read(u->wake_fd, &n, sizeof n) < 0 && errno != EAGAIN) break;
    }
    take_orders(u);
    return NULL;
}

static void wake(Ucx *u) {
    uint64_t one = 1;
    while (write(u->wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static void give_order(Ucx *u, OrderKind kind, UcxPeer *p, Read *r) {
    Order *o = xmalloc(sizeof *o);
    *o = (Order){.kind = kind, .peer = p, .read = r};
    pthread_mutex_lock(&u->lock);
    *u->last_order = o;
    u->last_order = &o->next;
    pthread_mutex_unlock(&u->lock);
    wake(u);
}

/* ---- The caller's side ---- */

static bool start(Ucx *u, const void *memory, uint64_t bytes, const char **what) {
    ucp_config_t *config;
    *what = "its settings";
    if (api.ucp_config_read(NULL, NULL, &config) != UCS_OK) return false;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP};
    ucs_status_t status =
        api.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &u->context);
    api.ucp_config_release(config);
    *what = "ucp_init";
    if (status != UCS_OK) {
        u->context = NULL;
        return false;
    }
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    *what = "ucp_worker_create";
    if (api.ucp_worker_create(u->context, &worker, &u->worker) != UCS_OK) {
        u->worker = NULL;
        return false;
    }
    /* Does not touch the pages: the arena is sparse. */
    ucp_mem_map_params_t map = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_PROT,
        .address = (void *)memory,
        .length = bytes,
        .flags = UCP_MEM_MAP_NONBLOCK,
        .prot = UCP_MEM_MAP_PROT_REMOTE_READ | UCP_MEM_MAP_PROT_LOCAL_READ};
    *what = "ucp_mem_map";
    if (api.ucp_mem_map(u->context, &map, &u->memory) != UCS_OK) {
        u->memory = NULL;
        return false;
    }
    *what = "its descriptor";
    return api.ucp_worker_get_efd(u->worker, &u->ucx_fd) == UCS_OK;
}

static bool make_card(Ucx *u, const void *memory, uint64_t bytes) {
    ucp_address_t *address;
    size_t address_n, rkey_n;
    void *rkey;
    if (api.ucp_worker_get_address(u->worker, &address, &address_n) != UCS_OK) return false;
    bool ok = api.ucp_rkey_pack(u->context, u->memory, &rkey, &rkey_n) == UCS_OK;
    if (ok) {
        CardHead head = {(uint64_t)(uintptr_t)memory, bytes, (uint32_t)address_n, (uint32_t)rkey_n};
        u->card_n = sizeof head + address_n + rkey_n;
        u->card = xmalloc(u->card_n);
        memcpy(u->card, &head, sizeof head);
        memcpy(u->card + sizeof head, address, address_n);
        memcpy(u->card + sizeof head + address_n, rkey, rkey_n);
        api.ucp_rkey_buffer_release(rkey);
    }
    api.ucp_worker_release_address(u->worker, address);
    return ok;
}

Ucx *ucx_open(const void *memory, uint64_t bytes, void (*done)(void *ctx), void *ctx, Err *err) {
    pthread_mutex_lock(&api_lock);
    bool ok = load(err);
    pthread_mutex_unlock(&api_lock);
    if (!ok) return NULL;
    Ucx *u = xcalloc(1, sizeof *u);
    const char *what;
    pthread_mutex_init(&u->lock, NULL);
    u->last_order = &u->orders;
    u->last_ended = &u->ended;
    u->done = done;
    u->ctx = ctx;
    u->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ok = start(u, memory, bytes, &what);
    if (ok) what = "its address", ok = make_card(u, memory, bytes);
    if (ok) what = "a thread";
    ok = ok && u->wake_fd >= 0 && !pthread_create(&u->thread, NULL, thread_main, u);
    u->has_thread = ok;
    if (ok) return u;
    err_set(err, ERR_IO, "UCX does not start: %s failed", what);
    ucx_close(&u);
    return NULL;
}

void ucx_stop(Ucx *u) {
    if (!u->has_thread) return;
    atomic_store(&u->ends, true);
    wake(u);
    pthread_join(u->thread, NULL);
    u->has_thread = false;
}

void ucx_close(Ucx **up) {
    Ucx *u = *up;
    *up = NULL;
    if (!u) return;
    ucx_stop(u);
    uint64_t name;
    Buf *b;
    bool ok;
    while (ucx_next(u, &name, &b, &ok)) buf_unref(&b);
    if (u->memory) api.ucp_mem_unmap(u->context, u->memory);
    if (u->worker) api.ucp_worker_destroy(u->worker);
    if (u->context) api.ucp_cleanup(u->context);
    if (u->wake_fd >= 0) close(u->wake_fd);
    pthread_mutex_destroy(&u->lock);
    free(u->card);
    free(u);
}

const void *ucx_card(const Ucx *u, size_t *n) {
    *n = u->card_n;
    return u->card;
}

UcxPeer *ucx_peer_open(Ucx *u, const void *card, size_t n) {
    CardHead head;
    if (n < sizeof head) return NULL;
    memcpy(&head, card, sizeof head);
    if ((uint64_t)head.address_n + head.rkey_n != n - sizeof head || !head.address_n) return NULL;
    UcxPeer *p = xcalloc(1, sizeof *p);
    p->base = head.base, p->bytes = head.bytes;
    p->address_n = head.address_n, p->rkey_n = head.rkey_n;
    p->card = xmalloc(n - sizeof head);
    memcpy(p->card, (const char *)card + sizeof head, n - sizeof head);
    give_order(u, ORDER_OPEN, p, NULL);
    return p;
}

void ucx_peer_close(Ucx *u, UcxPeer **p) {
    if (*p) give_order(u, ORDER_CLOSE, *p, NULL);
    *p = NULL;
}

void ucx_read(Ucx *u, UcxPeer *p, const UcxRun *run, size_t n_runs, Buf *b, uint64_t name) {
    Read *r = xcalloc(1, sizeof *r + n_runs * sizeof *run);
    r->peer = p;
    r->buf = b;
    r->name = name;
    r->n_runs = n_runs;
    memcpy(r->run, run, n_runs * sizeof *run);
    give_order(u, ORDER_READ, p, r);
}

bool ucx_next(Ucx *u, uint64_t *name, Buf **b, bool *ok) {
    pthread_mutex_lock(&u->lock);
    Read *r = u->ended;
    if (r) u->ended = r->next;
    if (!u->ended) u->last_ended = &u->ended;
    pthread_mutex_unlock(&u->lock);
    if (!r) return false;
    *name = r->name, *b = r->buf, *ok = !r->has_failed;
    free(r);
    return true;
}

#endif
