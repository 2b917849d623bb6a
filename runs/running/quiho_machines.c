#include "runs/running/quiho_machines.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/quiho.h"

enum { MACHINE, VENDOR, CORES, SOCKETS, THREADS, BOARD_NAME, BOARD_SERIAL, BOARD_UUID, COLUMNS };

#define COUNT_MAX 65536

/* R's NA and Python's None stand for what was not known. */
static void take_text(char **out, const char *text)
{
	if (!*text || strcmp(text, "NA") == 0 || strcmp(text, "None") == 0)
		return;
	free(*out);
	*out = mem_string(text);
}

static enum assay_status take_count(const struct csv *csv, const char *what, const char *text, int64_t *out, struct assay_error *err)
{
	char shown[TEXT_SHOWN_BYTES];
	int64_t value;

	if (!*text || strcmp(text, "NA") == 0)
		return ASSAY_OK;
	if (!text_int64(text, &value) || value < 0 || value > COUNT_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s is '%s', not a number from 0 to %d", csv->name, csv->line, what,
				  text_shown(text, shown), COUNT_MAX);
	*out = value;
	return ASSAY_OK;
}

static enum assay_status read_row(const struct csv *csv, const size_t *index, struct machine_identity *identity, struct assay_error *err)
{
	char *const *fields = csv->fields;
	enum assay_status st = take_count(csv, "cores", fields[index[CORES]], &identity->cores_per_socket, err);

	if (!st)
		st = take_count(csv, "num_cpus", fields[index[SOCKETS]], &identity->sockets, err);
	if (!st)
		st = take_count(csv, "threads_per_core", fields[index[THREADS]], &identity->threads_per_core, err);
	take_text(&identity->cpu_vendor, fields[index[VENDOR]]);
	take_text(&identity->board_name, fields[index[BOARD_NAME]]);
	take_text(&identity->board_serial, fields[index[BOARD_SERIAL]]);
	take_text(&identity->board_uuid, fields[index[BOARD_UUID]]);
	return st;
}

enum assay_status quiho_machines_parse(const char *name, char *text, size_t n, struct catalog *catalog, size_t *known, size_t *unknown,
				       struct assay_error *err)
{
	static const char *const columns[COLUMNS] = { "machine",    "cpu",          "cores",     "num_cpus", "threads_per_core",
						      "board_name", "board_serial", "board_uuid" };
	size_t index[COLUMNS];
	struct csv csv;
	bool more = true;
	enum assay_status st;

	csv_init(&csv, name, text, n);
	st = csv_header(&csv, columns, COLUMNS, index, err);
	while (!st) {
		const char *machine;

		st = csv_next(&csv, &more, err);
		if (st || !more)
			break;
		machine = csv.fields[index[MACHINE]];
		if (catalog_find(catalog, machine)) {
			st = read_row(&csv, index, &catalog_machine(catalog, machine)->identity, err);
			(*known)++;
		} else {
			(*unknown)++;
		}
	}
	csv_release(&csv);
	return st;
}

enum assay_status quiho_machines_read(const char *directory, struct catalog *catalog, size_t *known, size_t *unknown,
				      struct assay_error *err)
{
	char *path = mem_format("%s/machines.csv", directory);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, QUIHO_FILE_BYTES_MAX, &text, err);

	*known = *unknown = 0;
	if (!st) {
		buf_add(&text, "", 0);
		st = quiho_machines_parse(path, text.bytes, text.size, catalog, known, unknown, err);
	} else if (st == ASSAY_E_NOTFOUND) {
		st = ASSAY_OK;
	}
	buf_release(&text);
	free(path);
	return st;
}
