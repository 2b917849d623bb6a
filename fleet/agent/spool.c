#include "fleet/agent/spool.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIRST_BYTES 512
#define LAST_BYTES  160

void spool_init(struct spool *spool, uint64_t limit_bytes)
{
	*spool = (struct spool){ .fd = -1, .limit = limit_bytes };
}

/* ---- the first SPOOL_MEMORY_BYTES, in memory ---- */

static size_t round_up_capacity(size_t bytes)
{
	size_t capacity = FIRST_BYTES;

	while (capacity < bytes)
		capacity *= 2;
	return capacity;
}

static void add_to_memory(struct spool *spool, const char *bytes, size_t n)
{
	size_t wanted = round_up_capacity(spool->memory_bytes + n);

	if (n == 0)
		return;
	if (!spool->memory || wanted != round_up_capacity(spool->memory_bytes))
		spool->memory = mem_resize(spool->memory, wanted, 1);
	memcpy(spool->memory + spool->memory_bytes, bytes, n);
	spool->memory_bytes += n;
	spool->size += n;
}

/* ---- later bytes, in a file ---- */

static const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

/* Opens an unnamed temporary file, unless one is open. The kernel removes the file when this program ends. */
static enum assay_status open_file(struct spool *spool, struct assay_error *err)
{
	char *path;

	if (spool->fd >= 0)
		return ASSAY_OK;
	spool->fd = open(temporary_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spool->fd >= 0)
		return ASSAY_OK;
	path = mem_format("%s/assay-XXXXXX", temporary_directory()); /* for file systems without O_TMPFILE */
	spool->fd = mkostemp(path, O_CLOEXEC);
	if (spool->fd >= 0)
		unlink(path);
	free(path);
	if (spool->fd < 0)
		return assay_fail_errno(err, errno, "cannot make a temporary file in '%s' (TMPDIR)", temporary_directory());
	return ASSAY_OK;
}

static enum assay_status add_to_file(struct spool *spool, const char *bytes, size_t n, struct assay_error *err)
{
	enum assay_status st = n ? open_file(spool, err) : ASSAY_OK;

	while (!st && n) {
		ssize_t written = pwrite(spool->fd, bytes, n, (off_t)(spool->size - spool->memory_bytes));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return assay_fail_errno(err, written ? errno : EIO, "cannot write to a temporary file in '%s' (TMPDIR)",
						temporary_directory());
		bytes += written;
		n -= (size_t)written;
		spool->size += (uint64_t)written;
	}
	return st;
}

static enum assay_status read_file(const struct spool *spool, uint64_t offset, char *bytes, size_t n, struct assay_error *err)
{
	while (n) {
		ssize_t got = pread(spool->fd, bytes, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return assay_fail_errno(err, got ? errno : EIO, "cannot read a temporary file in '%s' (TMPDIR)",
						temporary_directory());
		bytes += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return ASSAY_OK;
}

/* ---- memory and file ---- */

enum assay_status spool_add(struct spool *spool, const char *bytes, size_t n, struct assay_error *err)
{
	uint64_t room = spool->limit - spool->size;
	size_t kept = n < room ? n : (size_t)room, first = SPOOL_MEMORY_BYTES - spool->memory_bytes;
	enum assay_status st;

	if (first > kept)
		first = kept;
	add_to_memory(spool, bytes, first);
	st = add_to_file(spool, bytes + first, kept - first, err);
	if (!st && kept < n)
		st = assay_fail(err, ASSAY_E_LIMIT, "more than %llu bytes of output", (unsigned long long)spool->limit);
	return st;
}

enum assay_status spool_read(const struct spool *spool, uint64_t offset, char *bytes, size_t n, size_t *got, struct assay_error *err)
{
	uint64_t there = offset < spool->size ? spool->size - offset : 0;
	size_t first = 0;
	enum assay_status st = ASSAY_OK;

	*got = 0;
	if (n > there)
		n = (size_t)there;
	if (n && offset < spool->memory_bytes) {
		first = spool->memory_bytes - (size_t)offset;
		if (first > n)
			first = n;
		memcpy(bytes, spool->memory + offset, first);
	}
	if (n > first)
		st = read_file(spool, offset + first - spool->memory_bytes, bytes + first, n - first, err);
	if (!st)
		*got = n;
	return st;
}

enum assay_status spool_text(const struct spool *spool, size_t limit, char **out, size_t *n, struct assay_error *err)
{
	enum assay_status st;
	char *text;

	*out = NULL;
	*n = 0;
	if (spool->size > limit)
		return assay_fail(err, ASSAY_E_LIMIT, "%llu bytes of output, but at most %zu are expected", (unsigned long long)spool->size,
				  limit);
	text = mem_new((size_t)spool->size + 1, 1);
	st = spool_read(spool, 0, text, (size_t)spool->size, n, err);
	if (st)
		free(text);
	else
		*out = text;
	return st;
}

char *spool_first_line(const struct spool *spool)
{
	char line[ASSAY_ERROR_BYTES];
	struct assay_error err;
	size_t got;

	if (spool_read(spool, 0, line, sizeof(line) - 1, &got, &err))
		got = 0;
	line[got] = '\0';
	return mem_bytes(line, strcspn(line, "\r\n"));
}

void spool_last_lines(const struct spool *spool, struct buf *out)
{
	uint64_t from = spool->size > LAST_BYTES ? spool->size - LAST_BYTES : 0;
	char bytes[LAST_BYTES + 1], *at = bytes, *rest = NULL;
	const size_t before = out->size;
	struct assay_error err;
	size_t n = 0;

	(void)spool_read(spool, from, bytes, LAST_BYTES, &n, &err);
	while (n && strchr(" \t\r\n", bytes[n - 1])) /* strchr() also finds NUL bytes, so these are removed, too */
		n--;
	bytes[n] = '\0';
	for (size_t i = 0; i < n; i++)
		bytes[i] = bytes[i] ? bytes[i] : '?';
	if (from && strchr(bytes, '\n')) /* skip the line whose start is not among these bytes */
		at = strchr(bytes, '\n');
	for (const char *line = strtok_r(at, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
		buf_format(out, "%s%s", out->size > before ? " / " : "", line);
}

void spool_release(struct spool *spool)
{
	if (spool->memory && spool->fd >= 0) /* in a zeroed spool, fd is 0 and not a file of the spool */
		close(spool->fd);
	free(spool->memory);
	*spool = (struct spool){ .fd = -1 };
}
