/* inst_debug.h: an instruction as a line of GT_DEBUG_* on stderr. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_DEBUG_H
#define GT_RUNTIME_INST_INST_DEBUG_H
#include "runtime/inst/inst.h"

/* Writes "[STAGE] prefix t2 = add t0 t1" to stderr, without large payloads. files: the names of
 * source files by number, or NULL. */
void inst_debug(const char *stage, const char *prefix, const Inst *inst, const char *const *files,
                int n_files);
#endif
