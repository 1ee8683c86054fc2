/* log.c: see log.h. SPDX-License-Identifier: MIT */
#include "runtime/base/log.h"
#include "runtime/base/env.h"

#include <stdio.h>

unsigned log_on;

void log_environment(void) {
    static const struct {
        const char *name;
        unsigned what;
    } variables[] = {{"GT_VERBOSE", LOG_VERBOSE},
                     {"GT_DEBUG_CLIENT", LOG_CLIENT},
                     {"GT_DEBUG_WORKER", LOG_WORKER},
                     {"GT_DEBUG_DISPATCHER", LOG_DISPATCHER},
                     {"GT_DEBUG_COMPILE", LOG_COMPILE}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (env_is_on(variables[i].name)) log_on |= variables[i].what;
}

static unsigned bits_of(const char *letters) {
    unsigned on = 0;
    for (const char *s = letters; *s; s++) {
        switch (*s) {
        case 'i': on |= LOG_CLIENT | LOG_DISPATCHER | LOG_WORKER; break;
        case 'g': on |= LOG_TAPE; break;
        case 'w': on |= LOG_WIRE; break;
        case 's': on |= LOG_VERBOSE; break;
        case 'k': on |= LOG_COMPILE; break;
        case 'm': on |= LOG_MEMORY; break;
        default: break;
        }
    }
    return on;
}

void log_letters(const char *letters) { log_on |= bits_of(letters); }

void log_set(const char *letters) { __atomic_store_n(&log_on, bits_of(letters), __ATOMIC_RELAXED); }

void log_line(const char *stage, const char *format, ...) {
    char text[1024];
    FORMAT_INTO(text, format);
    fprintf(stderr, "[%s] %s\n", stage, text);
}
