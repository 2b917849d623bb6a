/* Evaluates profiles on recorded machines, for `--evidence irup`. Each line of output is a JSON object.
 *   bench_irup LAB applications         for every application: errors on held-out types, the choices, the leading group
 *   bench_irup LAB left-out             excludes each stressor from the fingerprint in turn and uses it as the application
 *   bench_irup LAB planted COUNT SEED   synthetic applications of one to four stressors with noise
 *   bench_irup LAB few COUNT SEED       COUNT predictions each from 2 to 12 random hardware types to another type
 *   bench_irup LAB rankings             names of the "rankings" in the output of the first three commands, in the same order
 *   bench_irup LAB time ROUNDS          seconds for a default profile of stream/add-1, on all CPUs and on one
 * Uses only the valid run of stream (time stamp 1498013938000). */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/profile/prediction.h"
#include "tests/bench/irup_planted.h"
#include "tests/bench/irup_rankings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SOUND_MS  1498013938000
#define FEW_TYPES 12

static struct lab lab = { .lock_fd = -1 };
static struct evidence evidence;

static void die(const struct assay_error *err)
{
	fprintf(stderr, "bench_irup: %s\n", err->text);
	exit(1);
}

static void print_line(cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);

	puts(text);
	fflush(stdout);
	cJSON_free(text);
	cJSON_Delete(object);
}

/* ---- summary of a profile ---- */

static cJSON *summary(const struct profile *p, const char *name)
{
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "name", name);
	cJSON_AddNumberToObject(o, "rows", (double)p->rows->rates.rows);
	cJSON_AddNumberToObject(o, "types", (double)p->rows->types);
	cJSON_AddNumberToObject(o, "groups", (double)p->n_groups);
	cJSON_AddNumberToObject(o, "effective_rank", p->data.features.effective_rank);
	cJSON_AddStringToObject(o, "verdict", profile_verdict_text(p->verdict));
	cJSON_AddBoolToObject(o, "sound", p->inferred.is_sound);
	list = cJSON_AddArrayToObject(o, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(p->reasons[i].code));
	cJSON_AddNumberToObject(o, "q2", p->validation.q2);
	cJSON_AddNumberToObject(o, "mape", p->validation.mape);
	cJSON_AddNumberToObject(o, "unexplained", p->shares.share[p->shares.groups]);
	cJSON_AddNumberToObject(o, "tied", p->blend.stumps.tied);
	cJSON_AddNumberToObject(o, "spread", stats_sd(p->data.type_cost, p->data.types));
	cJSON_AddStringToObject(o, "lead", p->groups[0].name);
	cJSON_AddNumberToObject(o, "lead_size", (double)p->groups[0].n);
	cJSON_AddNumberToObject(o, "share", p->groups[0].share);
	cJSON_AddNumberToObject(o, "second", p->n_groups > 1 ? p->groups[1].share : 0.0);
	cJSON_AddNumberToObject(o, "least", p->groups[0].least);
	cJSON_AddNumberToObject(o, "most", p->groups[0].most);
	cJSON_AddNumberToObject(o, "first", p->groups[0].first);
	cJSON_AddNumberToObject(o, "importance", p->groups[0].importance);
	return o;
}

/* ---- levels ---- */

/* Adds "levels": for time and for category, the leading part and whether it can be trusted. */
static cJSON *add_levels(cJSON *o, const struct profile *p)
{
	cJSON *levels = cJSON_AddArrayToObject(o, "levels");

	for (size_t depth = 0; depth < INFERRED_LEVELS; depth++) {
		const struct inferred_part *lead = inferred_find_largest(&p->inferred, depth);
		cJSON *level = cJSON_CreateObject();

		cJSON_AddBoolToObject(level, "trusted", p->inferred.trusted[depth]);
		cJSON_AddStringToObject(level, "lead", lead->name);
		cJSON_AddNumberToObject(level, "share", lead->share.share);
		cJSON_AddNumberToObject(level, "low", lead->share.low);
		cJSON_AddNumberToObject(level, "first", lead->share.first);
		cJSON_AddNumberToObject(level, "least", lead->share.least);
		cJSON_AddItemToArray(levels, level);
	}
	return levels;
}

