/* conv.h: the arguments of conv.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CONV_H
#define GT_WORKER_CUDA_CONV_H
#include "worker/cuda/tile.h"
#include <stdint.h>

enum { CONV_AXES = 3, CONV_PIXELS = 1024 /* as DW_PIXELS of worker/cpu/cpu_conv.c */ };

/* A convolution as a product of matrices, for each group: rows of `left` and of columns, which are
 * gathered. Element k of the kernel at pixel p reads element (p * pixel_step + pixel_first + k *
 * kernel_step) / divisor of `from` along each axis, if that is whole and inside. */
typedef struct ConvArgs {
    const char *left, *from; /* left: row-major */
    char *out;
    int64_t groups, rows, K; /* of a group; K: channels of `from` * elements of the kernel */
    int64_t images, pixels;  /* pixels: of an image; results, or, of a weight gradient, summed */
    int64_t block, blocks;   /* of a weight gradient: images of a block */
    int64_t from_image, from_channel, from_axis[CONV_AXES]; /* strides in elements */
    int64_t channels;                                       /* of a group of `from` */
    int32_t inside[CONV_AXES], kernel[CONV_AXES], pixel[CONV_AXES];
    int32_t pixel_step[CONV_AXES], pixel_first[CONV_AXES], kernel_step[CONV_AXES];
    int32_t divisor[CONV_AXES], read_left;
    char *parts; /* sums of blocks; NULL: there is one */
    char *waits;
    int64_t levels;
} ConvArgs;
#endif
