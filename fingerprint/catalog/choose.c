#include "fingerprint/catalog/choose.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#define TIMES_SHOWN 8

/* The latest of a machine whose time begins with `date`; *n counts them, `times` lists them. */
static const struct fingerprint *latest(const struct fingerprint_set *set, const char *machine, const char *date, size_t *n, struct buf *times)
{
	const struct fingerprint *found = NULL;
	char text[TEXT_DATE_BYTES];

	*n = 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct fingerprint *f = &set->items[i]; /* by machine, then time */

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

static enum assay_status nobody(const struct fingerprint_set *set, const char *word, struct assay_error *err)
{
	const char **names = mem_new(set->n, sizeof(char *));
	const char *nearest;
	char shown[TEXT_SHOWN_BYTES];

	for (size_t i = 0; i < set->n; i++)
		names[i] = set->items[i].machine;
	nearest = text_nearest(word, names, set->n);
	free(names);
	text_shown(word, shown);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "'%s' is no machine with a complete fingerprint, no fingerprint, and no MACHINE@DATE (did "
				  "you mean '%s'?)", shown, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "'%s' is no machine with a complete fingerprint, no fingerprint, and no MACHINE@DATE ('assay "
			  "fingerprint show' lists all)", shown);
}

static enum assay_status at_date(const struct fingerprint_set *set, const char *machine, const char *date, const struct fingerprint **out,
				 struct assay_error *err)
{
	struct buf times = BUF_INIT, all = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t n, any;

	*out = latest(set, machine, date, &n, &times);
	latest(set, machine, "", &any, &all);
	if (any == 0)
		st = nobody(set, machine, err);
	else if (n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no fingerprint whose time begins with '%s': it has %s", machine, date, all.bytes);
	else if (n > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has %zu fingerprints whose time begins with '%s': %s", machine, n, date, times.bytes);
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

	*out = latest(set, word, "", &n, &times);
	buf_release(&times);
	if (!*out)
		*out = fingerprint_find(set, word);
	if (*out)
		return ASSAY_OK;
	if (!at)
		return nobody(set, word, err);
	machine = mem_bytes(word, (size_t)(at - word));
	st = at_date(set, machine, at + 1, out, err);
	free(machine);
	return st;
}

enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err)
{
	const struct machine *found = catalog_find(catalog, id);
	const char **names, *nearest;
	char shown[TEXT_SHOWN_BYTES];

	*out = found ? &catalog->machines[found - catalog->machines] : NULL;
	if (found)
		return ASSAY_OK;
	names = mem_new(catalog->n, sizeof(char *));
	for (size_t i = 0; i < catalog->n; i++)
		names[i] = catalog->machines[i].id;
	nearest = text_nearest(id, names, catalog->n);
	free(names);
	text_shown(id, shown);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog (did you mean '%s'?)", shown, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no machine '%s' in the catalog ('assay catalog list' shows all)", shown);
}
