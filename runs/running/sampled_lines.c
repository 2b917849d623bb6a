#include "runs/running/sampled_lines.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

#include <stdlib.h>
#include <string.h>

struct sampled_file {
	char *source, hash[DIGEST_HEX_BYTES];
	bool known; /* true if the file is unchanged since it was deployed, and its functions were read */
	struct image image;
	struct functions functions;
};

static void file_free(struct sampled_file *file)
{
	functions_release(&file->functions);
	image_release(&file->image);
	mem_free(file->source, file);
}

void sampled_lines_release(struct sampled_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		file_free(lines->files[i]);
	lines->n = 0;
}

static bool is_deployed(const struct artefact_file *of)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	char hash[DIGEST_HEX_BYTES] = "";

	if (!file_read(of->source, ARTEFACT_BYTES_MAX, &bytes, &err))
		digest_sha256(bytes.bytes ? bytes.bytes : "", bytes.size, hash);
	buf_release(&bytes);
	return strcmp(hash, of->hash) == 0;
}

static struct sampled_file *file_open(const struct artefact_file *of)
{
	struct sampled_file *file = mem_new(1, sizeof(*file));
	struct assay_error err;

	file->source = mem_string(of->source);
	memcpy(file->hash, of->hash, sizeof(file->hash));
	file->known = is_deployed(of) && !image_open(of->source, IMAGE_SYMBOLS, &file->image, &err) &&
		      !functions_read(&file->image, &file->functions, &err);
	return file;
}

static struct sampled_file *file_find(struct sampled_lines *lines, const struct artefact_file *of)
{
	for (size_t i = 0; i < lines->n; i++) {
		if (strcmp(lines->files[i]->source, of->source) == 0 && strcmp(lines->files[i]->hash, of->hash) == 0)
			return lines->files[i];
	}
	if (lines->n == SAMPLED_FILES_MAX)
		file_free(lines->files[--lines->n]);
	lines->files[lines->n] = file_open(of);
	return lines->files[lines->n++];
}

/* Returns the open file for a path on the host; NULL if the file was not deployed or its functions are unknown. */
static struct sampled_file *file_find_by_path(struct sampled_lines *lines, const char *path, const struct sampled_directory *deployed,
					      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(deployed[i].directory);
		const struct artefact *files = deployed[i].files;

		if (strncmp(path, deployed[i].directory, length) != 0 || path[length] != '/')
			continue;
		for (size_t k = 0; k < files->n; k++) {
			const struct artefact_file *of = &files->files[k];
			struct sampled_file *file = of->source && strcmp(of->path, path + length + 1) == 0 ? file_find(lines, of) : NULL;

			if (file)
				return file->known ? file : NULL;
		}
	}
	return NULL;
}

/* ---- sampled places ---- */

struct sampled_name {
	char *name;
	unsigned long long count;
	size_t file; /* number of the object file: the number of `user` lines up to its own */
	bool kept;
};

struct seen_list {
	struct sampled_name *items; /* [n], places */
	size_t n, capacity;
};

/* Returns the place at `offset` as "FILE:LINE:BEGIN FUNCTION"; NULL if no function contains it. The caller frees the result. */
static char *line_name(const struct sampled_file *file, uint64_t offset)
{
	struct functions_location place;
	uint64_t address;
	const struct function *of;
	char *function, *name, of_file[TEXT_SANITIZED_BYTES];

	if (!image_find_address(&file->image, offset, &address) || !functions_locate(&file->image, &file->functions, address, &place))
		return NULL;
	of = &file->functions.items[place.function];
	function = demangle(of->symbol);
	name = mem_format("%s:%u:%u %s", place.file ? text_sanitize(text_file_name(place.file), of_file) : "-", place.file ? place.line : 0,
			  place.file ? of->line : 0, TEXT_SANITIZED(function));
	for (char *c = of_file; place.file && *c; c++)
		name[c - of_file] = *c == ' ' ? '?' : *c;
	free(function);
	return name;
}

/* Adds `count` samples to a place. Takes ownership of `name`. */
static void add_sampled_count(struct seen_list *list, char *name, size_t file, unsigned long long count)
{
	for (size_t i = list->n; i-- > 0 && list->items[i].file == file;) {
		if (strcmp(list->items[i].name, name) == 0) {
			list->items[i].count += count;
			free(name);
			return;
		}
	}
	mem_append(list->items, list->n, &list->capacity, (struct sampled_name){ .name = name, .count = count, .file = file });
}

ORDER_BY(by_count, struct sampled_name, BY_DESC(count) BY_TEXT(name))

