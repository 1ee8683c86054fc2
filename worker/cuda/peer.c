/* peer.c: the arenas of this process's engines, so that one copies straight from another's, on the
 * same device or on one whose memory its own device reaches. An arena that others read outlives its
 * engine.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cuda.h"
#include <pthread.h>
#include <stdlib.h>

typedef struct CudaArena {
    CUdeviceptr base;
    uint64_t bytes;
    CUdevice device;
    CUcontext context;
    int users; /* its engine and those that read it */
    CudaArena *next;
} CudaArena;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CudaArena *arenas;

void cuda_lend(Cuda *c) {
    CudaArena *a = c->arena = xmalloc(sizeof *a);
    pthread_mutex_lock(&lock);
    *a = (CudaArena){c->base, c->total, c->device, c->context, 1, arenas};
    arenas = a;
    pthread_mutex_unlock(&lock);
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
    c->libs->cuMemFree_v2(a->base);
    c->libs->cuCtxSetCurrent(c->context);
    free(a);
}

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

bool cuda_reach(Engine *e, const void *base, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    CUcontext context;
    pthread_mutex_lock(&lock);
    CudaArena *a = arenas;
    while (a && (a->base != (CUdeviceptr)base || a->bytes != bytes)) a = a->next;
    if (a) a->users++;
    pthread_mutex_unlock(&lock);
    if (!a) return false;
    /* Its context must outlive it too. */
    bool ok = a != c->arena && c->n_reached < MAX_WORKERS && cuda_enter(c) &&
              !c->libs->cuDevicePrimaryCtxRetain(&context, a->device);
    if (ok && can_reach(c, a->device, context)) {
        c->reached[c->n_reached++] = a;
        return true;
    }
    CUdevice device = a->device;
    drop(c, a);
    if (ok) c->libs->cuDevicePrimaryCtxRelease_v2(device);
    return false;
}

static void leave(Cuda *c, int k) {
    CUdevice device = c->reached[k]->device;
    drop(c, c->reached[k]);
    c->libs->cuDevicePrimaryCtxRelease_v2(device);
    c->reached[k] = c->reached[--c->n_reached];
}

void cuda_leave(Engine *e, const void *base) {
    Cuda *c = (Cuda *)e;
    if (cuda_enter(c)) cuda_settle(c);
    for (int k = c->n_reached; k-- > 0;)
        if (c->reached[k]->base == (CUdeviceptr)base) leave(c, k);
}

void cuda_close_arenas(Cuda *c) {
    while (c->n_reached) leave(c, c->n_reached - 1);
    if (c->arena) drop(c, c->arena);
    c->arena = NULL;
}
