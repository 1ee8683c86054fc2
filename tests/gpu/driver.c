/* driver.c: the driver's functions for devices, contexts, memory and copies. Streams, events and
 * graphs are in driver_stream.c, modules and launches in driver_module.c.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

/* ---- The device ---- */

CUresult cuInit(unsigned flags) {
    CUresult code = api_begin("cuInit");
    if (code && code != CUDA_ERROR_NOT_INITIALIZED) return api_end(code);
    if (flags) return api_end(CUDA_ERROR_INVALID_VALUE);
    device_open();
    return api_end(device.n_devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}
CUresult cuDriverGetVersion(int *version) {
    CUresult code = api_begin("cuDriverGetVersion");
    if (code == CUDA_ERROR_NOT_INITIALIZED) code = CUDA_SUCCESS; /* it may be asked before cuInit */
    const char *text = getenv("GT_EMU_VERSION");
    if (!code) *version = device.version ? device.version : text && *text ? atoi(text) : 13090;
    return api_end(code);
}
static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};
static CUresult error_text(CUresult error, const char **text, bool is_name) {
    *text = NULL;
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++)
        if (errors[k].code == error) *text = is_name ? errors[k].name : errors[k].text;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorName(CUresult error, const char **text) { return error_text(error, text, true); }
CUresult cuGetErrorString(CUresult error, const char **text) {
    return error_text(error, text, false);
}
static bool is_device(int d) { return d >= 0 && d < device.n_devices; }
CUresult cuDeviceGetCount(int *count) {
    CUresult code = api_begin("cuDeviceGetCount");
    if (!code) *count = device.n_devices;
    return api_end(code);
}
CUresult cuDeviceGet(CUdevice *d, int ordinal) {
    CUresult code = api_begin("cuDeviceGet");
    if (!code && !is_device(ordinal)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code) *d = ordinal;
    return api_end(code);
}
CUresult cuDeviceGetName(char *name, int size, CUdevice d) {
    CUresult code = api_begin("cuDeviceGetName");
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code && size > 0) snprintf(name, (size_t)size, "Emulated GPU");
    return api_end(code);
}
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) {
    CUresult code = api_begin("cuDeviceGetUuid");
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code) memcpy(uuid->bytes, "gtsh emulated 00", sizeof uuid->bytes);
    if (!code) uuid->bytes[15] = (char)('0' + device.place[d]);
    return api_end(code);
}
CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice d) {
    CUresult code = api_begin("cuDeviceGetPCIBusId");
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code && size > 0) snprintf(text, (size_t)size, "0000:%02X:00.0", 14 + device.place[d]);
    return api_end(code);
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
    CUresult code = api_begin("cuDeviceTotalMem");
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code) *bytes = device.memory_bytes;
    return api_end(code);
}
static int compute_mode(void) {
    const char *mode = getenv("GT_EMU_MODE");
    if (mode && !strcmp(mode, "taken")) return CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
    return mode && !strcmp(mode, "prohibited") ? CU_COMPUTEMODE_PROHIBITED : CU_COMPUTEMODE_DEFAULT;
}
static int attribute_value(CUdevice_attribute attribute) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return THREADS_MAX;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return SHARED_STATIC_MAX;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return SHARED_MAX;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return LANES;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1000000;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return PROCESSORS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 1000000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 256;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 4 << 20;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: return compute_mode();
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return device.capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return device.capability % 10;
    default: return -1;
    }
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d) {
    CUresult code = api_begin("cuDeviceGetAttribute");
    int v = attribute_value(attribute);
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code && v < 0)
        code =
            device_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d is not emulated", (int)attribute);
    if (!code) *value = v;
    return api_end(code);
}

/* ---- Contexts: the devices' primary ones ---- */

