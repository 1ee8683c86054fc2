/* aside.c: work that takes up to seconds, such as compiling, in a thread of its own. The thread
 * that owns the engine waits, and calls is_cancelled (engine.h, set_cancel) meanwhile: so the
 * worker sends heartbeats and sees a cancel. (NVRTC can call back too, since CUDA 13. Of a kernel
 * that took 14 s to compile the calls lay up to 8.6 s apart.)
 *
 * NVRTC cannot be interrupted. After a cancel the work is left: it runs on, keeps its kernel on
 * disk, and frees itself. There is one thread at a time: the next work and cuda_close wait for it.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/aside.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct Helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool has_ended; /* under the lock */
    bool is_left;   /* nobody wants the result */
    Aside *work;
};

static void *run(void *ctx) {
    Helper *h = ctx;
    h->work->run(h->work);
    pthread_mutex_lock(&h->lock);
    h->has_ended = true;
    pthread_cond_signal(&h->end);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static Helper *start(Aside *work) {
    Helper *h = xcalloc(1, sizeof *h);
    pthread_condattr_t clock;
    sigset_t all, before; /* signals are for the program's own threads */
    h->work = work;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&h->end, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&h->thread, NULL, run, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ok) return h;
    pthread_cond_destroy(&h->end);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return NULL;
}

/* Waits for its end; NULL: there is none. */
static void end(Helper *h) {
    if (!h) return;
    pthread_join(h->thread, NULL);
    if (h->is_left) h->work->drop(h->work);
    pthread_cond_destroy(&h->end);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Waits a little. Returns true if the work has ended. */
static bool has_ended(Helper *h) {
    enum { POLL_NS = 5000000, SECOND_NS = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= SECOND_NS) until.tv_nsec -= SECOND_NS, until.tv_sec++;
    pthread_mutex_lock(&h->lock);
    while (!h->has_ended && pthread_cond_timedwait(&h->end, &h->lock, &until) != ETIMEDOUT) {}
    bool is = h->has_ended;
    pthread_mutex_unlock(&h->lock);
    return is;
}

/* Waits for the end of h. False: a cancel came first. */
static bool wait_for(const Cuda *c, Helper *h) {
    while (!has_ended(h))
        if (c->is_cancelled && c->is_cancelled(c->cancel_ctx)) return false;
    return true;
}

static bool give_up(Err *err) { return err_set(err, ERR_CANCELLED, "interrupted"); }

bool cuda_aside(Cuda *c, Aside *work, Err *err) {
    if (c->left && !wait_for(c, c->left)) {
        work->drop(work);
        return give_up(err);
    }
    cuda_end_aside(c);
    Helper *h = c->is_cancelled && !c->capture ? start(work) : NULL;
    if (!h) {
        work->run(work);
        return true;
    }
    if (wait_for(c, h)) {
        end(h);
        return true;
    }
    h->is_left = true;
    c->left = h;
    return give_up(err);
}

void cuda_end_aside(Cuda *c) {
    end(c->left);
    c->left = NULL;
}
