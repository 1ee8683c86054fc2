/* holder.h: which process listens at an address that is taken, for messages.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_HOLDER_H
#define GT_RUNTIME_NET_HOLDER_H
#include "runtime/base/err.h"

/* Sets err: the address (ipc://PATH or tcp://HOST:PORT) is taken, by a dispatcher with its process
 * or by another program, as far as /proc tells. Returns false. */
bool holder_tell(const char *endpoint, Err *err);
#endif
