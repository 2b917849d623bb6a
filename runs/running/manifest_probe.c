#include "runs/running/manifest_probe.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/counters/counting_client.h"

#define BUDGET .03

static const char *const back_ends[] = { [MANIFEST_PROBED] = "probe", [MANIFEST_EMULATED] = "emulated" };

void manifest_probe_release(struct manifest_probe *probe)
{
	manifest_words_release(&probe->functions);
	manifest_words_release(&probe->counters);
	free(probe->module);
	*probe = (struct manifest_probe){ .module = NULL };
}

static enum assay_status manifest_probe_parse_back_end(const struct manifest_reader *r, const struct yaml_node *node,
						       enum manifest_back_end *out)
{
	const char *text = NULL;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	for (size_t i = 0; !st && i < sizeof(back_ends) / sizeof(back_ends[0]); i++) {
		if (strcmp(back_ends[i], text) == 0) {
			*out = (enum manifest_back_end)i;
			return ASSAY_OK;
		}
	}
	return st ? st
		  : manifest_fail(r, ASSAY_E_FORMAT, node->line,
				  "no back end '%s': there are probe (counters of the processor, next to no "
				  "overhead) and emulated (built by 'assay emulate build')",
				  text_shown(text, shown));
}

/* A word alone ("changed", "default") or a list of names. *word becomes whether it was the word. */
static enum assay_status manifest_probe_parse_names(const struct manifest_reader *r, const struct yaml_node *node, const char *only,
						    bool *word, struct manifest_words *out)
{
	*word = node->kind == YAML_SCALAR && strcmp(node->scalar, only) == 0;
	if (node->kind == YAML_SCALAR && !*word) {
		char shown[TEXT_SHOWN_BYTES];

		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is %s, or a list of names: write [%s]", node->key, only,
				     text_shown(node->scalar, shown));
	}
	return *word ? ASSAY_OK : manifest_words_parse(r, node, MANIFEST_LITERAL, out);
}

static enum assay_status manifest_probe_parse_functions(const struct manifest_reader *r, const struct yaml_node *node,
							struct manifest_probe *out)
{
	enum assay_status st = manifest_probe_parse_names(r, node, "changed", &out->changed, &out->functions);
	char shown[TEXT_SHOWN_BYTES];

	if (!st && !out->changed && out->functions.n == 0)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'functions' names none: write changed, or [NAME, NAME]");
	for (size_t i = 0; !st && i < out->functions.n; i++) {
		const char *name = out->functions.items[i];

		if (!*name || *name == '@' || strchr(name, '\n') || strchr(name, '\t'))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
					   "'%s' cannot be the name of a function: write symbols, or names of C++ such "
					   "as 'ns::f(int)'",
					   text_shown(name, shown));
	}
	return st;
}

static enum assay_status manifest_probe_parse_counters(const struct manifest_reader *r, const struct yaml_node *node,
						       struct manifest_probe *out)
{
	enum assay_status st = manifest_probe_parse_names(r, node, "default", &out->default_counters, &out->counters);
	char shown[TEXT_SHOWN_BYTES];

	if (!st && out->counters.n > COUNTING_EVENTS_MAX)
		st = manifest_fail(r, ASSAY_E_LIMIT, node->line, "more than %d counters", COUNTING_EVENTS_MAX);
	for (size_t i = 0; !st && i < out->counters.n; i++) {
		const char *name = out->counters.items[i];

		if (!counting_is_name(name, strlen(name)))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
					   "'%s' is not the name of an event such as PAPI_TOT_INS ('assay counters' "
					   "lists them)",
					   text_shown(name, shown));
		for (size_t k = 0; !st && k < i; k++)
			if (strcmp(out->counters.items[k], name) == 0)
				st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "the event '%s' appears twice", name);
	}
	return st;
}

static enum assay_status manifest_probe_parse_module(const struct manifest_reader *r, const struct yaml_node *node,
						     struct manifest_probe *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (!st && (!manifest_is_line(text) || *text == '/' || manifest_leads_up(text)))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
				   "'module' is a file of the version as it is deployed, such as libmy.so or "
				   "lib/libmy.so: no '/' in front, no '..'");
	if (!st)
		out->module = mem_string(text);
	return st;
}

/* What one back end knows and the other does not. */
static enum assay_status manifest_probe_check(const struct manifest_reader *r, const struct yaml_node *node,
					      const struct manifest_probe *probe)
{
	static const char *const probed[] = { "counters", "budget" };
	const struct yaml_node *wrong = NULL;

	for (size_t i = 0; probe->back_end == MANIFEST_EMULATED && !wrong && i < 2; i++)
		wrong = yaml_get(node, probed[i]);
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'%s' belongs to back_end: probe; the emulation counts all that it can: leave it "
				     "out",
				     wrong->key);
	wrong = probe->back_end == MANIFEST_PROBED ? yaml_get(node, "full") : NULL;
	if (wrong)
		return manifest_fail(r, ASSAY_E_FORMAT, wrong->line,
				     "'full' belongs to back_end: emulated (all windows are simulated): leave it out");
	return ASSAY_OK;
}

enum assay_status manifest_probe_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out)
{
	static const char *const keys[] = { "back_end", "functions", "counters", "budget", "module", "full" };
	enum assay_status st = yaml_keys(r->file, node, "probe", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	const struct yaml_node *value;

	*out = (struct manifest_probe){ .given = true, .changed = true, .default_counters = true, .budget = BUDGET };
	if (!st && (value = yaml_get(node, "back_end")))
		st = manifest_probe_parse_back_end(r, value, &out->back_end);
	if (!st && (value = yaml_get(node, "functions")))
		st = manifest_probe_parse_functions(r, value, out);
	if (!st && (value = yaml_get(node, "counters")))
		st = manifest_probe_parse_counters(r, value, out);
	if (!st && (value = yaml_get(node, "budget")))
		st = yaml_double(r->file, value, 0, 1, &out->budget, r->err);
	if (!st && (value = yaml_get(node, "module")))
		st = manifest_probe_parse_module(r, value, out);
	if (!st && (value = yaml_get(node, "full")))
		st = yaml_bool(r->file, value, &out->full, r->err);
	return st ? st : manifest_probe_check(r, node, out);
}

/* ---- as it is kept with a plan ---- */

static void manifest_probe_add_names(cJSON *object, const char *key, const char *only, bool word, const struct manifest_words *words)
{
	cJSON *list = word ? NULL : cJSON_AddArrayToObject(object, key);

	if (word)
		cJSON_AddStringToObject(object, key, only);
	for (size_t i = 0; !word && i < words->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(words->items[i]));
}

char *manifest_probe_text(const struct manifest_probe *probe)
{
	cJSON *object = cJSON_CreateObject();
	char *text;

	ASSAY_BUG_IF(!probe->given);
	cJSON_AddStringToObject(object, "back_end", back_ends[probe->back_end]);
	manifest_probe_add_names(object, "functions", "changed", probe->changed, &probe->functions);
	if (probe->module)
		cJSON_AddStringToObject(object, "module", probe->module);
	if (probe->back_end == MANIFEST_EMULATED) {
		cJSON_AddBoolToObject(object, "full", probe->full);
	} else {
		manifest_probe_add_names(object, "counters", "default", probe->default_counters, &probe->counters);
		cJSON_AddNumberToObject(object, "budget", probe->budget);
	}
	text = json_text(object);
	cJSON_Delete(object);
	return text;
}
