#include "runs/running/foreign_reader.h"

/* Returns the file's commit, with "-dirty" if the work tree had changes; "" if there is none, or if the user names a version. */
static const char *read_commit(struct foreign_reader *r)
{
	const cJSON *commit = json_get(r->result->root, "commit_info");
	const char *id = json_get_text(commit, "id");

	if (r->options->is_version_given || !*id || strcmp(id, "unversioned") == 0 || strcmp(id, "unknown") == 0)
		return "";
	return cJSON_IsTrue(json_get(commit, "dirty")) ? foreign_own_text(r, mem_format("%s-dirty", id)) : id;
}

static void pytest_add(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine)
{
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ "benchmarks", NULL, index, 0 }, machine);
	const cJSON *stats = json_get(item, "stats"), *rounds = json_get(stats, "data"), *mean = json_get(stats, "mean");
	struct imported *imported = &r->result->imported;

	row.name = cJSON_GetStringValue(json_get(item, "fullname"));
	row.benchmark_number = (double)index;
	row.to.version = read_commit(r);
	if (!row.name) {
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "it is no object with 'fullname'");
	} else if (foreign_row_time(r, &row, cJSON_GetStringValue(json_get(r->result->root, "datetime")))) {
		row.to.place.item = cJSON_GetArraySize(rounds) ? "data" : NULL;
		if (row.to.place.item)
			foreign_samples_add(r, row, rounds, 1, NULL);
		else if (foreign_row_value(r, &row, mean, 1))
			foreign_row_add(r, row);
		else
			imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it has neither 'data' nor a 'mean'",
					 TEXT_SANITIZED(row.name));
	}
}

enum assay_status foreign_pytest_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	return foreign_list_read(r, "benchmarks", json_get_text(json_get(r->result->root, "machine_info"), "node"), pytest_add);
}
