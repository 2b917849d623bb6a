#include "runs/running/foreign_reader.h"

#include <time.h>

#define STARTED "# started on " /* start of the header that `perf stat -o` writes for each measurement */

/* Reports whether an event has this name, with or without modifiers such as ":u". */
static bool is_event(const cJSON *item, const char *name)
{
	const char *event = json_get_text(item, "event");
	size_t n = strlen(name);

	return strncmp(event, name, n) == 0 && (!event[n] || event[n] == ':');
}

/* Returns the name of the event that is the result: the user's, else the run's time or CPU time. Returns NULL if the file has neither. */
static const char *choose_event(const struct foreign_reader *r, const cJSON *first)
{
	static const char *const events[] = { "duration_time", "task-clock", "cpu-clock" };

	if (r->options->metric)
		return r->options->metric;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		for (const cJSON *item = first; item; item = item->next)
			if (is_event(item, events[i]))
				return events[i];
	return NULL;
}

/* Returns the member that shows that a count is only of a part of the run; NULL if it is of the whole run. */
static const char *counter_part(const cJSON *item)
{
	static const char *const parts[] = { "interval", "cpu", "core", "die", "socket", "node", "thread", "cgroup", "cluster", "cache" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (json_get(item, parts[i]))
			return parts[i];
	return NULL;
}

static void perf_add(struct foreign_reader *r, const cJSON *item, struct foreign_row row, const char *started)
{
	const char *count = json_get_text(item, "counter-value");
	double unit = foreign_unit_seconds(json_get_text(item, "unit")), value;
	struct imported *imported = &r->result->imported;

	r->has_metric = true;
	if (counter_part(item))
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "it counts only a part of the run ('%s')", counter_part(item));
	else if (*count == '<')
		imported_exclude(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s: %s", row.to.metric, TEXT_SANITIZED(count));
	else if (foreign_row_time(r, &row, started)) {
		row.texts.result =
		    text_parse_double(count, &value) ? foreign_own_text(r, mem_string(TEXT_DOUBLE(value * (unit > 0 ? unit : 1)))) : count;
		foreign_row_add(r, row);
	}
}

enum assay_status foreign_perf_read(struct foreign_reader *r, char *text, size_t n)
{
	const cJSON *item = cJSON_IsArray(r->result->root) ? r->result->root->child : r->result->root;
	const char *event = choose_event(r, item), *machine = foreign_machine(r, ""), *started = NULL;
	size_t line = 0;

	if (!machine)
		return foreign_fail_no_machine(r);
	if (!r->options->application)
		return assay_fail(r->err, ASSAY_E_USAGE, "%s does not name the application: give it with --application NAME",
				  r->options->name);
	if (!event)
		return assay_fail(r->err, ASSAY_E_USAGE,
				  "%s has no event duration_time, task-clock or cpu-clock: --metric EVENT names another", r->options->name);
	for (size_t at = 0, next; at < n; at = next) {
		size_t length = foreign_line_length(text, n, at, &next);
		struct tm tm = { .tm_year = 0 };
		char date[TEXT_DATE_BYTES];

		line++;
		if (strncmp(text + at, STARTED, strlen(STARTED)) == 0 && strptime(text + at + strlen(STARTED), "%a %b %d %H:%M:%S %Y", &tm))
			started = foreign_own_text(r, mem_string(text_from_ms((int64_t)timegm(&tm) * 1000, date)));
		if (!length || text[at] != '{' || !item)
			continue;
		if (is_event(item, event)) {
			struct foreign_row row;

			r->at = at;
			row = foreign_row_init(r, (struct imported_place){ .line = line }, machine);
			row.name = r->options->application;
			row.to.metric = event;
			perf_add(r, item, row, started);
		}
		item = item->next;
	}
	return ASSAY_OK;
}
