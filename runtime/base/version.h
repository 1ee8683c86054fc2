/* version.h: the version of all programs of the project. This is the place where it is set;
 * debian/changelog repeats it (tests/cli/package.sh compares them).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_VERSION_H
#define GT_RUNTIME_BASE_VERSION_H
#define GTSH_VERSION "0.1"
/* What --version prints: GTSH_VERSION, in a checkout followed by the commit, such as
 * 0.1-g0123456789-dirty. It depends on nothing else: no date, no folder, no user. */
extern const char gt_version[];
/* What tells builds apart whose workers may compute differently: a hash of the sources of worker/
 * and runtime/, in hexadecimal digits, the same for all programs of a build. "" in test programs.
 */
extern const char gt_build[];
#endif
