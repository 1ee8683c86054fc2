/* detector.h: finds hot bodies (body.h) in a stream while it is written, defines them, and folds
 * repetitions into their arguments. It knows only what is added to a
 * FrameWriter, so it works for the client's stream and for any other. What bodies are worth:
 * body.h.
 *
 * The writer calls detector_added after each instruction and detector_edge when a loop begins
 * its next iteration. In a stream without edges it inserts one when detector_is_edge_due says
 * so. The detector writes only through its host, inside detector_edge: it adds a record `body`,
 * and may ask for the frame to end. Everything else is up to the writer: frames may end
 * anywhere, and readers see the same instructions in the same order.
 *
 * The detector numbers bodies from 0 on. Its table mirrors that of all readers, so there is one
 * detector per table: a reader of frames from several detectors keeps a table for each, and
 * nothing else defines or renames bodies in it. There may be as many detectors as there are
 * streams. They share nothing, and each is used by one thread.
 *
 * A detector belongs to one FrameWriter, whose edge_id, next_id, body and body_at are the
 * stream's and last from frame to frame. If one writer serves several streams, its owner saves
 * and restores these four per stream. If something enters the stream that the detector has not
 * seen, call detector_break before the next instruction that it sees.
 *
 * Memory: 3 KiB, 16 KiB more after the first detector_is_edge_due or detector_repeats, 64 KiB
 * after the first edge, and for each known body its forms and about 80 bytes an instruction. At
 * most 128 bodies and `bytes_max` bytes of forms (a form has at least 24 bytes, mostly 40), and
 * BODY_BYTES more while one is collected. Cost: an expected instruction is compared once (about
 * as long as copying it); the form of another one is kept until the edge and hashed there.
 * Neither allocates, except for a body that is defined.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_DETECTOR_H
#define GT_RUNTIME_WIRE_DETECTOR_H
#include "runtime/wire/frame.h"

typedef struct DetectorConfig {
    uint32_t threshold;   /* repetitions before a body is defined; 0: never */
    uint32_t min, window; /* instructions of one, its edge included: at least, at most */
    uint32_t expand_max;  /* iterations in one hot record */
    size_t bytes_max;     /* forms of all its bodies, at least BODY_BYTES; 0: BODIES_BYTES      */
    uint64_t seed;        /* of its hash tables: for foreign input, one that cannot be guessed */
} DetectorConfig;
/* The settings of GT_HOTPATH_* (gtsh(1)); threshold is 0 if they switch it off. */
DetectorConfig detector_config(void);

/* The writer of the stream. */
typedef struct DetectorHost {
    void *ctx;
    /* Adds this instruction (`body`) to the frame under construction, which may be sent before
     * or after it; must not call detector_added. What it borrows is valid during the call. */
    void (*define)(void *ctx, FrameWriter *w, const Inst *body);
    /* The limit of this frame would split the next iteration: it may end here. NULL: frames
     * end at their limits. */
    void (*end_frame)(void *ctx, FrameWriter *w);
} DetectorHost;

typedef struct Detector Detector;
/* NULL: the threshold is 0. Copies the host. */
Detector *detector_new(const DetectorConfig *config, const DetectorHost *host);
void detector_free(Detector **d); /* NULL-safe; precondition: its writer expects nothing any more */
/* An instruction was just added to w, whose frame is still open. Do not call it for
 * instructions that the host adds for the detector. */
void detector_added(Detector *d, FrameWriter *w);
/* The last instruction was a loop's back-edge, or (is_put_in) a due edge was inserted: as an
 * instruction `edge`, or by this call alone. Call frame_edge(w) before. */
void detector_edge(Detector *d, FrameWriter *w, bool is_put_in);
/* Call before each instruction with results is added to a stream that may lack edges. True:
 * insert an edge first. Never true for a while after a loop's own edge. */
bool detector_is_edge_due(Detector *d, const Inst *in);
/* Something entered the stream that the detector has not seen: nothing is expected, and the
 * instructions up to the next edge form no body. */
void detector_break(Detector *d, FrameWriter *w);

/* Looks at an instruction of a stream that bypasses the detector. Returns 0, or, if all of the
 * stream should go through the detector, about how many instructions repeat. Once called it must
 * be called for every instruction, until detector_forget. */
uint32_t detector_repeats(Detector *d, const Inst *in);
void detector_forget(Detector *d);

typedef struct DetectorCounts {
    uint64_t bodies, runs, instructions; /* defined; iterations; sent as arguments */
} DetectorCounts;
DetectorCounts detector_counts(const Detector *d); /* of NULL: zeros */
#endif
