/* endpoint.c: see endpoint.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/endpoint.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_prefix(const char *prefix, const char *s) {
    return !strncmp(s, prefix, strlen(prefix));
}

/* HOST:PORT with a port of 0 .. 65535 or `*`. */
static bool has_port(const char *s) {
    const char *colon = strrchr(s, ':');
    if (!colon || colon == s || !colon[1]) return false;
    if (!strcmp(colon, ":*")) return true;
    char *end;
    unsigned long port = strtoul(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && !*end && port <= 65535;
}

static bool no_endpoint(const char *word, Err *err) {
    err_set(err, ERR_ARG, "'%.100s' names no dispatcher", word);
    return err_hint(err, "HOST:PORT, ipc:///PATH, local, or @FILE with one of these in it");
}

static bool put(const char *scheme, const char *rest, Endpoint *out, Err *err) {
    int n = snprintf(out->text, sizeof out->text, "%s%s", scheme, rest);
    return (n > 0 && (size_t)n < sizeof out->text) || no_endpoint(rest, err);
}

static bool from_file(const char *path, Endpoint *out, Err *err) {
    char line[ENDPOINT_MAX];
    FILE *f = fopen(path, "r");
    if (!f) {
        err_set(err, ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
        return err_hint(err, "gt-dispatcher --endpoint-file=%.200s writes it", path);
    }
    bool ok = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    line[ok ? strcspn(line, "\r\n") : 0] = '\0';
    if (!line[0] || line[0] == '@') return no_endpoint(line, err);
    return endpoint_find(line, out, err);
}

bool endpoint_find(const char *word, Endpoint *out, Err *err) {
    if (!word || !word[0] || !strcmp(word, "local")) return endpoint_local(false, out, err);
    if (word[0] == '@') return from_file(word + 1, out, err);
    if (word[0] == '/') return put("ipc://", word, out, err);
    if (is_prefix("ipc://", word) && word[6]) return put("", word, out, err);
    if (is_prefix("inproc://", word) || is_prefix("ring://", word)) return put("", word, out, err);
    if (is_prefix("tcp://", word)) word += strlen("tcp://");
    if (!has_port(word) || strchr(word, '/')) return no_endpoint(word, err);
    return put("tcp://", word, out, err);
}

bool endpoint_local(bool make, Endpoint *out, Err *err) {
    char dir[200];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool has_runtime = runtime && runtime[0] == '/' && strlen(runtime) < 100;
    if (has_runtime && !access(runtime, W_OK | X_OK))
        snprintf(dir, sizeof dir, "%s/gt", runtime);
    else
        snprintf(dir, sizeof dir, "/tmp/gt-%lu", (unsigned long)getuid());
    if (make && mkdir(dir, 0700) && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make '%s': %s", dir, strerror(errno));
    struct stat s;
    if (lstat(dir, &s) == 0 &&
        (!S_ISDIR(s.st_mode) || s.st_uid != getuid() || (s.st_mode & 077) != 0)) {
        err_set(err, ERR_IO, "'%s' is not a directory of yours that is closed to others", dir);
        return err_hint(err, "remove it, or chmod 700 %s", dir);
    }
    snprintf(out->text, sizeof out->text, "ipc://%s/dispatcher", dir);
    return true;
}

bool endpoint_is_private(const Endpoint *e) {
    static const char *const near[] = {"tcp://127.", "tcp://localhost:", "tcp://[::1]:"};
    if (!is_prefix("tcp://", e->text)) return true;
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (is_prefix(near[i], e->text)) return true;
    return false;
}
