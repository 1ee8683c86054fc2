/* auth.c: see auth.h. With net.c the only file that includes zmq.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/auth.h"
#include "runtime/base/sha256.h"
#include "runtime/net/net.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

enum {
    KEY_BYTES = 32,
    KEY_TEXT = 41,
    /* Descriptors that connections leave free: above the first mark accepted ones are closed at
     * once. net_files_raise counts with the second, so that a connection in between gets an
     * error message. */
    FILES_CLOSED = 8,
    FILES_OWN = 32
};

/* ---- The token ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char token[TOKEN_MAX + 1]; /* zero-padded */
static char token_file[ENDPOINT_MAX];

void net_set_token(const char *text, const char *file) {
    pthread_mutex_lock(&lock);
    memset(token, 0, sizeof token);
    if (text) snprintf(token, sizeof token, "%s", text);
    snprintf(token_file, sizeof token_file, "%s", file);
    pthread_mutex_unlock(&lock);
}

void auth_token_file(char out[ENDPOINT_MAX]) {
    pthread_mutex_lock(&lock);
    memcpy(out, token_file, sizeof token_file);
    pthread_mutex_unlock(&lock);
}

/* False if there is none. */
static bool token_get(char out[TOKEN_MAX + 1]) {
    pthread_mutex_lock(&lock);
    memcpy(out, token, sizeof token);
    pthread_mutex_unlock(&lock);
    return out[0] != '\0';
}

/* Compares in constant time. */
static bool token_is(const char *text) {
    char given[TOKEN_MAX + 1] = {0}, own[TOKEN_MAX + 1];
    volatile unsigned differ = !token_get(own) | (strlen(text) > TOKEN_MAX);
    strncpy(given, text, TOKEN_MAX);
    for (size_t i = 0; i < sizeof own; i++) differ |= (unsigned char)(own[i] ^ given[i]);
    return differ == 0;
}

/* The hub's key pair, in ZeroMQ's text form. */
static bool hub_keys(char public[KEY_TEXT], char secret[KEY_TEXT]) {
    char text[TOKEN_MAX + 32], own[TOKEN_MAX + 1], hex[65];
    uint8_t key[KEY_BYTES];
    token_get(own);
    int n = snprintf(text, sizeof text, "gtsh hub key 1 %s", own);
    sha256_hex(text, (size_t)n, hex);
    for (int i = 0; i < KEY_BYTES; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1]};
        key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return zmq_z85_encode(secret, key, sizeof key) && !zmq_curve_public(public, secret);
}

/* ---- ZAP: authentication over ipc ---- */

static void *zap_socket; /* NULL: the thread is not running */
static pthread_t zap_thread;

/* Receives one frame, cut to size and NUL-terminated. False: the context ends. */
static bool zap_take(void *s, char *text, size_t size, size_t *n, bool *more) {
    zmq_msg_t m;
    zmq_msg_init(&m);
    int rc;
    do rc = zmq_msg_recv(&m, s, 0);
    while (rc < 0 && errno == EINTR);
    if (rc >= 0) {
        *n = zmq_msg_size(&m) < size - 1 ? zmq_msg_size(&m) : size - 1;
        memcpy(text, zmq_msg_data(&m), *n);
        text[*n] = '\0';
        *more = zmq_msg_more(&m);
    }
    zmq_msg_close(&m);
    return rc >= 0;
}

/* RFC 27. A request: version, number, domain, address, name, mechanism, and PLAIN's name and
 * password. CURVE's handshake has already proved everything. */
