/* The list of a host's sample files: what is to be fetched are the writer's names only, none of which leads out of the directory, and is
 * inside the limits; else it is said why not. Read again from what was taken, it is the same. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/samples_fetch.h"

#include <inttypes.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_files(const struct samples_found *found)
{
	uint64_t all = 0;

	ASSAY_BUG_IF(found->n > SAMPLES_FETCH_FILES_MAX);
	for (size_t i = 0; i < found->n; i++) {
		const char *name = found->items[i].name;

		ASSAY_BUG_IF(name[strspn(name, "0123456789-")] != '.' || !strchr("0123456789", *name) || strlen(name) > 80);
		ASSAY_BUG_IF(strcmp(strchr(name, '.'), ".samples") != 0);
		ASSAY_BUG_IF(found->items[i].bytes > SAMPLES_FETCH_BYTES_MAX);
		all += found->items[i].bytes;
	}
	ASSAY_BUG_IF(all > SAMPLES_FETCH_BYTES_MAX);
}

static void read_again(const struct samples_found *found)
{
	struct samples_found again = { .items = NULL };
	struct buf text = BUF_INIT;
	char *why = NULL;

	for (size_t i = 0; i < found->n; i++)
		buf_format(&text, "%" PRIu64 " %s\n", found->items[i].bytes, found->items[i].name);
	buf_char(&text, '\0');
	ASSAY_BUG_IF(!samples_found_parse(text.bytes, ".samples", &again, &why) || again.n != found->n);
	for (size_t i = 0; i < found->n; i++) {
		ASSAY_BUG_IF(again.items[i].bytes != found->items[i].bytes);
		ASSAY_BUG_IF(strcmp(again.items[i].name, found->items[i].name) != 0);
	}
	samples_found_release(&again);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct samples_found found = { .items = NULL };
	char *text = mem_bytes((const char *)data, size), *why = NULL;
	bool whole = samples_found_parse(text, ".samples", &found, &why);

	ASSAY_BUG_IF(whole != !why || (why && !*why));
	check_files(&found);
	if (whole)
		read_again(&found);
	samples_found_release(&found);
	free(text);
	free(why);
	return 0;
}
