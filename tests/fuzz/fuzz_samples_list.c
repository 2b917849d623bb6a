/* The list of a host's files of samples: what is to be fetched are the writer's names only, none of which leads out of the directory, and is
 * inside the limits; else it is said why not. Read again from what was taken, it is the same. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/execute_internal.h"

#include <inttypes.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_files(const struct execute_probe *probe)
{
	uint64_t all = 0;

	ASSAY_BUG_IF(probe->n > EXECUTE_SAMPLES_FILES_MAX);
	for (size_t i = 0; i < probe->n; i++) {
		const char *name = probe->files[i].name;

		ASSAY_BUG_IF(name[strspn(name, "0123456789-")] != '.' || !strchr("0123456789", *name) || strlen(name) > 80);
		ASSAY_BUG_IF(strcmp(strchr(name, '.'), ".samples") != 0);
		ASSAY_BUG_IF(probe->files[i].bytes > EXECUTE_SAMPLES_BYTES_MAX);
		all += probe->files[i].bytes;
	}
	ASSAY_BUG_IF(all > EXECUTE_SAMPLES_BYTES_MAX);
}

static void read_again(const struct execute_probe *probe)
{
	struct execute_probe again = { .samples = NULL };
	struct buf text = BUF_INIT;
	char *why = NULL;

	for (size_t i = 0; i < probe->n; i++)
		buf_format(&text, "%" PRIu64 " %s\n", probe->files[i].bytes, probe->files[i].name);
	buf_char(&text, '\0');
	ASSAY_BUG_IF(!execute_samples_list(&again, text.bytes, &why) || again.n != probe->n);
	for (size_t i = 0; i < probe->n; i++) {
		ASSAY_BUG_IF(again.files[i].bytes != probe->files[i].bytes);
		ASSAY_BUG_IF(strcmp(again.files[i].name, probe->files[i].name) != 0);
	}
	execute_samples_release(&again);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct execute_probe probe = { .samples = NULL };
	char *text = mem_bytes((const char *)data, size), *why = NULL;
	bool whole = execute_samples_list(&probe, text, &why);

	ASSAY_BUG_IF(whole != !why || (why && !*why));
	check_files(&probe);
	if (whole)
		read_again(&probe);
	execute_samples_release(&probe);
	free(text);
	free(why);
	return 0;
}
