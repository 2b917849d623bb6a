/* Opening: the file, its headers, where its debug information is. */
#include "runs/inside/changes/image_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug/.build-id"

static enum assay_status map_file(const char *path, struct image *image, struct assay_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	enum assay_status st = ASSAY_OK;
	struct stat info;
	void *bytes;

	if (fd < 0 && errno == ENOENT)
		return assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': no such file", path);
	if (fd < 0 || fstat(fd, &info)) {
		st = assay_fail_errno(err, errno, "cannot read '%s'", path);
	} else if (!S_ISREG(info.st_mode)) {
		st = assay_fail(err, ASSAY_E_IO, "cannot read '%s': it is not a regular file", path);
	} else if (!info.st_size) {
		st = assay_fail(err, ASSAY_E_FORMAT, "'%s' is empty", path);
	} else if ((uint64_t)info.st_size > IMAGE_BYTES_MAX) {
		st = assay_fail(err, ASSAY_E_LIMIT, "'%s' has %lld bytes; at most %llu are read", path, (long long)info.st_size,
		                (unsigned long long)IMAGE_BYTES_MAX);
	} else {
		/* libelf and libdw may write where they convert: into copies of the pages that are ours alone */
		bytes = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			st = assay_fail_errno(err, errno, "cannot read '%s'", path);
		else
			*image = (struct image){
			    .path = mem_string(path), .bytes = bytes, .size = (size_t)info.st_size, .mapped = true};
	}
	if (fd >= 0)
		close(fd);
	return st;
}

static bool has_debug(const struct image *image)
{
	return image_section_named(image, ".debug_info") || image_section_named(image, ".zdebug_info");
}

static enum assay_status begin_dwarf(struct image *image, struct assay_error *err)
{
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)image->bytes, image->size);
	if (!image->elf)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is damaged: %s", image->path, elf_errmsg(-1));
	image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (!image->dwarf)
		return assay_fail(err, ASSAY_E_FORMAT, "the debug information of '%s' cannot be read: %s", image->path,
		                  dwarf_errmsg(-1));
	return ASSAY_OK;
}

/* ---- debug information in a file of its own ---- */

/* Opens a candidate; it must have debug information and the same build-id. */
static bool try_debug(const struct image *image, const char *path, struct image *out)
{
	struct image debug = {.path = NULL};
	struct assay_error ignored;

	if (!map_file(path, &debug, &ignored) && !image_headers(&debug, true, &ignored) && has_debug(&debug) &&
	    !strcmp(debug.build_id, image->build_id) && !begin_dwarf(&debug, &ignored)) {
		*out = debug;
		return true;
	}
	image_release(&debug);
	return false;
}

/* Where debuggers look: beside the file under the name that .gnu_debuglink gives, in .debug/ there, and by build-id. */
static bool find_debug(const struct image *image, struct image *out)
{
	const struct image_section *link = image_section_named(image, ".gnu_debuglink");
	const char *name = link ? image_text(link, 0) : NULL, *slash = strrchr(image->path, '/');
	int directory = slash ? (int)(slash + 1 - image->path) : 0;
	bool found = false;
	char *path;

	if (!image->build_id[0])
		return false;
	path = mem_format(DEBUG_ROOT "/%.2s/%s.debug", image->build_id, image->build_id + 2);
	found = try_debug(image, path, out);
	free(path);
	if (found || !name || !name[0] || strchr(name, '/'))
		return found;
	path = mem_format("%.*s%s", directory, image->path, name);
	found = try_debug(image, path, out);
	free(path);
	path = mem_format("%.*s.debug/%s", directory, image->path, name);
	found = found || try_debug(image, path, out);
	free(path);
	return found;
}

static enum assay_status no_debug(const struct image *image, struct assay_error *err)
{
	if (image_section_named(image, ".gnu_debuglink"))
		return assay_fail(
		    err, ASSAY_E_FORMAT,
		    "'%s' is stripped, and the file with its debug information is neither beside it nor under " DEBUG_ROOT,
		    image->path);
	if (!image_section_named(image, ".symtab"))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is stripped: compare the files from before 'strip', built with -g",
		                  image->path);
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' has no debug information: build it with -g", image->path);
}

/* ---- both ways in ---- */

static enum assay_status complete(struct image *image, struct assay_error *err)
{
	enum assay_status st = image_headers(image, false, err);

	if (st)
		return st;
	if (has_debug(image)) {
		st = begin_dwarf(image, err);
	} else {
		struct image debug;

		if (!image->mapped || !find_debug(image, &debug))
			return no_debug(image, err);
		image->debug = mem_new(1, sizeof(*image->debug));
		*image->debug = debug;
		image->dwarf = debug.dwarf;
	}
	if (!st)
		st = image_symbols(image, image_section_named(image, ".symtab") || !image->debug ? image : image->debug, err);
	return st ? st : image_relocations(image, err);
}

enum assay_status image_open(const char *path, struct image *out, struct assay_error *err)
{
	struct image image = {.path = NULL};
	enum assay_status st = map_file(path, &image, err);

	if (!st)
		st = complete(&image, err);
	if (st)
		image_release(&image);
	*out = image;
	return st;
}

enum assay_status image_from_bytes(const char *name, uint8_t *bytes, size_t n, struct image *out, struct assay_error *err)
{
	struct image image = {.path = mem_string(name), .bytes = bytes, .size = n};
	enum assay_status st = complete(&image, err);

	if (st)
		image_release(&image);
	*out = image;
	return st;
}

void image_release(struct image *image)
{
	if (image->debug)
		image_release(image->debug);
	else if (image->dwarf)
		dwarf_end(image->dwarf);
	free(image->debug);
	if (image->elf)
		elf_end(image->elf);
	if (image->mapped)
		munmap(image->bytes, image->size);
	free(image->path);
	free(image->sections);
	free(image->placed);
	free(image->symbols);
	free(image->threads);
	free(image->relocations);
	*image = (struct image){.path = NULL};
}