/* Returns the kernel class or kind of computing that takes most of a stressor's time (NULL if unknown). Sets *of to its level. */
static const char *mostly(const char *stressor, enum level *of)
{
	struct composition m = composition_find(stressor);
	const char *name = m.kind;
	double best = m.computing, left = 1.0 - m.computing;

	*of = m.kind ? LEVEL_COMPUTE : LEVELS;
	for (size_t i = 0; i < m.n; i++) {
		left -= m.kernel[i].part;
		if (m.kernel[i].part > best) {
			best = m.kernel[i].part;
			name = m.kernel[i].class;
			*of = LEVEL_KERNEL;
		}
	}
	if (m.kind && left > best) {
		name = "other work";
		*of = LEVEL_KERNEL;
	}
	return name;
}

/* Adds "right" to each level: whether the leading part dominates the excluded stressor. Adds nothing if no other stressor is like it. */
static void add_levels_left_out(cJSON *o, const struct profile *p, const char *stressor)
{
	cJSON *levels = add_levels(o, p);
	double computing = composition_find(stressor).computing;
	const struct inferred_part *lead = inferred_find_largest(&p->inferred, 1);
	bool there = false, in = false;
	enum level of, other;
	const char *name = mostly(stressor, &of);

	if (!name)
		return;
	cJSON_AddBoolToObject(cJSON_GetArrayItem(levels, 0), "right",
			      inferred_find_largest(&p->inferred, 0)->level == (computing > .5 ? LEVEL_COMPUTE : LEVEL_KERNEL));
	for (size_t k = 0; k < p->data.features.n; k++) {
		const char *its = mostly(p->rows->features[p->data.features.first[k]], &other);

		if (!its || of != other || strcmp(its, name) != 0)
			continue;
		there = true;
		in = in || mat_get(&p->inferred.parts.part_shares, k, (size_t)(lead - p->inferred.items)) > .3;
	}
	if (there)
		cJSON_AddBoolToObject(cJSON_GetArrayItem(levels, 1), "right", in && lead->level == of);
}

/* Adds, for a mixture: whether the leading part also leads in truth[features]; per part the true share, the share, limits and ranges. */
static void add_levels_planted(cJSON *o, const struct profile *p, const double *truth)
{
	cJSON *levels = add_levels(o, p);
	const struct features *f = &p->data.features;
	double *share = mem_new(p->inferred.n, sizeof(*share));

	for (size_t j = 0; j < f->p; j++)
		for (size_t g = 0; f->distinct[j] != FEATURES_NONE && g < p->inferred.n; g++)
			share[g] += truth[j] * mat_get(&p->inferred.parts.part_shares, f->distinct[j], g);
	for (size_t depth = 0; depth < INFERRED_LEVELS; depth++) {
		cJSON *level = cJSON_GetArrayItem(levels, (int)depth), *list = cJSON_AddArrayToObject(level, "shares");
		const struct inferred_part *lead = inferred_find_largest(&p->inferred, depth);
		bool right = true;

		for (size_t g = 0; g < p->inferred.n; g++) {
			const struct shares_part *part = &p->inferred.items[g].share;

			if (p->inferred.items[g].depth != depth)
				continue;
			right &= share[g] <= share[lead - p->inferred.items];
			if (share[g] > 1e-9)
				cJSON_AddItemToArray(
				    list, cJSON_CreateDoubleArray(
					      (double[]){ share[g], part->share, part->low, part->high, part->least, part->most }, 6));
		}
		cJSON_AddBoolToObject(level, "right", right);
	}
	free(share);
}

/* ---- applications ---- */

