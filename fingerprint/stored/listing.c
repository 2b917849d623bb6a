#include "fingerprint/stored/listing.h"

#include "base/mem.h"

#include <math.h>

static const char items_sql[] =
    "SELECT id, machine, battery, battery_hash, stress_ng, architecture, origin, profile, conditions, taken_ms, complete,"
    "  (SELECT count(*) FROM (SELECT pass FROM rate WHERE fingerprint = f.id UNION SELECT pass FROM missing WHERE fingerprint = f.id)),"
    "  (SELECT count(*) FROM rate WHERE fingerprint = f.id AND per_s > 0),"
    "  (SELECT count(*) FROM rate WHERE fingerprint = f.id AND per_s = 0) + (SELECT count(*) FROM missing WHERE fingerprint = f.id) "
    "FROM fingerprint AS f ORDER BY machine, taken_ms, id";

static char *text_or_null(sqlite3_stmt *stmt, int column)
{
	const char *text = store_text(stmt, column);

	return *text ? mem_string(text) : NULL;
}

static void take_item(sqlite3_stmt *stmt, struct listing_item *item)
{
	*item = (struct listing_item){ .taken_ms = sqlite3_column_int64(stmt, 9),
				       .complete = sqlite3_column_int64(stmt, 10) != 0,
				       .passes = sqlite3_column_int64(stmt, 11),
				       .measured = sqlite3_column_int64(stmt, 12),
				       .missing = sqlite3_column_int64(stmt, 13) };
	snprintf(item->id, sizeof(item->id), "%s", store_text(stmt, 0));
	item->machine = mem_string(store_text(stmt, 1));
	item->battery = mem_string(store_text(stmt, 2));
	item->battery_hash = mem_string(store_text(stmt, 3));
	item->stress_ng = mem_string(store_text(stmt, 4));
	item->architecture = mem_string(store_text(stmt, 5));
	item->origin = mem_string(store_text(stmt, 6));
	item->profile = text_or_null(stmt, 7);
	item->conditions = text_or_null(stmt, 8);
}

enum assay_status listing_load(struct store *store, struct listing *out, struct assay_error *err)
{
	struct listing listing = { 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store, items_sql, &stmt, err);

	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		listing.items = mem_grow(listing.items, listing.n, &capacity, sizeof(*listing.items));
		take_item(stmt, &listing.items[listing.n++]);
	}
	sqlite3_finalize(stmt);
	*out = listing;
	if (st)
		listing_release(out);
	return st;
}

void listing_release(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++) {
		struct listing_item *item = &listing->items[i];

		free(item->machine);
		free(item->battery);
		free(item->battery_hash);
		free(item->stress_ng);
		free(item->architecture);
		free(item->origin);
		free(item->profile);
		free(item->conditions);
	}
	free(listing->items);
	*listing = (struct listing){ 0 };
}

enum assay_status listing_cells(struct store *store, const char *id, struct listing_cell **out, size_t *n, struct assay_error *err)
{
	struct listing_cell *cells = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0, count = 0;
	bool row = true;
	enum assay_status st = store_prepare(store,
					     "SELECT stressor, pass, per_s, real_per_s, NULL AS reason, ordinal FROM rate WHERE fingerprint = ?1 "
					     "UNION ALL SELECT stressor, pass, NULL, NULL, reason, 0 FROM missing WHERE fingerprint = ?1 "
					     "ORDER BY 1, 2, 6",
					     &stmt, err);

	if (!st)
		store_bind(stmt, "t", id);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		cells = mem_grow(cells, count, &capacity, sizeof(*cells));
		cells[count++] = (struct listing_cell){ mem_string(store_text(stmt, 0)), sqlite3_column_int64(stmt, 1), store_double(stmt, 2),
							store_double(stmt, 3), text_or_null(stmt, 4) };
		if (cells[count - 1].per_s == 0) {
			cells[count - 1].per_s = cells[count - 1].real_per_s = (double)NAN;
			cells[count - 1].reason = mem_string("recorded 0");
		}
	}
	sqlite3_finalize(stmt);
	*out = cells;
	*n = count;
	if (st) {
		listing_cells_free(cells, count);
		*out = NULL;
		*n = 0;
	}
	return st;
}

void listing_cells_free(struct listing_cell *cells, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(cells[i].stressor);
		free(cells[i].reason);
	}
	free(cells);
}
