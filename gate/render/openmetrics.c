#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/text.h"

#include <math.h>

static void add_label(const char *name, const char *value, struct buf *out)
{
	buf_format(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buf_char(out, '\\');
		buf_text(out, *value == '\n' ? "\\n" : (char[]){ *value, '\0' });
	}
	buf_char(out, '"');
}

static void add_labels(const struct decision_record *d, struct buf *out)
{
	add_label("application", d->application, out);
	buf_char(out, ',');
	add_label("baseline", d->baseline_name, out);
	buf_char(out, ',');
	add_label("candidate", d->candidate_name, out);
}

static void add_gauge(const struct decisions *all, const char *name, const char *help, size_t offset, struct buf *out)
{
	buf_format(out, "# TYPE %s gauge\n# HELP %s %s\n", name, name, help);
	for (size_t i = 0; i < all->n; i++) {
		double value = *(const double *)(const void *)((const char *)&all->items[i] + offset);

		if (isnan(value))
			continue;
		buf_format(out, "%s{", name);
		add_labels(&all->items[i], out);
		buf_format(out, "} %s\n", TEXT_DOUBLE(value));
	}
}

/* Adds a line per possible decision: 1 for the actual decision, 0 for others. OpenMetrics has the type stateset for this, but the node
 * exporter rejects it. */
static void add_states(const struct decisions *all, struct buf *out)
{
	buf_text(out, "# TYPE assay_decision gauge\n# HELP assay_decision 1 for the decision made, 0 for others.\n");
	for (size_t i = 0; i < all->n; i++) {
		for (int word = 0; word < DECISIONS; word++) {
			buf_text(out, "assay_decision{");
			add_labels(&all->items[i], out);
			buf_char(out, ',');
			add_label("assay_decision", decision_text((enum decision)word), out);
			buf_format(out, "} %d\n", all->items[i].decision == (enum decision)word);
		}
	}
}

/* Adds the versions as a separate series. Versions change every night, but the labels of the other series must stay the same. */
static void add_versions(const struct decisions *all, struct buf *out)
{
	static const char name[] = "assay_comparison_versions";

	buf_format(out, "# TYPE %s gauge\n# HELP %s Always 1; labels name the compared versions.\n", name, name);
	for (size_t i = 0; i < all->n; i++) {
		buf_format(out, "%s{", name);
		add_labels(&all->items[i], out);
		buf_char(out, ',');
		add_label("baseline_version", all->items[i].baseline, out);
		buf_char(out, ',');
		add_label("candidate_version", all->items[i].candidate, out);
		buf_text(out, "} 1\n");
	}
}

static void add_value(const char *name, const char *help, double value, struct buf *out)
{
	buf_format(out, "# TYPE %s gauge\n# HELP %s %s\n%s %s\n", name, name, help, name, TEXT_DOUBLE(value));
}

/* Adds the times and the exit status of a night, and whether each comparison lost hosts. */
static void add_night(const struct decisions *all, int exit_status, struct buf *out)
{
	static const char lost[] = "assay_comparison_hosts_lost";

	if (!all->night)
		return;
	add_value("assay_night_started_timestamp_seconds", "When the night started, since 1970.", all->started_ms / 1000, out);
	if (!isnan(all->finished_ms))
		add_value("assay_night_finished_timestamp_seconds", "When the night ended, since 1970.", all->finished_ms / 1000, out);
	add_value("assay_night_exit_status", "Worst decision of the night: 0, or 3 to 7 as in the exit status of assay nightly run.",
		  exit_status, out);
	buf_format(out, "# TYPE %s gauge\n# HELP %s 1 if hosts were lost during the measurement, else 0.\n", lost, lost);
	for (size_t i = 0; i < all->n; i++) {
		buf_format(out, "%s{", lost);
		add_labels(&all->items[i], out);
		buf_format(out, "} %d\n", decided_has_reason(&all->items[i], "hosts_lost"));
	}
}

void render_openmetrics(const struct document *d, const struct doc_style *style, struct buf *out)
{
	struct decisions all;

	(void)style;
	decisions_collect(d, &all);
	add_states(&all, out);
	add_gauge(&all, "assay_cost_ratio", "Cost of the candidate / cost of the baseline.", offsetof(struct decision_record, ratio), out);
	add_gauge(&all, "assay_cost_ratio_low", "Lower end of the interval of the cost ratio at level assay_cost_ratio_level.",
		  offsetof(struct decision_record, low), out);
	add_gauge(&all, "assay_cost_ratio_high", "Upper end of the interval of the cost ratio at level assay_cost_ratio_level.",
		  offsetof(struct decision_record, high), out);
	add_gauge(&all, "assay_cost_ratio_level", "Level of the interval of the cost ratio.", offsetof(struct decision_record, level), out);
	add_versions(&all, out);
	add_night(&all, d->exit_status, out);
	buf_text(out, "# EOF\n");
	decisions_release(&all);
}
