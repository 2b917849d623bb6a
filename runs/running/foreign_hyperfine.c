#include "runs/running/foreign_reader.h"

/* Adds one time. `end` is the run's exit code, or JSON null if a signal ended the run; NULL if the file has no exit codes. */
static void hyperfine_add_time(struct foreign_reader *r, struct foreign_row row, const cJSON *time, const cJSON *end)
{
	if (end && cJSON_IsNull(end))
		foreign_row_fail(r, &row, EXECUTION_KILLED, "ended by a signal");
	else if (end && !(cJSON_IsNumber(end) && end->valuedouble == 0))
		foreign_row_fail(r, &row, EXECUTION_FAILED, "exit status %s",
				 cJSON_IsNumber(end) ? TEXT_DOUBLE(end->valuedouble) : "unknown");
	r->result->n_without_exit_code += !end;
	if (row.to.failure || foreign_row_value(r, &row, time, 1))
		foreign_row_add(r, row);
	else
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it is not a number", TEXT_SANITIZED(row.name));
}

static void hyperfine_add(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine)
{
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ "results", NULL, index, 0 }, machine);
	const cJSON *times = json_get(item, "times"), *time, *ends = json_get(item, "exit_codes"), *end = ends ? ends->child : NULL;
	int n_times = cJSON_GetArraySize(times), n_ends = cJSON_GetArraySize(ends);

	row.name = cJSON_GetStringValue(json_get(item, "command"));
	if (!row.name || !cJSON_IsArray(times)) {
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place,
				 "it is no object with 'command' and a list 'times'");
		return;
	}
	row.mark = foreign_benchmark_mark(r, NULL, json_get(item, "parameters"));
	row.benchmark_number = (double)index;
	row.to.place.item = "times";
	cJSON_ArrayForEach(time, times)
	{
		if (ends && n_ends != n_times)
			imported_exclude(&r->result->imported, IMPORTED_UNKNOWN_END, &row.to.place, "%s: it has %d times and %d exit codes",
					 TEXT_SANITIZED(row.name), n_times, n_ends);
		else
			hyperfine_add_time(r, row, time, end);
		end = end ? end->next : NULL;
		row.to.place.at++;
	}
}

enum assay_status foreign_hyperfine_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	return foreign_list_read(r, "results", "", hyperfine_add);
}
