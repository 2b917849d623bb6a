/* Reads answers of the counting program. Checks that an accepted plan is within the limits and the same if written and read again, that a
 * report has each event once or a reason, and that messages are one line. */
#include "base/buf.h"
#include "base/mem.h"
#include "fleet/counters/counting_client.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_plan(struct buf *out, const struct counting_plan *plan)
{
	buf_text(out, COUNTING_MAGIC "\n");
	if (plan->none)
		buf_format(out, "none %s\n", plan->none);
	for (size_t i = 0; i < plan->n_absent; i++)
		buf_format(out, "absent %s %s\n", plan->absent[i].event, plan->absent[i].reason);
	for (size_t i = 0; i < plan->n; i++) {
		const struct counting_run *run = &plan->runs[i];

		ASSAY_BUG_IF(run->events.n == 0 || run->events.n > COUNTING_EVENTS_MAX);
		buf_format(out, "run %zu %s %s", i + 1, run->family, run->domain);
		for (size_t k = 0; k < run->events.n; k++) {
			ASSAY_BUG_IF(!counting_is_name(run->events.names[k], strlen(run->events.names[k])));
			buf_format(out, " %s", run->events.names[k]);
		}
		buf_char(out, '\n');
	}
}

static void check_error(const struct assay_error *err)
{
	ASSAY_BUG_IF(!*err->text);
	for (const char *at = err->text; *at; at++)
		ASSAY_BUG_IF((unsigned char)*at < ' ');
}

static void take_plan(const char *text, size_t n)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct counting_plan plan, again;

	if (counting_plan_parse(text, n, &plan, &err)) {
		ASSAY_BUG_IF(plan.n || plan.n_absent || plan.none);
		check_error(&err);
		return;
	}
	ASSAY_BUG_IF(plan.n > COUNTING_EVENTS_MAX || plan.n_absent > COUNTING_EVENTS_MAX);
	write_plan(&once, &plan);
	ASSAY_BUG_IF(counting_plan_parse(once.bytes, once.size, &again, &err));
	write_plan(&twice, &again);
	ASSAY_BUG_IF(once.size != twice.size || memcmp(once.bytes, twice.bytes, once.size) != 0);
	counting_plan_release(&plan);
	counting_plan_release(&again);
	buf_release(&once);
	buf_release(&twice);
}

static void take_report(const char *text, size_t n)
{
	char a[] = "A", b[] = "perf::B";
	const struct counting_events events = { { a, b }, 2 };
	struct assay_error err = { .text = "" };
	int64_t values[2];
	char *failed;
	enum assay_status st = counting_report_parse(text, n, &events, values, &failed, &err);

	ASSAY_BUG_IF(st && failed);
	ASSAY_BUG_IF(!st && !failed && (values[0] < 0 || values[1] < 0));
	ASSAY_BUG_IF(failed && (!*failed || strchr(failed, '\n')));
	if (st)
		check_error(&err);
	free(failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	take_plan((const char *)data, size);
	take_report((const char *)data, size);
	return 0;
}
