/* machines.csv of the data package: hardware, into the catalog. */
#include "runs/running/quiho.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/machine.h"

enum {
	HARDWARE_MACHINE,
	HARDWARE_VENDOR,
	HARDWARE_CORES,
	HARDWARE_SOCKETS,
	HARDWARE_THREADS,
	HARDWARE_BOARD_NAME,
	HARDWARE_BOARD_SERIAL,
	HARDWARE_BOARD_UUID,
	HARDWARE_COLUMNS
};

#define COUNT_MAX 65536

/* R's NA and Python's None stand for what was not known. */
static void quiho_set_known(char **out, const char *text)
{
	if (!*text || strcmp(text, "NA") == 0 || strcmp(text, "None") == 0)
		return;
	free(*out);
	*out = mem_string(text);
}

static enum assay_status quiho_read_count(const struct csv *csv, const char *what, const char *text, int64_t *out, struct assay_error *err)
{
	int64_t value;

	if (!*text || strcmp(text, "NA") == 0)
		return ASSAY_OK;
	if (!text_int64(text, &value) || value < 0 || value > COUNT_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s is '%s', not a number from 0 to %d", csv->name, csv->line, what,
				  TEXT_SHOWN(text), COUNT_MAX);
	*out = value;
	return ASSAY_OK;
}

static enum assay_status quiho_read_machine(const struct csv *csv, const size_t *index, struct machine_identity *identity,
					    struct assay_error *err)
{
	char *const *fields = csv->fields;
	enum assay_status st = quiho_read_count(csv, "cores", fields[index[HARDWARE_CORES]], &identity->cores_per_socket, err);

	if (!st)
		st = quiho_read_count(csv, "num_cpus", fields[index[HARDWARE_SOCKETS]], &identity->sockets, err);
	if (!st)
		st = quiho_read_count(csv, "threads_per_core", fields[index[HARDWARE_THREADS]], &identity->threads_per_core, err);
	quiho_set_known(&identity->cpu_vendor, fields[index[HARDWARE_VENDOR]]);
	quiho_set_known(&identity->board_name, fields[index[HARDWARE_BOARD_NAME]]);
	quiho_set_known(&identity->board_serial, fields[index[HARDWARE_BOARD_SERIAL]]);
	quiho_set_known(&identity->board_uuid, fields[index[HARDWARE_BOARD_UUID]]);
	return st;
}

enum assay_status quiho_machines_parse(const char *name, char *text, size_t n, struct catalog *catalog, size_t *known, size_t *unknown,
				       struct assay_error *err)
{
	static const char *const columns[HARDWARE_COLUMNS] = { "machine",	   "cpu",	 "cores",	 "num_cpus",
							       "threads_per_core", "board_name", "board_serial", "board_uuid" };
	size_t index[HARDWARE_COLUMNS];
	struct csv csv;
	bool more = true;
	enum assay_status st;

	csv_init(&csv, name, text, n);
	st = csv_header(&csv, columns, HARDWARE_COLUMNS, index, err);
	while (!st && !(st = csv_next(&csv, &more, err)) && more) {
		const char *machine = csv.fields[index[HARDWARE_MACHINE]];

		if (catalog_find(catalog, machine)) {
			st = quiho_read_machine(&csv, index, &catalog_machine(catalog, machine)->identity, err);
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
