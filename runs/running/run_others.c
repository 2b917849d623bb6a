#include "runs/running/run_others.h"

#include "base/buf.h"
#include "base/text.h"

#define MACHINES_SHOWN 8

static bool is_first_of_machine(const struct run_set *set, size_t i)
{
	return i == 0 || strcmp(set->others[i - 1].machine, set->others[i].machine) != 0;
}

static bool counts_there(const struct run_set *set, const char *machine)
{
	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->items[i].machine, machine) == 0)
			return true;
	}
	return false;
}

char *run_others_text(const struct run_set *set)
{
	struct buf text = BUF_INIT;
	size_t without = 0;

	if (!set->n_others)
		return NULL;
	buf_format(&text, "%zu result%s of %s@%s %s of another build than that of its latest runs and %s not count", set->n_others,
		   text_plural(set->n_others), set->application, set->version, set->n_others > 1 ? "are" : "is", set->n_others > 1 ? "do" : "does");
	for (size_t i = 0; i < set->n_others; i++) {
		if (!is_first_of_machine(set, i) || counts_there(set, set->others[i].machine))
			continue;
		if (without < MACHINES_SHOWN)
			buf_format(&text, "%s%s", without ? ", " : "; its latest build has no result on ", set->others[i].machine);
		without++;
	}
	if (without > MACHINES_SHOWN)
		buf_format(&text, " and %zu more", without - MACHINES_SHOWN);
	return buf_take(&text);
}

cJSON *run_others_json(const struct run_set *set)
{
	cJSON *root = cJSON_CreateObject(), *machines;

	cJSON_AddNumberToObject(root, "results", (double)set->n_others);
	machines = cJSON_AddArrayToObject(root, "machines");
	for (size_t i = 0; i < set->n_others; i++) {
		if (is_first_of_machine(set, i))
			cJSON_AddItemToArray(machines, cJSON_CreateString(set->others[i].machine));
	}
	return root;
}
