/* version.c: see version.h. It is compiled twice: for the library, and for the programs with the
 * commit and the build (scripts/describe), so that a commit links the programs anew, but not the
 * tests.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/version.h"

#ifndef GT_DESCRIBE
#define GT_DESCRIBE ""
#endif
#ifndef GT_BUILD
#define GT_BUILD ""
#endif
const char gt_version[] = GTSH_VERSION GT_DESCRIBE;
const char gt_build[] = GT_BUILD;
