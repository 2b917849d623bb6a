#include "gate/render/decided.h"
#include "gate/render/render.h"

#include <stdlib.h>
#include <string.h>

/* Appends text. Escapes control characters, because line ends would start a command. Also escapes the characters in `escaped`: in
 * properties, ':' and ',' would end the value. */
static void add_text(const char *text, const char *escaped, struct buf *out)
{
	for (; *text; text++) {
		if (strchr(escaped, *text) || (unsigned char)*text < ' ')
			buf_format(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			buf_char(out, *text);
	}
}

static const char *annotation_level(const struct decision_record *d)
{
	if (d->decision == DECISION_REGRESSION)
		return "error";
	return decision_exit_status(d->decision) == 0 && !decided_has_reason(d, "hosts_lost") ? "notice" : "warning";
}

static void add_command(const struct decision_record *d, struct buf *out)
{
	char *text = decided_text(d);
	struct buf reasons = BUF_INIT;

	buf_text(&reasons, "");
	decided_add_reasons(d, "\n- ", "", &reasons);
	buf_format(out, "::%s title=assay%%3A %s of ", annotation_level(d), decision_text(d->decision));
	add_text(d->application, "%:,", out);
	buf_text(out, "::");
	add_text(text, "%", out);
	add_text(reasons.bytes, "%", out);
	buf_char(out, '\n');
	buf_release(&reasons);
	free(text);
}

void render_github(const struct document *d, const struct doc_style *style, struct buf *out)
{
	struct decisions all;

	(void)style;
	decisions_collect(d, &all);
	for (size_t i = 0; i < all.n; i++)
		add_command(&all.items[i], out);
	for (size_t i = 0; i < all.notes.n; i++) {
		buf_text(out, "::notice title=assay::");
		add_text(all.notes.items[i].text, "%", out);
		buf_char(out, '\n');
	}
	decisions_release(&all);
}
