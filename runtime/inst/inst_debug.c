/* inst_debug.c: see inst_debug.h. SPDX-License-Identifier: MIT */
#include "runtime/inst/inst_debug.h"

#include <stdio.h>

void inst_debug(const char *stage, const char *prefix, const Inst *inst, const char *const *files,
                int n_files) {
    Bytes line = {0};
    InstPrint how = {.files = files, .n_files = n_files};
    Inst shown = *inst;
    bytes_printf(&line, "[%s] %s", stage, prefix);
    if (inst->payload_bytes > 512) { /* the line shows no data */
        shown.payload = NULL;
        shown.payload_bytes = 0;
    }
    inst_print(&shown, &how, &line);
    if (inst->payload_bytes > 512)
        bytes_printf(&line, " # %llu bytes", (unsigned long long)inst->payload_bytes);
    bytes_putc(&line, '\n');
    fwrite(line.data, 1, line.n, stderr);
    bytes_fini(&line);
}
