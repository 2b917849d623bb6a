/* A profile that is taken is within its limits, and written again it reads back the same; errors name the file. */
#include "base/buf.h"
#include "base/mem.h"
#include "fleet/emulate/emulate_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_profile(struct buf *out, const struct emulate_profile *p)
{
	buf_text(out, "system_calls:\n");
	for (int i = 0; i < EMULATE_CLASSES; i++)
		buf_format(out, "  %s: %u\n", strchr(shapes[i].name, '-') + 1, p->divisions[i]);
	buf_format(out, "strings: %u\ncompare: %u\nmalloc: %u\n", p->strings, p->compare, p->malloc_steps);
	buf_format(out, "interrupts: %u\npage_faults: %u\npage_walks: %u\n", p->interrupts, p->page_faults, p->page_walks);
	if (p->mmap_threshold_bytes)
		buf_format(out, "mmap_threshold: %lld\n", (long long)p->mmap_threshold_bytes);
	buf_format(out, "hog: {mib: %u, percent: %u}\n", p->hog_mib, p->hog_percent);
}

static void check_limits(const struct emulate_profile *p)
{
	unsigned sum = 0;

	for (int i = 0; i < EMULATE_CLASSES; i++) {
		ASSAY_BUG_IF(p->divisions[i] > SHAPE_LEVEL_MAX);
		sum += p->divisions[i];
	}
	ASSAY_BUG_IF(sum > EMULATE_DIVISIONS_MAX);
	ASSAY_BUG_IF(p->hog_mib > 64 || p->hog_percent > 100 || !p->hog_mib != !p->hog_percent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emulate_profile p, again;
	struct assay_error err = { .text = "" };
	struct buf first = BUF_INIT, second = BUF_INIT;

	if (emulate_profile_parse("fuzz", "p", (const char *)data, size, &p, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0);
		return 0;
	}
	check_limits(&p);
	add_profile(&first, &p);
	ASSAY_BUG_IF(emulate_profile_parse("fuzz", "p", first.bytes, first.size, &again, &err) != ASSAY_OK);
	add_profile(&second, &again);
	ASSAY_BUG_IF(strcmp(first.bytes, second.bytes) != 0);
	emulate_profile_release(&p);
	emulate_profile_release(&again);
	buf_release(&first);
	buf_release(&second);
	return 0;
}