static void keep_sound(struct run_set *runs)
{
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		struct run run = runs->items[i];

		if (run.taken_ms == SOUND_MS) {
			runs->items[i] = runs->items[n];
			runs->items[n++] = run;
		}
	}
	for (size_t i = n; i < runs->n; i++)
		free(runs->items[i].machine);
	runs->n = n;
}

/* Adds, per type, the log error of the prediction without that type, and the choices made without it. */
static void add_held_out(cJSON *o, const struct profile *p)
{
	cJSON *errors = cJSON_AddArrayToObject(o, "log_errors"), *choices = cJSON_AddArrayToObject(o, "choices");
	double *sum = mem_new(p->data.types, sizeof(*sum)), *rows = mem_new(p->data.types, sizeof(*rows));

	for (size_t i = 0; i < p->data.rows; i++) {
		sum[p->data.type[i]] += p->validation.predicted[i] - p->data.log_cost[i];
		rows[p->data.type[i]] += 1.0;
	}
	for (size_t t = 0; t < p->data.types; t++) {
		const struct blend_choice *c = &p->validation.choices[t];
		cJSON *choice = cJSON_CreateArray();

		cJSON_AddItemToArray(errors, cJSON_CreateNumber(sum[t] / rows[t]));
		cJSON_AddItemToArray(choice, cJSON_CreateNumber(c->stumps));
		for (size_t k = 0; k < BLEND_ADDITIVE; k++)
			cJSON_AddItemToArray(choice, cJSON_CreateNumber(c->additive[k]));
		cJSON_AddItemToArray(choices, choice);
	}
	free(sum);
	free(rows);
}

static void rows_of(const char *name, struct run_set *runs, struct dataset *dataset, struct profile_rows *rows)
{
	struct assay_error err;

	if (evidence_load_runs(&lab, name, runs, &err))
		die(&err);
	if (strncmp(name, "stream/", 7) == 0)
		keep_sound(runs);
	dataset_build(&evidence, runs, true, dataset);
	profile_rows_build(&evidence, runs, dataset, rows);
}

static void application(const char *name)
{
	struct run_set runs;
	struct dataset dataset;
	struct profile_rows rows;
	struct profile profile;
	cJSON *o;

	rows_of(name, &runs, &dataset, &rows);
	profile_compute(&rows, &profile_defaults, &profile);
	if (profile.fitted) {
		o = summary(&profile, name);
		add_held_out(o, &profile);
		add_levels(o, &profile);
		add_stability(o, &profile);
		print_line(o);
	}
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
	run_set_release(&runs);
}

static void applications(void)
{
	struct run_listing *list;
	struct assay_error err;
	size_t n;

	if (run_list(&lab.store, &list, &n, &err))
		die(&err);
	for (size_t i = 0; i < n; i++)
		application(list[i].application);
	run_list_free(list, n);
}

/* ---- predictions from few types ---- */

/* Copies the rows of the types in `in`, with consecutive numbers for these types. */
static void rows_of_types(const struct profile_rows *all, const bool *in, struct profile_rows *out)
{
	size_t *number = mem_new(all->types, sizeof(*number)), n = 0;

	*out = (struct profile_rows){ .rates = mat_new(all->rates.rows, all->rates.cols),
				      .cost = mem_new(all->rates.rows, sizeof(double)),
				      .type = mem_new(all->rates.rows, sizeof(size_t)) };
	for (size_t t = 0; t < all->types; t++)
		number[t] = in[t] ? out->types++ : 0;
	for (size_t i = 0; i < all->rates.rows; i++) {
		if (!in[all->type[i]])
			continue;
		memcpy(out->rates.at + n * all->rates.cols, all->rates.at + i * all->rates.cols, all->rates.cols * sizeof(double));
		out->cost[n] = all->cost[i];
		out->type[n++] = number[all->type[i]];
	}
	out->rates.rows = n;
	free(number);
}

