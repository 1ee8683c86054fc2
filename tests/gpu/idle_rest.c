/* idle_rest.c: the functions of the driver that does nothing (idle.h) which have nothing to answer.
 * Those of idle.c take the place of the ones here.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/idle_count.h"
#include "tests/gpu/driver_api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, args)                                                                              \
    __attribute__((weak)) CUresult name args {                                                     \
        idle_call();                                                                               \
        return CUDA_SUCCESS;                                                                       \
    }
CUDA_FUNCTIONS(X)
CUDA_OTHER_FUNCTIONS(X)
