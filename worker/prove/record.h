/* record.h: what a passed proof leaves behind: a small file of text that says which device, driver,
 * toolkit and build it was. `--engine auto` takes an engine only where such a record is that of the
 * device at hand (choose.h).
 *
 * It lies in $XDG_STATE_HOME/gt/proofs, else ~/.local/state/gt/proofs: it is no cache, which may be
 * removed at any time, because a program would silently compute elsewhere then. One file for each
 * device, driver and toolkit, since machines with other devices may share the folder. Written under
 * another name and renamed.
 *
 * Whoever can write the folder can make a program use an engine that was not proved, and nothing
 * else: a record is only ever compared, and read with limits. A file that is not exactly a record
 * is none; nor is one of another user, a link, or anything but a regular file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_RECORD_H
#define GT_WORKER_PROVE_RECORD_H
#include "worker/engine/engine.h"

enum { RECORD_MAX = 2048 /* bytes of a file */, RECORD_PATH = 1024, RECORDS_MAX = 64 };

typedef struct Record {
    char engine[16];
    EngineDevice device;
    char build[64]; /* gt_build */
    /* For people: the seed of the proof, and when it passed, as 2026-11-28T17:44:21Z. */
    char seed[32], passed[32];
} Record;

/* Fills r from the n bytes of a file. Returns false if they are not exactly a record: every line
 * once, in any order, of printable text. */
bool record_parse(const char *text, size_t n, Record *r);
/* Writes it as text of at most RECORD_MAX bytes, with a 0. */
void record_print(const Record *r, char text[RECORD_MAX]);

/* Writes the folder's name. False: neither XDG_STATE_HOME nor HOME is an absolute path. */
bool record_folder(char path[RECORD_PATH]);
/* The file of r, which depends on engine and device, not on the build. */
bool record_path(const Record *r, char path[RECORD_PATH]);
bool record_write(const Record *r, Err *err);
/* Reads a file. */
bool record_read(const char *path, Record *r);
/* Removes all records of that engine, device, driver and toolkit: a later proof failed. */
void record_remove(const Record *r);
/* Reads all records of an engine. Returns how many, at most RECORDS_MAX. */
int record_all(const char *engine, Record out[RECORDS_MAX]);
#endif
