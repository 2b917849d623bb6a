/* Records of calls, as of one process, of two, and of a window of one: whatever is read lies within the run, and the parts of a loss are no
 * more than it. */
#include "gate/variance/answer.h"

#include "base/mem.h"
#include "runs/inside/record/record.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct variance *v)
{
	const struct fragments *f = &v->fragments;

	for (size_t i = 0; i < f->n; i++) {
		ASSAY_BUG_IF(f->items[i].cluster >= v->n_clusters || f->items[i].process >= f->n_processes);
		ASSAY_BUG_IF(f->items[i].to >= f->n_sites || !(f->items[i].time_s >= 0) || !(f->items[i].start_s >= 0));
	}
	for (size_t r = 0; r < v->n_regions; r++) {
		double sum = 0;

		ASSAY_BUG_IF(!(v->regions[r].from_s < v->regions[r].to_s) || v->regions[r].caused_by == r);
		for (size_t k = 0; k < v->regions[r].why.n; k++)
			sum += v->regions[r].why.parts[k].impact_s;
		ASSAY_BUG_IF(!(sum <= v->regions[r].why.loss_s * (1 + 1e-9) + 1e-9));
	}
}

/* What is said, or NULL. */
static char *answer_of(const struct fragments_file *files, size_t n, const struct fragments_window *window)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = 0 };
	const struct doc_style style = { .columns = 80 };
	struct buf out = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct fragments f = { .n = 0 };
	struct variance v;
	struct document d;

	if (fragments_parse(files, n, window, &f, &err)) {
		ASSAY_BUG_IF(!err.text[0]);
		return NULL;
	}
	if (window && !f.n) {
		fragments_release(&f);
		return NULL;
	}
	ASSAY_BUG_IF(variance_of(&f, &options, &v, &err));
	check(&v);
	document_init(&d);
	variance_answer(&v, &d);
	document_json(&d, &style, &out);
	document_human(&d, &style, &out);
	document_release(&d);
	variance_release(&v);
	return buf_take(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	char *other = mem_bytes((const char *)data, half);
	const struct fragments_file files[] = { { "one", data, size }, { "half", other, half } };
	const struct fragments_window window = { .began_ns = 1700000000000000000u, .from_s = .1, .to_s = .3, .thin_log2 = 1 };
	char *one = answer_of(files, 1, NULL), *again = answer_of(files, 1, NULL);

	if (half >= sizeof(struct record_header))
		other[offsetof(struct record_header, pid)] ^= 1; /* else it would be the same process */
	ASSAY_BUG_IF((one != NULL) != (again != NULL) || (one && strcmp(one, again) != 0));
	free(answer_of(files, 2, NULL));
	free(answer_of(files, 1, &window));
	free(other);
	free(one);
	free(again);
	return 0;
}
