/* monitor.h: a connection to a dispatcher for programs that watch a run. It gets a snapshot of the
 * run several times a second and, if it asks for them, the lines of the tape (tape.h) while they
 * come, and those of the last seconds from the flight recorder.
 *
 *     Err err = {0};
 *     Monitor *m = monitor_open(where, &err);              // where: as gtsh -d; NULL: find it
 *     for (MonitorEvent e; m && monitor_next(m, 1000, &e) != MONITOR_END;)
 *         if (e.kind == MONITOR_SNAPSHOT) show(e.text, e.n);
 *     monitor_close(&m);
 *
 * A snapshot is text, a record a line: a word, then KEY=VALUE pairs between single spaces. Strings
 * are quoted as in instruction files. Unknown records and keys are to be ignored. Counters only
 * grow, so a reader takes differences. Times are microseconds, memory is bytes.
 *
 *     dispatcher endpoint= version= now_us= up_us= pid= workers= clients= insts= queue=
 *         frame_bytes= sent_bytes= data_bytes=
 *     worker rank=0 engine="cpu-v4" host= pid= threads= limit= sent= memory= queue= insts= kernels=
 *         busy_us.matmul= .pointwise= .reduce= .other= .transfer= idle_us.starved= .blocked= .comm=
 *         .compile= blocked_on=1 moved_bytes= clock_us= signal= device="NVIDIA H100"
 *         device_number=0 device_used= device_total= device_celsius= device_busy_percent=
 *     client id=1 name="train.gt" user= home=0 insts= pending= tensors= bytes= lag_us= file= line=
 *         signal=
 *     op name="matmul" count= us= bytes=
 *
 * busy_us and idle_us count from the first watcher on, by the classes of op_class.h and the causes
 * of IdleWhy (wire_watch.h); clock_us is the time, by the worker's clock, at which it read its
 * counters: rates are differences of counters by differences of clock_us. `sent` are instructions
 * in flight to a worker, `queue` those that it has and has not done. insts, frame_bytes: from
 * clients; sent_bytes: to workers; data_bytes: between workers. lag_us is the age of a client's
 * oldest frame in flight, file and line the position of its last instruction. A missing key: not
 * known (yet).
 *
 * One thread uses a Monitor. What it holds is bounded: if the caller does not read, the dispatcher
 * drops lines and snapshots, and counts them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_MONITOR_H
#define GT_DISPATCHER_WATCH_MONITOR_H
#include "runtime/base/err.h"

typedef struct Monitor Monitor;

typedef enum MonitorKind {
    MONITOR_NOTHING,  /* the time is over */
    MONITOR_SNAPSHOT, /* text: a whole snapshot */
    MONITOR_LINES,    /* text: whole lines of the tape, without its header */
    MONITOR_PAST,     /* the same, from the flight recorder */
    MONITOR_PAST_END, /* all of the past was sent */
    MONITOR_DROPPED,  /* `dropped` lines are missing here, because this program was too slow */
    MONITOR_END       /* the dispatcher is gone, or it refused; why says how, in words */
} MonitorKind;

typedef struct MonitorEvent {
    MonitorKind kind;
    const char *text; /* ends with a newline and a NUL; valid until the next monitor_next */
    size_t n;
    uint64_t dropped;
    Err why; /* of MONITOR_END */
} MonitorEvent;

/* Finds the one dispatcher or program of this user that runs on this machine, and writes its name,
 * as for monitor_open. False: there is none, or there are several; err lists them. */
bool monitor_find(char *where, size_t size, Err *err);
/* Connects, and waits at most 10 s for the first snapshot. where: HOST:PORT, ipc:///PATH, /PATH,
 * local, @FILE; NULL or "": GT_DISPATCHER, else as monitor_find. NULL: err says why not. */
Monitor *monitor_open(const char *where, Err *err);
void monitor_close(Monitor **m); /* NULL-safe */
/* The endpoint, for people. Borrowed. */
const char *monitor_endpoint(const Monitor *m);
/* Returns the next event, which is in *out, after at most timeout_ms (-1: no limit); a signal ends
 * the wait early (MONITOR_NOTHING). After MONITOR_END there is only that. A dispatcher that is
 * silent for 10 s counts as gone. */
MonitorKind monitor_next(Monitor *m, int timeout_ms, MonitorEvent *out);

/* Requests; they do not wait. */
void monitor_events(Monitor *m, bool on);         /* MONITOR_LINES from now on, or none any more */
void monitor_past(Monitor *m, double seconds);    /* MONITOR_PAST ..., then MONITOR_PAST_END */
void monitor_cancel(Monitor *m, uint32_t client); /* drops what that client has queued */
#endif
