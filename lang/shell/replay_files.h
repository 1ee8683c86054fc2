/* replay_files.h: the files that instruction text names: `load`, and `data` whose elements lie
 * beside the text. Each is mapped, hashed and decoded once, however many of its tensors are asked
 * for. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_FILES_H
#define GT_LANG_SHELL_REPLAY_FILES_H
#include "lang/file/io.h"

typedef struct ReplayFiles ReplayFiles;
/* text: the name of the file that the text is from; paths are relative to its directory, and to the
 * working directory where there is none of that name. */
ReplayFiles *replay_files_new(const char *text);
void replay_files_free(ReplayFiles **f);
/* What a `load` asks for: the file's one tensor, or the one named `key`; type and a reference in
 * *out. false: ERR_IO when the file is not there or its sha256 differs, ERR_PARSE, ERR_ARG. */
bool replay_files_load(ReplayFiles *f, const Inst *load, IoTensor *out, Err *err);
/* The n bytes that a `data` with a path asks for: one reference. The path is a plain name: nothing
 * but what lies beside the text. */
bool replay_files_data(ReplayFiles *f, const Inst *data, uint64_t n, Buf **out, Err *err);
#endif
