/* beside.h: a file PATH.data beside instruction text. It has the elements that are too many for a
 * line; equal ones are stored once. A line has their offset and hash (InstBeside). A replay maps
 * the file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_BESIDE_H
#define GT_RUNTIME_INST_BESIDE_H
#include "runtime/inst/inst.h"

#define BESIDE_BYTES (UINT64_C(1) << 30) /* limit of the elements in one such file */

typedef struct Beside Beside;
/* For the text at path. The file is created with the first elements, mode 0600: a new one, so that
 * a replay of an older text of this name keeps the old one; a link is not followed. */
Beside *beside_new(const char *path);
void beside_free(Beside **b);
const char *beside_path(const Beside *b); /* PATH.data */
/* Stores n bytes unless they are there already. *out says where; its path is the file's name
 * without the directory and lives as long as b. Fails if the file has BESIDE_BYTES or cannot be
 * written: then the line omits the elements. */
bool beside_keep(Beside *b, const void *data, size_t n, InstBeside *out, Err *err);
#endif
