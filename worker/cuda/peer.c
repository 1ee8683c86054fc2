/* peer.c: the arenas of engines from which another one copies straight: those of this process, on
 * the same device or on one whose memory its own device reaches, and those of other processes of
 * this user on this machine. An arena that others of this process read outlives its engine.
 *
 * Other processes open an arena by a handle of the driver's (cuIpcGetMemHandle): 64 bytes, which
 * travel in the worker's hello. File descriptors of memory that is mapped piece by piece
 * (cuMemExportToShareableHandle) would live as long as somebody has them, but need a socket of
 * their own to travel, and an arena allocated in another way. A handle does not: memory must not be
 * freed while another process has it open. So each lender has a lease, an empty file that readers
 * lock while they have the arena open; the kernel unlocks it if they die. A lender that closes
 * waits for them, and leaves the memory to the end of the process if that takes too long.
 *
 * No events are exchanged: an owner announces a box when a mark behind its calls is done, and a
 * reader says that it has read it when a mark behind its copies is.
 *
 * The dispatcher announced pid, handle and lease. A lease that is not the announced one, or another
 * user's, is not locked, and then the handle is not opened; nor is memory used that is smaller than
 * announced.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/peer.h"
#include "worker/cuda/copy.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLOSE_MS = 2000 }; /* how long a lender waits for its readers */

typedef struct CudaArena {
    CUdeviceptr base;
    uint64_t bytes;
    CUdevice device;
    CUcontext context;
    int users; /* its engine and those that read it */
    CudaArena *next;
    int lease;      /* its file; -1: nobody else can open it. Of an opened one: locked */
    bool is_opened; /* another process's: not in the list, and this engine's alone */
} CudaArena;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CudaArena *arenas;

void cuda_lend(Cuda *c) {
    CudaArena *a = c->arena = xmalloc(sizeof *a);
    pthread_mutex_lock(&lock);
    *a = (CudaArena){c->base, c->total, c->device, c->context, 1, arenas, -1, false};
    arenas = a;
    pthread_mutex_unlock(&lock);
}

/* True if nobody has the arena open: nobody can any more. */
static bool ends_lease(CudaArena *a) {
    enum { STEP_MS = 10 };
    if (a->lease < 0) return true;
    bool ends = false;
    for (int ms = 0; !ends && ms < CLOSE_MS; ms += STEP_MS) {
        ends = !flock(a->lease, LOCK_EX | LOCK_NB);
        if (!ends) usleep(STEP_MS * 1000);
    }
    if (ends) close(a->lease);
    return ends;
}

/* Gives up this engine's use of an arena. */
static void drop(Cuda *c, CudaArena *a) {
    pthread_mutex_lock(&lock);
    bool is_last = --a->users == 0;
    CudaArena **at = &arenas;
    while (*at != a) at = &(*at)->next;
    if (is_last) *at = a->next;
    pthread_mutex_unlock(&lock);
    if (!is_last) return;
    c->libs->cuCtxSetCurrent(a->context);
    if (ends_lease(a)) c->libs->cuMemFree_v2(a->base);
    c->libs->cuCtxSetCurrent(c->context);
    free(a);
}

/* ---- Other processes ---- */

bool cuda_lend_handle(Engine *e, EngineHandle *out) {
    Cuda *c = (Cuda *)e;
    CUipcMemHandle handle;
    struct stat s;
    *out = (EngineHandle){.fd = -1};
    if (!cuda_enter(c) || c->libs->cuIpcGetMemHandle(&handle, c->base)) return false;
    int fd = memfd_create("gt-worker device memory", MFD_CLOEXEC);
    if (fd < 0 || fstat(fd, &s)) {
        if (fd >= 0) close(fd);
        return false;
    }
    c->arena->lease = fd;
    _Static_assert(sizeof handle == sizeof out->driver, "a handle has 64 bytes");
    memcpy(out->driver, &handle, sizeof handle);
    out->inode = s.st_ino, out->pid = (uint32_t)getpid(), out->fd = fd;
    return true;
}