/* Predicts the cost of `type` from its first row and the types in `in`; prints the prediction and the recorded cost. */
static void few_one(const char *name, const struct profile_rows *all, const bool *in, size_t n, size_t type)
{
	double *rates = mem_new(all->rates.cols, sizeof(*rates)), log_cost = 0.0, rows = 0.0;
	struct profile_rows some;
	struct prediction p;

	for (size_t i = all->rates.rows; i > 0; i--) {
		if (all->type[i - 1] != type)
			continue;
		memcpy(rates, all->rates.at + (i - 1) * all->rates.cols, all->rates.cols * sizeof(*rates));
		log_cost += log(all->cost[i - 1]);
		rows += 1.0;
	}
	rows_of_types(all, in, &some);
	if (prediction_compute(&some, rates, &p)) {
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "name", name);
		cJSON_AddNumberToObject(o, "types", (double)n);
		cJSON_AddBoolToObject(o, "modelled", p.modelled);
		cJSON_AddNumberToObject(o, "error", p.log_cost - log_cost / rows);
		cJSON_AddNumberToObject(o, "half", p.half);
		print_line(o);
	}
	profile_rows_release(&some);
	free(rates);
}

/* Makes `count` predictions for each number of types: draws types at random, and predicts another type from them. */
static void few(size_t count, uint64_t seed)
{
	struct run_listing *list;
	struct assay_error err;
	struct rng rng;
	size_t n;

	rng_seed(&rng, seed);
	if (run_list(&lab.store, &list, &n, &err))
		die(&err);
	for (size_t i = 0; i < n; i++) {
		struct profile_rows rows;
		struct dataset dataset;
		struct run_set runs;

		rows_of(list[i].application, &runs, &dataset, &rows);
		for (size_t types = PREDICTION_TYPES_MIN; types <= FEW_TYPES && types < rows.types; types++) {
			for (size_t k = 0; k < count; k++) {
				bool *in = mem_new(rows.types, sizeof(*in));
				size_t other;

				for (size_t left = types; left > 0;) {
					size_t t = rng_below(&rng, rows.types);

					left -= !in[t];
					in[t] = true;
				}
				do
					other = rng_below(&rng, rows.types);
				while (in[other]);
				few_one(list[i].application, &rows, in, types, other);
				free(in);
			}
		}
		profile_rows_release(&rows);
		dataset_release(&dataset);
		run_set_release(&runs);
	}
	run_list_free(list, n);
}

/* ---- synthetic applications ---- */

static const int64_t times[] = { 1497974400000, 1498013938000, 1499724178000, 1512873230000, 0 };

static double alike(const char *a, const char *b)
{
	const struct stressor *x = stressor_find(a), *y = stressor_find(b);
	double both = 0.0;

	for (size_t i = 0; x && y && i < x->n_categories; i++) {
		for (size_t k = 0; k < y->n_categories; k++)
			both += x->categories[i] == y->categories[k] ? 1.0 : 0.0;
	}
	return x && y ? both / ((double)x->n_categories + (double)y->n_categories - both) : 0.0;
}

/* Reports whether group `g` has one of the stressors whose categories are most similar to those of `name`. */
static bool has_nearest(const struct profile *p, const struct profile_group *g, const char *name)
{
	double nearest = 0.0, here = 0.0;

	for (size_t j = 0; j < p->rows->rates.cols; j++) {
		if (p->data.features.state[j] == FEATURE_USED)
			nearest = fmax(nearest, alike(name, p->rows->features[j]));
	}
	for (size_t i = 0; i < g->n; i++)
		here = fmax(here, alike(name, p->rows->features[g->members[i]]));
	return here >= nearest;
}

static bool has_category(const struct profile_group *g, const char *name, bool main_only)
{
	const struct stressor *s = stressor_find(name);

	for (size_t i = 0; s && i < (main_only ? 1 : s->n_categories); i++) {
		if (g->categories[s->categories[i]])
			return true;
	}
	return false;
}

