/* A number in lines of text. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/metric_internal.h"

#define LINE_BYTES_MAX 65536 /* longer lines are skipped: matching may take the square of their length */

static enum assay_status take_group(const char *line, const regmatch_t *group, size_t number, struct metric_values *out,
                                    struct assay_error *err)
{
	char where[32], shown[TEXT_SHOWN_BYTES], *text;
	enum assay_status st = ASSAY_OK;
	double value = 0;

	snprintf(where, sizeof(where), "line %zu", number);
	if (group->rm_so < 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s matches, but the pattern's group is not part of the match", where);
	text = mem_bytes(line + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
	if (!text_double(text, &value))
		st = assay_fail(err, ASSAY_E_NODATA, "%s: '%s' is not a number", where, text_shown(text, shown));
	free(text);
	return st ? st : metric_add(out, value, where, err);
}

/* The first match of one line; a NUL in it is a character as any other. */
static enum assay_status read_line(const struct metric *metric, const struct buf *line, size_t number, struct metric_values *out,
                                   struct assay_error *err)
{
	regmatch_t groups[2] = {{0, (regoff_t)line->size}, {-1, -1}};

	if (regexec(&metric->regex, line->bytes, 2, groups, REG_STARTEND))
		return ASSAY_OK;
	return take_group(line->bytes, &groups[1], number, out, err);
}

enum assay_status metric_read_lines(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
                                    struct assay_error *err)
{
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st = ASSAY_OK;
	const char *end = output + n;
	struct buf line = BUF_INIT; /* regexec() wants texts that end with a NUL */
	size_t number = 0;

	for (const char *at = output, *next; !st && at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		next = newline ? newline + 1 : end;
		number++;
		if (length && at[length - 1] == '\r')
			length--;
		if (length > LINE_BYTES_MAX)
			continue;
		buf_clear(&line);
		buf_add(&line, at, length);
		st = read_line(metric, &line, number, out, err);
	}
	buf_release(&line);
	if (!st && out->n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "none of the %zu line%s that it printed matches '%s'", number,
		                text_plural(number), text_shown(metric->pattern, shown));
	return st;
}
