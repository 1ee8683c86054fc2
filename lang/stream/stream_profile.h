/* stream_profile.h: the instructions of each source line, counted here, and their times, which the
 * workers add up (worker/exec/profile.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_PROFILE_H
#define GT_LANG_STREAM_STREAM_PROFILE_H
#include "lang/stream/stream.h"

StreamProfile *profile_counts_new(void);
void profile_counts_free(StreamProfile **p); /* NULL-safe */
/* Counts an instruction of this position; line 0: none. */
void profile_count(StreamProfile *p, SrcPos pos);
#endif
