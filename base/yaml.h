/* Reads YAML that users write (inventory, manifests, policy) with libyaml into a tree that keeps line numbers. Refuses anchors, aliases,
 * tags, and more than one document: assay needs none of them, and aliases can exhaust the memory. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define YAML_BYTES_MAX (4u << 20)
#define YAML_DEPTH_MAX 32
#define YAML_NODES_MAX 200000

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	size_t line;		 /* line in the file, from 1 */
	char *key;		 /* key, if the parent is a map; NULL elsewhere */
	char *scalar;		 /* text of a YAML_SCALAR; NULL for other kinds */
	bool plain;		 /* scalar without quotes; a plain null, ~ or empty text means that the value is absent */
	struct yaml_node *items; /* items of a YAML_LIST or YAML_MAP, in the order of the file */
	size_t n_items;
};

/* Parses text[0..n) into *out. An empty document becomes an empty map. Errors start with "name:line: ". Free *out with yaml_release(). */
enum assay_status yaml_parse(const char *name, const char *text, size_t n, struct yaml_node *out, struct assay_error *err);
void yaml_release(struct yaml_node *node);

/* Requires a map whose keys are all in keys[0..n). The error contains the file, the line, the unknown key, and the nearest known key, or
 * all known ones. yaml_parse() has already refused duplicate keys. `what` names the map in messages ("host", "policy"). */
enum assay_status yaml_check_keys(const char *name, const struct yaml_node *map, const char *what, const char *const *keys, size_t n,
				  struct assay_error *err);

/* Returns the value of `key`; NULL if the key is absent, or its value is null or empty. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* Read a node as a value of one type. Errors start with "name:line: " and name the expected and the actual value. The text of yaml_string()
 * belongs to the node. Numbers are as in text.h. Booleans are true, false, yes, no, on and off. */
enum assay_status yaml_string(const char *name, const struct yaml_node *node, const char **out, struct assay_error *err);
enum assay_status yaml_double(const char *name, const struct yaml_node *node, double low, double high, double *out,
			      struct assay_error *err);
enum assay_status yaml_int(const char *name, const struct yaml_node *node, int64_t low, int64_t high, int64_t *out,
			   struct assay_error *err);
enum assay_status yaml_bool(const char *name, const struct yaml_node *node, bool *out, struct assay_error *err);
enum assay_status yaml_require_list(const char *name, const struct yaml_node *node, struct assay_error *err);

#endif
