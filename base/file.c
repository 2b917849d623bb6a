#include "base/file.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES	 65536
#define TEMPORARY_PREFIX ".assay-"

static enum assay_status check_regular(int fd, const char *path, size_t limit, size_t *size, struct assay_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (S_ISDIR(st.st_mode))
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': it is a directory", path);
	if (!S_ISREG(st.st_mode))
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': it is not a regular file", path);
	if (st.st_size > 0 && (size_t)st.st_size > limit)
		return assay_fail(err, ASSAY_E_LIMIT, "cannot read '%s': %lld bytes; at most %zu are read", path, (long long)st.st_size,
				  limit);
	*size = st.st_size > CHUNK_BYTES ? (size_t)st.st_size : 0;
	return ASSAY_OK;
}

/* Skips a hole of a sparse file. out->bytes is already zero up to `size`. Skipped pages use no RAM, because they are never written. */
static void skip_hole(int fd, size_t size, struct buf *out)
{
	off_t data = lseek(fd, (off_t)out->size, SEEK_DATA);

	if (data < 0 && errno == ENXIO)
		data = lseek(fd, 0, SEEK_END);
	if (data > (off_t)out->size && (size_t)data <= size)
		out->size = (size_t)data;
	else if (data >= 0)
		lseek(fd, (off_t)out->size, SEEK_SET);
}

/* Reads all bytes into *out. `size` is the size of a large regular file, else 0. */
static enum assay_status read_all(int fd, const char *path, size_t limit, size_t size, struct buf *out, struct assay_error *err)
{
	char chunk[CHUNK_BYTES];
	ssize_t n;

	if (size)
		*out = (struct buf){ .bytes = mem_new(size + 1, 1), .capacity = size + 1 };
	buf_add(out, "", 0); /* makes bytes "" instead of NULL for an empty file */
	for (;;) {
		if (size)
			skip_hole(fd, size, out);
		n = read(fd, chunk, sizeof(chunk));
		if (n == 0)
			return ASSAY_OK;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return assay_fail_errno(err, errno, "cannot read '%s'", path);
		if ((size_t)n > limit - out->size)
			return assay_fail(err, ASSAY_E_LIMIT, "cannot read '%s': more than the %zu bytes that are read", path, limit);
		buf_add(out, chunk, (size_t)n);
	}
}

enum assay_status file_fail_absent(const char *path, struct assay_error *err)
{
	enum assay_status st = assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': no such file", path);
	char *above = mem_string(path), *slash;
	struct stat is;

	while (lstat(above, &is) && (slash = strrchr(above, '/')) && slash != above)
		*slash = '\0';
	if (lstat(above, &is) == 0 && S_ISLNK(is.st_mode) && stat(above, &is))
		st = assay_fail(err, ASSAY_E_IO, "cannot use '%s': '%s' is a dangling symbolic link", path, above);
	free(above);
	return st;
}

enum assay_status file_read(const char *path, size_t limit, struct buf *out, struct assay_error *err)
{
	bool standard_input = !strcmp(path, "-");
	struct buf bytes = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	int fd = STDIN_FILENO;
	size_t size = 0;

	if (standard_input) {
		path = "standard input";
	} else {
		/* O_NONBLOCK: open() does not wait for the writer of a FIFO */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 && errno == ENOENT)
			return file_fail_absent(path, err);
		if (fd < 0)
			return assay_fail_errno(err, errno, "cannot read '%s'", path);
		st = check_regular(fd, path, limit, &size, err);
	}
	if (!st)
		st = read_all(fd, path, limit, size, &bytes, err);
	if (!standard_input)
		close(fd);
	if (st) {
		buf_release(&bytes);
		return st;
	}
	buf_release(out);
	*out = bytes;
	return ASSAY_OK;
}

int file_open_nofollow(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, mode);
	struct stat is;

	if (fd >= 0 && (fstat(fd, &is) || !S_ISREG(is.st_mode))) {
		close(fd);
		fd = -1;
		errno = ENXIO;
	}
	return fd;
}

/* ---- files as they were first read ---- */

static struct cached_file {
	char *path;	 /* path of the file; "" after file_cache_forget() */
	struct buf text; /* content; bytes is NULL if the file did not exist */
} * cached_file;
static size_t n_cached, cached_capacity;
static bool cache_enabled;

