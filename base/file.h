/* Whole files in, whole files out. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <sys/types.h>

/* Reads a regular file (or "-", standard input) of at most `limit` bytes; *out is replaced. A directory, a device, a file that
 * is larger (ASSAY_E_LIMIT) or cannot be read (ASSAY_E_IO; ASSAY_E_NOTFOUND when it does not exist) is an error that names it. */
enum assay_status file_read(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Fills *err: there is no `path` (ASSAY_E_NOTFOUND), or a link in it leads to what is not there, such as a disk that is not mounted
 * (ASSAY_E_IO). */
enum assay_status file_absent(const char *path, struct assay_error *err);

/* Opens a file of assay's own: follows no symbolic link at `path`, waits for no other process, refuses everything but regular files.
 * Returns the descriptor, or -1 with errno: ELOOP if it is a link, ENXIO if it is neither a link nor a regular file. */
int file_open_own(const char *path, int flags, mode_t mode);

/* From now on file_read_kept() returns the text that a file had when it was first read, however it is edited since, until file_forget().
 * One thread at a time. */
void file_keep(void);
void file_forget(const char *path);
enum assay_status file_read_kept(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Replaces `path` by the bytes: written to a temporary file beside it, synced, renamed, directory synced. After a crash or a
 * full disk the old file is whole. A new file gets `mode` less the umask; one that was there
 * gets none of the bits that it lacked. */
enum assay_status file_replace(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* The same, but not on the disk before file_sync_all() of its directory: for many files that can be made again. A machine that fails before
 * may leave them empty. */
enum assay_status file_replace_unsynced(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Could file_replace() do it now? For long work, before it starts. */
enum assay_status file_replaceable(const char *path, struct assay_error *err);

/* All that is in the directory's file system is on the disk afterwards. */
enum assay_status file_sync_all(const char *directory, struct assay_error *err);

/* Removes the temporary files that file_replace() leaves in a directory when its process is killed. The caller must be
 * the only one that writes there. What cannot be removed stays. */
void file_sweep(const char *directory);

/* Creates the directory if it is not there; its parents are not made, and the error says which one is missing. */
enum assay_status file_make_directory(const char *path, mode_t mode, struct assay_error *err);

/* Names in a directory that end with `suffix`, which may be "", in the order of their bytes; those that start with a dot are excluded.
 * (*names)[*n]; file_names_free() them. ASSAY_E_NOTFOUND: there is no such directory. */
enum assay_status file_names(const char *directory, const char *suffix, char ***names, size_t *n, struct assay_error *err);
void file_names_free(char **names, size_t n);

#endif
