/* inst_log.h: an instruction as a line of the log. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_LOG_H
#define GT_RUNTIME_INST_INST_LOG_H
#include "runtime/inst/inst.h"

/* "[STAGE] prefix t2 = add t0 t1"; files: names by number, or NULL. */
void inst_log(const char *stage, const char *prefix, const Inst *inst, const char *const *files,
              int n_files);
#endif
