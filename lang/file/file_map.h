/* file_map.h: files in memory that are not read but mapped: their pages come from the disk when
 * they are first used, and can be given back. Read-only and private.
 *
 * A mapped file may change. A file that is replaced by rename (as save and write do) keeps its old
 * bytes in the mapping. Bytes that another program writes in place show through, so code that reads
 * a mapping must not read a byte twice and rely on it: it copies a header before it checks it. If
 * the file is cut off, or its disk fails, the system sends SIGBUS to the reader. The handler here
 * then lays zeros over what is lost and notes it. Code that has read mapped bytes asks
 * file_map_is_whole before it uses what it read.
 *
 * Only threads that do not block SIGBUS may read a mapping: the client's, not the workers'. A
 * system call does not raise SIGBUS but fails with EFAULT, so mapped bytes are copied before they
 * are sent.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_FILE_MAP_H
#define GT_LANG_FILE_FILE_MAP_H
#include "lang/error/error.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

#define FILE_MAP_LEAST ((size_t)1 << 20) /* a smaller file is better read: that costs no faults */

/* Maps the first n bytes of an open file, which may be closed afterwards: one reference, with a NUL
 * behind the bytes. The page with the NUL is a copy. path: for errors, copied. NULL: the file is
 * no regular one, is shorter than n or than a page, or cannot be mapped: read it. */
Buf *file_map(int fd, size_t n, const char *path);
/* True if p lies in a mapping. */
bool file_map_has(const void *p);
/* Gives the pages of n mapped bytes at p back to the system; their next use reads the file again.
 * Does nothing outside of a mapping. */
void file_map_forget(const void *p, size_t n);

/* How many mappings there are, and 1 + the number of the one that has lost bytes that no error
 * names yet, or 0: written by the handler, too. */
extern volatile int file_map_count, file_map_news;
/* False if some of n bytes at p (NULL: of any mapping) are lost, with an error that names the file.
 * For the functions below. */
bool file_map_look(const void *p, size_t n, Err *err);
bool file_map_look_at(const void *p, size_t n, LangError *e);

/* False if the file of n mapped bytes at p has become shorter, so that what was read of them may be
 * zeros: an error (ERR_IO). A system call if anything is mapped, else no more than a look at a
 * variable. */
static inline bool file_map_is_whole(const void *p, size_t n, Err *err) {
    return !file_map_count || file_map_look(p, n, err);
}
static inline bool file_map_is_good(const void *p, size_t n, LangError *e) {
    return !file_map_count || file_map_look_at(p, n, e);
}
/* For a reader of n bytes at p that cannot fail: file_map_has_all is false if some are lost. */
void file_map_note(const void *p, size_t n);
/* False, once, after a reader has met lost bytes of any mapping: for callers that do not know what
 * was read. */
static inline bool file_map_has_all(LangError *e) {
    return !file_map_news || file_map_look_at(NULL, 0, e);
}
#endif
