/* Reads and writes complete files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <sys/types.h>

/* Reads a regular file, or standard input for "-", of at most `limit` bytes, and replaces *out. Errors name the file: ASSAY_E_LIMIT for a
 * larger one, ASSAY_E_NOTFOUND for a missing one, ASSAY_E_IO for a directory, a device or an unreadable file. */
enum assay_status file_read(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Fills *err for an absent `path`: ASSAY_E_NOTFOUND, or ASSAY_E_IO if a link in it leads nowhere, such as to an unmounted disk. */
enum assay_status file_absent(const char *path, struct assay_error *err);

/* Opens a file that belongs to assay. Follows no symbolic link at `path` and waits for no other process. Returns the descriptor, or -1 with
 * errno: ELOOP for a link, ENXIO for another file that is not regular. */
int file_open_own(const char *path, int flags, mode_t mode);

/* After file_keep(), file_read_stored() returns each file as it was first read, ignoring edits, until file_forget(). Not thread-safe. */
void file_keep(void);
void file_forget(const char *path);
enum assay_status file_read_stored(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Replaces the content of `path`: writes a temporary file beside it, syncs and renames that file, and syncs the directory. After a crash,
 * or on a full disk, the old file is intact. A new file gets `mode` without the umask's bits; an existing file gains no permission. */
enum assay_status file_replace(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Does the same without the syncs, for many files that can be made again. The file is safe on the disk only after file_sync_all() of its
 * directory. If the machine fails before, it may be empty. */
enum assay_status file_replace_unsynced(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Tests, before long work starts, whether file_replace() would succeed now. */
enum assay_status file_replaceable(const char *path, struct assay_error *err);

/* Syncs the file system that contains the directory. */
enum assay_status file_sync_all(const char *directory, struct assay_error *err);

/* Removes temporary files that a killed file_replace() left in a directory. The caller must be the only writer. Ignores failures. */
void file_sweep(const char *directory);

/* Creates the directory, but not its parents, unless it exists. The error names a missing parent. */
enum assay_status file_make_directory(const char *path, mode_t mode, struct assay_error *err);

/* Lists the names in a directory that end with `suffix` (may be "") and do not start with a dot, in byte order. Free them with
 * file_names_free(). ASSAY_E_NOTFOUND: there is no such directory. */
enum assay_status file_names(const char *directory, const char *suffix, char ***names, size_t *n, struct assay_error *err);
void file_names_free(char **names, size_t n);

#endif
