/* What a stored decision rests on: taken, it says the same when it is written again. */
#include "base/mem.h"
#include "gate/nightly/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size), *written, *again;
	struct assay_error err = { .text = "" };
	struct judge_request q, back;

	if (judge_request_parse(text, &q, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "decision", 8) != 0 || strchr(err.text, '\n') || q.application);
	} else {
		written = judge_request_text(&q);
		ASSAY_BUG_IF(judge_request_parse(written, &back, &err));
		again = judge_request_text(&back);
		ASSAY_BUG_IF(strcmp(written, again) != 0);
		judge_request_release(&back);
		free(again);
		free(written);
	}
	judge_request_release(&q);
	free(text);
	return 0;
}
