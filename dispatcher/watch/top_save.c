/* top_save.c: see top_save.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_save.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool top_save_open(TopSave *s, Err *err) {
    time_t now = time(NULL);
    struct tm parts;
    char base[32];
    int fd = -1;
    *s = (TopSave){0};
    strftime(base, sizeof base, "gt-%Y%m%d-%H%M%S", localtime_r(&now, &parts));
    for (int k = 1; fd < 0 && k < 100; k++) { /* another one of the same second */
        if (k == 1)
            snprintf(s->path, sizeof s->path, "%s.tape", base);
        else
            snprintf(s->path, sizeof s->path, "%s-%d.tape", base, k);
        fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    s->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!s->file) return err_set(err, ERR_IO, "cannot create '%s': %s", s->path, strerror(errno));
    fputs("gti 1 kind=tape\n", s->file);
    return true;
}

void top_save_lines(TopSave *s, const char *text, size_t n) {
    if (!s->file) return;
    fwrite(text, 1, n, s->file);
    for (size_t i = 0; i < n; i++) s->n_lines += text[i] == '\n';
}

bool top_save_close(TopSave *s, char *path, size_t *n_lines, Err *err) {
    if (!s->file) return err_set(err, ERR_IO, "no file is open");
    bool ok = !ferror(s->file) & !fclose(s->file);
    s->file = NULL;
    snprintf(path, TOP_SAVE_PATH, "%s", s->path);
    *n_lines = s->n_lines;
    if (ok) return true;
    err_set(err, ERR_IO, "cannot write '%s': %s", s->path, strerror(errno));
    unlink(s->path);
    return false;
}

void top_save_abandon(TopSave *s) {
    if (!s->file) return;
    fclose(s->file);
    s->file = NULL;
    unlink(s->path);
}
