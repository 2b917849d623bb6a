#include "fingerprint/catalog/types.h"

#include "base/linkage.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"
#include "fingerprint/catalog/identity.h"

#include <inttypes.h>
#include <math.h>

/* Returns the index of the type `name`; adds it if it is missing. Takes ownership of `why`. Linear search: there are only tens of types. */
static size_t type_index(struct types *types, size_t *capacity, const char *name, char *why)
{
	for (size_t i = 0; i < types->n; i++) {
		if (strcmp(types->types[i].name, name) == 0) {
			free(why);
			return i;
		}
	}
	types->types = mem_grow(types->types, types->n, capacity, sizeof(*types->types));
	types->types[types->n] = (struct hardware_type_entry){ mem_string(name), why };
	return types->n++;
}

static const char *configured_type(const struct lab_config *config, const char *machine)
{
	const struct host *host = inventory_find(&config->inventory, machine);

	return host ? host->type : NULL;
}

/* Returns "MODEL SOCKETSxCORESxTHREADS MEMORYGiB"; NULL if any of these is unknown. free() it. */
static char *format_hardware_type(const struct machine_identity *i)
{
	if (!i->cpu_model || !i->sockets || !i->cores_per_socket || !i->threads_per_core || !i->memory_bytes)
		return NULL;
	return mem_format("%s %" PRId64 "x%" PRId64 "x%" PRId64 " %.0fGiB", i->cpu_model, i->sockets, i->cores_per_socket,
			  i->threads_per_core, (double)i->memory_bytes / (1 << 30));
}

char *types_find_host_type(const struct host *host, const struct facts *facts)
{
	struct machine machine = { .id = NULL };
	char *type = NULL;

	if (host->type || host->profile)
		return mem_string(host->type ? host->type : host->profile);
	identity_update(&machine.identity, facts);
	type = format_hardware_type(&machine.identity);
	machine_release(&machine);
	return type;
}

/* Returns the index of the member's type by rules 1 to 4; SIZE_MAX if none of these rules applies. */
static size_t catalog_type(struct types *types, size_t *capacity, const struct lab_config *config, const struct types_member *m)
{
	const char *name = m->fingerprint->type;
	char *text;
	size_t index;

	if (name)
		return type_index(types, capacity, name, mem_format("given by %s", m->fingerprint->type_given_by));
	name = configured_type(config, m->machine->id);
	if (name)
		return type_index(types, capacity, name, mem_string("given in lab.yaml"));
	name = m->fingerprint->profile;
	if (name)
		return type_index(types, capacity, name, mem_string("profile of an emulated host"));
	text = format_hardware_type(&m->machine->identity);
	if (!text)
		return SIZE_MAX;
	index = type_index(types, capacity, text, mem_string("same CPU model, sockets x cores x threads, and memory"));
	free(text);
	return index;
}

static double stressor_median(const struct machine_fingerprint *f, const char *stressor)
{
	for (size_t i = 0; i < f->n_rates; i++) {
		if (strcmp(f->rates[i].stressor, stressor) == 0)
			return f->rates[i].median;
	}
	return (double)NAN;
}

/* Returns the logarithms of the medians of the steady CPU stressors that all members have: one row per member. */
static struct mat steady_stressor_logs(struct types_member *const *members, size_t n)
{
	const struct machine_fingerprint *first = members[0]->fingerprint;
	struct mat logs = mat_new(n, first->n_rates);
	size_t cols = 0;

	for (size_t j = 0; j < first->n_rates; j++) {
		const struct stressor *stressor = stressor_find(first->rates[j].stressor);
		bool all = stressor && stressor->is_steady_cpu;

		for (size_t i = 0; all && i < n; i++) {
			double median = stressor_median(members[i]->fingerprint, first->rates[j].stressor);

			all = median > 0;
			mat_set(&logs, i, cols, all ? log(median) : 0);
		}
		cols += all;
	}
	/* Closes the gaps between rows that unused columns have left. */
	for (size_t i = 0; i < n; i++)
		memmove(&logs.at[i * cols], &logs.at[i * logs.cols], cols * sizeof(double));
	logs.cols = cols;
	return logs;
}

static struct mat log_distances(const struct mat *x)
{
	struct mat d = mat_new(x->rows, x->rows);

	for (size_t i = 0; i < x->rows; i++) {
		for (size_t j = i + 1; j < x->rows; j++) {
			double sum = 0;

			for (size_t k = 0; k < x->cols; k++) {
				double difference = mat_get(x, i, k) - mat_get(x, j, k);

				sum += difference * difference;
			}
			mat_set(&d, i, j, sqrt(sum));
			mat_set(&d, j, i, sqrt(sum));
		}
	}
	return d;
}

#define CLUSTER_NAME_BYTES 32

