#include "gate/profile/profile.h"

#include "base/mem.h"
#include "gate/profile/stored.h"

#include <math.h>
#include <string.h>

#define SAMPLES_MIN    30  /* minimum number of samples on all machines for the composition of a stressor */
#define OF_STRESSOR    .3  /* minimum share of a class in a stressor's time; smaller shares may not be essential for the stressor */
#define OF_OWN	       .03 /* error of a measured share of a class, as a share of the time */
#define SHARE_EXCLUDED .1

/* Returns the share of a class of the kernel's work in a composition. */
static double part_of(const struct made_of *m, const char *class)
{
	double part = 0.0;

	for (size_t i = 0; i < m->n; i++)
		part += strcmp(m->kernel[i].class, class) == 0 ? m->kernel[i].part : 0.0;
	return part;
}

static struct made_of composition_of_samples(const struct sampled *s, const char *kind)
{
	double all = (double)(s->user + s->kernel);
	struct made_of m = { .kind = kind, .computing = (double)s->user / all };

	for (size_t i = 0; i < s->n && m.n < MADE_OF_CLASSES_MAX; i++) {
		if (!s->classes[i].kernel || s->classes[i].count == 0)
			continue;
		m.kernel[m.n].class = sampled_kernel_class(s->classes[i].name);
		m.kernel[m.n++].part = (double)s->classes[i].count / all;
	}
	return m;
}

/* Returns the composition of the runs from their samples. If samples of the kernel are missing or too few, has only the share of computing,
 * from the counters. */
static struct made_of composition_of_run(const struct stored_time *time)
{
	double cpu = time->levels.of[LEVEL_COMPUTE].share + time->levels.of[LEVEL_KERNEL].share;
	struct made_of m = { .kind = NULL };

	if (time->levels.runs == 0 || !(cpu > 0.0))
		return m;
	if (time->sampled.user + time->sampled.kernel >= SAMPLES_MIN && !time->sampled.kernel_hidden && !time->sampled.kernel_unnamed)
		m = composition_of_samples(&time->sampled, "");
	else if (time->levels.divided)
		m = (struct made_of){ .kind = "", .computing = time->levels.of[LEVEL_COMPUTE].share / cpu };
	return m;
}

/* Adds the samples of one stressor. Ignores text that cannot be parsed. */
static void stressor_add(struct sampled *sampled, const char *text)
{
	struct signature signature;
	struct assay_error ignored;

	if (signature_parse(text, &signature, &ignored))
		return;
	if (signature.samples)
		(void)sampled_add(sampled, signature.samples, "stress-ng", NULL, &ignored);
	signature_release(&signature);
}

static void stressor_end(const struct sampled *s, const char *name, struct profile_rows *rows)
{
	if (s->user + s->kernel < SAMPLES_MIN || s->kernel_hidden || s->kernel_unnamed)
		return;
	for (size_t j = 0; j < rows->rates.cols; j++)
		if (strcmp(rows->features[j], name) == 0)
			rows->made_of[j] = composition_of_samples(s, composition_kind(name));
}

enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err)
{
	struct sampled *sampled = mem_new(1, sizeof(*sampled));
	sqlite3_stmt *stmt = NULL;
	char *name = mem_string("");
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT stressor, signature FROM raw WHERE signature IS NOT NULL AND fingerprint IN (SELECT id FROM "
		      "fingerprint WHERE complete AND battery = ?) ORDER BY stressor, fingerprint, pass",
		      "t", dataset->battery);

	rows->own = composition_of_run(time);
	rows->made_of = mem_new(rows->rates.cols, sizeof(*rows->made_of));
	for (size_t j = 0; j < rows->rates.cols; j++)
		rows->made_of[j] = composition_of_stressor(rows->features[j]);
	while (store_next(store, stmt, &st, err)) {
		if (strcmp(name, store_text(stmt, 0)) != 0) {
			stressor_end(sampled, name, rows);
			*sampled = (struct sampled){ .n = 0 };
			free(name);
			name = mem_string(store_text(stmt, 0));
		}
		stressor_add(sampled, store_text(stmt, 1));
	}
	stressor_end(sampled, name, rows);
	sqlite3_finalize(stmt);
	mem_free(sampled, name);
	return st;
}

/* Returns the share of a class in `m`. Class 0 is computing; class i is the kernel class i - 1 of the application (`own`). */
static double class_of(const struct made_of *m, const struct made_of *own, size_t class)
{
	return class == 0 ? m->computing : part_of(m, own->kernel[class - 1].class);
}

static struct made_of column_made_of(const struct profile_rows *rows, size_t column)
{
	return rows->made_of ? rows->made_of[column] : composition_of_stressor(rows->features[column]);
}

bool views_exclude(const struct profile_rows *rows, size_t column)
{
	struct made_of m = column_made_of(rows, column);
	const struct made_of *own = &rows->own;
	double most = 1.0;

	if (!own->kind || !m.kind)
		return false;
	if (m.computing >= OF_STRESSOR)
		most = fmin(most, (own->computing + OF_OWN) / m.computing);
	if (own->n == 0) /* only the total of the application's kernel work is known */
		return fmin(most, (1.0 - own->computing + OF_OWN) / fmax(1.0 - m.computing, OF_OWN)) < SHARE_EXCLUDED;
	for (size_t i = 0; i < m.n; i++)
		if (m.kernel[i].part >= OF_STRESSOR)
			most = fmin(most, (part_of(own, m.kernel[i].class) + OF_OWN) / m.kernel[i].part);
	return most < SHARE_EXCLUDED;
}

/* Adds one more class for the kernel work of stressors in classes that the application lacks. */
void views_join(const struct profile_rows *rows, struct blend_data *d)
{
	const struct made_of *own = &rows->own;
	struct mat differs;

	if (!own->kind)
		return;
	differs = mat_new(d->features.n, own->n + 2);
	for (size_t k = 0; k < d->features.n; k++) {
		struct made_of m = column_made_of(rows, d->features.first[k]);
		double rest = 0.0;

		for (size_t c = 0; m.kind && c <= own->n; c++) {
			double by = class_of(&m, own, c) - class_of(own, own, c);

			mat_set(&differs, k, c, by);
			rest -= by;
		}
		mat_set(&differs, k, own->n + 1, own->n > 0 ? rest : 0.0);
	}
	additive_sums_add(&d->sums, &differs);
	mat_release(&differs);
}
