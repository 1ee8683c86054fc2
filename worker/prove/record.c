/* record.c: see record.h. A file has lines `KEY VALUE`, the first of which is `gt-proof 1`.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/record.h"
#include "runtime/base/folder.h"
#include "runtime/base/map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "gt-proof 1\n";

static const struct {
    const char *key;
    size_t at, size; /* in a Record */
} fields[] = {
#define FIELD(key, member)                                                                         \
    { key, offsetof(Record, member), sizeof((Record *)0)->member }
    FIELD("engine", engine),
    FIELD("device", device.name),
    FIELD("capability", device.capability),
    FIELD("driver", device.driver),
    FIELD("toolkit", device.toolkit),
    FIELD("build", build),
    FIELD("seed", seed),
    FIELD("passed", passed),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* ---- Text ---- */

static bool is_printable(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] < ' ' || p[i] > '~') return false;
    return true;
}

/* One line without its end: sets its field. */
static bool parse_line(const char *line, size_t n, Record *r, unsigned *seen) {
    const char *space = memchr(line, ' ', n);
    size_t key = space ? (size_t)(space - line) : n;
    if (!space || !is_printable(line, n) || key + 1 == n) return false;
    for (unsigned k = 0; k < FIELDS; k++) {
        if (strlen(fields[k].key) != key || memcmp(fields[k].key, line, key)) continue;
        size_t bytes = n - key - 1;
        if (*seen >> k & 1 || bytes >= fields[k].size) return false;
        memcpy((char *)r + fields[k].at, space + 1, bytes);
        *seen |= 1u << k;
        return true;
    }
    return false;
}

bool record_parse(const char *text, size_t n, Record *r) {
    const size_t head = sizeof first_line - 1;
    unsigned seen = 0;
    *r = (Record){0};
    if (n < head || n > RECORD_MAX || memcmp(text, first_line, head)) return false;
    for (const char *p = text + head, *end = text + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop || !parse_line(p, (size_t)(stop - p), r, &seen)) return false;
        p = stop + 1;
    }
    return seen == (1u << FIELDS) - 1;
}

/* What is not printable becomes '?', so that each value is one that can be read again. */
void record_print(const Record *r, char text[RECORD_MAX]) {
    int n = snprintf(text, RECORD_MAX, "%s", first_line);
    for (int k = 0; k < FIELDS; k++) {
        const char *value = (const char *)r + fields[k].at;
        n += snprintf(text + n, (size_t)(RECORD_MAX - n), "%s ", fields[k].key);
        for (const char *p = *value ? value : "-"; *p; p++)
            text[n++] = *p < ' ' || *p > '~' ? '?' : *p;
        text[n++] = '\n';
    }
    text[n] = 0;
}

/* ---- Files ---- */

bool record_folder(char path[RECORD_PATH]) {
    if (!folder_of_user("XDG_STATE_HOME", ".local/state", path, RECORD_PATH - 72)) return false;
    strcat(path, "/proofs");
    return true;
}

bool record_path(const Record *r, char path[RECORD_PATH]) {
    uint64_t hash = 1;
    if (!record_folder(path)) return false;
    for (int k = 0; k < FIELDS; k++) {
        const char *value = (const char *)r + fields[k].at;
        if (strcmp(fields[k].key, "build") && strcmp(fields[k].key, "seed") &&
            strcmp(fields[k].key, "passed"))
            hash = hash_bytes(value, strlen(value), hash);
    }
    size_t n = strlen(path);
    snprintf(path + n, RECORD_PATH - n, "/%s-%016llx", r->engine, (unsigned long long)hash);
    return true;
}

bool record_write(const Record *r, Err *err) {
    char path[RECORD_PATH], temporary[RECORD_PATH + 32], text[RECORD_MAX], folder[PATH_MAX];
    record_print(r, text);
    if (!record_path(r, path))
        return err_set(err, ERR_IO, "neither XDG_STATE_HOME nor HOME is an absolute path");
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    int fd = -1;
    if (folder_make_above(path, 0700, folder))
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t n = strlen(text);
    bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n && !fsync(fd);
    int error = errno;
    if (fd >= 0) close(fd);
    if (ok && !rename(temporary, path)) return true;
    if (ok) error = errno;
    if (fd >= 0) unlink(temporary);
    return err_set(err, ERR_IO, "%s: %s", path, strerror(error));
}

bool record_read(const char *path, Record *r) {
    char text[RECORD_MAX + 1];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    ssize_t n = -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
        n = read(fd, text, sizeof text);
    close(fd);
    return n >= 0 && record_parse(text, (size_t)n, r);
}

static bool is_of(const Record *r, const Record *of) {
    const EngineDevice *a = &r->device, *b = &of->device;
    return !strcmp(r->engine, of->engine) && !strcmp(a->name, b->name) &&
           !strcmp(a->capability, b->capability) && !strcmp(a->driver, b->driver) &&
           !strcmp(a->toolkit, b->toolkit);
}

/* Reads the records of an engine into out, at most RECORDS_MAX. bad: those of its device are
 * removed; NULL: none. Returns how many there are left. */
static int scan(const char *engine, Record *out, const Record *bad) {
    enum { ENTRIES_MAX = 4096 };
    char path[RECORD_PATH + 280];
    size_t length = strlen(engine);
    int n = 0;
    if (!record_folder(path)) return 0;
    DIR *dir = opendir(path);
    if (!dir) return 0;
    size_t folder = strlen(path);
    struct dirent *d;
    for (int k = 0; k < ENTRIES_MAX && n < RECORDS_MAX && (d = readdir(dir)); k++) {
        const char *name = d->d_name;
        if (strncmp(name, engine, length) || name[length] != '-' || strchr(name, '.')) continue;
        snprintf(path + folder, sizeof path - folder, "/%s", name);
        if (!record_read(path, &out[n]) || strcmp(out[n].engine, engine)) continue;
        if (bad && is_of(&out[n], bad))
            unlink(path);
        else
            n++;
    }
    closedir(dir);
    return n;
}

int record_all(const char *engine, Record out[RECORDS_MAX]) { return scan(engine, out, NULL); }

void record_remove(const Record *r) {
    Record *all = xcalloc(RECORDS_MAX, sizeof *all);
    scan(r->engine, all, r);
    free(all);
}
