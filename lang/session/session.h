/* session.h: sessions of gtsh that outlive their terminal (gtsh --session NAME). A server process
 * owns a pseudo terminal, in which the program runs, and a Unix socket, session.NAME in the
 * directory of `-d local`, which only this user can enter. Terminals attach to the socket: they
 * send keys and their size, and get the output. While none is attached the program goes on.
 *
 * The session has the size of the smallest attached terminal. It ends when the program ends.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SESSION_SESSION_H
#define GT_LANG_SESSION_SESSION_H
#include "lang/error/error.h"

enum { SESSION_NAME_MAX = 32 };

typedef struct SessionConfig {
    const char *name;    /* letters, digits, _ - . ; at most SESSION_NAME_MAX */
    const char *running; /* the program's name in the list: "train.gt", "prompt" */
    bool has_program;
    bool has_options; /* others than --session */
} SessionConfig;

/* Attaches the terminal to the session, which it starts if there is none. Returns true in the
 * process of a new session's program: its terminal is the pseudo terminal now, and it goes on as if
 * started there. Returns false in the process that was called, once its terminal is detached or the
 * program has ended; *code is then the exit code (the program's, if it ended). e is set, with
 * *code, if the session could not be entered. If standard input or output is no terminal, nothing
 * is attached: a new session starts detached, and one that exists is an error. */
bool session_enter(const SessionConfig *config, int *code, LangError *e);
/* Appends a table of this user's sessions, or that there is none. Removes sockets of servers that
 * have ended. */
bool session_list(Bytes *out, Err *err);
/* Detaches all terminals of the session that this process runs in. */
bool session_detach(Err *err);
#endif