static int device_of(CUcontext context) {
    for (int k = 0; k < device.n_devices; k++)
        if (context == &device.context[k]) return k;
    return -1;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice d) {
    CUresult code = api_begin("cuDevicePrimaryCtxRetain");
    if (!code && !is_device(d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code && compute_mode())
        code = compute_mode() == CU_COMPUTEMODE_PROHIBITED ? CUDA_ERROR_UNKNOWN
                                                           : CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (!code) device.context[d].users++, *context = &device.context[d];
    return api_end(code);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
    CUresult code = api_begin("cuDevicePrimaryCtxRelease");
    if (!code && (!is_device(d) || !device.context[d].users)) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code) {
        stream_run_all();
        device.context[d].users--;
    }
    return api_end(code);
}
CUresult cuCtxSetCurrent(CUcontext context) {
    CUresult code = api_begin("cuCtxSetCurrent");
    int d = device_of(context);
    if (!code && context && d < 0) code = CUDA_ERROR_INVALID_CONTEXT;
    if (!code && d >= 0) code = device.context[d].error;
    if (!code) device_current = d + 1;
    return api_end(code);
}
CUresult cuCtxGetCurrent(CUcontext *context) {
    CUresult code = api_begin("cuCtxGetCurrent");
    if (!code) *context = device_current ? &device.context[device_now()] : NULL;
    return api_end(code);
}
bool device_reaches(int d, int peer) {
    const char *text = getenv("GT_EMU_PEERS");
    return d != peer && !(text && !strcmp(text, "0"));
}
CUresult cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer) {
    CUresult code = api_begin("cuDeviceCanAccessPeer");
    if (!code && (!is_device(d) || !is_device(peer))) code = CUDA_ERROR_INVALID_DEVICE;
    if (!code) *can = device_reaches(d, peer);
    return api_end(code);
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    CUresult code = api_begin_context("cuCtxEnablePeerAccess");
    int d = device_of(peer);
    if (!code && flags) code = CUDA_ERROR_INVALID_VALUE;
    if (!code && d < 0) code = CUDA_ERROR_INVALID_CONTEXT;
    if (!code && !device_reaches(device_now(), d)) code = CUDA_ERROR_INVALID_DEVICE;
    if (code) return api_end(code);
    struct CUctx_st *own = &device.context[device_now()];
    if (own->open >> d & 1) return api_end(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    own->open |= UINT32_C(1) << d;
    return api_end(CUDA_SUCCESS);
}
/* The host waits for everything that was submitted. */
static CUresult wait_for_all(void) {
    Clock all;
    for (int k = 0; k < STREAMS_MAX; k++) all.upto[k] = device.stream[k].issued;
    stream_run_all();
    host_learns(&all);
    return device_error();
}
CUresult cuCtxSynchronize(void) {
    CUresult code = api_begin_context("cuCtxSynchronize");
    if (!code) code = wait_for_all();
    return api_end(code);
}

/* ---- Memory ---- */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    CUresult code = api_begin_context("cuMemGetInfo");
    if (!code) {
        *free_bytes = device.memory.limit - device.memory.used[device_now()];
        *total = device.memory_bytes;
    }
    return api_end(code);
}
CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
    CUresult code = api_begin_context("cuMemAlloc");
    if (!code && !bytes) code = CUDA_ERROR_INVALID_VALUE;
    Block *b = code ? NULL : memory_alloc(&device.memory, device_now(), bytes, NULL);
    if (!code && !b) code = CUDA_ERROR_OUT_OF_MEMORY;
    if (!code) *at = b->at;
    return api_end(code);
}
CUresult cuMemFree_v2(CUdeviceptr at) {
    CUresult code = api_begin_context("cuMemFree");
    if (code || !at) return api_end(code);
    Block *b = memory_find(&device.memory, at, 1);
    if (!b || b->at != at || b->is_pinned || b->is_module || b->opened || b->device != device_now())
        return api_end(
            device_refuse(CUDA_ERROR_INVALID_VALUE, "cuMemFree: %#llx is no allocation", at));
    if (b->fd >= 0 && flock(b->fd, LOCK_EX | LOCK_NB))
        return api_end(device_refuse(CUDA_ERROR_INVALID_VALUE,
                                     "cuMemFree: another process has the memory open"));
    code = wait_for_all(); /* as the real one does, though it does not promise it */
    memory_free(&device.memory, b);
    return api_end(code);
}
static Block *pinned(const void *host, size_t bytes) {
    const uint8_t *p = host;
    for (int k = 0; k < device.memory.n_blocks; k++) {
        Block *b = device.memory.block[k];
        if (b->is_pinned && p >= b->data && bytes <= b->bytes &&
            (size_t)(p - b->data) <= b->bytes - bytes)
            return b;
    }
    return NULL;
}
static CUresult alloc_host(const char *name, void **at, size_t bytes) {
    CUresult code = api_begin_context(name);
    if (!code && !bytes) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    void *host = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!host || !memory_alloc(&device.memory, device_now(), bytes, host)) {
        free(host);
        return api_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    memset(host, (int)(device_random() | 0x81) & 255, bytes);
    *at = host;
    return api_end(code);
}
CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    (void)flags; /* portable, mapped, write-combined: all that the emulated ones are */
    return alloc_host("cuMemHostAlloc", at, bytes);
}
CUresult cuMemAllocHost_v2(void **at, size_t bytes) {
    return alloc_host("cuMemAllocHost", at, bytes);
}
static bool is_in_use(const Block *b) {
    for (int k = 0; k < STREAMS_MAX; k++)
        for (const Op *op = device.stream[k].first; op; op = op->next)
            if (op->host && pinned(op->host, op->bytes) == b) return true;
    for (const Op *op = device.arriving; op; op = op->next)
        if (pinned(op->host, op->bytes) == b) return true;
    return false;
}
CUresult cuMemFreeHost(void *at) {
    CUresult code = api_begin_context("cuMemFreeHost");
    Block *b = code || !at ? NULL : pinned(at, 1);
    if (code || !at) return api_end(code);
    if (!b || b->data != at)
        return api_end(
            device_refuse(CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost: %p is not pinned", at));
    if (is_in_use(b))
        return api_end(device_refuse(CUDA_ERROR_INVALID_VALUE,
                                     "cuMemFreeHost: a copy still needs the memory"));
    stream_run_all();
    memory_free(&device.memory, b);
    free(at);
    return api_end(device_error());
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *at, void *host, unsigned flags) {
    CUresult code = api_begin_context("cuMemHostGetDevicePointer");
    Block *b = code ? NULL : pinned(host, 1);
    if (!code && (!b || flags)) code = CUDA_ERROR_INVALID_VALUE;
    if (!code) *at = b->at + (uint64_t)((uint8_t *)host - b->data);
    return api_end(code);
}

/* ---- Copies and fills ---- */

static CUresult check_device(const char *name, CUdeviceptr at, size_t bytes) {
    if (!at || !bytes)
        return device_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at %#llx", name, bytes, at);
    if (at < DEVICE_BASE)
        return device_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %#llx is an address of the host", name,
                             at);
    return CUDA_SUCCESS;
}
static CUresult check_host(const char *name, const void *host) {
    if (host && (uint64_t)(uintptr_t)host < UINT64_C(1) << 47) return CUDA_SUCCESS;
    return device_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %p is no address of the host", name, host);
}
static bool overlaps(const Op *op, const void *host, size_t bytes) {
    const uint8_t *a = op->host, *b = host;
    return a && a < b + bytes && b < a + op->bytes;
}
/* Whether a copy that the host does not know of reads or writes there. */
static bool is_pending(const void *host, size_t bytes) {
    for (int k = 0; k < STREAMS_MAX; k++)
        for (const Op *op = device.stream[k].first; op; op = op->next)
            if (overlaps(op, host, bytes)) return true;
    for (const Op *op = device.arriving; op; op = op->next)
        if (overlaps(op, host, bytes)) return true;
    return false;
}
static CUresult wait_for(CUstream s) {
    Clock clock = s->now;
    stream_run(s, s->issued);
    host_learns(&clock);
    return device_error();
}
/* A copy from memory that is not pinned takes the bytes at once, as the driver's staging does. */
static CUresult to_device(const char *name, CUdeviceptr to, const void *from, size_t bytes,
                          CUstream handle, bool waits) {
    CUresult code = api_begin_context(name);
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code) code = check_device(name, to, bytes);
    if (!code) code = check_host(name, from);
    if (code) return api_end(code);
    bool is_pinned = pinned(from, bytes) != NULL;
    device.stats.copies++, device.stats.copied_bytes += bytes,
        device.stats.pageable_copies += !is_pinned;
    Op *op = op_new(OP_TO_DEVICE);
    op->to = to, op->host = (void *)(uintptr_t)from, op->bytes = bytes;
    if (!is_pinned) {
        op->staged = device_new(bytes);
        memcpy(op->staged, from, bytes);
        op->host = NULL;
    } else if (!is_pending(from, bytes)) {
        op->is_checked = true;
        op->checksum = device_checksum(from, bytes);
    }
    code = stream_submit(s, op);
    if (!code && waits) code = wait_for(s);
    return api_end(code);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return to_device("cuMemcpyHtoD", to, from, bytes, NULL, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
    return to_device("cuMemcpyHtoDAsync", to, from, bytes, s, false);
}
static CUresult to_host(const char *name, void *to, CUdeviceptr from, size_t bytes, CUstream handle,
                        bool waits) {
    CUresult code = api_begin_context(name);
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code) code = check_device(name, from, bytes);
    if (!code) code = check_host(name, to);
    if (code) return api_end(code);
    bool is_pinned = pinned(to, bytes) != NULL;
    device.stats.copies++, device.stats.copied_bytes += bytes,
        device.stats.pageable_copies += !is_pinned;
    if (is_pinned && !is_pending(to, bytes)) memset(to, (int)(device_random() | 0x81) & 255, bytes);
    Op *op = op_new(OP_TO_HOST);
    op->host = to, op->from = from, op->bytes = bytes;
    code = stream_submit(s, op);
    if (!code && (waits || !is_pinned)) code = wait_for(s);
    return api_end(code);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return to_host("cuMemcpyDtoH", to, from, bytes, NULL, true);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
    return to_host("cuMemcpyDtoHAsync", to, from, bytes, s, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
    CUresult code = api_begin_context("cuMemcpyDtoDAsync");
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code) code = check_device("cuMemcpyDtoDAsync", to, bytes);
    if (!code) code = check_device("cuMemcpyDtoDAsync", from, bytes);
    if (code) return api_end(code);
    device.stats.copies++, device.stats.copied_bytes += bytes;
    Op *op = op_new(OP_ON_DEVICE);
    op->to = to, op->from = from, op->bytes = bytes;
    return api_end(stream_submit(s, op));
}
static CUresult fill(const char *name, CUdeviceptr to, uint32_t value, uint32_t width, size_t count,
                     CUstream handle) {
    CUresult code = api_begin_context(name);
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code) code = check_device(name, to, count);
    if (!code && to % width)
        code = device_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %#llx is not aligned", name, to);
    if (code) return api_end(code);
    Op *op = op_new(OP_FILL);
    op->to = to, op->value = value, op->width = width, op->bytes = count * width;
    return api_end(stream_submit(s, op));
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream s) {
    return fill("cuMemsetD8Async", to, value, 1, count, s);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream s) {
    return fill("cuMemsetD32Async", to, value, 4, count, s);
}
