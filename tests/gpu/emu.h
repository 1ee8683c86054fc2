/* emu.h: how tests look into the emulated device, and make it fail: functions of
 * build/test/gpu/libcuda.so.1 besides the driver's own.
 *
 * The device executes what was submitted as late as events, waits and a seed allow. What a real one
 * would let pass is refused with a sentence: it is printed, kept for emu_refusal(), and the call,
 * or the next one that waits, fails.
 *
 * Environment, read by cuInit() and emu_reset(): GT_EMU_SEED, GT_EMU_MEMORY (bytes, 256 MiB),
 * GT_EMU_VERSION (of the driver, 13090), GT_EMU_CAPABILITY (of the device, 129: newer than NVRTC
 * knows), GT_EMU_DEVICES (how many there are: 1; of equal memory), CUDA_VISIBLE_DEVICES,
 * GT_EMU_PEERS=0 (no device reaches another's memory), GT_EMU_IPC=0 (no process another's),
 * GT_EMU_MODE (`taken`: exclusive, and another
 * process has it; `prohibited`), GT_EMU_FAIL (`NAME:N:CODE`, or `N:CODE` for the N-th call of any
 * name; cuInit alone; with `:lost` behind it every later call fails too), GT_EMU_APPROX=0 (refuses
 * approximations). Files that get a line when the process ends: GT_EMU_COUNTERS (counters),
 * GT_EMU_LIVE (the number of calls, what failed on purpose, and what was made and not destroyed).
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_EMU_H
#define GT_TESTS_GPU_EMU_H
#include "tests/gpu/ptx_run.h"

#define EMU_API __attribute__((visibility("default")))
/* What the driver was asked for. */
typedef struct EmuStats {
    uint64_t calls, launches, copies, pageable_copies, copied_bytes, graph_launches, graph_nodes,
        events, waits;
} EmuStats;
/* As after a start of the process, with another seed; all handles and memory are gone. */
EMU_API void emu_reset(uint64_t seed);
EMU_API uint64_t emu_seed(void);
/* Bytes of device memory, for the next allocations. */
EMU_API void emu_memory(uint64_t bytes);
/* The last refusal since the last reset; "": none. Borrowed until the next call. */
EMU_API const char *emu_refusal(void);
/* Refusals are not printed. */
EMU_API void emu_quiet(bool quiet);
EMU_API void emu_counters(Counters *out);
EMU_API void emu_stats(EmuStats *out);
EMU_API void emu_clear_counters(void);
/* The n-th call from now (1: the next) of that name, NULL: of any, fails with `code` and does
 * nothing. n 0: none does any more, whatever was asked for before. */
EMU_API void emu_fail(const char *name, uint64_t n, int code);
/* The device is lost: from now on every call gives `code`. */
EMU_API void emu_lose(int code);
EMU_API void emu_allow_approximations(bool allow);
/* Instructions of warps that a launch may take. */
EMU_API void emu_limit(uint64_t instructions);
/* Memory that is handed out anew: reading it before writing it is a mistake from here on, in stream
 * order. */
EMU_API int emu_forget(uint64_t at, size_t bytes, void *stream);

/* The k-th instruction that only computes (ptx_ops.def): its name, with _ for points, and its
 * operands as ptx.h says. */
EMU_API bool emu_row(int k, const char **name, const char **widths, uint8_t *facts);

/* For the other stand-ins: runs fn(ctx) in stream order; false: it refused, and `err` says why. ctx
 * is freed after it. */
typedef bool EmuWork(void *ctx, const Actor *actor, Memory *memory, char *err, size_t size);
EMU_API int emu_enqueue(void *stream, EmuWork *work, const void *ctx, size_t bytes);
EMU_API void emu_say(const char *text); /* keeps and prints a refusal of theirs */
/* Begins a call of another library: counts it; a code that is not 0: it must fail. */
EMU_API int emu_call(const char *name);
#endif
