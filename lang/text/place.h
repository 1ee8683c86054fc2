/* place.h: where a tensor lies, as text and as the parts of the dispatcher's answer.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PLACE_H
#define GT_LANG_TEXT_PLACE_H
#include "lang/tensor/tensor.h"
#include "lang/value/interp.h"

/* Copies the value of a key in text, lines of KEY=VALUE, to out, terminated; false if it is
 * missing. */
bool place_line(const char *text, const char *key, char *out, size_t cap);
/* Marks the ranks that hold a tensor in has, of MAX_WORKERS. Waits until the tensor is computed;
 * moves none of its data. layout: at least 64 bytes, gets the layout as layout_text writes it.
 * False if the place is unknown, such as that of a tensor that was lost. */
bool place_of_tensor(Interp *in, const Tensor *t, bool *has, char *layout);
/* Appends ranks as "w0", "w0–w3" or "w0,w2"; "-" if there is none. */
void place_put_workers(const bool *has, Bytes *out);
/* Appends "w1", "shard axis 0 × w0–w3", "replicated × w0,w2" or "partial sum × w0–w3"; and
 * "on NVIDIA A100 (0)" if the workers have devices. Nothing if there is one worker without a device
 * or the place is unknown. */
void place_describe(Interp *in, const Tensor *t, Bytes *out);
#endif