static void keep_most(struct seen_list *list)
{
	size_t bytes = 0;

	order_sort(list->items, list->n, by_count);
	for (size_t i = 0; i < list->n; i++) {
		size_t line = strlen(list->items[i].name) + sizeof("18446744073709551615 line \n");

		if (bytes + line > SAMPLED_LINES_BYTES)
			return;
		bytes += line;
		list->items[i].kept = true;
	}
}

/* ---- lines of the samples ---- */

/* Moves *text past the next line. Sets *line to the start of this line. Returns its length without the newline. */
static size_t next_line(const char **text, const char **line)
{
	size_t n = strcspn(*text, "\n");

	*line = *text;
	*text += (*text)[n] == '\n' ? n + 1 : n;
	return n;
}

/* Reports whether the line has the form "COUNT WHERE NAME". Sets *count, and *name to the start of NAME. */
static bool is_line_of_kind(const char *line, size_t n, const char *where, unsigned long long *count, const char **name)
{
	char *end;
	size_t length = strlen(where);

	*count = strtoull(line, &end, 10);
	if (end == line || *end != ' ' || (size_t)(end + 1 - line) + length + 1 > n || strncmp(end + 1, where, length) != 0 ||
	    end[1 + length] != ' ')
		return false;
	*name = end + 2 + length;
	return true;
}

static void read_places(struct sampled_lines *lines, const char *text, const struct sampled_directory *deployed, size_t n,
			struct seen_list *out)
{
	struct sampled_file *file = NULL;
	size_t number = 0;
	const char *line, *name;

	while (*text) {
		size_t bytes = next_line(&text, &line);
		unsigned long long count;

		if (is_line_of_kind(line, bytes, "user", &count, &name)) {
			char *path = mem_bytes(name, (size_t)(line + bytes - name));

			file = file_find_by_path(lines, path, deployed, n);
			number++;
			free(path);
		} else if (file && is_line_of_kind(line, bytes, "at", &count, &name)) {
			char *where = line_name(file, strtoull(name, NULL, 16));

			if (where)
				add_sampled_count(out, where, number, count);
		}
	}
}

/* Writes the kept lines of one object file, each only once. */
static void write_lines(struct seen_list *seen, size_t file, struct buf *out)
{
	for (size_t i = 0; i < seen->n; i++) {
		if (seen->items[i].kept && seen->items[i].file == file)
			buf_format(out, "%llu line %s\n", seen->items[i].count, seen->items[i].name);
		seen->items[i].kept = seen->items[i].kept && seen->items[i].file != file;
	}
}

char *sampled_lines_add(struct sampled_lines *lines, const char *samples, const struct sampled_directory *deployed, size_t n)
{
	struct seen_list seen = { .items = NULL };
	struct buf out = BUF_INIT;
	size_t number = 0;
	const char *text = samples, *line, *name;

	read_places(lines, samples, deployed, n, &seen);
	keep_most(&seen);
	while (*text) {
		size_t bytes = next_line(&text, &line);
		unsigned long long count;
		bool user = is_line_of_kind(line, bytes, "user", &count, &name);

		if (is_line_of_kind(line, bytes, "at", &count, &name))
			continue;
		if (user || is_line_of_kind(line, bytes, "kernel", &count, &name)) {
			write_lines(&seen, number, &out);
			number += user;
		}
		buf_add(&out, line, bytes);
		buf_text(&out, "\n");
	}
	write_lines(&seen, number, &out);
	for (size_t i = 0; i < seen.n; i++)
		free(seen.items[i].name);
	free(seen.items);
	return buf_take(&out);
}

bool sampled_lines_next(const char **text, struct sampled_line *out)
{
	const char *line, *name;

	while (**text) {
		size_t bytes = next_line(text, &line);
		const char *first, *second;

		if (!is_line_of_kind(line, bytes, "line", &out->count, &name))
			continue;
		out->file = name;
		out->file_bytes = strcspn(name, " \n");
		second = memrchr(name, ':', out->file_bytes);
		first = second ? memrchr(name, ':', (size_t)(second - name)) : NULL;
		if (!first || name[out->file_bytes] != ' ')
			continue;
		out->function = name + out->file_bytes + 1;
		out->function_bytes = (size_t)(line + bytes - out->function);
		out->file_bytes = (size_t)(first - name);
		out->line = (unsigned)strtoul(first + 1, NULL, 10);
		out->function_line = (unsigned)strtoul(second + 1, NULL, 10);
		return true;
	}
	return false;
}
