#include "runs/running/foreign_reader.h"

/* Adds a benchmark with its mean as result; the file has it in ns, and has no samples. */
static void benchmark_add(struct foreign_reader *r, const cJSON *element, const char *within)
{
	struct foreign_row row = foreign_row_init(r, (struct imported_place){ .line = (size_t)element->valueint }, foreign_machine(r, ""));
	const char *mean = foreign_xml_text(json_get(element, "mean"), "@value");
	const cJSON *failed = json_get(element, "failed");
	double ns;

	row.name = foreign_own_text(r, mem_format("%s%s", within, foreign_xml_text(element, "@name")));
	row.benchmark_number = (double)r->result->n_rows;
	if (failed)
		foreign_row_fail(r, &row, EXECUTION_FAILED, "%s", foreign_xml_text(failed, "@message"));
	else
		row.texts.result = text_parse_double(mean, &ns) ? foreign_own_text(r, mem_string(TEXT_DOUBLE(ns * 1e-9))) : mean;
	if (failed || *mean)
		foreign_row_add(r, row);
	else
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it has no mean", TEXT_SANITIZED(row.name));
}

/* Adds the benchmarks below an element. `within` is the prefix of their names: "TEST CASE/SECTION/". */
static void element_read(struct foreign_reader *r, const cJSON *element, const char *within)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, element)
	{
		bool names = strcmp(child->string, "TestCase") == 0 || strcmp(child->string, "Section") == 0;

		if (strcmp(child->string, "BenchmarkResults") == 0)
			benchmark_add(r, child, within);
		else if (names)
			element_read(r, child, foreign_own_text(r, mem_format("%s%s/", within, foreign_xml_text(child, "@name"))));
		else
			element_read(r, child, within);
	}
}

enum assay_status foreign_catch2_read(struct foreign_reader *r, char *text, size_t n)
{
	(void)text, (void)n;
	if (!foreign_machine(r, ""))
		return foreign_fail_no_machine(r);
	element_read(r, r->result->root, "");
	return ASSAY_OK;
}