/* Returns the lease of a handle, locked; -1: it is not what was announced, or is ending. */
static int lock_lease(const EngineHandle *h) {
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%u/fd/%d", h->pid, h->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (!fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_ino == h->inode && s.st_uid == geteuid() &&
        s.st_size == 0 && !flock(fd, LOCK_SH | LOCK_NB))
        return fd;
    close(fd);
    return -1;
}

static const void *open_lent(Cuda *c, uint64_t bytes, const EngineHandle *h) {
    const CudaLibs *l = c->libs;
    CUipcMemHandle handle;
    CUdeviceptr at, base = 0;
    size_t size = 0;
    if (c->n_reached == MAX_WORKERS || !cuda_enter(c)) return NULL;
    int lease = lock_lease(h);
    if (lease < 0) return NULL;
    memcpy(&handle, h->driver, sizeof handle);
    if (!l->cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) {
        if (!l->cuMemGetAddressRange_v2(&base, &size, at) && base == at && size >= bytes) {
            CudaArena *a = c->reached[c->n_reached++] = xmalloc(sizeof *a);
            *a = (CudaArena){at, bytes, c->device, c->context, 1, NULL, lease, true};
            return (const void *)at;
        }
        l->cuIpcCloseMemHandle(at);
    }
    close(lease);
    return NULL;
}

static void close_lent(Cuda *c, CudaArena *a) {
    c->libs->cuIpcCloseMemHandle(a->base);
    close(a->lease);
    free(a);
}

/* ---- Engines of this process ---- */

static bool can_reach(Cuda *c, CUdevice device, CUcontext context) {
    const CudaLibs *l = c->libs;
    int can = 0, is_mutual = 0;
    if (device == c->device) return true;
    if (l->cuDeviceCanAccessPeer(&can, c->device, device) ||
        l->cuDeviceCanAccessPeer(&is_mutual, device, c->device) || !can || !is_mutual)
        return false;
    CUresult code = l->cuCtxEnablePeerAccess(context, 0);
    return code == CUDA_SUCCESS || code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

const void *cuda_reach(Engine *e, const void *base, uint64_t bytes, const EngineHandle *handle) {
    Cuda *c = (Cuda *)e;
    CUcontext context;
    if (handle) return open_lent(c, bytes, handle);
    pthread_mutex_lock(&lock);
    CudaArena *a = arenas;
    while (a && (a->base != (CUdeviceptr)base || a->bytes != bytes)) a = a->next;
    if (a) a->users++;
    pthread_mutex_unlock(&lock);
    if (!a) return NULL;
    /* Its context must outlive it too. */
    bool ok = a != c->arena && c->n_reached < MAX_WORKERS && cuda_enter(c) &&
              !c->libs->cuDevicePrimaryCtxRetain(&context, a->device);
    if (ok && can_reach(c, a->device, context)) {
        c->reached[c->n_reached++] = a;
        return base;
    }
    CUdevice device = a->device;
    drop(c, a);
    if (ok) c->libs->cuDevicePrimaryCtxRelease_v2(device);
    return NULL;
}

static void leave(Cuda *c, int k) {
    CudaArena *a = c->reached[k];
    CUdevice device = a->device;
    c->reached[k] = c->reached[--c->n_reached];
    if (a->is_opened) {
        close_lent(c, a);
        return;
    }
    drop(c, a);
    c->libs->cuDevicePrimaryCtxRelease_v2(device);
}

void cuda_leave(Engine *e, const void *at) {
    Cuda *c = (Cuda *)e;
    if (cuda_enter(c)) cuda_settle(c);
    for (int k = c->n_reached; k-- > 0;)
        if (c->reached[k]->base == (CUdeviceptr)at) leave(c, k);
}

void cuda_close_arenas(Cuda *c) {
    while (c->n_reached) leave(c, c->n_reached - 1);
    if (c->arena) drop(c, c->arena);
    c->arena = NULL;
}
