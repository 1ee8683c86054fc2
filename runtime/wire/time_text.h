/* time_text.h: the text of a worker's times in a tape (tape.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_TIME_TEXT_H
#define GT_RUNTIME_WIRE_TIME_TEXT_H
#include "runtime/base/arena.h"
#include "runtime/wire/wire_peer.h"

/* Appends a line without its columns: `done t2 us=812 bytes=4000000 op=matmul`. */
void tape_put_row(const TimeRow *row, Bytes *b);
#endif
