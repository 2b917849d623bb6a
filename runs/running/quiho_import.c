#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/types.h"
#include "runs/running/metric_rule.h"
#include "runs/running/quiho.h"
#include "runs/running/quiho_machines.h"
#include "runs/running/run.h"

#include <math.h>

#define UNKNOWN "unknown"

/* A row with the name of what it measures, in the order in which it is stored. */
struct item {
	const struct quiho_row *row;
	char *name;          /* of the stressor or the application */
	const char *version; /* of the application */
	bool fingerprint;
};

static struct item item_of(const struct quiho_row *row, const char *version)
{
	struct item item = { row, NULL, *row->version ? row->version : version, strcmp(row->benchmark, QUIHO_STRESSNG) == 0 };

	if (item.fingerprint)
		item.name = mem_string(*row->test ? row->test : "null");
	else
		item.name = quiho_application(row->benchmark, row->test);
	return item;
}

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_key(const struct item *a, const struct item *b)
{
	int order;

	if (a->fingerprint != b->fingerprint)
		return a->fingerprint ? -1 : 1;
	if ((order = strcmp(a->row->machine, b->row->machine)))
		return order;
	if (a->row->taken_ms != b->row->taken_ms)
		return a->row->taken_ms < b->row->taken_ms ? -1 : 1;
	if (a->row->repetition != b->row->repetition)
		return a->row->repetition < b->row->repetition ? -1 : 1;
	if ((order = strcmp(a->name, b->name)))
		return order;
	return a->fingerprint ? 0 : strcmp(a->version, b->version);
}

static int compare_source(const struct quiho_row *a, const struct quiho_row *b)
{
	int order = strcmp(a->url, b->url);

	if (!order)
		order = strcmp(a->revision, b->revision);
	return order ? order : strcmp(a->user, b->user);
}

/* Values of one key stand in ascending order, so that the order of rows in the file changes nothing. */
static int compare_item(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int order = compare_key(a, b);

	if (!order)
		order = compare_numbers(a->row->value, b->row->value);
	return order ? order : compare_source(a->row, b->row);
}

struct import {
	struct store *store;
	const char *file;
	struct item *items; /* [n] */
	size_t n;
	char battery_hash[DIGEST_HEX_BYTES];
	struct fingerprint_writer fingerprints;
	struct run_writer runs;
	struct quiho_import_result result;
};

/* The id of a source row, made where it is missing. Rows of one source stand together, mostly: the last one is remembered. */
static enum assay_status source_id(struct import *im, const struct quiho_row *row, const struct quiho_row **last, int64_t *id,
				   struct assay_error *err)
{
	static const char *const statements[] = { "INSERT INTO source (url, revision, user) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
						  "SELECT id FROM source WHERE url = ? AND revision = ? AND user = ?" };
	enum assay_status st = ASSAY_OK;

	if (*last && compare_source(*last, row) == 0)
		return ASSAY_OK;
	for (int i = 0; !st && i < 2; i++) {
		sqlite3_stmt *stmt = NULL;
		bool found;

		st = store_prepare(im->store, statements[i], &stmt, err);
		if (!st) {
			store_bind(stmt, "ttt", row->url, row->revision, row->user);
			st = store_step(im->store, stmt, &found, err);
		}
		if (!st && found)
			*id = sqlite3_column_int64(stmt, 0);
		sqlite3_finalize(stmt);
	}
	*last = row;
	return st;
}

static enum assay_status write_rate(struct import *im, const struct item *item, bool new_session, int64_t ordinal, int64_t source,
				    struct assay_error *err)
{
	const struct quiho_row *row = item->row;
	struct fingerprint_key key = { row->machine, QUIHO_BATTERY, im->battery_hash, UNKNOWN, UNKNOWN, row->taken_ms };
	char id[FINGERPRINT_ID_BYTES];
	enum assay_status st = ASSAY_OK;

	fingerprint_id(&key, id);
	if (new_session)
		st = fingerprint_write(&im->fingerprints, &key, "imported", source, err);
	im->result.recorded_zeros += row->value == 0;
	return st ? st : fingerprint_write_rate(&im->fingerprints, id, row->repetition, item->name, ordinal, row->value, (double)NAN, err);
}