void file_cache_enable(void)
{
	cache_enabled = true;
}

/* Returns the kept copy of the file; NULL if there is none. */
static struct cached_file *find_cached(const char *path)
{
	for (size_t i = 0; i < n_cached; i++)
		if (strcmp(cached_file[i].path, path) == 0)
			return &cached_file[i];
	return NULL;
}

void file_cache_forget(const char *path)
{
	struct cached_file *entry = find_cached(path);

	if (!entry)
		return;
	buf_release(&entry->text);
	*entry->path = '\0';
}

enum assay_status file_read_cached(const char *path, size_t limit, struct buf *out, struct assay_error *err)
{
	const struct cached_file *entry = find_cached(path);
	enum assay_status st = entry ? ASSAY_OK : file_read(path, limit, out, err);

	if (entry && !entry->text.bytes)
		return assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': no such file", path);
	if (entry) {
		buf_release(out);
		buf_add(out, entry->text.bytes, entry->text.size);
	} else if (cache_enabled && (!st || st == ASSAY_E_NOTFOUND)) {
		struct cached_file new = { mem_string(path), BUF_INIT };

		if (!st) {
			buf_text(&new.text, ""); /* makes bytes "" instead of NULL for an empty file */
			buf_add(&new.text, out->bytes, out->size);
		}
		mem_append(cached_file, n_cached, &cached_capacity, new);
	}
	return st;
}

/* ---- writing files ---- */

/* Writes all n bytes. Returns 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? errno : EIO;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Returns the path of the file to replace, with symbolic links resolved, so that a link stays a link. The caller frees the result. Returns
 * NULL and fills *err if `path` is a device, a directory, or a link to a missing file, such as /dev/stdout if standard output is closed. */
static char *resolve_target(const char *path, struct assay_error *err)
{
	struct stat st;
	char *real;

	if (stat(path, &st)) {
		if (errno == ENOENT)
			return file_fail_absent(path, err) == ASSAY_E_NOTFOUND ? mem_string(path) : NULL;
		assay_fail_errno(err, errno, "cannot write '%s'", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		assay_fail(err, ASSAY_E_IO, "cannot write '%s': it is %s", path,
			   S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
		return NULL;
	}
	real = realpath(path, NULL);
	if (!real)
		assay_fail_errno(err, errno, "cannot write '%s'", path);
	return real;
}

/* Syncs a directory. Returns 0 or an errno. Ignores EINVAL, because some file systems cannot sync a directory. */
static int sync_directory(int fd)
{
	return fsync(fd) && errno != EINVAL ? errno : 0;
}

static int write_temporary(int fd, const char *bytes, size_t n, mode_t mode, bool synced)
{
	int error = fchmod(fd, mode) ? errno : write_all(fd, bytes, n);

	return !error && synced && fsync(fd) ? errno : error;
}

enum replace_mode { TRY, REPLACE, SYNC };

/* Replaces `target`; TRY only tries to create a file. Returns 0 or an errno. Network file systems may report a full disk only at
 * close(). */
static int replace_file(const char *target, const char *directory, const char *bytes, size_t n, mode_t mode, enum replace_mode replace_mode)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1, error = dir < 0 ? errno : 0;
	char *temporary = mem_format("%s/" TEMPORARY_PREFIX "XXXXXX", directory);

	if (error)
		goto out;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		error = errno;
		goto out;
	}
	error = replace_mode == TRY ? 0 : write_temporary(fd, bytes, n, mode, replace_mode == SYNC);
	if (close(fd) && !error)
		error = errno;
	if (!error && replace_mode != TRY && rename(temporary, target))
		error = errno;
	if (error || replace_mode == TRY)
		unlink(temporary);
	else if (replace_mode == SYNC)
		error = sync_directory(dir);
out:
	if (dir >= 0)
		close(dir);
	free(temporary);
	return error;
}

/* Returns the umask without a call of umask(), which would change it briefly for all threads and the children that they start. Returns 077
 * without /proc: only the owner may then read new files. */
static mode_t file_mask(void)
{
	static const char key[] = "\nUmask:\t";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	char text[256], *at;

	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, key);
	return at ? (mode_t)strtoul(at + sizeof(key) - 1, NULL, 8) : 077;
}

