/* Checks that facts that are accepted are within their ranges, and the same if written and read again. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/facts.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_number(struct buf *out, const char *name, double value)
{
	char text[TEXT_DOUBLE_BYTES];

	if (!isnan(value))
		buf_format(out, "%s %s\n", name, text_from_double(value, text));
}

static void write_facts(struct buf *out, const struct facts *facts)
{
#define WRITE_TEXT(name)                                                                                                                   \
	if (facts->name)                                                                                                                   \
		buf_format(out, "%s %s\n", strcmp(#name, "virtual_machine") ? #name : "virtual", facts->name);
#define WRITE_NUMBER(name, min, max)                                                                                                       \
	ASSAY_BUG_IF(!isnan(facts->name) && !(facts->name >= min && facts->name <= max));                                                  \
	add_number(out, #name, facts->name);
	FACTS_TEXT_ROWS(WRITE_TEXT)
	FACTS_NUMBER_ROWS(WRITE_NUMBER)
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct facts facts, again;
	enum assay_status st = facts_parse((const char *)data, size, &facts, &err);

	write_facts(&once, &facts);
	ASSAY_BUG_IF(st && (once.size > 0 || !*err.text || strchr(err.text, '\n')));
	ASSAY_BUG_IF(facts_parse(once.bytes ? once.bytes : "", once.size, &again, &err));
	write_facts(&twice, &again);
	ASSAY_BUG_IF(once.size != twice.size || (once.size > 0 && memcmp(once.bytes, twice.bytes, once.size) != 0));
	facts_release(&facts);
	facts_release(&again);
	buf_release(&once);
	buf_release(&twice);
	return 0;
}
