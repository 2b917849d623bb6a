/* Types given from outside. */
#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"

enum { MACHINE, TIMESTAMP, TYPE, COLUMNS };

#define TYPE_BYTES_MAX 200

static size_t give(struct catalog *catalog, const char *machine, int64_t taken_ms, const char *type, const char *given_by)
{
	size_t given = 0;

	for (size_t i = 0; i < catalog->n; i++) {
		struct machine *m = &catalog->machines[i];

		for (size_t k = 0; strcmp(m->id, machine) == 0 && k < m->n_fingerprints; k++) {
			struct machine_fingerprint *f = &m->fingerprints[k];

			if (f->taken_ms != taken_ms)
				continue;
			free(f->type);
			free(f->type_given_by);
			f->type = mem_string(type);
			f->type_given_by = mem_string(given_by);
			given++;
		}
	}
	return given;
}

static enum assay_status read_row(const struct csv *csv, const size_t *index, struct catalog *catalog, size_t *used, size_t *unknown,
				  struct assay_error *err)
{
	const char *machine = csv->fields[index[MACHINE]], *timestamp = csv->fields[index[TIMESTAMP]], *type = csv->fields[index[TYPE]];
	const char *slash = strrchr(csv->name, '/'), *given_by = slash ? slash + 1 : csv->name;
	char shown[TEXT_SHOWN_BYTES];
	int64_t taken_ms;

	if (machine_check_id(machine, err))
		return assay_context(err, "%s:%zu", csv->name, csv->line);
	if (!text_timestamp_ms(timestamp, &taken_ms))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: timestamp '%s' is not seconds or milliseconds since 1970", csv->name, csv->line,
				  text_shown(timestamp, shown));
	if (!*type || strlen(type) > TYPE_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: a type must have 1 to %d bytes", csv->name, csv->line, TYPE_BYTES_MAX);
	if (!text_is_utf8(given_by, strlen(given_by)))
		given_by = "a file of types"; /* a file's name may have any bytes, JSON may not */
	if (give(catalog, machine, taken_ms, type, given_by))
		(*used)++;
	else
		(*unknown)++;
	return ASSAY_OK;
}

enum assay_status types_read_file(const char *name, char *text, size_t n, struct catalog *catalog, size_t *used, size_t *unknown,
				  struct assay_error *err)
{
	static const char *const columns[COLUMNS] = { "machine", "timestamp", "type" };
	size_t index[COLUMNS];
	bool more = true;
	struct csv csv;
	enum assay_status st;

	*used = *unknown = 0;
	csv_init(&csv, name, text, n);
	st = csv_header(&csv, columns, COLUMNS, index, err);
	while (!st) {
		st = csv_next(&csv, &more, err);
		if (st || !more)
			break;
		st = read_row(&csv, index, catalog, used, unknown, err);
	}
	csv_release(&csv);
	return st;
}
