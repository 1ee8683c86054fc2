/* device.c: the engine's device: which one it is, what it can do, this worker's share of its
 * memory, and what users see of it.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/device.h"
#include "worker/cuda/blas.h"
#include "worker/cuda/image.h"
#include <pthread.h>
#include <stdio.h>

/* ---- Opening ---- */

/* Chooses what kernels are compiled for: the device's architecture, or the newest that NVRTC knows
 * below it, whose PTX the driver assembles. */
static bool find_arch(Cuda *c, Err *err) {
    enum { MOST = 64, OLDEST = 80 };
    const CudaLibs *l = c->libs;
    int known[MOST], n = 0;
    if (c->capability < OLDEST) {
        err_set(err, ERR_IO, "%s has compute capability %d.%d, and %d.%d or newer is needed",
                c->name, c->capability / 10, c->capability % 10, OLDEST / 10, OLDEST % 10);
        return err_hint(err, "CUDA_VISIBLE_DEVICES chooses another one; --engine cpu needs none");
    }
    if (l->nvrtcGetNumSupportedArchs(&n) || n > MOST || l->nvrtcGetSupportedArchs(known))
        return err_set(err, ERR_IO, "NVRTC does not say for which devices it compiles");
    for (int k = 0; k < n; k++)
        if (known[k] <= c->capability && known[k] > c->arch) c->arch = known[k];
    c->is_ptx = c->arch != c->capability;
    if (c->arch && (!c->is_ptx || l->nvrtc <= l->driver)) return true;
    if (!c->arch)
        return err_set(err, ERR_IO, "NVRTC %d.%d compiles nothing for %s", l->nvrtc / 1000,
                       l->nvrtc % 1000 / 10, c->name);
    err_set(err, ERR_IO,
            "NVRTC %d.%d does not know %s (compute capability %d.%d), and its PTX is too new for "
            "the driver, which is of CUDA %d.%d",
            l->nvrtc / 1000, l->nvrtc % 1000 / 10, c->name, c->capability / 10, c->capability % 10,
            l->driver / 1000, l->driver % 1000 / 10);
    return err_hint(err, "it needs a newer NVRTC and a driver of the same version");
}

/* Says why the device gives no context. Returns false. */
static bool no_context(const Cuda *c, CUresult code, Err *err) {
    int mode = 0;
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        err_set(err, ERR_MEMORY, "%s has no memory left for another worker", c->name);
        return err_hint(err, "nvidia-smi lists the processes that use it");
    }
    if (c->libs->cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, c->device)) mode = 0;
    if (mode == CU_COMPUTEMODE_PROHIBITED)
        err_set(err, ERR_IO, "%s is in the mode that lets no process use it", c->name);
    else if (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS && code == CUDA_ERROR_DEVICE_UNAVAILABLE)
        err_set(err, ERR_IO, "%s is in exclusive mode, and another process has it", c->name);
    else {
        Err why = {0};
        cuda_ok(c->libs, code, "cuDevicePrimaryCtxRetain", &why);
        err_set(err, ERR_IO, "%s cannot be used: %s", c->name, why.text);
        return err_hint(err, "nvidia-smi shows its state; --engine cpu needs no device");
    }
    return err_hint(err, "nvidia-smi -c DEFAULT lets several use it");
}

static bool open_context(Cuda *c, Err *err) {
    CUcontext context;
    CUresult code = c->libs->cuDevicePrimaryCtxRetain(&context, c->device);
    if (code != CUDA_SUCCESS) return no_context(c, code, err);
    c->context = context;
    return CUDA(c->libs, err, cuCtxSetCurrent, c->context) &&
           CUDA(c->libs, err, cuStreamCreate, &c->stream, CU_STREAM_NON_BLOCKING);
}

bool cuda_find_device(const CudaLibs *l, const EngineConfig *config, int *n, CUdevice *device,
                      Err *err) {
    if (!CUDA(l, err, cuDeviceGetCount, n)) return false;
    if (*n < 1) return err_set(err, ERR_IO, "the NVIDIA driver finds no device");
    if (!config->is_exact || config->device < *n)
        return CUDA(l, err, cuDeviceGet, device, config->device % *n);
    err_set(err, ERR_ARG, "there is no device %d: the NVIDIA driver shows %d", config->device, *n);
    return *n == 1 ? err_hint(err, "--device 0 is the only one")
                   : err_hint(err, "--device 0 to %d", *n - 1);
}

