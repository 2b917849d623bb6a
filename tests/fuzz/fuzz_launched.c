/* Reads the output of launchers and Slurm. Checks that the status is in range, and that texts end and are harmless for a terminal. */
#include "base/error.h"
#include "base/mem.h"
#include "fleet/engine/local.c"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
	ASSAY_BUG_IF(!memchr(text, 0, room) || strpbrk(text, "\033\n\r"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size), job[24];
	struct slurm_job_state said;
	size_t before = 0;
	int status = -1;

	if (parse_end_line(text, size, &before, &status))
		ASSAY_BUG_IF(status < 0 || status > 255 || before >= size);
	if (parse_allocation(text, size, job))
		ASSAY_BUG_IF(!*job || strspn(job, "0123456789") != strlen(job));
	slurm_parse(text, &said);
	check_text(said.job, sizeof(said.job));
	check_text(said.state, sizeof(said.state));
	check_text(said.reason, sizeof(said.reason));
	check_text(said.node_state, sizeof(said.node_state));
	check_text(said.node_reason, sizeof(said.node_reason));
	free(text);
	return 0;
}
