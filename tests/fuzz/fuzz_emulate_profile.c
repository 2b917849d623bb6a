/* A profile that is taken is within its limits, and written again it reads back the same; errors name the file. The filters that it
 * asks for can be built. */
#include "base/buf.h"
#include "base/mem.h"
#include "fleet/emulate/emulate_filter.c"
#include "fleet/emulate/emulate_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_profile(struct buf *out, const struct emulate_profile *p)
{
	buf_format(out, "system_calls: {all: %u, vm: %u, io: %u}\n", p->instructions[EMULATE_CLASS_ALL], p->instructions[EMULATE_CLASS_VM],
		   p->instructions[EMULATE_CLASS_IO]);
	buf_format(out, "strings: %u\ncompare: %u\nmalloc: %u\n", p->strings, p->compare, p->malloc_steps);
	if (p->mmap_threshold_bytes)
		buf_format(out, "mmap_threshold: %lld\n", (long long)p->mmap_threshold_bytes);
	buf_format(out, "hog: {mib: %u, percent: %u}\n", p->hog_mib, p->hog_percent);
}

static void check_filters(const struct emulate_profile *p)
{
	unsigned sum = 0;

	for (int i = 0; i < EMULATE_CLASSES; i++) {
		unsigned room = filter_room((enum emulate_class)i), n = p->instructions[i] < room ? p->instructions[i] : room;
		struct sock_filter *filter;

		sum += p->instructions[i];
		if (!n)
			continue;
		ASSAY_BUG_IF(filter_build((enum emulate_class)i, n, &filter) > BPF_MAXINSNS);
		free(filter);
	}
	ASSAY_BUG_IF(sum > EMULATE_INSTRUCTIONS_MAX);
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
	ASSAY_BUG_IF(p.hog_mib > 64 || p.hog_percent > 100 || !p.hog_mib != !p.hog_percent);
	check_filters(&p);
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