bool cuda_open_device(Cuda *c, const EngineConfig *config, Err *err) {
    const CudaLibs *l = c->libs;
    int major = 0, minor = 0;
    if (!cuda_find_device(l, config, &c->n_devices, &c->device, err) ||
        !CUDA(l, err, cuDeviceGetName, c->name, sizeof c->name, c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
              c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
              c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &c->processors,
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, c->device))
        return false;
    c->capability = 10 * major + minor;
    snprintf(c->isa, sizeof c->isa, "cuda-sm%d-%d-nvrtc%d.%d", c->capability, c->processors,
             l->nvrtc / 1000, l->nvrtc % 1000 / 10);
    if (!find_arch(c, err)) return false;
    cuda_open_images(c);
    return open_context(c, err);
}

/* ---- Shares of a device's memory ---- */

enum { DEVICES_MAX = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Of this process: the workers that have taken a share, and what was free before the first did. */
static struct {
    int users;
    uint64_t free_bytes;
} share[DEVICES_MAX];

static int workers_on(const Cuda *c, const EngineConfig *config) {
    int all = config->workers > 0 ? config->workers : 1;
    int n = (all - c->device + c->n_devices - 1) / c->n_devices;
    return n > 0 ? n : 1;
}

/* Workers of one process divide what was free before the first of them. Those of several processes
 * do not know that: each takes its share of all memory, if so much is free. */
bool cuda_share(Cuda *c, const EngineConfig *config, uint64_t *bytes, Err *err) {
    enum { LEAST = 4 << 20 };
    size_t left = 0, all = 0;
    uint64_t n = (uint64_t)workers_on(c, config);
    if (!CUDA(c->libs, err, cuMemGetInfo_v2, &left, &all)) return false;
    if (config->is_shared || c->device >= DEVICES_MAX) {
        *bytes = all / n < left ? all / n : left;
    } else {
        pthread_mutex_lock(&lock);
        if (!share[c->device].users++) share[c->device].free_bytes = left;
        *bytes = share[c->device].free_bytes / n;
        pthread_mutex_unlock(&lock);
        c->has_share = true;
    }
    uint64_t most = *bytes > cuda_beside() ? (*bytes - cuda_beside()) / 16 * 15 : 0;
    *bytes = *bytes / 5 * 4 < most ? *bytes / 5 * 4 : most;
    if (*bytes >= LEAST) return true;
    char text[24];
    err_set(err, ERR_MEMORY, "%s has only %s of free memory", c->name, bytes_text(left, text));
    return n > 1 && err_hint(err, "%llu workers are to share it", (unsigned long long)n);
}

void cuda_close_device(Cuda *c) {
    if (c->has_share) {
        pthread_mutex_lock(&lock);
        share[c->device].users--;
        pthread_mutex_unlock(&lock);
    }
    if (c->stream) c->libs->cuStreamDestroy_v2(c->stream);
    if (c->context) c->libs->cuDevicePrimaryCtxRelease_v2(c->device);
}

/* ---- What users see ---- */

static void about_load(const Cuda *c, Bytes *out) {
    const NvmlLib *l = cuda_nvml();
    char bus[32] = "";
    nvmlDevice_t d;
    unsigned celsius;
    nvmlUtilization_t load;
    if (!l || c->libs->cuDeviceGetPCIBusId(bus, sizeof bus, c->device)) return;
    if (l->nvmlDeviceGetHandleByPciBusId_v2(bus, &d)) return;
    if (!l->nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &celsius))
        bytes_printf(out, "device_celsius=%u\n", celsius);
    if (!l->nvmlDeviceGetUtilizationRates(d, &load))
        bytes_printf(out, "device_busy_percent=%u\n", load.gpu);
}

void cuda_about(const Engine *e, Bytes *out) {
    const Cuda *c = (const Cuda *)e;
    size_t left = 0, all = 0;
    bytes_printf(out, "device=%s\ndevice_number=%d\n", c->name, c->device);
    if (!c->lost.code && !c->libs->cuCtxSetCurrent(c->context) &&
        !c->libs->cuMemGetInfo_v2(&left, &all))
        bytes_printf(out, "device_bytes_free=%zu\ndevice_bytes_total=%zu\n", left, all);
    cuda_about_blas(c, out);
    about_load(c, out);
}