static void *zap_serve(void *s) {
    enum { VERSION, NUMBER, MECHANISM = 5, PASSWORD = 7, FRAMES };
    static char frame[FRAMES][256];
    size_t n[FRAMES];
    for (bool is_open = true; is_open;) {
        char rest[256];
        size_t n_rest;
        int i = 0;
        for (bool more = true; more && is_open; i++)
            is_open = i < FRAMES ? zap_take(s, frame[i], sizeof frame[i], &n[i], &more)
                                 : zap_take(s, rest, sizeof rest, &n_rest, &more);
        if (!is_open) break;
        bool is_plain = i == FRAMES && !strcmp(frame[MECHANISM], "PLAIN");
        bool may = i > MECHANISM && !strcmp(frame[MECHANISM], "CURVE");
        if (is_plain) may = token_is(frame[PASSWORD]);
        zmq_send(s, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(s, frame[NUMBER], i > NUMBER ? n[NUMBER] : 0, ZMQ_SNDMORE);
        zmq_send(s, may ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send(s, may ? "OK" : "no", 2, ZMQ_SNDMORE);
        zmq_send(s, "", 0, ZMQ_SNDMORE);
        zmq_send(s, "", 0, 0);
    }
    zmq_close(s);
    return NULL;
}

static bool zap_start(void *context, Err *err) {
    pthread_mutex_lock(&lock);
    bool ok = zap_socket != NULL;
    if (!ok && (zap_socket = zmq_socket(context, ZMQ_REP))) {
        ok = !zmq_bind(zap_socket, "inproc://zeromq.zap.01") &&
             !pthread_create(&zap_thread, NULL, zap_serve, zap_socket);
        if (!ok) {
            zmq_close(zap_socket);
            zap_socket = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return ok || err_set(err, ERR_IO, "cannot authenticate connections: %s", zmq_strerror(errno));
}

void auth_stop(void *context) {
    if (!zap_socket) return;
    zmq_ctx_shutdown(context);
    pthread_join(zap_thread, NULL);
    zap_socket = NULL;
}

/* ---- Sockets ---- */

bool auth_hub(void *context, void *socket, bool is_ipc, Err *err) {
    static const int on = 1;
    char own[TOKEN_MAX + 1], public[KEY_TEXT], secret[KEY_TEXT];
    if (!token_get(own)) return true;
    if (is_ipc)
        return zap_start(context, err) &&
               (!zmq_setsockopt(socket, ZMQ_PLAIN_SERVER, &on, sizeof on) ||
                err_set(err, ERR_IO, "cannot authenticate a socket: %s", zmq_strerror(errno)));
    return (hub_keys(public, secret) && !zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &on, sizeof on) &&
            !zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, KEY_TEXT)) ||
           err_set(err, ERR_IO, "cannot authenticate a socket: %s", zmq_strerror(errno));
}

bool auth_link(void *socket, bool is_ipc, Err *err) {
    char own[TOKEN_MAX + 1], public[KEY_TEXT], secret[KEY_TEXT];
    if (!token_get(own)) return true;
    bool ok = is_ipc ? !zmq_setsockopt(socket, ZMQ_PLAIN_USERNAME, "gt", 2) &&
                           !zmq_setsockopt(socket, ZMQ_PLAIN_PASSWORD, own, strlen(own))
                     : hub_keys(public, secret) &&
                           !zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, public, KEY_TEXT) &&
                           !zmq_curve_keypair(public, secret) &&
                           !zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, KEY_TEXT) &&
                           !zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, KEY_TEXT);
    return ok || err_set(err, ERR_IO, "cannot authenticate a socket: %s", zmq_strerror(errno));
}

static int stranger(const char *path, Err *err) {
    err_set(err, ERR_IO, "the socket '%.150s' may belong to another user", path);
    err_hint(err, "put it into a directory that you own, with mode 0700");
    return -1;
}

int auth_meet(const char *path, Err *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat s;
    if (path[0] == '@') return 1; /* an abstract name: not a file, and used only by tests */
    if (strlen(path) >= sizeof at.sun_path) {
        err_set(err, ERR_IO, "'%.100s...' is longer than %zu bytes", path, sizeof at.sun_path - 1);
        return -1;
    }
    strcpy(at.sun_path, path);
    char *slash = strrchr(at.sun_path, '/');
    if (slash) *slash = '\0';
    const char *dir = !slash ? "." : at.sun_path[0] ? at.sun_path : "/";
    if (stat(dir, &s)) return 0;
    if (!endpoint_dir_is_safe(dir)) return stranger(path, err);
    strcpy(at.sun_path, path);
    if (lstat(path, &s)) return 0;
    if (!S_ISSOCK(s.st_mode) || s.st_uid != getuid()) return stranger(path, err);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred who;
    socklen_t n = sizeof who;
    bool is_met = fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof at) &&
                  !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
    if (fd >= 0) close(fd);
    if (!is_met) return 0;
    return who.uid == getuid() ? 1 : stranger(path, err);
}

/* ---- How many ---- */

static _Atomic int files_max = INT32_MAX;

int net_files_raise(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files)) return INT32_MAX;
    if (files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    int n = files.rlim_cur > INT32_MAX ? INT32_MAX : (int)files.rlim_cur;
    atomic_store(&files_max, n);
    return n > FILES_OWN + 1 ? n - FILES_OWN : 1;
}

/* ZeroMQ's listeners call these. Both handle ECONNABORTED as a connection that is gone already. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    int got = (int)syscall(SYS_accept4, fd, address, length, flags);
    if (got < 0 || got < atomic_load(&files_max) - FILES_CLOSED) return got;
    close(got);
    errno = ECONNABORTED;
    return -1;
}
