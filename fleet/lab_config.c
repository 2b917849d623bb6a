#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fleet/lab.h"

#define NAME_BYTES_MAX 200
#define HOSTS_MAX 10000

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

static enum assay_status parse_host(const char *file, const struct yaml_node *node, struct lab_host *host, struct assay_error *err)
{
	static const char *const keys[] = { "id", "type" };
	const struct yaml_node *id, *type;
	enum assay_status st = yaml_keys(file, node, "host", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (st)
		return st;
	id = yaml_get(node, "id");
	type = yaml_get(node, "type");
	if (!id)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: this host has no id", file, node->line);
	st = name_of(file, id, "id", &host->id, err);
	if (!st && type)
		st = name_of(file, type, "type", &host->type, err);
	return st;
}

static enum assay_status parse_hosts(const char *file, const struct yaml_node *list, struct lab_config *config, struct assay_error *err)
{
	enum assay_status st = yaml_list(file, list, err);

	if (st)
		return st;
	if (list->n_items > HOSTS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: more than %d hosts", file, list->line, HOSTS_MAX);
	config->hosts = mem_new(list->n_items, sizeof(*config->hosts));
	for (size_t i = 0; i < list->n_items; i++) {
		config->n_hosts++;
		st = parse_host(file, &list->items[i], &config->hosts[i], err);
		for (size_t j = 0; !st && j < i; j++) {
			if (strcmp(config->hosts[i].id, config->hosts[j].id) == 0)
				st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: host id '%s' stands twice (first in line %zu)", file,
						list->items[i].line, config->hosts[i].id, list->items[j].line);
		}
		if (st)
			return st;
	}
	return ASSAY_OK;
}

enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err)
{
	static const char *const keys[] = { "name", "min_effect", "hosts" };
	struct lab_config config = { .min_effect = LAB_MIN_EFFECT };
	struct yaml_node root = { 0 };
	const struct yaml_node *node;
	enum assay_status st = yaml_parse(name, text, n, &root, err);

	if (!st)
		st = yaml_keys(name, &root, "a laboratory", keys, sizeof(keys) / sizeof(keys[0]), err);
	if (!st && (node = yaml_get(&root, "name")))
		st = name_of(name, node, "name", &config.name, err);
	if (!st && (node = yaml_get(&root, "min_effect")))
		st = yaml_double(name, node, 1e-6, 10, &config.min_effect, err);
	if (!st && (node = yaml_get(&root, "hosts")))
		st = parse_hosts(name, node, &config, err);
	yaml_release(&root);
	*out = config;
	if (st)
		lab_config_release(out);
	return st;
}

void lab_config_release(struct lab_config *config)
{
	for (size_t i = 0; i < config->n_hosts; i++) {
		free(config->hosts[i].id);
		free(config->hosts[i].type);
	}
	free(config->hosts);
	free(config->name);
	*config = (struct lab_config){ 0 };
}
