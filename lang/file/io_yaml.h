/* io_yaml.h: .yaml: host values.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_YAML_H
#define GT_LANG_FILE_IO_YAML_H
#include "lang/file/io_sink.h"

bool yaml_decode(Buf *bytes, IoValue *out, Err *err);
bool yaml_encode(IoSink *s, const IoValue *v, Err *err); /* no tensors */
#endif
