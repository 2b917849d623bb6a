/* The text of a source that debug information names. */
#include "base/file.h"
#include "gate/detect/places.h"
#include "runs/inside/changes/source.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES (4u << 20)

static bool is_source(const char *path)
{
	static const char *const suffixes[] = { ".c",   ".h",   ".cc", ".hh", ".cpp", ".hpp", ".cxx",
		                                ".hxx", ".inc", ".rs", ".go", ".f90", ".S" };
	const char *dot = strrchr(path, '.');
	bool known = false;

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		known = known || strcmp(dot, suffixes[i]) == 0;
	return known;
}

static bool may_be_read(const char *path)
{
	struct stat info;

	return path[0] == '/' && stat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0);
}

bool place_text(const struct place *place, struct buf *text)
{
	struct assay_error ignored;

	if (!place->file || !is_source(place->file))
		return false;
	if (place->repository)
		return source_content(place->repository, place->commit, place->file, text, &ignored) == ASSAY_OK;
	return may_be_read(place->file) && file_read(place->file, SOURCE_BYTES, text, &ignored) == ASSAY_OK;
}
