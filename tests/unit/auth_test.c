/* auth_test: what the sockets keep out: a listener of another user, a part that is too large,
 * messages that nobody takes, and connections that would take the last descriptor. Raw sockets play
 * the other end. lstat() and getsockopt() are this file's own, so that a test can see another user
 * without being root.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/auth.h"
#include "runtime/net/net.h"
#include "tests/unit/check.h"
#include "tests/unit/patience.h"
#include "tests/unit/raw_peer.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/gt-auth-test-XXXXXX";
static enum { MINE, FILE_OF_ANOTHER, PROCESS_OF_ANOTHER } whose;

int lstat(const char *path, struct stat *s) {
    int rc = fstatat(AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW);
    if (whose == FILE_OF_ANOTHER) s->st_uid++;
    return rc;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *n) {
    int rc = (int)syscall(SYS_getsockopt, fd, level, name, value, n);
    if (whose == PROCESS_OF_ANOTHER && level == SOL_SOCKET && name == SO_PEERCRED)
        ((struct ucred *)value)->uid++;
    return rc;
}

/* ---- Whose listener it is ---- */

static int listen_at(const char *path) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, 16));
    return fd;
}

static void test_meet(void) {
    char path[100], file[100];
    Err err = {0};
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(file, sizeof file, "%s/file", directory);
    CHECK_INT(auth_meet(path, &err), 0); /* nothing is there */
    int fd = listen_at(path);
    CHECK_INT(auth_meet(path, &err), 1);
    static const char *const others[] = {
        [FILE_OF_ANOTHER] = "the file", [PROCESS_OF_ANOTHER] = "the process"};
    for (whose = FILE_OF_ANOTHER; whose <= PROCESS_OF_ANOTHER; whose++) {
        err = (Err){0};
        CHECK_MSG(auth_meet(path, &err) == -1, "%s is another user's, and is met", others[whose]);
        CHECK(err.code == ERR_IO && strstr(err.text, "may belong to another user"));
    }
    whose = MINE;
    chmod(directory, 0777); /* others could replace the socket */
    CHECK_INT(auth_meet(path, &err), -1);
    chmod(directory, 0700);
    CHECK_INT(auth_meet(path, &err), 1);
    close(fd);
    CHECK_INT(auth_meet(path, &err), 0); /* nobody listens any more */
    fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK_INT(auth_meet(file, &err), -1);
    close(fd);
    unlink(file);
    unlink(path);
}

/* ---- How large a part may be ---- */

/* The head of a frame; its bytes do not follow. */
static void announce(int fd, bool is_command, uint64_t bytes) {
    uint8_t head[9] = {is_command ? 6 : 2};
    for (int i = 0; i < 8; i++) head[1 + i] = (uint8_t)(bytes >> (56 - 8 * i));
    CHECK_INT(write(fd, head, sizeof head), sizeof head);
}

/* True if the other end closes the connection within that time. */
static bool is_closed_within(int fd, int64_t limit_ms) {
    char bytes[4096];
    for (struct pollfd p = {.fd = fd, .events = POLLIN};;) {
        if (poll(&p, 1, (int)limit_ms) <= 0) return false;
        if (recv(fd, bytes, sizeof bytes, 0) <= 0) return true;
    }
}

enum { LITTLE = 100, SOON_MS = 2000 };
static const uint64_t much = 600 << 20;

/* Whoever announces a part of 600 MB is cut off before it comes, at once and not by the limit of
 * the handshake; a part of 100 bytes is waited for. */
static void test_part_to_hub(void) {
    Err err = {0};
    Hub *hub = hub_open("tcp://127.0.0.1:*", &err);
    CHECK(hub != NULL);
    for (int is_known = 0; is_known < 2; is_known++) {
        for (int is_large = 0; is_large < 2; is_large++) {
            int fd = connect_to(hub_endpoint(hub));
            uint8_t greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
            if (is_known)
                shake_hands(fd, "DEALER");
            else
                CHECK_INT(write(fd, greeting, sizeof greeting), sizeof greeting);
            announce(fd, !is_known, is_large ? much : LITTLE);
            bool is_closed = is_closed_within(fd, is_large ? patient_ms(SOON_MS) : 500);
            CHECK_MSG(is_closed == is_large, "a part of %s, %s the handshake: %s",
                      is_large ? "600 MB" : "100 bytes", is_known ? "after" : "in",
                      is_closed ? "closed" : "open");
            close(fd);
        }
    }
    hub_close(&hub);
}

