#include "gate/render/decided.h"
#include "gate/render/render.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* Appends text on one line. Escapes Markdown and HTML markup. */
static void add_text(const char *text, struct buf *out)
{
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control_char_bytes(text);
		if (control)
			buf_char(out, ' ');
		else if (strchr("\\`*_[]<>|~&@", *text))
			buf_format(out, "&#%d;", *text);
		else
			buf_char(out, *text);
	}
}

static void add_number(double x, struct buf *out)
{
	buf_text(out, isnan(x) ? "-" : text_fixed(x, 3).text);
}

static void add_row(const struct decision_record *d, struct buf *out)
{
	buf_format(out, "| %s%s%s | ", d->decision == DECISION_PASS ? "" : "**", decision_text(d->decision),
		   d->decision == DECISION_PASS ? "" : "**");
	add_text(d->application, out);
	buf_text(out, " | ");
	add_text(d->candidate, out);
	buf_text(out, " | ");
	add_text(d->baseline, out);
	buf_text(out, " | ");
	add_number(d->ratio, out);
	buf_text(out, " | ");
	add_number(d->low, out);
	if (!isnan(d->low) || !isnan(d->high)) {
		buf_text(out, " to ");
		add_number(d->high, out);
	}
	if (d->level > 0)
		buf_format(out, " (%s)", effect_format_level(d->level).text);
	buf_text(out, " |\n");
}

static void add_reasons(const struct decision_record *d, struct buf *out)
{
	buf_text(out, "\n**");
	add_text(d->application, out);
	buf_text(out, "**, ");
	add_text(d->candidate, out);
	buf_text(out, *d->baseline ? " against " : "");
	add_text(d->baseline, out);
	buf_format(out, ": %s\n\n", decision_text(d->decision));
	for (size_t i = 0; i < d->reasons.n; i++) {
		buf_text(out, "- ");
		add_text(d->reasons.items[i].text, out);
		buf_char(out, '\n');
	}
}

static void add_notes(const struct reasons *notes, struct buf *out)
{
	for (size_t i = 0; i < notes->n; i++) {
		buf_text(out, "\n");
		add_text(notes->items[i].text, out);
		buf_char(out, '\n');
	}
}

void render_markdown(const struct document *d, const struct doc_style *style, struct buf *out)
{
	const char *before = "## assay: ";
	struct decisions all;
	size_t lost = 0;

	(void)style;
	decisions_collect(d, &all);
	for (size_t i = 0; i < all.n; i++)
		lost += decided_has_reason(&all.items[i], "hosts_lost");
	for (size_t i = 0, n; i < all.n; i += n) {
		enum decision decision = all.items[i].decision;

		for (n = 1; i + n < all.n && all.items[i + n].decision == decision; n++)
			;
		buf_format(out, "%s%zu %s%s", before, n, decision_text(decision), decision == DECISION_REGRESSION ? text_plural(n) : "");
		before = ", ";
	}
	if (!all.n)
		buf_text(out, "## assay: nothing was decided");
	if (lost)
		buf_format(out, "; hosts were lost in %zu comparison%s", lost, text_plural(lost));
	buf_text(out, "\n\n");
	if (all.n)
		buf_text(out, "| decision | application | candidate | baseline | ratio of costs | interval |\n"
			      "| --- | --- | --- | --- | ---: | ---: |\n");
	for (size_t i = 0; i < all.n; i++)
		add_row(&all.items[i], out);
	for (size_t i = 0; i < all.n; i++)
		if (all.items[i].reasons.n &&
		    (all.n == 1 || all.items[i].decision != DECISION_PASS || decided_has_reason(&all.items[i], "hosts_lost")))
			add_reasons(&all.items[i], out);
	add_notes(&all.notes, out);
	decisions_release(&all);
}
