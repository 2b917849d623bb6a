/* The list of selected functions: lines "f ADDRESS MODULE NAME" as in the file of samples; what begins otherwise is a remark. */
#include "runs/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX (64u << 20)

/* A private copy of the file with a NUL behind it, for good; NULL: errno. */
static char *contents(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char *text = MAP_FAILED;
	struct stat st;
	ssize_t got = 0;

	if (file < 0)
		return NULL;
	if (fstat(file, &st) == 0 && st.st_size < LIST_BYTES_MAX)
		text = mmap(NULL, (size_t)st.st_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		errno = EFBIG;
	for (off_t at = 0; text != MAP_FAILED && at < st.st_size; at += got) {
		got = pread(file, text + at, (size_t)(st.st_size - at), at);
		if (got <= 0)
			break;
	}
	close(file);
	return text == MAP_FAILED ? NULL : text;
}

static bool line_read(char *line, struct probe_entry *out)
{
	char *module, *name, *end;

	if (strncmp(line, "f ", 2) != 0)
		return false;
	errno = 0;
	out->address = strtoull(line + 2, &end, 16);
	module = end + 1;
	name = *end == ' ' ? strchr(module, ' ') : NULL;
	if (errno || end == line + 2 || !name || !name[1])
		return false;
	*name = '\0';
	out->module = module;
	out->name = name + 1;
	out->number = UINT32_MAX;
	return true;
}

bool probe_list_read(const char *path, struct probe_list *out)
{
	char *text = contents(path), *next;
	size_t lines = 1;

	if (!text) {
		probe_say("cannot read the list of functions, nothing is measured: ", path, errno);
		return false;
	}
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	out->n = 0;
	out->items = mmap(NULL, lines * sizeof(out->items[0]), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (out->items == MAP_FAILED)
		return false;
	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (line_read(line, &out->items[out->n]))
			out->n++;
	}
	return true;
}
