/* replay_files.h: the files that instruction text names: those of `load`, and of `data` whose
 * elements are in a file beside the text. Each is mapped, hashed and decoded once for all its
 * tensors.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_FILES_H
#define GT_LANG_SHELL_REPLAY_FILES_H
#include "lang/file/io.h"

typedef struct ReplayFiles ReplayFiles;
/* text: the name of the instruction file. Paths are relative to its directory, or to the working
 * directory if there is no such file. */
ReplayFiles *replay_files_new(const char *text);
void replay_files_free(ReplayFiles **f);
/* Carries out a `load`: *out is the file's only tensor, or the one named `key`, with its type and a
 * new reference. false: ERR_IO if the file is missing or its sha256 differs, ERR_PARSE, ERR_ARG. */
bool replay_files_load(ReplayFiles *f, const Inst *load, IoTensor *out, Err *err);
/* True if the file that a load or data names is there. */
bool replay_files_has(const ReplayFiles *f, const Inst *inst);
/* The n bytes of a `data` with a path: one reference. The path must be a plain file name, so it
 * cannot leave the text's directory. */
bool replay_files_data(ReplayFiles *f, const Inst *data, uint64_t n, Buf **out, Err *err);
#endif
