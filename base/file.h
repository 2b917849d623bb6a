/* Reads and writes complete files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <sys/types.h>

/* Reads a regular file (or "-", standard input) of at most `limit` bytes; replaces *out. Errors name the file: a directory or device, a
 * larger file (ASSAY_E_LIMIT), a missing one (ASSAY_E_NOTFOUND), an unreadable one (ASSAY_E_IO). */
enum assay_status file_read(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Fills *err: `path` is missing (ASSAY_E_NOTFOUND), or a link in it leads to a missing place, such as an unmounted disk (ASSAY_E_IO). */
enum assay_status file_absent(const char *path, struct assay_error *err);

/* Opens a file of assay's own: follows no symbolic link at `path`, waits for no other process, refuses all but regular files. Returns the
 * descriptor, or -1 with errno: ELOOP for a link, ENXIO for another non-regular file. */
int file_open_own(const char *path, int flags, mode_t mode);

/* Keeps first versions: from now on file_read_kept() returns a file's first text, ignoring edits, until file_forget(). Not thread-safe. */
void file_keep(void);
void file_forget(const char *path);
enum assay_status file_read_kept(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Replaces `path` by the bytes: writes a temporary file beside it, syncs and renames it, and syncs the directory. After a crash, or on a
 * full disk, the old file is intact. A new file gets `mode` less the umask; an existing one gets no bit that it lacked. */
enum assay_status file_replace(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Does the same, but the file is on the disk only after file_sync_all() of its directory: for many files that can be made again. If the
 * machine fails before, they may be empty. */
enum assay_status file_replace_unsynced(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Tests, before long work starts, whether file_replace() would succeed now. */
enum assay_status file_replaceable(const char *path, struct assay_error *err);

/* Syncs the directory's file system. */
enum assay_status file_sync_all(const char *directory, struct assay_error *err);

/* Removes the temporary files that a killed file_replace() left in a directory. The caller must be the only writer. Ignores failures. */
void file_sweep(const char *directory);

/* Creates the directory if it is missing, but not its parents; the error names the missing parent. */
enum assay_status file_make_directory(const char *path, mode_t mode, struct assay_error *err);

/* Lists the names in a directory that end with `suffix` (may be ""), in byte order, without those that start with a dot. (*names)[*n]:
 * file_names_free() them. ASSAY_E_NOTFOUND: there is no such directory. */
enum assay_status file_names(const char *directory, const char *suffix, char ***names, size_t *n, struct assay_error *err);
void file_names_free(char **names, size_t n);

#endif
