#include "fleet/lab/store_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Big-endian 32 bits of SQLite's file header (https://sqlite.org/fileformat2.html, section 1.3). */
static uint32_t header_u32(const unsigned char *header, size_t offset)
{
	return (uint32_t)header[offset] << 24 | (uint32_t)header[offset + 1] << 16 | (uint32_t)header[offset + 2] << 8 | header[offset + 3];
}

bool store_file_has_log(const char *path)
{
	char *log_path = mem_format("%s-wal", path);
	struct stat log;
	bool found = stat(log_path, &log) == 0 && log.st_size > 0;

	free(log_path);
	return found;
}

enum assay_status store_file_check(const char *path, struct assay_error *err)
{
	unsigned char header[100];
	struct stat file;
	uint64_t page_bytes, expected;
	ssize_t n;
	bool recovers;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	n = pread(fd, header, sizeof(header), 0);
	recovers = n == 0 || store_file_has_log(path);
	/* In this order: where the log has gone meanwhile, all that it said is in the file by now. */
	if (fstat(fd, &file))
		file.st_size = 0;
	close(fd);
	if (recovers)
		return ASSAY_OK; /* new, or SQLite does */
	if (n < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is not a database of assay", path);
	page_bytes = (uint64_t)header[16] << 8 | header[17];
	if (page_bytes == 1)
		page_bytes = 65536;
	expected = page_bytes * header_u32(header, 28);
	if (header_u32(header, 24) == header_u32(header, 92) && (uint64_t)file.st_size < expected)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' was cut short: %lld of %llu bytes are there; restore it from a copy", path,
				  (long long)file.st_size, (unsigned long long)expected);
	return ASSAY_OK;
}

enum assay_status store_file_local(const char *path, struct assay_error *err)
{
	static const struct {
		long magic;
		const char *name;
	} networks[] = { { 0x6969, "NFS" },      { 0x517b, "SMB" },       { (long)0xff534d42, "CIFS" }, { (long)0xfe534d42, "SMB2" },
			 { 0x5346414f, "AFS" },  { 0x00c36400, "Ceph" },  { 0x0bd00bd0, "Lustre" },     { 0x47504653, "GPFS" },
			 { 0x73757245, "Coda" }, { 0x19830326, "BeeGFS" }, { 0x7461636f, "OCFS2" } };
	char *directory = mem_string(path);
	char *slash = strrchr(directory, '/');
	struct statfs fs;
	int failed;

	if (slash)
		*slash = '\0';
	failed = statfs(slash ? directory : ".", &fs);
	free(directory);
	for (size_t i = 0; !failed && i < sizeof(networks) / sizeof(networks[0]); i++) {
		if (fs.f_type == networks[i].magic)
			return assay_fail(err, ASSAY_E_IO, "'%s' is on a network file system (%s): keep the laboratory on a local disk", path,
					  networks[i].name);
	}
	return ASSAY_OK;
}

char *store_file_uri(const char *path, const char *query)
{
	char *uri = mem_new(3 * strlen(path) + strlen(query) + 8, 1);
	size_t n = (size_t)snprintf(uri, 6, "file:");

	for (; *path; path++) {
		if (*path == '%' || *path == '?' || *path == '#')
			n += (size_t)snprintf(uri + n, 4, "%%%02X", (unsigned)*path);
		else
			uri[n++] = *path;
	}
	memcpy(uri + n, query, strlen(query));
	return uri;
}
