/* choose.h: `--engine auto`: an engine for a device, where it was proved there (record.h), else the
 * engine cpu.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_CHOOSE_H
#define GT_WORKER_PROVE_CHOOSE_H
#include "worker/engine/engine.h"
#include <stddef.h>

/* Returns the engine cuda if a record of this build is that of the device which `config` gives the
 * worker, else the engine cpu. why: "NVIDIA H100 80GB HBM3 was proved on 2026-11-28", or "no device
 * was proved here". The device's libraries are loaded only if there is a record of this build; a
 * machine without one does not pay for the question. */
const EngineOps *choose_engine(const EngineConfig *config, char *why, size_t size);
#endif
