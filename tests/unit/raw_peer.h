/* raw_peer.h: a peer of a hub that uses plain sockets, for tests of what a ZeroMQ peer never does.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_RAW_PEER_H
#define GT_TESTS_UNIT_RAW_PEER_H
#include "tests/unit/check.h"
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

static inline struct sockaddr_in address_of(const char *endpoint) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    at.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    return at;
}

static inline int connect_to(const char *endpoint) {
    struct sockaddr_in at = address_of(endpoint);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof at));
    return fd;
}

/* ZMTP 3.0 with the mechanism NULL: greetings, then the commands READY. Returns when the other end
 * has sent both, because what comes before that is lost. */
static inline void shake_hands(int fd, const char *type) {
    uint8_t greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    char ready[64];
    int n = snprintf(ready, sizeof ready, "%c%c%cREADY%cSocket-Type%c%c%c%c%s", 4,
                     22 + (int)strlen(type), 5, 11, 0, 0, 0, (int)strlen(type), type);
    CHECK_INT(write(fd, greeting, sizeof greeting), sizeof greeting);
    CHECK_INT(write(fd, ready, (size_t)n), n);
    uint8_t other[64 + 2 + 255];
    CHECK_INT(recv(fd, other, 64 + 2, MSG_WAITALL), 64 + 2);
    CHECK_INT(recv(fd, other + 66, other[65], MSG_WAITALL), other[65]);
}
#endif
