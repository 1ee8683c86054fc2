/* session_wire.c: packets between a session's terminals and its server.
 * SPDX-License-Identifier: MIT */
#include "lang/session/session_wire.h"
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void packet_add(Bytes *out, PacketType type, const void *data, size_t n) {
    PacketHead head = {(uint8_t)type, SESSION_VERSION, (uint16_t)n};
    bytes_add(out, &head, sizeof head);
    if (n) bytes_add(out, data, n);
}

bool packet_next(const Bytes *b, size_t *at, Packet *p, bool *is_foreign) {
    PacketHead head;
    *is_foreign = false;
    if (b->n - *at < sizeof head) return false;
    memcpy(&head, b->data + *at, sizeof head);
    *is_foreign = head.version != SESSION_VERSION;
    if (b->n - *at - sizeof head < head.n) return false;
    *p = (Packet){(PacketType)head.type, b->data + *at + sizeof head, head.n};
    *at += sizeof head + head.n;
    return true;
}

void packet_drop(Bytes *b, size_t n) {
    if (!n) return;
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}

bool packet_flush(int fd, Bytes *b, size_t *sent) {
    while (*sent < b->n) {
        ssize_t n = send(fd, b->data + *sent, b->n - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        *sent += (size_t)n;
    }
    b->n = *sent = 0;
    return true;
}

bool packet_read(int fd, Bytes *b) {
    bytes_reserve(b, PACKET_MAX);
    ssize_t n = recv(fd, b->data + b->n, PACKET_MAX, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    b->n += (size_t)n;
    return n > 0;
}

bool packet_is_ours(int fd) {
    struct ucred peer;
    socklen_t n = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.uid == getuid();
}

PacketSize session_size(void) {
    struct winsize w;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) || !w.ws_row || !w.ws_col) return (PacketSize){24, 80};
    return (PacketSize){w.ws_row, w.ws_col};
}
