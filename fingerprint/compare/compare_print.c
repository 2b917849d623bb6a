#include "fingerprint/compare/compare_print.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"

#include <math.h>

void compare_print_table(const struct compare *compare, size_t rows, const char *indent, struct buf *out)
{
	char *first = mem_format("%sstressor", indent);
	const char *const headings[] = { first, "before/s", "after/s", "ratio", "interval", "category" };
	size_t *order = mem_new(compare->n, sizeof(size_t)), n = compare_largest(compare, order);
	struct table table;

	table_init(&table, "lrrrll", headings);
	for (size_t i = 0; i < n && i < rows; i++) {
		const struct compare_row *row = &compare->rows[order[i]];

		table_cell(&table, "%s%s", indent, row->stressor);
		table_cell(&table, "%.5g", row->medians[0]);
		table_cell(&table, "%.5g", row->medians[1]);
		table_cell(&table, "%.3f", row->ratio);
		table_cell(&table, "%.3f to %.3f", row->low, row->high);
		table_cell(&table, "%s", category_name(stressor_category(row->stressor)));
	}
	if (n)
		table_print(&table, out);
	if (n > rows)
		buf_format(out, "%sand %zu more\n", indent, n - rows);
	table_release(&table);
	free(order);
	free(first);
}

/* The relative difference that a stressor of middling noise would have to show. */
static double visible(const struct compare *compare)
{
	double *halves = mem_new(compare->n, sizeof(double)), median;
	size_t n = 0;

	for (size_t i = 0; i < compare->n; i++) {
		if (!isnan(compare->rows[i].noise))
			halves[n++] = log(compare->rows[i].high / compare->rows[i].ratio);
	}
	median = n ? stats_median(halves, n) : (double)NAN;
	free(halves);
	return expm1(median);
}

static void print_missing(const struct compare *compare, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		if (isnan(row->ratio))
			buf_format(out, "%s%s", n++ ? ", " : "; not measured in both: ", row->stressor);
	}
}

void compare_print_rest(const struct compare *compare, struct buf *out)
{
	size_t rest = compare->compared - compare->differing;

	if (!compare->has_noise)
		buf_format(out, "Nothing can be said of %zu stressor%s: the noise of one pass is not known", rest, text_plural(rest));
	else if (rest == 0)
		buf_text(out, compare->compared ? "All stressors differ" : "No stressor was measured in both");
	else
		buf_format(out, "%zu of %zu stressors do not differ beyond the noise of both (differences of about %.0f %% would show)", rest,
			   compare->compared, 100 * visible(compare));
	print_missing(compare, out);
	buf_char(out, '\n');
}

cJSON *compare_rows_json(const struct compare *compare)
{
	static const char *const medians[2] = { "before", "after" }, *const reasons[2] = { "before_not_measured", "after_not_measured" };
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "stressor", row->stressor);
		for (int k = 0; k < 2; k++) {
			json_add_number(object, medians[k], row->medians[k]);
			if (row->reasons[k])
				cJSON_AddStringToObject(object, reasons[k], row->reasons[k]);
		}
		json_add_number(object, "ratio", row->ratio);
		json_add_number(object, "low", row->low);
		json_add_number(object, "high", row->high);
		json_add_number(object, "noise", row->noise);
		cJSON_AddBoolToObject(object, "differs", row->differs);
	}
	return list;
}