/* Adds "rankings": whether the first group of each ranking has one of the most similar stressors, and the main category of `name`. */
static void add_first_groups(cJSON *o, const struct profile *p, const char *name)
{
	struct mat keys = keys_of_all_types(p);
	cJSON *list = cJSON_AddArrayToObject(o, "rankings");

	for (size_t r = 0; r < RANKINGS; r++) {
		const struct profile_group *first = &p->groups[first_of(&rankings[r], &keys)];
		double good[] = { has_nearest(p, first, name) ? 1.0 : 0.0, has_category(first, name, true) ? 1.0 : 0.0 };

		cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(good, 2));
	}
	mat_release(&keys);
}

static void left_out_one(const struct profile_rows *all, size_t column, int64_t taken_ms)
{
	struct profile_rows r = { .features = mem_new(all->rates.cols, sizeof(char *)), .type_names = mem_new(all->types, sizeof(char *)) };
	size_t cols = all->rates.cols - 1, *index = mem_new(all->types, sizeof(*index));
	struct profile profile = { 0 };
	cJSON *o;

	r.rates = mat_new(all->rates.rows, cols);
	r.cost = mem_new(all->rates.rows, sizeof(*r.cost));
	r.type = mem_new(all->rates.rows, sizeof(*r.type));
	r.rates.rows = 0;
	for (size_t j = 0; j < cols; j++)
		r.features[j] = all->features[j < column ? j : j + 1];
	for (size_t i = 0; i < all->rates.rows; i++) {
		double rate = mat_get(&all->rates, i, column);

		if (!(rate > 0))
			continue;
		for (size_t j = 0; j < cols; j++)
			mat_set(&r.rates, r.rates.rows, j, mat_get(&all->rates, i, j < column ? j : j + 1));
		r.cost[r.rates.rows] = 1.0 / rate;
		r.type[r.rates.rows++] = all->type[i];
		index[all->type[i]] = 1;
	}
	for (size_t t = 0; t < all->types; t++) {
		if (index[t]) {
			index[t] = r.types;
			r.type_names[r.types++] = all->type_names[t];
		}
	}
	for (size_t i = 0; i < r.rates.rows; i++)
		r.type[i] = index[r.type[i]];
	profile_compute(&r, &profile_defaults, &profile);
	if (profile.fitted) {
		o = summary(&profile, all->features[column]);
		cJSON_AddNumberToObject(o, "taken_ms", (double)taken_ms);
		cJSON_AddBoolToObject(o, "nearest", has_nearest(&profile, &profile.groups[0], all->features[column]));
		cJSON_AddBoolToObject(o, "main", has_category(&profile.groups[0], all->features[column], true));
		cJSON_AddBoolToObject(o, "any", has_category(&profile.groups[0], all->features[column], false));
		add_first_groups(o, &profile, all->features[column]);
		add_levels_left_out(o, &profile, all->features[column]);
		print_line(o);
	}
	profile_release(&profile);
	profile_rows_release(&r);
	free(index);
}

static void left_out(void)
{
	for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
		struct profile_rows all;

		fingerprints(&evidence, times[k], &all);
		for (size_t j = 0; j < all.rates.cols; j++)
			left_out_one(&all, j, times[k]);
		profile_rows_release(&all);
	}
}