static enum assay_status write_items(struct import *im, struct assay_error *err)
{
	const struct quiho_row *last_source = NULL;
	int64_t ordinal = 0, source = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < im->n; i++) {
		const struct item *item = &im->items[i], *before = i ? &im->items[i - 1] : NULL;
		const struct quiho_row *row = item->row;
		bool new_machine = !before || strcmp(before->row->machine, row->machine) != 0;

		ordinal = before && compare_key(before, item) == 0 ? ordinal + 1 : 0;
		st = source_id(im, row, &last_source, &source, err);
		if (!st && item->fingerprint) {
			im->result.machines += new_machine;
			st = write_rate(im, item, new_machine || before->row->taken_ms != row->taken_ms, ordinal, source, err);
		} else if (!st) {
			struct run_key key = { item->name, item->version, row->machine, row->taken_ms, row->repetition, ordinal };

			st = run_write(&im->runs, &key, row->value, source, err);
		}
		if (st)
			assay_context(err, "%s:%zu", im->file, row->line);
	}
	return st;
}

static int compare_names(const void *a, const void *b)
{
	const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->row->line > y->row->line) - (x->row->line < y->row->line);
}

/* One application has one direction. */
static enum assay_status write_directions(struct import *im, struct assay_error *err)
{
	const struct item **items = mem_new(im->n, sizeof(*items));
	enum assay_status st = ASSAY_OK;
	size_t n = 0;

	for (size_t i = 0; i < im->n; i++) {
		if (!im->items[i].fingerprint && im->items[i].row->direction)
			items[n++] = &im->items[i];
	}
	if (n)
		qsort(items, n, sizeof(*items), compare_names);
	for (size_t i = 0; !st && i < n; i++) {
		const struct quiho_row *row = items[i]->row, *before = i ? items[i - 1]->row : NULL;

		if (!before || strcmp(items[i - 1]->name, items[i]->name) != 0)
			st = metric_rule_put_name(im->store, items[i]->name, row->direction == QUIHO_HIGHER, err);
		else if (before->direction != row->direction)
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: higher is better for '%s' in one of lines %zu and %zu, and lower in the other",
					im->file, row->line, items[i]->name, before->line, row->line);
	}
	free(items);
	return st;
}

static enum assay_status write_rules(struct import *im, const struct quiho_import_options *options, struct assay_error *err)
{
	enum assay_status st = write_directions(im, err);

	for (size_t i = 0; !st && i < options->n_rules; i++)
		st = metric_rule_put(im->store, options->rules[i].glob, options->rules[i].higher_is_better, err);
	return st;
}

/* A fingerprint keeps the source of its first row, and what was known before keeps its own: the others are not of use. */
static enum assay_status drop_unused_sources(struct import *im, struct assay_error *err)
{
	static const char sql[] = "DELETE FROM source WHERE id NOT IN (SELECT source FROM fingerprint WHERE source IS NOT NULL "
				  "UNION SELECT source FROM run WHERE source IS NOT NULL)";
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(im->store, sql, &stmt, err);

	if (!st)
		st = store_step(im->store, stmt, &row, err);
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status write_store(struct import *im, const struct quiho_import_options *options, struct assay_error *err)
{
	enum assay_status st = fingerprint_writer_init(im->store, &im->fingerprints, err);

	if (!st)
		st = run_writer_init(im->store, &im->runs, err);
	if (!st)
		st = write_items(im, err);
	if (!st)
		st = drop_unused_sources(im, err);
	if (!st)
		st = write_rules(im, options, err);
	if (!st)
		st = run_join_imported(im->store, err);
	im->result.fingerprints_added = im->fingerprints.added;
	im->result.fingerprints_known = im->fingerprints.known;
	im->result.rates_added = im->fingerprints.rates_added;
	im->result.rates_known = im->fingerprints.rates_known;
	im->result.runs_added = im->runs.added;
	im->result.runs_known = im->runs.known;
	fingerprint_writer_release(&im->fingerprints);
	run_writer_release(&im->runs);
	return st;
}

static enum assay_status count_runs(struct import *im, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(im->store,
					     "SELECT count(DISTINCT application), sum(fingerprint IS NULL) FROM run WHERE source IS NOT NULL",
					     &stmt, err);

	if (!st)
		st = store_step(im->store, stmt, &row, err);
	if (!st && row) {
		im->result.applications = (size_t)sqlite3_column_int64(stmt, 0);
		im->result.runs_without_fingerprint = (size_t)sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return st;
}

/* Passes of this battery that lack a stressor which another pass of it has. */
static size_t count_incomplete(const struct fingerprint_set *set)
{
	bool *occurs = mem_new(set->n_stressors, sizeof(bool));
	size_t incomplete = 0;

	for (int counting = 0; counting < 2; counting++) {
		for (size_t i = 0; i < set->n; i++) {
			const struct fingerprint *f = &set->items[i];

			for (size_t pass = 0; strcmp(f->battery, QUIHO_BATTERY) == 0 && pass < f->n_passes; pass++) {
				bool lacks = false;

				for (size_t j = 0; j < set->n_stressors; j++) {
					bool present = !isnan(fingerprint_rate(set, f, pass, j));

					occurs[j] = occurs[j] || present;
					lacks = lacks || (occurs[j] && !present);
				}
				incomplete += counting && lacks;
			}
		}
	}
	free(occurs);
	return incomplete;
}

static enum assay_status read_types(const char *path, struct catalog *catalog, struct quiho_import_result *result, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, QUIHO_FILE_BYTES_MAX, &text, err);

	if (!st) {
		buf_add(&text, "", 0);
		st = types_read_file(path, text.bytes, text.size, catalog, &result->types_given, &result->types_unknown, err);
	}
	buf_release(&text);
	return st;
}

/* Everything that goes into the files of the catalog, in memory; nothing is written yet. */
static enum assay_status update_catalog(struct import *im, const struct quiho_import_options *options, struct catalog *catalog,
					struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	enum assay_status st = fingerprint_load(im->store, &set, err);

	if (!st) {
		im->result.incomplete_passes = count_incomplete(&set);
		catalog_put(catalog, &set);
	}
	if (!st)
		st = quiho_machines_read(options->directory, catalog, &im->result.hardware_known, &im->result.hardware_unknown, err);
	if (!st && options->types_file)
		st = read_types(options->types_file, catalog, &im->result, err);
	fingerprint_set_release(&set);
	return st;
}

/* Says why no row of the file can be used. */
static enum assay_status nothing_usable(const char *file, const struct quiho *quiho, struct assay_error *err)
{
	struct buf why = BUF_INIT;
	size_t rows = 0;
	enum assay_status st;

