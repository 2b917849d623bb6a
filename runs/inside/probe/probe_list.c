/* Reads the list of selected functions. Its lines are "f ADDRESS MODULE NAME", as in a sample file. Other lines are comments. */
#include "runs/inside/probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX (64u << 20)

/* ---- text ---- */

static bool line_read(char *line, struct probe_entry *out)
{
	char *module, *name, *end;

	if (!isxdigit((unsigned char)line[2])) /* strtoull() would accept spaces and signs */
		return false;
	errno = 0;
	out->address = strtoull(line + 2, &end, 16);
	module = end + 1;
	name = *end == ' ' ? strchr(module, ' ') : NULL;
	if (errno || !name || name == module || !name[1])
		return false;
	*name = '\0';
	out->module = module;
	out->name = name + 1;
	out->number = UINT32_MAX;
	return true;
}

/* Parses text[n], which a NUL follows. Changes the text, which must stay valid. out->items has space for one entry per line. Returns the
 * number of the first malformed line; 0 if there is none. */
static size_t list_parse(char *text, size_t n, struct probe_list *out)
{
	char *end = text + n, *next;
	size_t number = 1, bad = 0;

	out->n = 0;
	for (char *line = text; line < end; line = next, number++) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		*next = '\0';
		if (strncmp(line, "f ", 2) == 0) {
			if (strlen(line) == (size_t)(next - line) && line_read(line, &out->items[out->n]))
				out->n++;
			else if (!bad)
				bad = number;
		}
		next += next < end;
	}
	return bad;
}

/* ---- file ---- */

static void *memory_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Returns the content of a regular file, with a NUL at the end; it is never freed. Returns NULL and sets errno on failure. Refuses a pipe,
 * because programs that this program starts would find it empty. */
static char *file_contents(int file, size_t *n)
{
	struct stat st;
	char *text;

	if (fstat(file, &st) != 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size >= LIST_BYTES_MAX) {
		errno = S_ISREG(st.st_mode) ? EFBIG : S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;
		return NULL;
	}
	text = memory_map((size_t)st.st_size + 1);
	for (*n = 0; text && *n < (size_t)st.st_size;) {
		ssize_t got = pread(file, text + *n, (size_t)st.st_size - *n, (off_t)*n);

		if (got < 0)
			return NULL;
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	return text;
}

bool probe_list_read(const char *path, struct probe_list *out)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0, lines = 1, bad;
	char *text = file < 0 ? NULL : file_contents(file, &n), digits[24];
	int failed = errno;

	if (file >= 0)
		close(file);
	for (size_t i = 0; text && i < n; i++)
		lines += text[i] == '\n';
	out->items = text ? memory_map(lines * sizeof(out->items[0])) : NULL;
	if (!out->items) {
		probe_report("cannot read the list of functions, nothing is measured: ", path, text ? ENOMEM : failed);
		return false;
	}
	bad = list_parse(text, n, out);
	if (bad)
		probe_report(
		    "the file of ASSAY_PROBE_LIST has lines that are not as 'assay record --for functions --list' writes them; the "
		    "first is line ",
		    record_format_number(bad, 10, digits), 0);
	return true;
}
