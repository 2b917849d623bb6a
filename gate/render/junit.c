#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/order.h"
#include "gate/page/html.h"

#include <stdlib.h>
#include <string.h>

enum outcome { PASSED, FAILED, ERRORED, OPEN, OUTCOMES };

/* Reports whether a version passed although hosts were lost, so that its result on these hosts is unknown. */
static bool has_lost_hosts(const struct decision_record *d)
{
	return decision_exit_status(d->decision) == 0 && decided_has_reason(d, "hosts_lost");
}

static enum outcome test_outcome(const struct decision_record *d)
{
	switch (d->decision) {
	case DECISION_PASS:
	case DECISION_IMPROVED:
		return has_lost_hosts(d) ? ERRORED : PASSED;
	case DECISION_REGRESSION:
		return FAILED;
	case DECISION_ENVIRONMENT:
	case DECISION_NOTHING_MEASURED:
		return ERRORED;
	default:
		return OPEN;
	}
}

static void add_case(const struct decision_record *d, struct buf *out)
{
	static const char *const elements[OUTCOMES] = { [FAILED] = "failure", [ERRORED] = "error", [OPEN] = "skipped" };
	const char *element = elements[test_outcome(d)];
	char *text = decided_text(d);
	struct buf reasons = BUF_INIT;

	buf_text(&reasons, "");
	decided_add_reasons(d, "- ", "\n", &reasons);
	html_format(out, "    <testcase classname=\"%s\" name=\"%s%s%s\">\n", d->application, d->candidate_name,
		    *d->baseline ? " against " : "", d->baseline_name);
	if (element) {
		html_format(out, "      <%s", element);
		if (strcmp(element, "skipped") != 0)
			html_format(out, " type=\"%s\"", has_lost_hosts(d) ? "hosts_lost" : decision_text(d->decision));
		html_format(out, " message=\"%s%s: %s\"/>\n", decision_text(d->decision), has_lost_hosts(d) ? ", and hosts were lost" : "",
			    text);
	}
	html_format(out, "      <system-out>%s: %s\n", decision_text(d->decision), text);
	for (char *rest = reasons.bytes, *line; (line = strsep(&rest, "\n")) && *line;)
		html_format(out, "%s\n", line);
	buf_text(out, "</system-out>\n    </testcase>\n");
	buf_release(&reasons);
	free(text);
}

static void add_property(const struct decision_record *d, const char *what, const char *version, struct buf *out)
{
	if (*version)
		html_format(out, "      <property name=\"%s of %s%s%s\" value=\"%s\"/>\n", what, d->candidate_name,
			    *d->baseline ? " against " : "", d->baseline_name, version);
}

ORDER_BY(compare_applications, struct decision_record, BY_TEXT(application) BY_ASC(severity_rank) BY_ASC(number))

/* Adds a suite for the application of `first`, with its n adjacent decisions. */
static void add_suite(const struct decision_record *first, size_t n, struct buf *out)
{
	unsigned counts[OUTCOMES] = { 0 };

	for (size_t i = 0; i < n; i++)
		counts[test_outcome(&first[i])]++;
	html_format(out, "  <testsuite name=\"%s\" tests=\"%zu\" failures=\"%u\" errors=\"%u\" skipped=\"%u\">\n", first->application, n,
		    counts[FAILED], counts[ERRORED], counts[OPEN]);
	buf_text(out, "    <properties>\n"); /* the schema allows no properties in a testcase */
	for (size_t i = 0; i < n; i++) {
		add_property(&first[i], "candidate", first[i].candidate, out);
		add_property(&first[i], "baseline", first[i].baseline, out);
	}
	buf_text(out, "    </properties>\n");
	for (size_t i = 0; i < n; i++)
		add_case(&first[i], out);
	buf_text(out, "  </testsuite>\n");
}

void render_junit(const struct document *d, const struct doc_style *style, struct buf *out)
{
	struct decisions all;

	(void)style;
	decisions_collect(d, &all);
	order_sort(all.items, all.n, compare_applications);
	html_format(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay %s\">\n", all.command);
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i + 1; end < all.n && strcmp(all.items[end].application, all.items[i].application) == 0; end++)
			;
		add_suite(&all.items[i], end - i, out);
	}
	buf_text(out, "</testsuites>\n");
	decisions_release(&all);
}
