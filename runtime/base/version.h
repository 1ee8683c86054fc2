/* version.h: the version of all programs of the project, as --version prints it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_VERSION_H
#define GT_RUNTIME_BASE_VERSION_H
#define GTSH_VERSION "0.1"
#endif
