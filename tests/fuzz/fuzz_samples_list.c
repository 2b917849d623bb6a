/* Reads the list of a host's sample files. Checks that only file names of the writer are fetched, that none leaves the directory, that a
 * limited list is within the limits, and that the list is the same if written and read again. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/samples_fetch.c"

#include <inttypes.h>
#include <stdint.h>

#define FILES_MAX 20
#define BYTES_MAX 100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_files(const struct samples_found *found)
{
	uint64_t all = 0;

	ASSAY_BUG_IF(found->n > FILES_MAX);
	for (size_t i = 0; i < found->n; i++) {
		const char *name = found->items[i].name;

		ASSAY_BUG_IF(name[strspn(name, "0123456789-")] != '.' || !strchr("0123456789", *name) || strlen(name) > 80);
		ASSAY_BUG_IF(strcmp(strchr(name, '.'), ".samples") != 0);
		ASSAY_BUG_IF(found->items[i].bytes > BYTES_MAX);
		ASSAY_BUG_IF(i && found->items[i].bytes > found->items[i - 1].bytes);
		all += found->items[i].bytes;
	}
	ASSAY_BUG_IF(all > BYTES_MAX);
}

static void read_again(const struct samples_found *found)
{
	struct samples_found again = { .items = NULL };
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < found->n; i++)
		buf_format(&text, "%" PRIu64 " %s\n", found->items[i].bytes, found->items[i].name);
	buf_char(&text, '\0');
	samples_found_parse(text.bytes, ".samples", &again);
	ASSAY_BUG_IF(again.n != found->n);
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
	char *text = mem_bytes((const char *)data, size);
	size_t all, without;

	samples_found_parse(text, ".samples", &found);
	all = found.n;
	read_again(&found);
	without = samples_found_limit(&found, FILES_MAX, BYTES_MAX);
	ASSAY_BUG_IF(found.n + without != all);
	check_files(&found);
	samples_found_release(&found);
	free(text);
	return 0;
}