/* The same by a program that listens where a client looks for a dispatcher. */
static void test_part_to_link(void) {
    char path[100], endpoint[120];
    Err err = {0};
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    int at = listen_at(path);
    Link *link = link_open(endpoint, &err);
    CHECK(link != NULL);
    close(accept4(at, NULL, NULL, SOCK_CLOEXEC)); /* auth_meet's look */
    int fd = accept4(at, NULL, NULL, SOCK_CLOEXEC);
    shake_hands(fd, "ROUTER");
    announce(fd, false, much);
    CHECK_MSG(is_closed_within(fd, patient_ms(SOON_MS)), "a link waits for a part of 600 MB");
    close(fd);
    close(at);
    link_close(&link);
    unlink(path);
}

/* ---- How much is read ahead ---- */

/* What a peer sends and the hub does not take stays with the peer: its writes block. */
static void test_ahead(void) {
    enum { PART = 1024, WAIT_MS = 500 };
    static const size_t most = 64 << 20;
    static uint8_t frame[9 + PART] = {2, [7] = PART >> 8, PART & 255};
    Err err = {0};
    Hub *hub = hub_open("tcp://127.0.0.1:*", &err);
    CHECK(hub != NULL);
    int fd = connect_to(hub_endpoint(hub));
    shake_hands(fd, "DEALER");
    CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
    size_t sent = 0, at = 0;
    for (struct pollfd p = {.fd = fd, .events = POLLOUT}; sent < most;) {
        if (poll(&p, 1, WAIT_MS) <= 0) break;
        ssize_t n = write(fd, frame + at, sizeof frame - at);
        if (n <= 0) break;
        sent += (size_t)n, at = (at + (size_t)n) % sizeof frame;
    }
    CHECK_MSG(sent > PART && sent < most, "%zu bytes are kept", sent);
    close(fd);
    hub_close(&hub);
}

/* What is sent to a peer that does not read is noted, until it reads; then it is cut off, and sees
 * the end behind what had left already. */
static void test_unread(void) {
    enum { PART = 1024, MOST = 128 << 20, MUCH = 16 << 20 };
    Err err = {0};
    PeerId from;
    Msg m = {0};
    Hub *hub = hub_open("tcp://127.0.0.1:*", &err);
    CHECK(hub != NULL);
    int fd = connect_to(hub_endpoint(hub));
    shake_hands(fd, "DEALER");
    CHECK_INT(write(fd, (char[]){0, 1, 'x'}, 3), 3);
    int got = 0;
    for (int i = 0; i < 100 && !got; i++) {
        hub_wait(hub, 100);
        got = hub_recv(hub, &from, &m);
    }
    CHECK_INT(got, 1);
    msg_fini(&m);
    if (got != 1) return;
    for (int reads = 1; reads >= 0; reads--) {
        uint64_t unread = 0;
        for (int i = 0; i < MOST / PART && unread < MUCH; i++) {
            static char text[1 << 16];
            Buf *b = buf_new(PART);
            b->n = PART;
            memset(b->data, 1, PART);
            msg_push(&m, b);
            CHECK(hub_send(hub, from, &m));
            unread = hub_unread(hub, from, PART);
            if (i % PART) continue;
            struct pollfd p = {.fd = fd, .events = POLLIN};
            while (reads && poll(&p, 1, 20) > 0)
                if (read(fd, text, sizeof text) <= 0) reads = 0;
            if (!reads) usleep(1000); /* so that ZeroMQ's thread has filled the socket */
        }
        CHECK_MSG(reads ? unread < MUCH : unread >= MUCH, "%s: %llu bytes",
                  reads ? "it reads" : "it does not read", (unsigned long long)unread);
    }
    hub_disconnect(hub, from);
    CHECK(is_closed_within(fd, patient_ms(SOON_MS)));
    close(fd);
    hub_close(&hub);
}

