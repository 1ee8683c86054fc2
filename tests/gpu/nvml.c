/* nvml.c: a stand-in for NVIDIA's management library: the functions by which a worker asks for
 * temperature and utilisation. Values come from the environment: GT_EMU_TEMPERATURE (47),
 * GT_EMU_UTILISATION (12).
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/nvml_api.h"
#include <stdbool.h>
#include <stdio.h>
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
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *d) {
    unsigned bus = 0;
    if (!users) return NVML_ERROR_UNINITIALIZED;
    bool is_known = sscanf(id, "0000:%2X:00.0", &bus) == 1 && bus >= 14 &&
                    bus < 14 + from_environment("GT_EMU_DEVICES", 1);
    if (!is_known) return NVML_ERROR_NOT_FOUND;
    *d = (nvmlDevice_t)(void *)&users;
    return NVML_SUCCESS;
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
