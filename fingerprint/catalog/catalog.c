#include "fingerprint/catalog/catalog.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <errno.h>
#include <unistd.h>

#define TIMES_SHOWN 8

void catalog_problems_release(struct catalog_problems *problems)
{
	mem_free_all(problems->texts, problems->n);
	*problems = (struct catalog_problems){ 0 };
}

static enum assay_status load_file(const char *directory, const char *file, struct machine *out, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, file);
	struct buf text = BUF_INIT;
	char *expected = NULL;
	enum assay_status st = file_read_cached(path, CATALOG_FILE_BYTES_MAX, &text, err);

	if (!st)
		st = machine_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	if (!st) {
		expected = machine_file_name(out->id);
		if (strcmp(expected, file) != 0) {
			st = assay_fail(err, ASSAY_E_FORMAT, "%s: this is the machine '%s', its file must be called %s", path, out->id,
					expected);
			machine_release(out);
		}
	}
	free(expected);
	buf_release(&text);
	free(path);
	return st;
}

ORDER_BY(compare_id, struct machine, BY_TEXT(id))

/* Remedy at the end of each error about an unreadable file. */
#define REPAIR_REMEDY "; restore it from git, or remove it: then the next 'assay host measure' or import writes it again from the store"

enum assay_status catalog_load(const char *directory, struct catalog_problems *problems, struct catalog *out, struct assay_error *err)
{
	struct catalog catalog = { .directory = mem_string(directory) };
	char **names;
	size_t n;
	enum assay_status st = file_list_names(directory, ".json", &names, &n, err);

	if (st == ASSAY_E_NOTFOUND)
		st = access(directory, F_OK) ? ASSAY_OK : assay_fail_errno(err, ENOTDIR, "cannot read the directory '%s'", directory);
	catalog.machines = mem_new(n, sizeof(struct machine));
	for (size_t i = 0; i < n && !st; i++) {
		struct assay_error problem;

		if (!load_file(directory, names[i], &catalog.machines[catalog.n], &problem))
			catalog.n++;
		else if (problems)
			mem_append(problems->texts, problems->n, &problems->capacity, mem_format("%s" REPAIR_REMEDY, problem.text));
		else
			st = assay_fail(err, problem.status, "%s" REPAIR_REMEDY, problem.text);
	}
	file_names_free(names, n);
	qsort(catalog.machines, catalog.n, sizeof(struct machine), compare_id);
	*out = catalog;
	if (st)
		catalog_release(out);
	return st;
}

void catalog_release(struct catalog *catalog)
{
	mem_release_all(catalog->machines, catalog->n, machine_release);
	free(catalog->directory);
	*catalog = (struct catalog){ 0 };
}

const struct machine *catalog_find(const struct catalog *catalog, const char *id)
{
	struct machine key = { .id = mem_string(id) };
	const struct machine *found = catalog->n ? bsearch(&key, catalog->machines, catalog->n, sizeof(key), compare_id) : NULL;

	free(key.id);
	return found;
}

struct machine *catalog_ensure_machine(struct catalog *catalog, const char *id)
{
	size_t i = 0;

	while (i < catalog->n && strcmp(catalog->machines[i].id, id) < 0)
		i++;
	if (i < catalog->n && strcmp(catalog->machines[i].id, id) == 0)
		return &catalog->machines[i];
	catalog->machines = mem_resize(catalog->machines, catalog->n + 1, sizeof(struct machine));
	memmove(&catalog->machines[i + 1], &catalog->machines[i], (catalog->n - i) * sizeof(struct machine));
	catalog->n++;
	catalog->machines[i] = (struct machine){ .id = mem_string(id) };
	return &catalog->machines[i];
}

void catalog_put(struct catalog *catalog, const struct fingerprint_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		machine_put_fingerprint(catalog_ensure_machine(catalog, set->items[i].machine), set, &set->items[i]);
}

static enum assay_status save_machine(const char *directory, const struct machine *machine, bool *written, struct assay_error *err)
{
	char *file = machine_file_name(machine->id);
	char *path = mem_format("%s/%s", directory, file);
	char *text = machine_to_json(machine);
	struct buf old = BUF_INIT;
	enum assay_status st = file_read(path, CATALOG_FILE_BYTES_MAX, &old, err);

	*written = st || old.size != strlen(text) || memcmp(old.bytes, text, old.size) != 0;
	st = ASSAY_OK;
	if (*written)
		st = file_replace(path, text, strlen(text), 0644, err);
	file_cache_forget(path);
	buf_release(&old);
	mem_free(text, path, file);
	return st;
}

enum assay_status catalog_save(const struct catalog *catalog, size_t *written, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*written = 0;
	for (size_t i = 0; !st && i < catalog->n; i++) {
		bool changed = false;

		st = save_machine(catalog->directory, &catalog->machines[i], &changed, err);
		*written += changed;
	}
	return st;
}