/* Finds the next name auto-01, auto-02, ... that no type of rules 1 to 4 has. These types are types[0..known). */
static const char *next_name(const struct types *types, size_t known, size_t *number, char *name)
{
	bool taken = true;

	while (taken) {
		snprintf(name, CLUSTER_NAME_BYTES, "auto-%02zu", ++*number);
		taken = false;
		for (size_t i = 0; i < known; i++)
			taken = taken || strcmp(types->types[i].name, name) == 0;
	}
	return name;
}

/* Applies rule 5 to the fingerprints of one battery. `number` continues over all batteries, so that names are unique. */
static void cluster_battery(struct types *types, size_t *capacity, struct types_member **members, size_t n, size_t known, size_t *number)
{
	struct mat logs = steady_stressor_logs(members, n);
	struct mat distance = log_distances(&logs);
	size_t *clusters = mem_new(n, sizeof(size_t));
	size_t found = 0, first = types->n;

	if (logs.cols) {
		linkage_cut(&distance, TYPES_CUT, clusters);
	} else {
		/* The members have no steady stressor in common, so each machine has its own type. */
		for (size_t i = 0; i < n; i++)
			clusters[i] = i && members[i]->machine == members[i - 1]->machine ? clusters[i - 1] : found++;
	}
	for (size_t i = 0; i < n; i++) {
		char name[CLUSTER_NAME_BYTES];

		members[i]->type = first + clusters[i]; /* clusters are numbered in the order of their first members */
		if (members[i]->type < types->n)
			continue;
		members[i]->type = type_index(
		    types, capacity, next_name(types, known, number, name),
		    logs.cols ? mem_format("alike in %zu steady CPU stressors (average linkage, cut at %.1f)", logs.cols, TYPES_CUT)
			      : mem_string("no steady CPU stressor was measured on it: it has its own type"));
	}
	free(clusters);
	mat_release(&distance);
	mat_release(&logs);
}

static void cluster_untyped(struct types *types, size_t *capacity)
{
	struct types_member **group = mem_new(types->n_members, sizeof(struct types_member *));
	size_t number = 0, known = types->n;

	for (size_t i = 0; i < types->n_members; i++) {
		struct types_member *m = &types->members[i];
		size_t n = 0;

		for (size_t j = i; m->type == SIZE_MAX && j < types->n_members; j++) {
			if (types->members[j].type == SIZE_MAX && machine_is_comparable(m->fingerprint, types->members[j].fingerprint))
				group[n++] = &types->members[j];
		}
		if (n)
			cluster_battery(types, capacity, group, n, known, &number);
	}
	free(group);
}

ORDER_BY(compare_member, struct types_member, BY_TEXT(fingerprint->id))

ORDER_BY(compare_type, struct hardware_type_entry, BY_TEXT(name))

/* Sorts the types by name, and updates the types of the members. */
static void sort_types(struct types *types)
{
	struct hardware_type_entry *old = mem_new(types->n, sizeof(*old));

	memcpy(old, types->types, types->n * sizeof(*old));
	qsort(types->types, types->n, sizeof(*old), compare_type);
	for (size_t i = 0; i < types->n_members; i++) {
		const struct hardware_type_entry *found =
		    bsearch(&old[types->members[i].type], types->types, types->n, sizeof(*old), compare_type);

		types->members[i].type = (size_t)(found - types->types);
	}
	free(old);
}

void types_compute(const struct catalog *catalog, const struct lab_config *config, struct types *out)
{
	struct types types = { 0 };
	size_t capacity = 0, members = 0;

	for (size_t i = 0; i < catalog->n; i++)
		members += catalog->machines[i].n_fingerprints;
	types.types = mem_grow(NULL, 0, &capacity, sizeof(*types.types));
	types.members = mem_new(members, sizeof(*types.members));
	for (size_t i = 0; i < catalog->n; i++) {
		for (size_t k = 0; k < catalog->machines[i].n_fingerprints; k++) {
			struct types_member *m = &types.members[types.n_members++];

			*m = (struct types_member){ &catalog->machines[i], &catalog->machines[i].fingerprints[k], SIZE_MAX };
			m->type = catalog_type(&types, &capacity, config, m);
		}
	}
	cluster_untyped(&types, &capacity); /* members are still in the catalog's order: by machine, then time */
	sort_types(&types);
	qsort(types.members, types.n_members, sizeof(*types.members), compare_member);
	*out = types;
}

void types_release(struct types *types)
{
	for (size_t i = 0; i < types->n; i++)
		mem_free(types->types[i].name, types->types[i].reason);
	mem_free(types->types, types->members);
	*types = (struct types){ 0 };
}

ORDER_LOWER_BOUND(member_at, struct types_member, strcmp(x->fingerprint->id, id) < 0, const char *id)

size_t types_find(const struct types *types, const char *fingerprint_id)
{
	size_t at = member_at(types->members, types->n_members, fingerprint_id);

	return at < types->n_members && strcmp(types->members[at].fingerprint->id, fingerprint_id) == 0 ? types->members[at].type
													: SIZE_MAX;
}
