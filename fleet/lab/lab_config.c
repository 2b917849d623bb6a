#include "base/mem.h"
#include "base/yaml.h"
#include "fleet/lab/lab.h"

#define NAME_BYTES_MAX 200

static enum assay_status name_of(const char *file, const struct yaml_node *node, const char *what, char **out, struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (st)
		return st;
	if (!*text || strlen(text) > NAME_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s must have 1 to %d bytes", file, node->line, what, NAME_BYTES_MAX);
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err)
{
	static const char *const keys[] = { "name", "min_effect", "fingerprint_max_age_days", "hosts" };
	struct lab_config config = { .min_effect = LAB_MIN_EFFECT, .fingerprint_max_age_days = LAB_FINGERPRINT_MAX_AGE_DAYS };
	struct yaml_node root = { 0 };
	const struct yaml_node *node;
	enum assay_status st = yaml_parse(name, text, n, &root, err);

	if (!st)
		st = yaml_keys(name, &root, "a laboratory", keys, sizeof(keys) / sizeof(keys[0]), err);
	if (!st && (node = yaml_get(&root, "name")))
		st = name_of(name, node, "name", &config.name, err);
	if (!st && (node = yaml_get(&root, "min_effect")))
		st = yaml_double(name, node, 1e-6, 1, &config.min_effect, err);
	if (!st && (node = yaml_get(&root, "fingerprint_max_age_days")))
		st = yaml_double(name, node, 0, 36500, &config.fingerprint_max_age_days, err);
	if (!st && (node = yaml_get(&root, "hosts")))
		st = inventory_parse(name, node, &config.inventory, err);
	yaml_release(&root);
	*out = config;
	if (st)
		lab_config_release(out);
	return st;
}

void lab_config_release(struct lab_config *config)
{
	inventory_release(&config->inventory);
	free(config->name);
	*config = (struct lab_config){ 0 };
}
