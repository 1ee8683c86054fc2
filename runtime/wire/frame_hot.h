/* frame_hot.h: hot records, for frame.c (body.h has their meaning).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_FRAME_HOT_H
#define GT_RUNTIME_WIRE_FRAME_HOT_H
#include "runtime/wire/frame.h"
#include "runtime/wire/record.h"

/* Adds a record to w's open hot record, or begins a hot record with it. `record` may be in w's
 * buffer, after the last record, if there is room for it and a hot head. Returns false if w's body
 * does not continue with it. */
bool hot_fold(FrameWriter *w, const uint8_t *record);
/* Returns the next instruction of r's hot record, as a record in the arena. NULL: *bad says why. */
const uint8_t *hot_record(FrameReader *r, Arena *scratch, const char **bad);
/* Begins reading the hot record at r->at, of h->length bytes. Returns NULL, or what is wrong. */
const char *hot_begin(FrameReader *r, const RecordHead *h);
#endif
