/* identify.c: what a proof of the engine depends on (worker/prove): the device, its driver and the
 * libraries that compile and multiply. Opens no context.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/identify.h"
#include "worker/cuda/blas.h"
#include "worker/cuda/device.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The version of the driver in the kernel, such as "580.65.06": an update may keep CUDA's version,
 * which is all that the driver's functions give. "": unknown. */
static void read_driver(char *text, size_t size) {
    int fd = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
}

bool cuda_identify(const EngineConfig *config, EngineDevice *out, Err *err) {
    const CudaLibs *l = cuda_libs(err);
    int n = 0, major = 0, minor = 0;
    size_t bytes = 0;
    CUdevice device;
    char driver[32], blas[CUDA_BLAS_NAME];
    *out = (EngineDevice){0};
    if (!l || !cuda_find_device(l, config, &n, &device, err) ||
        !CUDA(l, err, cuDeviceGetName, out->name, sizeof out->name - 1, device) ||
        !CUDA(l, err, cuDeviceTotalMem_v2, &bytes, device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
              device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
              device) ||
        !cuda_blas_name(blas, sizeof blas, err))
        return false;
    out->memory_bytes = bytes;
    read_driver(driver, sizeof driver);
    snprintf(out->capability, sizeof out->capability, "%d.%d", major, minor);
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d%s%s", l->driver / 1000,
             l->driver % 1000 / 10, driver[0] ? ", " : "", driver);
    snprintf(out->toolkit, sizeof out->toolkit, "NVRTC %d.%d%s%s", l->nvrtc / 1000,
             l->nvrtc % 1000 / 10, blas[0] ? ", " : "", blas);
    return true;
}
