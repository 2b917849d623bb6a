/* Checks that a tree from json_parse(), written with json_text(), is read as the same tree, and that errors name an existing line. */
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reports whether two trees are equal. cJSON_Compare() accepts numbers that differ slightly, and ignores the order of keys. */
static bool equal(const cJSON *a, const cJSON *b)
{
	if (!a || !b)
		return a == b;
	if ((a->type & 0xff) != (b->type & 0xff))
		return false;
	if ((a->string || b->string) && (!a->string || !b->string || strcmp(a->string, b->string) != 0))
		return false;
	if (cJSON_IsNumber(a))
		return memcmp(&a->valuedouble, &b->valuedouble, sizeof(double)) == 0;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	a = a->child;
	b = b->child;
	for (; a && b; a = a->next, b = b->next)
		if (!equal(a, b))
			return false;
	return !a && !b;
}

static void check_error(const struct assay_error *err, const char *text, size_t size)
{
	unsigned long line, lines = 1;
	char *end;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	ASSAY_BUG_IF(strncmp(err->text, "fuzz:", 5) != 0);
	line = strtoul(err->text + 5, &end, 10);
	ASSAY_BUG_IF(*end != ':' || line < 1 || line > lines);
	ASSAY_BUG_IF(!strcmp(err->text, "fuzz:1: cJSON cannot read it")); /* the scanner and cJSON disagree */
}

/* Checks that the lenient reader accepts all that the strict one accepts, and that the strict reader accepts its result, except for
 * repeated keys. */
static void check_loosely(const char *data, size_t size, bool strict)
{
	struct assay_error err = { .text = "" }, twice = { .text = "" };
	char *text = mem_bytes(data, size);
	cJSON *root = NULL, *again = NULL;

	if (json_parse_lenient("fuzz", text, size, &root, &err)) {
		ASSAY_BUG_IF(strict);
		check_error(&err, data, size);
	} else if (json_parse("fuzz", text, size, &again, &twice)) {
		ASSAY_BUG_IF(!strstr(twice.text, "is repeated"));
	} else {
		ASSAY_BUG_IF(!equal(root, again));
	}
	cJSON_Delete(root);
	cJSON_Delete(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	char *text, *again;
	cJSON *root = NULL, *copy = NULL;

	check_loosely((const char *)data, size, !json_parse("fuzz", (const char *)data, size, &root, &err));
	cJSON_Delete(root);
	root = NULL;
	if (json_parse("fuzz", (const char *)data, size, &root, &err)) {
		check_error(&err, (const char *)data, size);
		return 0;
	}
	text = json_text(root);
	ASSAY_BUG_IF(json_parse("fuzz", text, strlen(text), &copy, &err));
	ASSAY_BUG_IF(!equal(root, copy));
	again = json_text(copy);
	ASSAY_BUG_IF(strcmp(text, again) != 0);
	free(text);
	free(again);
	cJSON_Delete(root);
	cJSON_Delete(copy);
	return 0;
}
