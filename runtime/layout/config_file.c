/* config_file.c: reads a configuration file, for programs without a prompt that shows carets.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/config.h"
#include <errno.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

bool config_read(Config *c, const char *path, Err *err) {
    Bytes text = {0};
    bool ok = bytes_read(&text, path, FILE_MAX);
    ConfigAt at = {0};
    Err why = {0};
    if (!ok)
        err_set(err, ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
    else if (text.n > FILE_MAX)
        ok = err_set(err, ERR_LIMIT, "'%.200s' is longer than %d bytes", path, FILE_MAX);
    else if (!config_parse(c, path, text.data, text.n, &at, &why)) {
        ok = false;
        if (at.line)
            err_set(err, why.code, "%.200s:%u:%u: %s", path, at.line, at.col, why.text);
        else
            err_set(err, why.code, "%.200s: %s", path, why.text);
        if (why.hint[0]) err_hint(err, "%s", why.hint);
    }
    bytes_fini(&text);
    return ok;
}
