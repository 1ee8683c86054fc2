/* folder.c: see folder.h. SPDX-License-Identifier: MIT */
#include "runtime/base/folder.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool folder_make_above(const char *path, unsigned mode, char dir[PATH_MAX]) {
    size_t n = strlen(path);
    if (n >= PATH_MAX) {
        snprintf(dir, PATH_MAX, "%.100s...", path);
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (path[i] != '/') continue;
        memcpy(dir, path, i);
        dir[i] = 0;
        if (mkdir(dir, mode) && errno != EEXIST) return false;
    }
    return true;
}

bool folder_of_user(const char *variable, const char *below_home, char *path, size_t size_bytes) {
    const char *value = getenv(variable), *home = getenv("HOME");
    int n = INT_MAX;
    if (value && *value == '/')
        n = snprintf(path, size_bytes, "%s/gt", value);
    else if (home && *home == '/')
        n = snprintf(path, size_bytes, "%s/%s/gt", home, below_home);
    return n < (int)size_bytes;
}
