/* endpoint.c: see endpoint.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/endpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_prefix(const char *prefix, const char *s) {
    return !strncmp(s, prefix, strlen(prefix));
}

/* HOST:PORT with a port from 0 to 65535, or `*`. */
static bool has_port(const char *s) {
    const char *colon = strrchr(s, ':');
    if (!colon || colon == s || !colon[1]) return false;
    if (!strcmp(colon, ":*")) return true;
    char *end;
    unsigned long port = strtoul(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && !*end && port <= 65535;
}

static bool no_endpoint(const char *word, Err *err) {
    err_set(err, ERR_ARG, "'%.100s' does not name a dispatcher", word);
    return err_hint(err, "HOST:PORT, ipc:///PATH, local, or @FILE with one of these in it");
}

/* The error for a word that is no endpoint. If it is like HOST:PORT, and PORT begins like a number,
 * the error is about the port. */
static bool no_port(const char *word, Err *err) {
    const char *port = strrchr(word, ':');
    bool is_number = port && port > word && port[1 + (port[1] == '-')] >= '0' &&
                     port[1 + (port[1] == '-')] <= '9';
    if (!is_number || strchr(word, '/')) return no_endpoint(word, err);
    err_set(err, ERR_ARG, "'%.100s' has no port '%.40s'", word, port + 1);
    return err_hint(err, "a port is a number from 1 to 65535");
}

static bool put(const char *scheme, const char *rest, Endpoint *out, Err *err) {
    int n = snprintf(out->text, sizeof out->text, "%s%s", scheme, rest);
    return (n > 0 && (size_t)n < sizeof out->text) || no_endpoint(rest, err);
}

/* ---- Tokens ---- */

static bool take_token(const char *from, const char *text, Endpoint *out, Err *err) {
    static const char alphabet[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.";
    size_t n = strspn(text, alphabet);
    if (n < TOKEN_MIN || n > TOKEN_MAX || text[n]) {
        err_set(err, ERR_ARG, "%.200s holds no token (%d to %d letters and digits)", from,
                TOKEN_MIN, TOKEN_MAX);
        return err_hint(err, "gt-dispatcher --endpoint-file=FILE writes one, for -d @FILE");
    }
    memcpy(out->token, text, n + 1);
    return true;
}

/* Reads the first bytes of a file, and its owner and mode. */
static bool read_own(const char *path, char *text, size_t size, struct stat *s, Err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n < 0 || fstat(fd, s)) {
        err_set(err, ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    text[n] = '\0';
    close(fd);
    return true;
}

static bool is_closed(const char *path, const struct stat *s, Err *err) {
    if ((s->st_uid == getuid() || s->st_uid == 0) && (s->st_mode & 077) == 0) return true;
    err_set(err, ERR_IO, "'%.200s' holds a token, and others can read or write it", path);
    return err_hint(err, "chmod 600 %.200s, and restart the dispatcher", path);
}

/* Makes a new token under this name, unless another program made one first. */
static bool make_token(const char *path, Err *err) {
    uint8_t random[32];
    char text[2 * sizeof random + 2], aside[ENDPOINT_MAX];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set(err, ERR_IO, "no random bytes for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++) snprintf(text + 2 * i, 3, "%02x", random[i]);
    strcpy(text + 2 * sizeof random, "\n");
    snprintf(aside, sizeof aside, "%.250s.%ld", path, (long)getpid());
    unlink(aside);
    int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t n = (ssize_t)strlen(text);
    bool ok = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0 && close(fd)) ok = false;
    ok = ok && (!link(aside, path) || errno == EEXIST);
    if (!ok) err_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    unlink(aside);
    return ok;
}

/* GT_TOKEN, else this user's token. */
static bool own_token(Endpoint *out, Err *err) {
    const char *given = getenv("GT_TOKEN");
    if (given && given[0]) return take_token("GT_TOKEN", given, out, err);
    Endpoint local;
    char path[ENDPOINT_MAX], text[TOKEN_MAX + 2];
    struct stat s;
    TRY(endpoint_local(&local, err));
    char *slash = strrchr(local.text, '/');
    snprintf(path, sizeof path, "%.*s/token", (int)(slash - local.text - 6), local.text + 6);
    if (access(path, F_OK)) TRY(make_token(path, err));
    TRY(read_own(path, text, sizeof text, &s, err));
    TRY(is_closed(path, &s, err));
    text[strcspn(text, "\r\n")] = '\0';
    return take_token(path, text, out, err);
}

/* ---- Names for endpoints ---- */

static bool find(const char *word, Endpoint *out, Err *err);

static bool from_file(const char *path, Endpoint *out, Err *err) {
    char text[ENDPOINT_MAX + TOKEN_MAX];
    struct stat s;
    if (!read_own(path, text, sizeof text, &s, err))
        return err_hint(err, "gt-dispatcher --endpoint-file=%.200s writes it", path);
    char *line = strchr(text, '\n');
    if (line) *line++ = '\0';
    text[strcspn(text, "\r")] = '\0';
    if (!text[0] || text[0] == '@') return no_endpoint(text, err);
    TRY(find(text, out, err));
    if (!line || !*line) return true;
    line[strcspn(line, "\r\n")] = '\0';
    snprintf(out->file, sizeof out->file, "%s", path);
    return is_closed(path, &s, err) && take_token(path, line, out, err);
}

static bool find(const char *word, Endpoint *out, Err *err) {
    if (!word || !word[0] || !strcmp(word, "local")) return endpoint_local(out, err);
    if (word[0] == '@') return from_file(word + 1, out, err);
    if (word[0] == '/') return put("ipc://", word, out, err);
    if (is_prefix("ipc://", word) && word[6]) return put("", word, out, err);
    if (is_prefix("inproc://", word) || is_prefix("ring://", word)) return put("", word, out, err);
    if (is_prefix("tcp://", word)) word += strlen("tcp://");
    if (!has_port(word) || strchr(word, '/')) return no_port(word, err);
    return put("tcp://", word, out, err);
}

bool endpoint_find(const char *word, Endpoint *out, Err *err) {
    out->token[0] = out->file[0] = '\0';
    TRY(find(word, out, err));
    bool is_remote = is_prefix("ipc://", out->text) || is_prefix("tcp://", out->text);
    return !is_remote || out->token[0] || own_token(out, err);
}

bool endpoint_dir_is_safe(const char *dir) {
    struct stat s;
    if (stat(dir, &s) || !S_ISDIR(s.st_mode)) return false;
    if (s.st_uid != getuid() && s.st_uid != 0) return false;
    return (s.st_mode & 022) == 0 || (s.st_mode & S_ISVTX) != 0;
}

bool endpoint_local(Endpoint *out, Err *err) {
    char dir[200];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool has_runtime = runtime && runtime[0] == '/' && strlen(runtime) < 100;
    out->token[0] = '\0';
    if (has_runtime && !access(runtime, W_OK | X_OK))
        snprintf(dir, sizeof dir, "%s/gt", runtime);
    else
        snprintf(dir, sizeof dir, "/tmp/gt-%lu", (unsigned long)getuid());
    char *slash = strrchr(dir, '/');
    *slash = '\0';
    if (!endpoint_dir_is_safe(dir)) {
        err_set(err, ERR_IO, "other users can create files in '%s'", dir);
        return err_hint(err, "XDG_RUNTIME_DIR should name a directory of mode 700");
    }
    *slash = '/';
    if (mkdir(dir, 0700) && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make '%s': %s", dir, strerror(errno));
    struct stat s;
    if (lstat(dir, &s) || !S_ISDIR(s.st_mode) || s.st_uid != getuid() || (s.st_mode & 077) != 0) {
        err_set(err, ERR_IO, "'%s' must be a directory that you own, with mode 0700", dir);
        return err_hint(err, "remove it, or chmod 700 %s", dir);
    }
    snprintf(out->text, sizeof out->text, "ipc://%s/dispatcher", dir);
    return true;
}

void endpoint_word(const char *host, int port, char word[ENDPOINT_MAX]) {
    bool bare = strchr(host, ':') && host[0] != '['; /* IPv6 */
    char number[16] = "*";
    if (port) snprintf(number, sizeof number, "%d", port);
    snprintf(word, ENDPOINT_MAX, bare ? "[%.200s]:%s" : "%.200s:%s", host, number);
}

bool endpoint_is_private(const Endpoint *e) {
    static const char *const near[] = {"tcp://127.", "tcp://localhost:", "tcp://[::1]:"};
    if (!is_prefix("tcp://", e->text)) return true;
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (is_prefix(near[i], e->text)) return true;
    return false;
}

/* False if the host of tcp://HOST:PORT is a name that does not exist. */
static bool has_host(const char *text, Err *err) {
    char host[ENDPOINT_MAX];
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    snprintf(host, sizeof host, "%s", text + strlen("tcp://"));
    char *colon = strrchr(host, ':');
    if (!colon || *host == '[') return true;
    *colon = '\0';
    int rc = getaddrinfo(host, NULL, &want, &all);
    if (!rc) freeaddrinfo(all);
    return rc != EAI_NONAME || err_set(err, ERR_GONE, "there is no host '%s'", host);
}

bool endpoint_is_served(const char *text, Err *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (is_prefix("tcp://", text)) return has_host(text, err);
    if (!is_prefix("ipc:///", text)) return true;
    const char *path = text + strlen("ipc://");
    if (strlen(path) >= sizeof at.sun_path) return true;
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return true;
    int why = connect(fd, (struct sockaddr *)&at, sizeof at) ? errno : 0;
    close(fd);
    if (why == ENOENT) return err_set(err, ERR_GONE, "there is no such socket");
    if (why == ECONNREFUSED) return err_set(err, ERR_GONE, "no process listens on it any more");
    return true;
}
