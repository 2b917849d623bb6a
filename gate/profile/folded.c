#include "gate/profile/folded.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mean time of a run, in microseconds, of which levels are parts; 0: not known. */
static double time_us(const struct run_set *runs, const struct levels *levels)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct metric_usage *u = &runs->items[i].usage;

		if (u->wall_ns <= 0)
			continue;
		sum += fmax((double)u->wall_ns / 1e3, (double)u->user_us + (double)u->sys_us);
		n++;
	}
	return n && levels->runs ? sum / (double)n * (1 - fmin(fmax(levels->delay, 0), 1)) : 0;
}

struct line {
	enum level of;
	const char *name;     /* borrowed; NULL: what of the level is in no part */
	const char *function; /* likewise, of the part */
	double us[2];
};

struct lines {
	struct line *items;
	size_t n, capacity;
};

/* None before any. */
static int compare_names(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = x->of != y->of ? (x->of > y->of) - (x->of < y->of) : compare_names(x->name, y->name);

	return order ? order : compare_names(x->function, y->function);
}

static double *time_of(struct lines *lines, int side, enum level of, const char *name, const char *function)
{
	struct line wanted = { .of = of, .name = name, .function = function };

	for (size_t i = 0; i < lines->n; i++) {
		if (compare_lines(&lines->items[i], &wanted) == 0)
			return &lines->items[i].us[side];
	}
	lines->items = mem_grow(lines->items, lines->n, &lines->capacity, sizeof(*lines->items));
	lines->items[lines->n] = wanted;
	return &lines->items[lines->n++].us[side];
}

/* Each part without those below it. */
static void add_side(const struct stored_time *stored, double us, int side, struct lines *lines)
{
	for (size_t i = 0; i < stored->parts.n; i++) {
		const struct part *part = &stored->parts.items[i];
		double of_part = us * part->share;

		switch (part->depth) {
		case PART_TIME:
			*time_of(lines, side, part->of, NULL, NULL) += of_part;
			break;
		case PART_CATEGORY:
			*time_of(lines, side, part->of, part->name, NULL) += of_part;
			*time_of(lines, side, part->of, NULL, NULL) -= of_part;
			break;
		default:
			*time_of(lines, side, part->of, part->category, part->name) += of_part;
			*time_of(lines, side, part->of, part->category, NULL) -= of_part;
		}
	}
}

/* ';' divides frames, and the numbers stand behind the last blank. */
static void add_frame(const char *text, struct buf *out)
{
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control(text);
		buf_char(out, control || *text == ';' ? '_' : *text);
	}
}

size_t folded_difference(const struct run_set runs[2], struct stored_time *const stored[2], struct buf *out)
{
	struct lines lines = { .n = 0 };
	size_t written = 0;

	for (int side = 0; side < 2; side++) {
		double us = time_us(&runs[side], &stored[side]->levels);

		if (us > 0)
			add_side(stored[side], us, side, &lines);
	}
	order_sort(lines.items, lines.n, compare_lines);
	for (size_t i = 0; i < lines.n; i++) {
		const struct line *line = &lines.items[i];
		int64_t us[2] = { llround(fmax(line->us[0], 0)), llround(fmax(line->us[1], 0)) };

		if (!us[0] && !us[1])
			continue;
		add_frame(runs[1].application, out);
		buf_format(out, ";%s", level_text(line->of));
		for (int k = 0; k < 2; k++) {
			const char *frame = k ? line->function : line->name;

			buf_text(out, frame ? ";" : "");
			add_frame(frame ? frame : "", out);
		}
		buf_format(out, " %" PRId64 " %" PRId64 "\n", us[0], us[1]);
		written++;
	}
	free(lines.items);
	return written;
}
