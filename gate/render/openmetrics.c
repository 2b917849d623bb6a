#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/command.h"
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

static void add_labels(const struct decided *d, struct buf *out)
{
	add_label("application", d->application, out);
	buf_char(out, ',');
	add_label("baseline", d->baseline, out);
	buf_char(out, ',');
	add_label("candidate", d->candidate, out);
}

static void add_gauge(const struct decisions *all, const char *name, const char *help, size_t offset, struct buf *out)
{
	buf_format(out, "# TYPE %s gauge\n# HELP %s %s\n", name, name, help);
	for (size_t i = 0; i < all->n; i++) {
		double value = *(const double *)(const void *)((const char *)&all->items[i] + offset);
		char text[TEXT_DOUBLE_BYTES];

		if (isnan(value))
			continue;
		buf_format(out, "%s{", name);
		add_labels(&all->items[i], out);
		buf_format(out, "} %s\n", text_from_double(value, text));
	}
}

/* A set of states: one line a word, 1 for the one that was decided. */
static void add_states(const struct decisions *all, struct buf *out)
{
	buf_text(out, "# TYPE assay_decision stateset\n# HELP assay_decision What was decided.\n");
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

void render_openmetrics(const struct document *d, const struct doc_style *style, struct buf *out)
{
	struct decisions all;

	(void)style;
	decisions_of(d, cli_command_name(), &all);
	add_states(&all, out);
	add_gauge(&all, "assay_cost_ratio", "Cost of the candidate / cost of the baseline.", offsetof(struct decided, ratio), out);
	add_gauge(&all, "assay_cost_ratio_low", "Lower end of its interval, of assay_cost_ratio_level.", offsetof(struct decided, low),
		  out);
	add_gauge(&all, "assay_cost_ratio_high", "Upper end of its interval, of assay_cost_ratio_level.", offsetof(struct decided, high),
		  out);
	add_gauge(&all, "assay_cost_ratio_level", "Probability with which the interval holds the ratio.", offsetof(struct decided, level),
		  out);
	buf_text(out, "# EOF\n");
	decisions_release(&all);
}
