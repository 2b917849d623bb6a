/* Reads a helper's answer. Checks that it is the same whatever the sizes of its pieces, that it fits the limits, that messages are one
 * harmless line, and that after an error each further piece returns the same error. The first byte chooses the sizes. */
#include "base/mem.h"
#include "fleet/agent/helper_client.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT_BYTES 3000

/* Reads the answer in pieces of `piece` bytes or, with a seed, of random sizes, some of them empty, as a connection may deliver. */
static enum assay_status read_in_pieces(struct helper_answer *answer, const char *bytes, size_t n, size_t piece, uint32_t seed,
					struct assay_error *err)
{
	struct assay_error again = { .text = "" };
	enum assay_status st = ASSAY_OK;
	size_t next = piece;

	helper_answer_init(answer, LIMIT_BYTES);
	for (size_t at = 0; !st && at < n; at += next) {
		if (seed) {
			seed = seed * 1664525u + 1013904223u;
			next = (seed >> 16) % (2 * piece);
		}
		next = n - at < next ? n - at : next;
		st = helper_answer_add(answer, bytes + at, next, err);
	}
	if (st)
		ASSAY_BUG_IF(helper_answer_add(answer, "more", 4, &again) != st || strcmp(again.text, err->text) != 0);
	return st ? st : helper_answer_finish(answer, err);
}

static void check_line(const char *text)
{
	for (; *text; text++)
		ASSAY_BUG_IF(*text < ' ' || *text > '~');
}

static void check_equal_text(const char *a, const char *b)
{
	ASSAY_BUG_IF(!a != !b || (a && strcmp(a, b) != 0));
}

static void check_equal(const struct helper_answer *a, const struct helper_answer *b)
{
	ASSAY_BUG_IF(a->greeting_received != b->greeting_received || a->command_started != b->command_started || a->ended != b->ended ||
		     a->n_files != b->n_files);
	ASSAY_BUG_IF(a->out.size != b->out.size || a->err.size != b->err.size || a->out.size > LIMIT_BYTES);
	ASSAY_BUG_IF(memcmp(&a->result, &b->result, sizeof(a->result)) != 0);
	check_equal_text(a->refusal, b->refusal);
	check_equal_text(a->result_text, b->result_text);
	for (size_t i = 0; i < a->n_files; i++) {
		check_equal_text(a->files[i].path, b->files[i].path);
		check_equal_text(a->files[i].fault, b->files[i].fault);
		ASSAY_BUG_IF(a->files[i].n != b->files[i].n || !a->files[i].bytes == !a->files[i].fault);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error first = { .text = "" }, second = { .text = "" };
	struct helper_answer whole, pieces;
	enum assay_status st;

	if (size < 1)
		return 0;
	st = read_in_pieces(&whole, (const char *)data + 1, size - 1, size, 0, &first);
	ASSAY_BUG_IF(read_in_pieces(&pieces, (const char *)data + 1, size - 1, (size_t)data[0] % 40 + 1, data[0] / 40u, &second) != st);
	check_equal(&whole, &pieces);
	/* If the input is not an answer, the excerpts in the two messages may differ in length. For a frame they are equal. */
	ASSAY_BUG_IF(st && whole.greeting_received && strcmp(first.text, second.text) != 0);
	ASSAY_BUG_IF(!st && (!whole.ended || (whole.result_text != NULL) == (whole.refusal != NULL)));
	ASSAY_BUG_IF(st && !*first.text);
	check_line(first.text);
	if (whole.refusal)
		check_line(whole.refusal);
	helper_answer_release(&whole);
	helper_answer_release(&pieces);
	return 0;
}
