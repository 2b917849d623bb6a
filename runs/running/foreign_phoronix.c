#include "base/digest.h"
#include "runs/running/foreign_reader.h"

#include <ctype.h>

/* Returns the time of the system `measured`; NULL if no system before the results has one. Sets *n to the number of systems. */
static const char *phoronix_time(const cJSON *root, const char *measured, size_t *n)
{
	const char *time = "";

	*n = 0;
	for (const cJSON *child = root->child; child && strcmp(child->string, "Result") != 0; child = child->next) {
		*n += strcmp(child->string, "System") == 0;
		if (!*time && strcmp(foreign_xml_text(child, "Identifier"), measured) == 0)
			time = foreign_xml_text(child, "TimeStamp");
	}
	return *time ? time : NULL;
}

/* Returns a mark from the arguments and the unit of a result. Results may share a description; the suite itself compares only those with
 * equal arguments and units. A hash replaces arguments that are not valid in a name. */
static const char *phoronix_mark(struct foreign_reader *r, const cJSON *result)
{
	const char *arguments = foreign_xml_text(result, "Arguments"), *scale = foreign_xml_text(result, "Scale");
	char *parts[2], hash[DIGEST_ID_BYTES];
	size_t n = 0;

	digest_id(arguments, strlen(arguments), hash);
	if (*arguments)
		parts[n++] = strlen(arguments) < RUN_NAME_BYTES_MAX / 2 && !run_name_fault(arguments) ? mem_string(arguments)
												      : mem_format("arguments %s", hash);
	if (*scale)
		parts[n++] = mem_string(scale);
	return foreign_mark(r, parts, n);
}

/* Adds the repetitions of an entry, such as "12.5:12.6:12.4" or "PASS,FAIL"; without such a text, its single value. `row` has the name of
 * the result and the program's version. */
static void phoronix_entry(struct foreign_reader *r, struct foreign_row row, const cJSON *entry)
{
	const char *raw = foreign_xml_text(entry, "RawString"), *measured = foreign_xml_text(entry, "Identifier"),
		   *version = row.to.version;
	char *values = mem_string(*raw ? raw : foreign_xml_text(entry, "Value")), *rest = values, *value;
	const char *between = isalpha((unsigned char)*values) ? ":," : ":", *time;
	size_t systems;

	time = phoronix_time(r->result->root, measured, &systems);
	row.benchmark_number = (double)row.to.place.line * FOREIGN_INSTANCES_MAX + (double)row.to.place.at;
	row.to.machine = foreign_machine(r, measured);
	/* One machine for several systems means that the systems are versions: kernels, compilers or settings on that machine. */
	row.to.version = r->options->machine && systems > 1 ? measured : r->options->is_version_given ? "" : version;
	while ((value = strsep(&rest, between))) {
		struct foreign_row one = row;

		one.texts.result = foreign_own_text(r, mem_string(value));
		if (!row.to.machine)
			imported_exclude(&r->result->imported, IMPORTED_BAD_NAME, &row.to.place, FOREIGN_NO_MACHINE);
		else if (strchr(value, ',')) /* values that a monitor took over time */
			imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "%s: a series of values",
					 TEXT_SANITIZED(row.name));
		else if (foreign_row_time(r, &one, time))
			foreign_row_add_text(r, one, value);
	}
	free(values);
}

static void phoronix_result(struct foreign_reader *r, const cJSON *result, struct imported_place place)
{
	const char *identifier = foreign_xml_text(result, "Identifier"), *description = foreign_xml_text(result, "Description"),
		   *proportion = foreign_xml_text(result, "Proportion");
	struct foreign_row row = foreign_row_init(r, place, NULL);
	const cJSON *data, *entry;

	row.name = foreign_own_text(
	    r, mem_format("%s%s%s", *identifier ? identifier : foreign_xml_text(result, "Title"), *description ? "/" : "", description));
	row.mark = phoronix_mark(r, result);
	row.to.version = foreign_xml_text(result, "AppVersion");
	row.texts.direction = strcmp(proportion, "HIB") == 0 ? "higher" : strcmp(proportion, "LIB") == 0 ? "lower" : "";
	cJSON_ArrayForEach(data, result) cJSON_ArrayForEach(entry, data)
	{
		if (strcmp(data->string, "Data") == 0 && strcmp(entry->string, "Entry") == 0) {
			phoronix_entry(r, row, entry);
			row.to.place.at++;
		}
	}
}

enum assay_status foreign_phoronix_read(struct foreign_reader *r, char *text, size_t n)
{
	struct imported_place place = { "Result", "Entry", 0, 0 };
	const cJSON *child;

	(void)text, (void)n;
	cJSON_ArrayForEach(child, r->result->root)
	{
		if (strcmp(child->string, "Result") == 0) {
			phoronix_result(r, child, place);
			place.line++;
		}
	}
	return ASSAY_OK;
}