static void planted_one(struct profile_rows *r, const struct features *f, size_t n, struct rng *rng)
{
	double *truth = mem_new(r->rates.cols, sizeof(*truth)), *shares, best = -1.0;
	struct plant plant = plant_of(f, n, rng);
	struct profile profile = { 0 };
	size_t leading = 0;
	cJSON *o, *list;

	grow(&plant, f, rng, r, truth);
	r->noise = plant.noise;
	profile_compute(r, &profile_defaults, &profile);
	o = summary(&profile, "planted");
	cJSON_AddNumberToObject(o, "resources", (double)n);
	cJSON_AddNumberToObject(o, "noise", plant.noise);
	list = cJSON_AddArrayToObject(o, "shares");
	shares = mem_new(profile.n_groups, sizeof(*shares));
	for (size_t g = 0; g < profile.n_groups; g++) {
		const struct profile_group *group = &profile.groups[g];

		for (size_t i = 0; i < group->n; i++)
			shares[g] += truth[group->members[i]];
		if (shares[g] > best) {
			best = shares[g];
			leading = g;
		}
		if (shares[g] > 0.0 || g == 0)
			cJSON_AddItemToArray(
			    list, cJSON_CreateDoubleArray(
				      (double[]){ shares[g], group->share, group->low, group->high, group->least, group->most }, 6));
	}
	cJSON_AddBoolToObject(o, "right", leading == 0);
	add_truth(o, &profile, shares);
	add_levels_planted(o, &profile, truth);
	print_line(o);
	profile_release(&profile);
	free(shares);
	free(truth);
}

static void planted(size_t count, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
		struct profile_rows rows;
		struct features f;

		fingerprints(&evidence, times[k], &rows);
		features_select(&rows.rates, rows.type, rows.types, &f);
		for (size_t i = 0; i < count; i++)
			planted_one(&rows, &f, 1 + i % 4, &rng);
		features_release(&f);
		profile_rows_release(&rows);
	}
}

static void name_rankings(void)
{
	for (size_t r = 0; r < RANKINGS; r++)
		puts(rankings[r].name);
}

/* ---- time ---- */

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void measure(size_t rounds)
{
	struct run_set runs = { 0 };
	struct dataset dataset;
	struct profile_rows rows;
	struct assay_error err;

	if (evidence_load_runs(&lab, "stream/add-1", &runs, &err))
		die(&err);
	dataset_build(&evidence, &runs, true, &dataset);
	profile_rows_build(&evidence, &runs, &dataset, &rows);
	for (size_t i = 0; i < 2 * rounds; i++) {
		struct profile_options options = profile_defaults;
		double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		struct profile profile;
		cJSON *o;

		options.threads = i % 2;
		profile_compute(&rows, &options, &profile);
		wall = seconds(CLOCK_MONOTONIC) - wall;
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		o = summary(&profile, "time");
		cJSON_AddNumberToObject(o, "threads", (double)options.threads);
		cJSON_AddNumberToObject(o, "wall", wall);
		cJSON_AddNumberToObject(o, "cpu", cpu);
		cJSON_AddNumberToObject(o, "resamples", (double)options.resamples);
		cJSON_AddNumberToObject(o, "features", (double)rows.rates.cols);
		print_line(o);
		profile_release(&profile);
	}
	profile_rows_release(&rows);
	dataset_release(&dataset);
	run_set_release(&runs);
}

int main(int argc, char **argv)
{
	struct assay_error err;

	if (argc < 3) {
		fprintf(stderr,
			"usage: bench_irup LAB applications | left-out | planted COUNT SEED | few COUNT SEED | rankings | time ROUNDS\n");
		return 2;
	}
	if (lab_open(argv[1], STORE_READ, &lab, &err) || evidence_load(&lab, &evidence, &err))
		die(&err);
	if (strcmp(argv[2], "applications") == 0)
		applications();
	else if (strcmp(argv[2], "left-out") == 0)
		left_out();
	else if (strcmp(argv[2], "planted") == 0 && argc == 5)
		planted(strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else if (strcmp(argv[2], "few") == 0 && argc == 5)
		few(strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else if (strcmp(argv[2], "rankings") == 0)
		name_rankings();
	else if (strcmp(argv[2], "time") == 0 && argc == 4)
		measure(strtoul(argv[3], NULL, 10));
	else
		return 2;
	evidence_release(&evidence);
	lab_close(&lab);
	return 0;
}