	for (int i = 0; i < QUIHO_SKIPS; i++) {
		rows += quiho->skipped[i].count;
		if (quiho->skipped[i].count)
			buf_format(&why, "; %zu: %s (first in line %zu)", quiho->skipped[i].count, quiho_skip_text((enum quiho_skip)i),
				   quiho->skipped[i].first_line);
	}
	if (rows == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: there are no rows behind the header", file);
	else
		st = assay_fail(err, ASSAY_E_NODATA, "%s: none of its %zu rows can be used%s", file, rows, why.bytes);
	buf_release(&why);
	return st;
}

static void fill_items(struct import *im, const struct quiho *quiho, const char *version)
{
	im->items = mem_new(quiho->n, sizeof(*im->items));
	im->n = quiho->n;
	for (size_t i = 0; i < quiho->n; i++)
		im->items[i] = item_of(&quiho->rows[i], version);
	qsort(im->items, im->n, sizeof(*im->items), compare_item);
	im->result.rows = quiho->n;
	for (int i = 0; i < QUIHO_SKIPS; i++) {
		im->result.rows += quiho->skipped[i].count;
		im->result.skipped[i] = quiho->skipped[i].count;
		im->result.skipped_line[i] = quiho->skipped[i].first_line;
	}
}

enum assay_status quiho_import(struct lab *lab, const struct quiho_import_options *options, struct quiho_import_result *out,
			       struct assay_error *err)
{
	char *path = mem_format("%s/results.csv", options->directory);
	struct import im = { .store = &lab->store, .file = path };
	struct catalog catalog = { 0 };
	struct quiho quiho = { 0 };
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, QUIHO_FILE_BYTES_MAX, &text, err);

	/* What was run in 2017, with which arguments, is known by name only. */
	digest_sha256(QUIHO_BATTERY, strlen(QUIHO_BATTERY), im.battery_hash);
	im.battery_hash[FINGERPRINT_ID_BYTES - 1] = '\0';
	if (!st) {
		buf_add(&text, "", 0);
		st = quiho_parse(path, text.bytes, text.size, &quiho, err);
	}
	if (!st && quiho.n == 0)
		st = nothing_usable(path, &quiho, err);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st) {
		fill_items(&im, &quiho, options->version);
		st = store_begin(im.store, err);
	}
	if (!st)
		st = write_store(&im, options, err);
	if (!st)
		st = count_runs(&im, err);
	if (!st)
		st = update_catalog(&im, options, &catalog, err);
	if (!st)
		st = store_commit(im.store, err);
	store_rollback(im.store);
	if (!st && catalog_save(&catalog, &im.result.catalog_written, err))
		st = assay_context(err, "the measurements are stored, but the catalog is not up to date; import again to complete it");
	*out = im.result;
	for (size_t i = 0; i < im.n; i++)
		free(im.items[i].name);
	free(im.items);
	catalog_release(&catalog);
	quiho_release(&quiho);
	buf_release(&text);
	free(path);
	return st;
}
