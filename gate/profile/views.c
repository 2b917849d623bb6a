#include "gate/profile/profile.h"

#include "base/mem.h"
#include "gate/profile/stored.h"

#include <math.h>
#include <string.h>

#define SAMPLES_MIN	       30  /* minimum number of samples on all machines for the composition of a stressor */
#define STRESSOR_PART_MIN      .3  /* minimum share of a class in a stressor's time; smaller shares may not be essential for the stressor */
#define APPLICATION_PART_ERROR .03 /* error of a measured share of a class, as a share of the time */
#define SHARE_EXCLUDED	       .1

/* Returns the share of a class of the kernel's work in a composition. */
static double kernel_class_share(const struct composition *m, const char *class)
{
	double part = 0.0;

	for (size_t i = 0; i < m->n; i++)
		part += strcmp(m->kernel[i].class, class) == 0 ? m->kernel[i].part : 0.0;
	return part;
}

static struct composition composition_of_samples(const struct sampled *s, const char *kind)
{
	double all = (double)(s->user + s->kernel);
	struct composition m = { .kind = kind, .computing = (double)s->user / all };

	for (size_t i = 0; i < s->n && m.n < COMPOSITION_CLASSES_MAX; i++) {
		if (!s->classes[i].kernel || s->classes[i].count == 0)
			continue;
		m.kernel[m.n].class = sampled_kernel_class(s->classes[i].name);
		m.kernel[m.n++].part = (double)s->classes[i].count / all;
	}
	return m;
}

/* Returns the composition of the runs from their samples. If samples of the kernel are missing or too few, has only the share of computing,
 * from the counters. */
static struct composition composition_of_run(const struct stored_time *time)
{
	double cpu = time->levels.of[LEVEL_COMPUTE].share + time->levels.of[LEVEL_KERNEL].share;
	struct composition m = { .kind = NULL };

	if (time->levels.runs == 0 || !(cpu > 0.0))
		return m;
	if (time->sampled.user + time->sampled.kernel >= SAMPLES_MIN && !time->sampled.kernel_hidden && !time->sampled.kernel_names_hidden)
		m = composition_of_samples(&time->sampled, "");
	else if (time->levels.divided)
		m = (struct composition){ .kind = "", .computing = time->levels.of[LEVEL_COMPUTE].share / cpu };
	return m;
}

/* Adds the samples of one stressor. Ignores text that cannot be parsed. */
static void stressor_add(struct sampled *sampled, const char *text)
{
	struct run_usage run_usage;
	struct assay_error ignored;

	if (run_usage_parse(text, &run_usage, &ignored))
		return;
	if (run_usage.samples)
		(void)sampled_add(sampled, run_usage.samples, "stress-ng", NULL, &ignored);
	run_usage_release(&run_usage);
}

static void stressor_end(const struct sampled *s, const char *name, struct profile_rows *rows)
{
	if (s->user + s->kernel < SAMPLES_MIN || s->kernel_hidden || s->kernel_names_hidden)
		return;
	for (size_t j = 0; j < rows->rates.cols; j++)
		if (strcmp(rows->features[j], name) == 0)
			rows->composition[j] = composition_of_samples(s, composition_find_kind(name));
}

enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err)
{
	struct sampled *sampled = mem_new(1, sizeof(*sampled));
	sqlite3_stmt *stmt = NULL;
	char *name = mem_string("");
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT stressor, signature FROM raw WHERE signature IS NOT NULL AND fingerprint IN (SELECT id FROM "
			"fingerprint WHERE complete AND battery = ?) ORDER BY stressor, fingerprint, pass",
			"t", dataset->battery);

	rows->application_composition = composition_of_run(time);
	rows->composition = mem_new(rows->rates.cols, sizeof(*rows->composition));
	for (size_t j = 0; j < rows->rates.cols; j++)
		rows->composition[j] = composition_find(rows->features[j]);
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
static double class_share(const struct composition *m, const struct composition *own, size_t class)
{
	return class == 0 ? m->computing : kernel_class_share(m, own->kernel[class - 1].class);
}

static struct composition column_composition(const struct profile_rows *rows, size_t column)
{
	return rows->composition ? rows->composition[column] : composition_find(rows->features[column]);
}

bool views_is_excluded(const struct profile_rows *rows, size_t column)
{
	struct composition m = column_composition(rows, column);
	const struct composition *own = &rows->application_composition;
	double most = 1.0;

	if (!own->kind || !m.kind)
		return false;
	if (m.computing >= STRESSOR_PART_MIN)
		most = fmin(most, (own->computing + APPLICATION_PART_ERROR) / m.computing);
	if (own->n == 0) /* only the total of the application's kernel work is known */
		return fmin(most, (1.0 - own->computing + APPLICATION_PART_ERROR) / fmax(1.0 - m.computing, APPLICATION_PART_ERROR)) <
		       SHARE_EXCLUDED;
	for (size_t i = 0; i < m.n; i++)
		if (m.kernel[i].part >= STRESSOR_PART_MIN)
			most = fmin(most, (kernel_class_share(own, m.kernel[i].class) + APPLICATION_PART_ERROR) / m.kernel[i].part);
	return most < SHARE_EXCLUDED;
}

/* Adds one more class for the kernel work of stressors in classes that the application lacks. */
void views_add_to_models(const struct profile_rows *rows, struct blend_data *d)
{
	const struct composition *own = &rows->application_composition;
	struct mat differs;

	if (!own->kind)
		return;
	differs = mat_new(d->features.n, own->n + 2);
	for (size_t k = 0; k < d->features.n; k++) {
		struct composition m = column_composition(rows, d->features.first[k]);
		double rest = 0.0;

		for (size_t c = 0; m.kind && c <= own->n; c++) {
			double by = class_share(&m, own, c) - class_share(own, own, c);

			mat_set(&differs, k, c, by);
			rest -= by;
		}
		mat_set(&differs, k, own->n + 1, own->n > 0 ? rest : 0.0);
	}
	additive_sums_add_view(&d->sums, &differs);
	mat_release(&differs);
}
