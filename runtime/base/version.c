/* version.c: see version.h. It is compiled twice: for the library, and for the programs with the
 * commit (scripts/describe), so that a commit links the programs anew, but not the tests.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/version.h"

#ifndef GT_DESCRIBE
#define GT_DESCRIBE ""
#endif
const char gt_version[] = GTSH_VERSION GT_DESCRIBE;
