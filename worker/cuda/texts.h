/* texts.h: CUDA C as text, made of the files NAME.cu with what they include.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_TEXTS_H
#define GT_WORKER_CUDA_TEXTS_H

extern const char cuda_blocked_cu[], cuda_conv_cu[], cuda_copy_cu[], cuda_factor_cu[],
    cuda_index_cu[], cuda_product_cu[], cuda_scan_cu[], cuda_sort_cu[], cuda_source_cu[],
    cuda_thin_cu[], cuda_window_cu[];
#endif