/* Returns the bits of `mode` that `target` may get: those the umask permits if the file is new, else those the file has. */
static mode_t allowed_mode(const char *target, mode_t mode)
{
	struct stat st;

	return mode & (stat(target, &st) == 0 ? st.st_mode : ~file_mask());
}

/* Fails for a file or directory that cannot be made. The error names a missing parent, or one in which no files can be created (/proc). */
static enum assay_status fail_creation(struct assay_error *err, int error, const char *what, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = error == ENOENT && slash && slash != path ? mem_bytes(path, (size_t)(slash - path)) : NULL;
	enum assay_status st;

	if (parent && access(parent, F_OK) != 0)
		st = assay_fail(err, ASSAY_E_IO, "%s '%s': there is no directory '%s' (mkdir -p makes it)", what, path, parent);
	else if (parent)
		st = assay_fail(err, ASSAY_E_IO, "%s '%s': cannot create files in '%s'", what, path, parent);
	else
		st = assay_fail_errno(err, error, "%s '%s'", what, path);
	free(parent);
	return st;
}

/* Returns the directory that contains `target`. The caller frees the result. */
static char *copy_directory_name(const char *target)
{
	const char *slash = strrchr(target, '/');

	if (!slash)
		return mem_string(".");
	return mem_bytes(target, slash == target ? 1 : (size_t)(slash - target)); /* the root directory keeps its slash */
}

static enum assay_status replace_path(const char *path, const char *bytes, size_t n, mode_t mode, enum replace_mode replace_mode,
				      struct assay_error *err)
{
	char *target = resolve_target(path, err), *directory;
	int error;

	if (!target)
		return ASSAY_E_IO;
	directory = copy_directory_name(target);
	error = replace_file(target, directory, bytes, n, allowed_mode(target, mode), replace_mode);
	mem_free(directory, target);
	return error ? fail_creation(err, error, "cannot write", path) : ASSAY_OK;
}

enum assay_status file_check_replaceable(const char *path, struct assay_error *err)
{
	return replace_path(path, NULL, 0, 0, TRY, err);
}

enum assay_status file_replace(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err)
{
	return replace_path(path, bytes, n, mode, SYNC, err);
}

enum assay_status file_replace_unsynced(const char *path, const char *bytes, size_t n, mode_t mode, struct assay_error *err)
{
	return replace_path(path, bytes, n, mode, REPLACE, err);
}

enum assay_status file_sync_all(const char *directory, struct assay_error *err)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum assay_status st = ASSAY_OK;

	if (dir < 0 || syncfs(dir))
		st = assay_fail_errno(err, errno, "cannot sync '%s' to the disk", directory);
	if (dir >= 0)
		close(dir);
	return st;
}

void file_remove_temporary(const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

enum assay_status file_make_directory(const char *path, mode_t mode, struct assay_error *err)
{
	struct stat st;

	if (!mkdir(path, mode))
		return ASSAY_OK;
	if (errno != EEXIST)
		return fail_creation(err, errno, "cannot make the directory", path);
	if (stat(path, &st))
		return errno == ENOENT ? file_fail_absent(path, err) : assay_fail_errno(err, errno, "cannot use the directory '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return assay_fail(err, ASSAY_E_IO, "cannot make the directory '%s': a file of that name exists", path);
	return ASSAY_OK;
}

enum assay_status file_list_names(const char *directory, const char *suffix, char ***names, size_t *n, struct assay_error *err)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	size_t capacity = 0, end = strlen(suffix);
	int error = dir ? 0 : errno;

	*names = NULL;
	*n = 0;
	if (error == ENOENT && file_fail_absent(directory, err) == ASSAY_E_IO)
		return ASSAY_E_IO;
	if (error == ENOENT || error == ENOTDIR)
		return assay_fail(err, ASSAY_E_NOTFOUND, "there is no directory '%s'", directory);
	if (error)
		return assay_fail_errno(err, error, "cannot read the directory '%s'", directory);
	while ((entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length <= end || strcmp(entry->d_name + length - end, suffix) != 0)
			continue;
		mem_append(*names, *n, &capacity, mem_string(entry->d_name));
	}
	closedir(dir);
	order_sort(*names, *n, text_compare);
	return ASSAY_OK;
}

void file_names_free(char **names, size_t n)
{
	mem_free_all(names, n);
}
