/* detector.h: finds hot bodies (body.h) in a stream while it is written, defines them, and has what
 * comes again go out as arguments alone (DESIGN 5, hot paths). Of the stream it knows what is added
 * to a FrameWriter, and no more: the client's stream is written so, and what others write can be.
 *
 * Whoever writes calls detector_added behind each instruction, detector_edge where a loop goes
 * round, and, in a stream that has no edges of its own, puts one in where detector_is_edge_due says
 * so. The detector writes through its host, inside detector_edge alone: it has a record `body` to
 * add, and it may be better that the frame ends here. Everything else is the writer's as before:
 * frames may end anywhere, and whoever reads them sees the same instructions in the same order.
 *
 * Bodies are numbered by the detector from 0 on. Its table is what all readers know, so one
 * detector belongs to one table of bodies at the readers: who reads frames of several detectors
 * keeps one such table for each, and nobody else defines or renames bodies in it. There may be as
 * many detectors as there are streams; they share nothing, and each is used by one thread.
 *
 * A detector goes with one FrameWriter: edge_id, next_id, body and body_at of that are the stream's
 * and stay from frame to frame. If one writer serves several streams, its owner keeps these four
 * for each and puts them back; if something goes into the stream that the detector has not seen,
 * detector_break comes before what it sees next.
 *
 * Memory: 3 KiB, 16 KiB more from the first detector_is_edge_due or detector_repeats on, 64 KiB
 * from the first edge on, and of each known body its forms and about 80 bytes an instruction.
 * Of bodies there are 128 at most, of forms `bytes_max` bytes (a form has 24 bytes at least, 40
 * mostly), while one is gathered BODY_BYTES more. Cost: an instruction as expected is compared once
 * (about as long as it takes to copy it); otherwise its form is kept until the edge and hashed
 * there; both without an allocation, but for a body that is defined.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_DETECTOR_H
#define GT_RUNTIME_WIRE_DETECTOR_H
#include "runtime/wire/wire.h"

typedef struct DetectorConfig {
    uint32_t threshold;   /* a body is defined when it was the same so many times; 0: never     */
    uint32_t min, window; /* instructions of one, its edge included: at least, at most          */
    uint32_t expand_max;  /* times round in one hot record                                      */
    size_t bytes_max;     /* forms of all its bodies, at least BODY_BYTES; 0: BODIES_BYTES      */
    uint64_t seed;        /* of its hash tables: where others choose what is added, what they
                             cannot guess                                                       */
} DetectorConfig;
/* As GT_HOTPATH_* have it (gtsh(1)); threshold is 0 where they switch it off. */
DetectorConfig detector_config(void);

/* Who writes the stream. */
typedef struct DetectorHost {
    void *ctx;
    /* Adds this instruction (`body`) to the frame under construction, which may be sent before and
     * behind it; without detector_added. What it borrows is valid during the call. */
    void (*define)(void *ctx, FrameWriter *w, const Inst *body);
    /* The next time round would be cut in two by the end of this frame, which may as well end here;
     * NULL: it ends where it does. */
    void (*end_frame)(void *ctx, FrameWriter *w);
} DetectorHost;

typedef struct Detector Detector;
/* NULL: the threshold is 0. The host is copied. */
Detector *detector_new(const DetectorConfig *config, const DetectorHost *host);
void detector_free(Detector **d); /* NULL-safe; by then its writer expects nothing any more */
/* An instruction was just added to w, whose frame is not ended yet; not of those that the host has
 * added for the detector. */
void detector_added(Detector *d, FrameWriter *w);
/* The last instruction was a loop's back-edge, or (is_put_in) an edge was due and was put in: as an
 * instruction `edge`, or by nothing but this call. frame_edge(w) comes before. */
void detector_edge(Detector *d, FrameWriter *w, bool is_put_in);
/* Before each instruction with results is added, of a stream that may be without edges: one is to
 * stand before it. Never for a while after a loop's own edge. */
bool detector_is_edge_due(Detector *d, const Inst *in);
/* Something went into the stream that the detector has not seen: nothing is expected, and what
 * comes up to the next edge is no body. */
void detector_break(Detector *d, FrameWriter *w);

/* Looks at an instruction of a stream that goes out as it came, without the detector: is it worth
 * while that all goes through it? 0: not yet; else so many instructions, about, come again and
 * again. Once it is asked it is asked of every instruction, or detector_forget is called. */
uint32_t detector_repeats(Detector *d, const Inst *in);
void detector_forget(Detector *d);

typedef struct DetectorCounts {
    uint64_t bodies, runs, instructions; /* defined; times round; sent as arguments */
} DetectorCounts;
DetectorCounts detector_counts(const Detector *d); /* of NULL: zeros */
#endif
