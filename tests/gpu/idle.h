/* idle.h: a driver that does nothing: build/test/gpu/idle/libcuda.so.1. Every call succeeds at
 * once; kernels do not run, and what is read from the device are bytes of 0xff: nan, -1, no
 * failure. With it the host's own time is what is left, programs of any size can be counted, and
 * kernels are compiled for devices that nobody has: of a cubin it reads what the kernels need
 * (cubin.h).
 *
 * Environment: GT_IDLE_CAPABILITY (of the device, 90), asked for whenever an engine opens it;
 * GT_IDLE_MEMORY (its bytes, 80 GB). Files that get lines when the process ends: GT_IDLE_COUNTS
 * (one line, NAME=VALUE), GT_IDLE_KERNELS (a line for each kernel: idle.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_IDLE_H
#define GT_TESTS_GPU_IDLE_H
#include "tests/gpu/cubin.h"

#define IDLE_API __attribute__((visibility("default")))
/* What was asked for. A node of a graph counts whenever the graph is launched. */
typedef struct IdleCounts {
    uint64_t calls;          /* of any function */
    uint64_t launches;       /* of kernels, one by one */
    uint64_t graph_launches; /* of graphs */
    uint64_t graph_kernels;  /* kernels in them */
    uint64_t graph_sets;     /* of kernels in them, to other arguments */
    uint64_t copies;         /* to, from and on the device, and fills */
    uint64_t to_device_bytes, to_host_bytes, on_device_bytes;
    uint64_t modules, image_bytes;
} IdleCounts;
IDLE_API void idle_counts(IdleCounts *out);

/* A kernel of a cubin, and the launch of it with the lowest occupancy. */
typedef struct IdleKernel {
    CubinKernel needs;
    int capability;
    int threads, dynamic_bytes; /* of a block; threads 0: it was never launched */
    double occupancy;
} IdleKernel;
/* The k-th kernel that was loaded, of modules that are unloaded too. False: there are no more. */
IDLE_API bool idle_kernel(int k, IdleKernel *out);
#endif
