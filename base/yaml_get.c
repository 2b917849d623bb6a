/* Gets values from the trees of yaml.h by key and by type. */
#include "base/yaml.h"

#include "base/buf.h"
#include "base/text.h"

#include <float.h>

static bool is_null(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR && node->plain && (!*node->scalar || !strcmp(node->scalar, "~") || !strcmp(node->scalar, "null"));
}

/* Fails with "name:line: 'key' must be WANTED, not ACTUAL". */
static enum assay_status fail_type(const char *name, const struct yaml_node *node, const char *wanted, struct assay_error *err)
{
	char key[TEXT_SANITIZED_BYTES];
	const char *quote = node->key ? "'" : "", *what = node->key ? text_sanitize(node->key, key) : "the value";

	if (node->kind != YAML_SCALAR)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s must be %s, not a %s", name, node->line, quote, what, quote, wanted,
				  node->kind == YAML_MAP ? "map" : "list");
	if (is_null(node))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s must be %s, but it is empty", name, node->line, quote, what, quote,
				  wanted);
	return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s%s%s must be %s, not '%s'", name, node->line, quote, what, quote, wanted,
			  TEXT_SANITIZED(node->scalar));
}

static enum assay_status fail_unknown(const char *name, const struct yaml_node *item, const char *what, const char *const *keys, size_t n,
				      struct assay_error *err)
{
	const char *nearest = text_nearest(item->key, keys, n);
	struct buf hint = BUF_INIT;
	enum assay_status st;

	if (nearest)
		buf_format(&hint, "did you mean '%s'?", nearest);
	else
		for (size_t i = 0; i < n; i++)
			buf_format(&hint, "%s%s", i ? ", " : "known: ", keys[i]);
	st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: unknown key '%s' in %s (%s)", name, item->line, TEXT_SANITIZED(item->key), what,
			hint.bytes ? hint.bytes : "none is known");
	buf_release(&hint);
	return st;
}

enum assay_status yaml_check_keys(const char *name, const struct yaml_node *map, const char *what, const char *const *keys, size_t n,
				  struct assay_error *err)
{
	if (map->kind != YAML_MAP)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s must be a map of keys and values, not a %s", name, map->line, what,
				  map->kind == YAML_LIST ? "list" : "text");
	for (size_t i = 0; i < map->n_items; i++)
		if (!text_is_among(keys, n, map->items[i].key))
			return fail_unknown(name, &map->items[i], what, keys, n, err);
	return ASSAY_OK;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	ASSAY_BUG_IF(map->kind != YAML_MAP);
	for (size_t i = 0; i < map->n_items; i++)
		if (!strcmp(map->items[i].key, key))
			return is_null(&map->items[i]) ? NULL : &map->items[i];
	return NULL;
}

enum assay_status yaml_string(const char *name, const struct yaml_node *node, const char **out, struct assay_error *err)
{
	if (node->kind != YAML_SCALAR || is_null(node))
		return fail_type(name, node, "a text", err);
	*out = node->scalar;
	return ASSAY_OK;
}

/* Describes the permitted range in `out`, such as "a number", "a number of at least 0" or "a number from 0 to 1". Returns `out`. */
static const char *range_text(double low, double high, char *out, size_t bytes)
{
	bool below = low > -DBL_MAX, above = high < DBL_MAX;

	if (below && above)
		snprintf(out, bytes, "a number from %s to %s", TEXT_DOUBLE(low), TEXT_DOUBLE(high));
	else if (below)
		snprintf(out, bytes, "a number of at least %s", TEXT_DOUBLE(low));
	else if (above)
		snprintf(out, bytes, "a number of at most %s", TEXT_DOUBLE(high));
	else
		snprintf(out, bytes, "a number");
	return out;
}

enum assay_status yaml_double(const char *name, const struct yaml_node *node, double low, double high, double *out, struct assay_error *err)
{
	char wanted[128];
	double value;

	if (node->kind != YAML_SCALAR || !text_parse_double(node->scalar, &value) || value < low || value > high)
		return fail_type(name, node, range_text(low, high, wanted, sizeof(wanted)), err);
	*out = value;
	return ASSAY_OK;
}

enum assay_status yaml_int(const char *name, const struct yaml_node *node, int64_t low, int64_t high, int64_t *out, struct assay_error *err)
{
	char wanted[128];
	int64_t value;

	if (node->kind == YAML_SCALAR && text_parse_int64(node->scalar, &value) && value >= low && value <= high) {
		*out = value;
		return ASSAY_OK;
	}
	if (high == INT64_MAX)
		snprintf(wanted, sizeof(wanted), "an integer of at least %lld", (long long)low);
	else
		snprintf(wanted, sizeof(wanted), "an integer from %lld to %lld", (long long)low, (long long)high);
	return fail_type(name, node, wanted, err);
}

enum assay_status yaml_bool(const char *name, const struct yaml_node *node, bool *out, struct assay_error *err)
{
	static const char *const words[] = { "false", "no", "off", "true", "yes", "on" };

	for (size_t i = 0; node->kind == YAML_SCALAR && i < 6; i++) {
		if (!strcmp(node->scalar, words[i])) {
			*out = i >= 3;
			return ASSAY_OK;
		}
	}
	return fail_type(name, node, "true or false", err);
}

enum assay_status yaml_require_list(const char *name, const struct yaml_node *node, struct assay_error *err)
{
	return node->kind == YAML_LIST ? ASSAY_OK : fail_type(name, node, "a list", err);
}
