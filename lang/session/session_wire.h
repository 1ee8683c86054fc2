/* session_wire.h: the protocol between the server of a session and its terminals: packets with a
 * head of 4 bytes, in the byte order of the machine. Private to lang/session/.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SESSION_SESSION_WIRE_H
#define GT_LANG_SESSION_SESSION_WIRE_H
#include "lang/session/session.h"
#include <sys/types.h>

enum {
    SESSION_VERSION = 1,
    PACKET_MAX = 0xffff,        /* bytes after the head */
    SESSION_QUEUE_MAX = 1 << 20 /* unsent bytes that a terminal may have */
};

typedef enum PacketType {
    PACKET_ATTACH = 'a', /* to the server: PacketSize; begins the output */
    PACKET_SIZE = 'w',   /* to the server: PacketSize */
    PACKET_INPUT = 'i',  /* to the server: keys */
    PACKET_DETACH = 'd', /* to the server: all terminals are to be detached */
    PACKET_QUERY = 'q',  /* to the server: asks for PACKET_STATUS */
    PACKET_OUTPUT = 'o', /* to the terminal */
    PACKET_EXIT = 'e',   /* to the terminal: the program's exit code, an int32_t; the last packet */
    PACKET_BYE = 'b',    /* to the terminal: why it is detached, as text; the last packet */
    PACKET_STATUS = 's'  /* to the asker: PacketStatus, then the name of what runs */
} PacketType;

typedef struct PacketHead {
    uint8_t type, version;
    uint16_t n; /* bytes that follow */
} PacketHead;

typedef struct PacketSize {
    uint16_t rows, columns;
} PacketSize;

typedef struct PacketStatus {
    int64_t since_s; /* since 1970 */
    int64_t memory_bytes;
    int32_t pid, attached;
} PacketStatus;

typedef struct Packet {
    PacketType type;
    const char *data;
    uint16_t n;
} Packet;

/* Appends a packet. n: at most PACKET_MAX. */
void packet_add(Bytes *out, PacketType type, const void *data, size_t n);
/* The packet at *at of b, which must not change while it is used; *at moves behind it. False if the
 * packet is not complete. *is_foreign: it has another version. */
bool packet_next(const Bytes *b, size_t *at, Packet *p, bool *is_foreign);
/* Removes the first n bytes. */
void packet_drop(Bytes *b, size_t n);
/* Sends what fits of b from *sent on, and empties it when all is sent. False if the other end is
 * gone. */
bool packet_flush(int fd, Bytes *b, size_t *sent);
/* Appends what has arrived. False at the end. */
bool packet_read(int fd, Bytes *b);
/* True if the process at the other end of a socket is this user's. */
bool packet_is_ours(int fd);

typedef struct SessionServer {
    int listener, terminal; /* the server's end of the pseudo terminal */
    pid_t program;
    const char *path, *running; /* of the socket; the program's name */
    bool is_awaited;            /* a terminal will attach, even if the program has ended */
} SessionServer;
/* Serves until the program has ended and its end was sent, then removes the socket. */
_Noreturn void session_serve(const SessionServer *config);

/* Relays between the terminal and the server behind fd until one of them ends or the user detaches.
 * Returns the exit code. Closes fd. */
int session_attach(int fd, const char *name);
/* The size of the terminal, or 24 by 80. */
PacketSize session_size(void);
#endif
