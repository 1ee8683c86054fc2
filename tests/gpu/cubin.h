/* cubin.h: reads what kernels need from a cubin: NVRTC's machine code for a device, an ELF file.
 * Its sections are not documented: what is read here was found beside what NVIDIA's tools print
 * (`cuobjdump -res-usage`, `ptxas -v`), and cuda_asm_test reads kernels whose needs are known.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_CUBIN_H
#define GT_TESTS_GPU_CUBIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUBIN_NAME = 96, CUBIN_KERNELS = 8 };
typedef struct CubinKernel {
    char name[CUBIN_NAME];
    int registers;   /* of a thread */
    int stack_bytes; /* of a thread: of its own function, or of all that it calls if that is more */
    int shared_bytes; /* of a block, without those of the launch */
} CubinKernel;
typedef struct Cubin {
    int capability; /* 90: sm_90 */
    int n;          /* kernels */
    CubinKernel kernel[CUBIN_KERNELS];
} Cubin;
/* The size in bytes of an ELF file of 64 bits, by its own tables; 0: it is none. */
size_t cubin_bytes(const void *image);
/* Returns false if the `bytes` at `image` are no cubin, or have no kernel or too many. */
bool cubin_read(const void *image, size_t bytes, Cubin *out);

/* The share of a processor's threads that can be there at once, in blocks of so many threads and
 * so much shared memory: by registers, shared memory and blocks. 0: none can, or the capability is
 * none of 80, 90, 100 and 120. */
double cubin_occupancy(int capability, const CubinKernel *k, int threads, int dynamic_bytes);
#endif
