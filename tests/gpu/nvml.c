/* nvml.c: a stand-in for NVIDIA's management library: the functions by which a worker asks for
 * temperature, utilisation and memory. Values come from the environment: GT_EMU_TEMPERATURE (47),
 * GT_EMU_UTILISATION (12), GT_EMU_MEMORY.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/nvml.h"
#include <stdlib.h>
#include <string.h>

static int users;
static unsigned long long from_environment(const char *name, unsigned long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}
nvmlReturn_t nvmlInit_v2(void) {
    users++;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlShutdown(void) { return users ? users--, NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }
const char *nvmlErrorString(nvmlReturn_t code) {
    return code ? "error of the emulated NVML" : "success";
}
static nvmlReturn_t give(nvmlDevice_t *d, int is_known) {
    if (!users) return NVML_ERROR_UNINITIALIZED;
    if (!is_known) return NVML_ERROR_NOT_FOUND;
    *d = (nvmlDevice_t)(void *)&users;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *d) {
    return give(d, !strcmp(id, "0000:0E:00.0"));
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *d) {
    return give(d, index == 0);
}
static nvmlReturn_t check(nvmlDevice_t d) {
    return !users                        ? NVML_ERROR_UNINITIALIZED
           : (void *)d == (void *)&users ? NVML_SUCCESS
                                         : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t sensor,
                                      unsigned *celsius) {
    nvmlReturn_t code = check(d);
    if (!code && sensor != NVML_TEMPERATURE_GPU) code = NVML_ERROR_INVALID_ARGUMENT;
    if (!code) *celsius = (unsigned)from_environment("GT_EMU_TEMPERATURE", 47);
    return code;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
    nvmlReturn_t code = check(d);
    if (!code) u->gpu = u->memory = (unsigned)from_environment("GT_EMU_UTILISATION", 12);
    return code;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
    nvmlReturn_t code = check(d);
    if (!code)
        m->total = from_environment("GT_EMU_MEMORY", 256 << 20), m->used = 0, m->free = m->total;
    return code;
}
