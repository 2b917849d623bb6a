/* Reads one JSON document from standard input and prints the value at each path, one per line. For scripts.
 *   tool_json .effect.ratio '.machines[0].used' < result.json
 * An object or an array is printed as the number of its members. Without a path the program only checks the document.
 *   tool_json --paths < result.json
 * prints all paths of the document instead. The members of an array share one path. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const cJSON *step_key(const cJSON *at, const char **path)
{
	size_t n = strcspn(*path, ".[");
	char *key = mem_bytes(*path, n);

	at = cJSON_GetObjectItemCaseSensitive(at, key);
	*path += n;
	free(key);
	return at;
}

static const cJSON *step_index(const cJSON *at, const char **path)
{
	size_t n = strcspn(*path, "]");
	char *digits = mem_bytes(*path, n);
	int64_t index;

	at = (*path)[n] && text_parse_int64(digits, &index) && index >= 0 && index <= INT32_MAX ? cJSON_GetArrayItem(at, (int)index) : NULL;
	*path += n + ((*path)[n] == ']');
	free(digits);
	return at;
}

static const cJSON *find(const cJSON *at, const char *path)
{
	while (at && *path) {
		char kind = *path++;

		at = kind == '.' ? step_key(at, &path) : (kind == '[' ? step_index(at, &path) : NULL);
	}
	return at;
}

static void print(const cJSON *value)
{
	char number[TEXT_DOUBLE_BYTES];

	if (cJSON_IsString(value))
		puts(value->valuestring);
	else if (cJSON_IsNumber(value))
		puts(text_from_double(value->valuedouble, number));
	else if (cJSON_IsBool(value))
		puts(cJSON_IsTrue(value) ? "true" : "false");
	else if (cJSON_IsNull(value))
		puts("null");
	else
		printf("%d\n", cJSON_GetArraySize(value));
}

static void print_paths(const cJSON *at, const char *path)
{
	if (*path)
		puts(path);
	for (const cJSON *child = at->child; child; child = child->next) {
		char *below = cJSON_IsArray(at) ? mem_format("%s[]", path) : mem_format("%s.%s", path, child->string);

		print_paths(child, below);
		free(below);
	}
}

int main(int argc, char **argv)
{
	struct assay_error err;
	cJSON *root = NULL;
	struct buf text = BUF_INIT;
	int status = 0;

	if (file_read("-", JSON_BYTES_MAX, &text, &err) || json_parse("standard input", text.bytes, text.size, &root, &err)) {
		fprintf(stderr, "%s\n", err.text);
		status = 1;
	}
	if (!status && argc == 2 && strcmp(argv[1], "--paths") == 0) {
		print_paths(root, "");
		argc = 1;
	}
	for (int i = 1; !status && i < argc; i++) {
		const cJSON *value = find(root, argv[i]);

		if (value) {
			print(value);
		} else {
			fprintf(stderr, "nothing at '%s'\n", argv[i]);
			status = 1;
		}
	}
	cJSON_Delete(root);
	buf_release(&text);
	return status;
}
