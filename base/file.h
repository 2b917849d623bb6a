/* Functions that read and write complete files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <sys/types.h>

/* Reads at most `limit` bytes of a regular file, or of standard input for "-", and replaces *out. Errors name the file. ASSAY_E_LIMIT: it
 * is larger. ASSAY_E_NOTFOUND: it is missing. ASSAY_E_IO: it is a directory, a device or unreadable. */
enum assay_status file_read(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Fills *err for a `path` that does not exist. Returns ASSAY_E_IO if a link in it leads nowhere (unmounted disk), else ASSAY_E_NOTFOUND. */
enum assay_status file_fail_absent(const char *path, struct assay_error *err);

/* Opens a file that belongs to assay. Follows no symbolic link at `path`, and waits for no other process. Returns the descriptor, or -1
 * with errno: ELOOP for a link, ENXIO if the file is not regular. */
int file_open_nofollow(const char *path, int flags, mode_t mode);

/* After file_cache_enable(), file_read_cached() returns each file as it was at its first reading, until file_cache_forget(). Not
 * thread-safe. */
void file_cache_enable(void);
void file_cache_forget(const char *path);
enum assay_status file_read_cached(const char *path, size_t limit, struct buf *out, struct assay_error *err);

/* Replaces the content of `path`: writes a temporary file beside it, syncs and renames that file, and syncs the directory. After a crash,
 * or on a full disk, the old file is intact. A new file gets `mode` without the umask's bits; an existing file gains no permission. */
enum assay_status file_replace(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Replaces `path` like file_replace(), but without syncs, for many files that can be made again. A file is safe only after file_sync_all()
 * of its directory. If the machine fails earlier, the file may be empty. */
enum assay_status file_replace_unsynced(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err);

/* Tests whether file_replace() would succeed now. Call it before long work. */
enum assay_status file_check_replaceable(const char *path, struct assay_error *err);

/* Syncs the file system that contains `directory`. */
enum assay_status file_sync_all(const char *directory, struct assay_error *err);

/* Removes temporary files that a killed file_replace() left in `directory`. The caller must be the only writer. Ignores failures. */
void file_remove_temporary(const char *directory);

/* Creates the directory `path` unless it exists. Does not create its parents: the error names a missing parent. */
enum assay_status file_make_directory(const char *path, mode_t mode, struct assay_error *err);

/* Lists the names in `directory` that end with `suffix` (may be "") and do not start with a dot, in byte order. Free them with
 * file_names_free(). Fails with ASSAY_E_NOTFOUND if there is no such directory. */
enum assay_status file_list_names(const char *directory, const char *suffix, char ***names, size_t *n, struct assay_error *err);
void file_names_free(char **names, size_t n);

#endif