/* Messages of a peer that was dropped do not hold the hub's owner: it gets its turn in between. */
static void test_dropped(void) {
    enum { MESSAGES = 1000, LEAST = 10 };
    Err err = {0};
    PeerId from;
    Msg m = {0};
    Hub *hub = hub_open("inproc://gt-auth-test", &err);
    Link *link = link_open("inproc://gt-auth-test", &err);
    CHECK(hub && link);
    for (int i = 0; i <= MESSAGES; i++) {
        msg_push(&m, buf_copy(&i, sizeof i));
        CHECK(link_send(link, &m));
        m = (Msg){0};
        if (i > 0) continue;
        CHECK_INT(hub_recv(hub, &from, &m), 1);
        msg_fini(&m);
        hub_drop(hub, from);
    }
    int turns = 0;
    for (; hub_wait(hub, 0); turns++) CHECK_INT(hub_recv(hub, &from, &m), 0);
    CHECK_MSG(turns >= LEAST, "%d messages in %d turns", MESSAGES, turns);
    link_close(&link);
    hub_close(&hub);
}

/* ---- How many connections ---- */

enum { FILES = 48, CROWD = 100 };

/* A hub in a process that may have FILES files. Writes its endpoint; ends after a byte from `in`,
 * with exit code 0 if a file could still be opened. */
static void crowded(int out, int in) {
    Err err = {0};
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, FILES});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    net_files_raise();
    Hub *hub = hub_open("tcp://127.0.0.1:*", &err);
    char byte;
    if (!hub || write(out, hub_endpoint(hub), strlen(hub_endpoint(hub)) + 1) < 0) _exit(3);
    if (read(in, &byte, 1) < 0) _exit(4);
    _exit(open("/dev/null", O_RDONLY) >= 0 ? 0 : 5);
}

/* True once the hub has answered at least n connections by a greeting or by closing them. */
static bool are_answered(const int *fd, int n, int64_t limit_ms) {
    for (int i = 0; i < n; i++) {
        struct pollfd p = {.fd = fd[i], .events = POLLIN};
        if (poll(&p, 1, (int)limit_ms) <= 0) return false;
    }
    return true;
}

/* ZeroMQ aborts the process when accept() fails for want of descriptors. */
static void test_crowd(void) {
    int out[2], in[2], fd[CROWD], status, n_closed = 0;
    char endpoint[100] = "";
    CHECK(!pipe2(out, O_CLOEXEC) && !pipe2(in, O_CLOEXEC));
    pid_t child = fork();
    if (child == 0) crowded(out[1], in[0]);
    close(out[1]), close(in[0]);
    CHECK(child > 0 && read(out[0], endpoint, sizeof endpoint) > 0);
    for (int i = 0; i < CROWD; i++) fd[i] = connect_to(endpoint);
    CHECK_MSG(are_answered(fd, CROWD, patient_ms(SOON_MS)), "a connection waits in vain");
    for (int i = 0; i < CROWD; i++) {
        char first;
        n_closed += recv(fd[i], &first, 1, MSG_DONTWAIT) <= 0;
    }
    CHECK_MSG(n_closed >= CROWD - FILES && n_closed < CROWD, "%d closed", n_closed);
    CHECK_INT(write(in[1], "e", 1), 1);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "ended by signal %d, exit code %d",
              WIFSIGNALED(status) ? WTERMSIG(status) : 0,
              WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    for (int i = 0; i < CROWD; i++) close(fd[i]);
    close(in[1]), close(out[0]);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(directory)) return 1;
    test_crowd(); /* before there are threads */
    test_meet();
    test_part_to_hub();
    test_part_to_link();
    test_ahead();
    test_unread();
    test_dropped();
    net_fini();
    CHECK_INT(rmdir(directory), 0);
    return check_report("auth");
}
