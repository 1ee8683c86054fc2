/* driver_ipc.c: the driver's functions by which a process opens another one's device memory. That
 * is a file here, which a handle names; who has it open holds a shared lock of it. Accesses of two
 * processes are not compared, as those of one are; but bytes that their owner's device has not
 * written yet cannot be read.
 *
 * Refused: a handle that is none, is of this process, of memory that is gone or of a device that is
 * not visible or not reached; freeing memory that another process has open (the manual: undefined
 * behaviour), and freeing what was opened.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Handle {
    uint64_t magic, inode, bytes;
    int32_t pid, fd, place; /* place: of its device in the machine */
} Handle;
static const uint64_t magic = UINT64_C(0x67742d6970632d31);
_Static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle), "a handle is too large");

static Block *allocation(CUdeviceptr at) {
    Block *b = memory_find(&device.memory, at, 1);
    return b && !b->is_pinned && !b->is_module ? b : NULL;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at) {
    CUresult code = api_begin_context("cuMemGetAddressRange");
    Block *b = code ? NULL : allocation(at);
    if (!code && !b) code = CUDA_ERROR_INVALID_VALUE;
    if (b) *base = b->at, *bytes = b->bytes;
    return api_end(code);
}
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at) {
    const char *text = getenv("GT_EMU_IPC");
    struct stat s;
    CUresult code = api_begin_context("cuIpcGetMemHandle");
    Block *b = code ? NULL : allocation(at);
    if (!code && (!b || b->at != at || b->opened)) code = CUDA_ERROR_INVALID_VALUE;
    if (!code && (b->fd < 0 || fstat(b->fd, &s) || (text && !strcmp(text, "0"))))
        code = CUDA_ERROR_NOT_SUPPORTED;
    if (code) return api_end(code);
    Handle h = {.magic = magic,
                .inode = s.st_ino,
                .bytes = b->bytes,
                .pid = getpid(),
                .fd = b->fd,
                .place = device.place[b->device]};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return api_end(CUDA_SUCCESS);
}
static Block *opened(uint64_t inode) {
    struct stat s;
    for (int k = 0; k < device.memory.n_blocks; k++) {
        Block *b = device.memory.block[k];
        if (b->opened && !fstat(b->fd, &s) && s.st_ino == inode) return b;
    }
    return NULL;
}
static int visible(int place) {
    for (int k = 0; k < device.n_devices; k++)
        if (device.place[k] == place) return k;
    return -1;
}
/* The file of a handle, with a shared lock; -1: it is gone, or another. */
static int open_file(const Handle *h) {
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    int fd = h->pid > 0 && h->fd >= 0 ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
    uint64_t room = (h->bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    if (fd >= 0 && !fstat(fd, &s) && s.st_ino == h->inode && (uint64_t)s.st_size == 2 * room &&
        !flock(fd, LOCK_SH | LOCK_NB))
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags) {
    CUresult code = api_begin_context("cuIpcOpenMemHandle");
    Handle h;
    memcpy(&h, &handle, sizeof h);
    if (code) return api_end(code);
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return api_end(CUDA_ERROR_INVALID_VALUE);
    if (h.magic != magic || h.pid == getpid()) return api_end(CUDA_ERROR_INVALID_HANDLE);
    int d = visible(h.place);
    if (d < 0 || (d != device_now() && !device_reaches(device_now(), d)))
        return api_end(CUDA_ERROR_INVALID_DEVICE);
    Block *b = opened(h.inode);
    if (b) {
        b->opened++;
    } else {
        int fd = open_file(&h);
        b = fd < 0 ? NULL : memory_open(&device.memory, d, h.bytes, fd);
    }
    if (!b) return api_end(CUDA_ERROR_INVALID_HANDLE);
    if (d != device_now()) device.context[device_now()].open |= UINT32_C(1) << d;
    *at = b->at;
    return api_end(CUDA_SUCCESS);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr at) {
    CUresult code = api_begin_context("cuIpcCloseMemHandle");
    Block *b = code ? NULL : allocation(at);
    if (!code && (!b || b->at != at || !b->opened)) code = CUDA_ERROR_INVALID_VALUE;
    if (code || --b->opened) return api_end(code);
    stream_run_all();
    b->opened = 1;
    memory_free(&device.memory, b);
    return api_end(device_error());
}