/* ---- arguments that name a fingerprint ---- */

/* Returns the machine's latest fingerprint whose time starts with `date`, or NULL. *n: number of such fingerprints; times: their times. */
static const struct fingerprint *latest_fingerprint(const struct fingerprint_set *set, const char *machine, const char *date, size_t *n,
						    struct buf *times)
{
	const struct fingerprint *found = NULL;
	char text[TEXT_DATE_BYTES];

	*n = 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct fingerprint *f = &set->items[i]; /* items are sorted by machine, then time */

		if (strcmp(f->machine, machine) != 0 || strncmp(text_from_ms(f->taken_ms, text), date, strlen(date)) != 0)
			continue;
		found = f;
		if ((*n)++ < TIMES_SHOWN)
			buf_format(times, "%s%s (%s)", *n > 1 ? ", " : "", text, f->id);
	}
	if (*n > TIMES_SHOWN)
		buf_format(times, " and %zu more", *n - TIMES_SHOWN);
	return found;
}

static enum assay_status fail_unknown(const struct fingerprint_set *set, const char *word, struct assay_error *err)
{
	const char **names = mem_new(set->n, sizeof(char *));
	const char *nearest;
	char shown[TEXT_SANITIZED_BYTES];

	for (size_t i = 0; i < set->n; i++)
		names[i] = set->items[i].machine;
	nearest = text_nearest(word, names, set->n);
	free(names);
	text_sanitize(word, shown);
	if (nearest)
		return assay_fail(
		    err, ASSAY_E_NOTFOUND,
		    "'%s' is neither a machine with a complete fingerprint, nor a fingerprint, nor MACHINE@DATE (did you mean '%s'?)",
		    shown, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND,
			  "'%s' is neither a machine with a complete fingerprint, nor a fingerprint, nor MACHINE@DATE ('assay host list "
			  "--fingerprints' lists all)",
			  shown);
}

static enum assay_status find_at_date(const struct fingerprint_set *set, const char *machine, const char *date,
				      const struct fingerprint **out, struct assay_error *err)
{
	struct buf times = BUF_INIT, all = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t n, any;

	*out = latest_fingerprint(set, machine, date, &n, &times);
	latest_fingerprint(set, machine, "", &any, &all);
	if (any == 0)
		st = fail_unknown(set, machine, err);
	else if (n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no fingerprint whose time starts with '%s': it has %s", machine, date,
				all.bytes);
	else if (n > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has %zu fingerprints whose time starts with '%s': %s", machine, n, date,
				times.bytes);
	buf_release(&times);
	buf_release(&all);
	return st;
}

enum assay_status choose_fingerprint(const struct fingerprint_set *set, const char *word, const struct fingerprint **out,
				     struct assay_error *err)
{
	const char *at = strrchr(word, '@');
	struct buf times = BUF_INIT;
	enum assay_status st;
	char *machine;
	size_t n;

	*out = latest_fingerprint(set, word, "", &n, &times);
	buf_release(&times);
	if (!*out)
		*out = fingerprint_find(set, word);
	if (*out)
		return ASSAY_OK;
	if (!at)
		return fail_unknown(set, word, err);
	machine = mem_bytes(word, (size_t)(at - word));
	st = find_at_date(set, machine, at + 1, out, err);
	free(machine);
	return st;
}

enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err)
{
	const struct machine *found = catalog_find(catalog, id);
	const char **names, *nearest;
	char shown[TEXT_SANITIZED_BYTES];

	*out = found ? &catalog->machines[found - catalog->machines] : NULL;
	if (found)
		return ASSAY_OK;
	names = mem_new(catalog->n, sizeof(char *));
	for (size_t i = 0; i < catalog->n; i++)
		names[i] = catalog->machines[i].id;
	nearest = text_nearest(id, names, catalog->n);
	free(names);
	text_sanitize(id, shown);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog (did you mean '%s'?)", shown, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog ('assay host list' shows all)", shown);
}

enum assay_status catalog_exclude_retired(struct lab *lab, struct assay_error *err)
{
	struct catalog_problems unread = { 0 }; /* ignored: 'check' reports unreadable files, and runs need no catalog */
	struct catalog catalog = { 0 };
	enum assay_status st = catalog_load(lab->machines, &unread, &catalog, err);

	for (size_t i = 0; !st && i < lab->config.inventory.n; i++) {
		struct host *host = &lab->config.inventory.hosts[i];
		const struct machine *machine = catalog_find(&catalog, host->id);
		const char *why = machine ? machine->retired_reason : NULL;

		if (machine && machine->retired && !host->exclusion_reason)
			host->exclusion_reason = mem_format("retired%s%s", why ? ": " : "", why ? why : "");
	}
	catalog_release(&catalog);
	catalog_problems_release(&unread);
	return st;
}
