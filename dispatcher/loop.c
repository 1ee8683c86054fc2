/* loop.c: connects a hub to the step function: events in, messages out.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/dispatcher.h"
#include "dispatcher/door.h"
#include "runtime/base/clock.h"
#include "runtime/wire/wire.h"

/* Messages handled before their output is sent. 8 full frames take about half a millisecond: the
 * latency that a busy client adds to another client's answers. */
enum { TURN_MAX = 8 };
/* Callers look at signals and child processes between two pumps, so a pump must end however many
 * messages arrive. */
enum { PUMP_MS = 50 };
/* A peer whose bytes arrived this recently is in the middle of a large message: it is alive. */
enum { ARRIVING_MS = 5000 };

/* Acknowledgements, errors and heartbeats that a client has not read, before it is disconnected. A
 * client that keeps within its credit has fewer: one of each for each instruction. */
enum { UNREAD_BYTES = 128 << 20, MESSAGE_BYTES = 160 };

static int64_t coarse_ms(void) { return clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000; }

/* The bytes of a message that no credit limits, with the memory that ZeroMQ needs for it; 0 if
 * credit limits it. */
static uint64_t cost_of(const Msg *m) {
    MsgKind kind = wire_kind(m);
    bool is_free = kind == MSG_ACK || kind == MSG_ERROR || kind == MSG_BEAT;
    return is_free ? msg_bytes(m) + MESSAGE_BYTES : 0;
}

static void send_all(Dispatcher *d, Hub *inside) {
    PeerId to;
    Msg m;
    bool drop;
    while (dispatcher_next(d, &to, &m, &drop)) {
        Hub *hub = inside;
        if (to & PEER_OUTSIDE) hub = door_look(dispatcher_door(d), 0), to &= ~(PeerId)PEER_OUTSIDE;
        uint64_t cost = cost_of(&m);
        hub_send(hub, to, &m); /* A peer that is gone is reported by hub_recv. */
        if (drop) hub_drop(hub, to);
        if (!cost || hub_unread(hub, to, cost) <= UNREAD_BYTES) continue;
        hub_disconnect(hub, to);
        dispatcher_on_unread(d, to);
    }
}

/* Handles what watchers of an embedded dispatcher send, which is little. */
static void look_outside(Dispatcher *d, int64_t now) {
    Door *door = dispatcher_door(d);
    Hub *hub = door ? door_look(door, now) : NULL;
    PeerId from;
    Msg m;
    for (int r, i = 0; hub && i < TURN_MAX && (r = hub_recv(hub, &from, &m)); i++) {
        if (r > 0)
            dispatcher_on_message(d, from | PEER_OUTSIDE, &m, now);
        else
            dispatcher_on_gone(d, from | PEER_OUTSIDE, now);
    }
}

bool dispatcher_pump(Dispatcher *d, Hub *hub, int timeout_ms) {
    bool any = false, is_empty = false, is_more = dispatcher_go_on(d);
    int64_t now = coarse_ms();
    look_outside(d, now);
    dispatcher_on_tick(d, now); /* the caller may have reaped workers since */
    send_all(d, hub);
    if (timeout_ms && !is_more) hub_wait(hub, dispatcher_due(d, timeout_ms, now));
    now = coarse_ms();
    int64_t end = now + PUMP_MS;
    for (int r = 1; (r || is_more) && now < end; now = coarse_ms()) {
        PeerId from;
        Msg m;
        for (int i = 0; i < TURN_MAX && (r = hub_recv(hub, &from, &m)); i++) {
            any = true;
            if (r > 0)
                dispatcher_on_message(d, from, &m, now);
            else
                dispatcher_on_gone(d, from, now);
        }
        is_more = dispatcher_go_on(d);
        any |= is_more;
        dispatcher_on_tick(d, now);
        send_all(d, hub);
        is_empty = r == 0;
    }
    /* Only now is it certain that no message of theirs waits to be read. */
    for (PeerId silent; is_empty && (silent = dispatcher_silent(d, now));) {
        if (hub_has_bytes(hub, silent, ARRIVING_MS)) continue;
        hub_drop(hub, silent);
        dispatcher_on_silent(d, silent, now);
    }
    send_all(d, hub);
    return any;
}
