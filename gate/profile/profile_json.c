/* A profile for programs; docs/formats.md has the members. */
#include "gate/profile/profile.h"
#include "runs/running/run.h"

#include <math.h>

static void add_trust(cJSON *root, const struct profile *p)
{
	cJSON *trust = cJSON_AddObjectToObject(root, "trust"), *reasons;

	cJSON_AddStringToObject(trust, "verdict", profile_verdict_text(p->verdict));
	reasons = cJSON_AddArrayToObject(trust, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++) {
		cJSON *reason = cJSON_CreateObject();

		cJSON_AddStringToObject(reason, "code", p->reasons[i].code);
		cJSON_AddStringToObject(reason, "text", p->reasons[i].text);
		cJSON_AddItemToArray(reasons, reason);
	}
}

static cJSON *group_json(const struct profile *p, const struct profile_group *g)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "name", g->name);
	list = cJSON_AddArrayToObject(object, "categories");
	for (size_t c = 0; c < CATEGORY_COUNT; c++) {
		if (g->categories[c])
			cJSON_AddItemToArray(list, cJSON_CreateString(category_name((enum category)c)));
	}
	list = cJSON_AddArrayToObject(object, "members");
	for (size_t i = 0; i < g->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(p->rows->features[g->members[i]]));
	json_add_number(object, "share", g->share);
	json_add_number(object, "share_low", g->low);
	json_add_number(object, "share_high", g->high);
	json_add_number(object, "share_min", g->least);
	json_add_number(object, "share_max", g->most);
	json_add_number(object, "importance", g->importance);
	cJSON_AddNumberToObject(object, "rank", (double)g->rank);
	json_add_number(object, "first_probability", g->first);
	return object;
}

static void add_features(cJSON *root, const struct profile *p)
{
	cJSON *features = cJSON_AddArrayToObject(root, "features"), *dropped = cJSON_AddArrayToObject(root, "dropped");
	const struct features *f = &p->data.features;

	for (size_t g = 0; g < p->n_groups; g++) {
		for (size_t i = 0; i < p->groups[g].n; i++) {
			size_t j = p->groups[g].members[i], k = f->distinct[j];
			cJSON *object = cJSON_CreateObject();

			cJSON_AddStringToObject(object, "name", p->rows->features[j]);
			cJSON_AddStringToObject(object, "group", p->groups[g].name);
			json_add_number(object, "importance", p->importance[j]);
			json_add_number(object, "share", p->shares.column[k] / (double)f->copies[k]);
			cJSON_AddItemToArray(features, object);
		}
	}
	for (size_t j = 0; f->state && j < f->p; j++) {
		cJSON *object;

		if (f->state[j] == FEATURE_USED)
			continue;
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", p->rows->features[j]);
		cJSON_AddStringToObject(object, "reason", feature_code(f->state[j]));
		cJSON_AddItemToArray(dropped, object);
	}
}

static void add_unexplained(cJSON *root, const struct profile *p)
{
	const struct shares *s = &p->shares;
	cJSON *object;

	if (!p->fitted) {
		cJSON_AddNullToObject(root, "unexplained");
		return;
	}
	object = cJSON_AddObjectToObject(root, "unexplained");
	json_add_number(object, "share", s->share[s->groups]);
	json_add_number(object, "share_low", s->low[s->groups]);
	json_add_number(object, "share_high", s->high[s->groups]);
}

static void add_types(cJSON *root, const struct profile *p)
{
	cJSON *types = cJSON_AddArrayToObject(root, "by_hardware_type");

	for (size_t t = 0; p->fitted && t < p->rows->types; t++) {
		cJSON *object = cJSON_CreateObject(), *shares;

		cJSON_AddStringToObject(object, "type", p->rows->type_names[t]);
		json_add_number(object, "error", p->validation.type_error[t]);
		shares = cJSON_AddObjectToObject(object, "shares");
		for (size_t g = 0; g < p->n_groups; g++) {
			size_t group = p->data.features.group[p->data.features.distinct[p->groups[g].members[0]]];

			json_add_number(shares, p->groups[g].name, mat_get(&p->shares.by_type, t, group));
		}
		json_add_number(object, "unexplained", mat_get(&p->shares.by_type, t, p->shares.groups));
		cJSON_AddItemToArray(types, object);
	}
}

static void add_choice(cJSON *root, const struct profile *p)
{
	cJSON *object, *additive;

	if (!p->fitted) {
		cJSON_AddNullToObject(root, "choice");
		return;
	}
	object = cJSON_AddObjectToObject(root, "choice");
	json_add_number(object, "stumps", p->blend.choice.stumps);
	additive = cJSON_AddArrayToObject(object, "additive");
	for (size_t k = 0; k < BLEND_ADDITIVE; k++) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddNumberToObject(one, "size", (double)blend_grid[k].size);
		cJSON_AddNumberToObject(one, "sharpness", blend_grid[k].sharpness);
		json_add_number(one, "weight", p->blend.choice.additive[k]);
		cJSON_AddItemToArray(additive, one);
	}
}

cJSON *profile_json(const struct profile *p, const struct run_set *runs, const struct dataset *d)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "application", runs->application);
	cJSON_AddStringToObject(root, "version", runs->version);
	if (d->battery)
		cJSON_AddStringToObject(root, "battery", d->battery);
	else
		cJSON_AddNullToObject(root, "battery");
	cJSON_AddNumberToObject(root, "rows", (double)p->rows->rates.rows);
	cJSON_AddNumberToObject(root, "machines", (double)d->machines);
	cJSON_AddNumberToObject(root, "hardware_types", (double)p->rows->types);
	json_add_number(root, "effective_rank", p->rows->types ? p->data.features.effective_rank : (double)NAN);
	add_trust(root, p);
	json_add_number(root, "q2", p->fitted ? p->validation.q2 : (double)NAN);
	json_add_number(root, "mape", p->fitted ? p->validation.mape : (double)NAN);
	json_add_number(root, "noise", p->rows->noise);
	add_choice(root, p);
	list = cJSON_AddArrayToObject(root, "groups");
	for (size_t g = 0; g < p->n_groups; g++)
		cJSON_AddItemToArray(list, group_json(p, &p->groups[g]));
	add_unexplained(root, p);
	add_features(root, p);
	list = cJSON_AddObjectToObject(root, "by_category");
	for (size_t c = 0; c < CATEGORY_COUNT; c++) {
		if (p->by_category[c] > 0)
			cJSON_AddNumberToObject(list, category_name((enum category)c), p->by_category[c]);
	}
	add_types(root, p);
	list = cJSON_AddObjectToObject(root, "left_out");
	for (int i = 0; i < LEFT_OUT_COUNT; i++)
		cJSON_AddNumberToObject(list, left_out_code((enum left_out)i),
					(double)(d->left_out[i] + (i == LEFT_OUT_INCOMPLETE ? p->rows->incomplete : 0)));
	cJSON_AddNumberToObject(list, "metric_not_positive", (double)p->rows->not_positive);
	cJSON_AddNumberToObject(list, "hardware_type_unknown", (double)p->rows->untyped);
	cJSON_AddItemToObject(root, "other_builds", run_others_json(runs));
	return root;
}
