#include "fleet/emulate/emulate_profile.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"

/* ---- built-in profiles ---- */

/* Built-in profiles in order of use: X(symbol, file). The first twelve are the hosts of a default fleet: the unchanged machine, and eleven
 * hosts with three of nine kinds of slowdown each. Each kind is on three or four hosts, and any two kinds are together on at most one host.
 * (They are eleven of the twelve lines of the affine plane of order three.) Profiles with one kind follow. */
#define PROFILE_ROWS(X)                                                                                                                    \
	X(base, "base.yaml")                                                                                                               \
	X(io_meta_vm, "io+meta+vm.yaml")                                                                                                   \
	X(fault_walk_str, "fault+walk+str.yaml")                                                                                           \
	X(io_fault_sort, "io+fault+sort.yaml")                                                                                             \
	X(meta_walk_malloc, "meta+walk+malloc.yaml")                                                                                       \
	X(vm_str_clock, "vm+str+clock.yaml")                                                                                               \
	X(io_walk_clock, "io+walk+clock.yaml")                                                                                             \
	X(meta_str_sort, "meta+str+sort.yaml")                                                                                             \
	X(vm_fault_malloc, "vm+fault+malloc.yaml")                                                                                         \
	X(io_str_malloc, "io+str+malloc.yaml")                                                                                             \
	X(meta_fault_clock, "meta+fault+clock.yaml")                                                                                       \
	X(vm_walk_sort, "vm+walk+sort.yaml")                                                                                               \
	X(one_vm, "vm.yaml")                                                                                                               \
	X(one_io, "io.yaml")                                                                                                               \
	X(one_meta, "meta.yaml")                                                                                                           \
	X(one_fault, "fault.yaml")                                                                                                         \
	X(one_walk, "walk.yaml")                                                                                                           \
	X(one_bw, "bw.yaml")                                                                                                               \
	X(one_clock, "clock.yaml")                                                                                                         \
	X(one_str, "str.yaml")                                                                                                             \
	X(one_sort, "sort.yaml")                                                                                                           \
	X(one_malloc, "malloc.yaml")                                                                                                       \
	X(one_process, "process.yaml")                                                                                                     \
	X(one_sync, "sync.yaml")                                                                                                           \
	X(one_net, "net.yaml")                                                                                                             \
	X(one_time, "time.yaml")
#define LIBRARY_ROWS(X)                                                                                                                    \
	X(knobs_string, "knobs_string.so")                                                                                                 \
	X(knobs_compare, "knobs_compare.so")                                                                                               \
	X(knobs_malloc, "knobs_malloc.so")                                                                                                 \
	X(knobs_hog, "knobs_hog.so")

#define EMBED_PROFILE(symbol, file) EMBED_FILE(emulate_data_##symbol, ASSAY_PROFILES "/" file);
#define EMBED_LIBRARY(symbol, file) EMBED_FILE(emulate_data_##symbol, ASSAY_KNOBS "/" file);
PROFILE_ROWS(EMBED_PROFILE)
LIBRARY_ROWS(EMBED_LIBRARY)

#define DATA_ROW(symbol, file) { file, emulate_data_##symbol, emulate_data_##symbol##_end },
const struct emulate_data emulate_data[] = { PROFILE_ROWS(DATA_ROW) LIBRARY_ROWS(DATA_ROW) };
const size_t emulate_data_n = sizeof(emulate_data) / sizeof(emulate_data[0]);

/* ---- parsing a profile ---- */

/* Settings that are single numbers: key, field and maximum. */
static const struct {
	const char *key;
	size_t offset;
	unsigned high;
} knobs[] = {
	{ "strings", offsetof(struct emulate_profile, strings), 64 },
	{ "compare", offsetof(struct emulate_profile, compare), 1000 },
	{ "malloc", offsetof(struct emulate_profile, malloc_steps), 100000 },
	{ "interrupts", offsetof(struct emulate_profile, interrupts), 30000 },
	{ "page_faults", offsetof(struct emulate_profile, page_faults), 32 },
	{ "page_walks", offsetof(struct emulate_profile, page_walks), 2000 },
};
#define KNOBS (sizeof(knobs) / sizeof(knobs[0]))

static enum assay_status parse_level(const char *file, const struct yaml_node *map, const char *key, unsigned high, unsigned *out,
				     struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	int64_t value = 0;
	enum assay_status st = node ? yaml_int(file, node, 0, high, &value, err) : ASSAY_OK;

	*out = (unsigned)value;
	return st;
}

static enum assay_status parse_calls(const char *file, const struct yaml_node *map, struct emulate_profile *profile,
				     struct assay_error *err)
{
	static const char *const keys[] = { EMULATE_CLASS_ROWS(ROWS_WORD) };
	unsigned sum = 0;
	enum assay_status st;

	st = yaml_check_keys(file, map, "system_calls", keys, EMULATE_CLASSES, err);
	for (int i = 0; !st && i < EMULATE_CLASSES; i++) {
		st = parse_level(file, map, keys[i], EMULATE_CLASS_DIVISIONS_MAX, &profile->divisions[i], err);
		sum += profile->divisions[i];
	}
	if (!st && sum > EMULATE_DIVISIONS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: system_calls has %u divisions in total, the kernel has space for %d", file,
				map->line, sum, EMULATE_DIVISIONS_MAX);
	return st;
}

static enum assay_status parse_hog(const char *file, const struct yaml_node *map, struct emulate_profile *profile, struct assay_error *err)
{
	static const char *const keys[] = { "mib", "percent" };
	enum assay_status st = yaml_check_keys(file, map, "hog", keys, 2, err);

	if (!st)
		st = parse_level(file, map, "mib", 64, &profile->hog_mib, err);
	if (!st)
		st = parse_level(file, map, "percent", 100, &profile->hog_percent, err);
	if (!st && !profile->hog_mib != !profile->hog_percent)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: hog needs both mib and percent", file, map->line);
	return st;
}

static enum assay_status parse_about(const char *file, const struct yaml_node *node, struct emulate_profile *profile,
				     struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (!st)
		profile->about = mem_string(text);
	return st;
}

static enum assay_status parse_root(const char *file, const struct yaml_node *root, struct emulate_profile *profile,
				    struct assay_error *err)
{
	static const char *const keys[] = { "about",	  "system_calls", "strings",	"compare",	  "malloc",
					    "interrupts", "page_faults",  "page_walks", "mmap_threshold", "hog" };
	const struct yaml_node *node;
	enum assay_status st = yaml_check_keys(file, root, "a profile", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st && (node = yaml_get(root, "about")))
		st = parse_about(file, node, profile, err);
	if (!st && (node = yaml_get(root, "system_calls")))
		st = parse_calls(file, node, profile, err);
	for (size_t i = 0; !st && i < KNOBS; i++)
		st = parse_level(file, root, knobs[i].key, knobs[i].high, (unsigned *)(void *)((char *)profile + knobs[i].offset), err);
	/* glibc raises smaller values to 1024. Its own maximum is 32 MiB. */
	if (!st && (node = yaml_get(root, "mmap_threshold")))
		st = yaml_int(file, node, 1024, 32 << 20, &profile->mmap_threshold_bytes, err);
	if (!st && (node = yaml_get(root, "hog")))
		st = parse_hog(file, node, profile, err);
	return st;
}

enum assay_status emulate_profile_parse(const char *file, const char *name, const char *text, size_t n, struct emulate_profile *out,
					struct assay_error *err)
{
	struct emulate_profile profile = { .name = mem_string(name) };
	struct yaml_node root = { 0 };
	enum assay_status st = yaml_parse(file, text, n, &root, err);

	if (!st)
		st = parse_root(file, &root, &profile, err);
	yaml_release(&root);
	*out = profile;
	if (st)
		emulate_profile_release(out);
	return st;
}

void emulate_profile_release(struct emulate_profile *profile)
{
	mem_free(profile->name, profile->about);
	*profile = (struct emulate_profile){ 0 };
}

/* ---- directories and built-in files ---- */

/* Returns the length of the profile's name in the name of a file, 2 for "vm.yaml". Returns 0 if the file is not a profile. */
static size_t name_length(const char *file)
{
	size_t n = strlen(file), name = n > 5 ? n - 5 : 0;

	if (!name || name > EMULATE_NAME_BYTES_MAX || strcmp(file + name, ".yaml") != 0)
		return 0;
	return strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_") == name ? name : 0;
}

static void add_name(char ***names, size_t *n, size_t *capacity, const char *file)
{
	size_t length = name_length(file);

	if (!length)
		return;
	mem_append(*names, *n, capacity, mem_bytes(file, length));
}

enum assay_status emulate_profile_names(const char *directory, char ***names, size_t *n, struct assay_error *err)
{
	size_t capacity = 0, n_files = 0;
	char **files = NULL;
	enum assay_status st = directory ? file_list_names(directory, ".yaml", &files, &n_files, err) : ASSAY_OK;

	*names = NULL;
	*n = 0;
	if (st)
		return st == ASSAY_E_NOTFOUND ? assay_fail(err, ASSAY_E_IO, "there is no directory of profiles '%s'", directory) : st;
	for (size_t i = 0; !directory && i < emulate_data_n; i++)
		add_name(names, n, &capacity, emulate_data[i].name);
	for (size_t i = 0; i < n_files; i++)
		add_name(names, n, &capacity, files[i]);
	file_names_free(files, n_files);
	if (directory && *n)
		qsort(*names, *n, sizeof(**names), text_compare); /* sort names instead of files, because '+' is before '.' */
	return *n ? ASSAY_OK
		  : assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no profiles (files NAME.yaml; names of letters, digits, +, - and _)",
			       directory);
}

static enum assay_status refuse_name(const char *directory, const char *name, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	char **names = NULL;
	size_t n = 0;
	enum assay_status st = emulate_profile_names(directory, &names, &n, err);

	for (size_t i = 0; i < n; i++) {
		buf_format(&list, "%s%s", i ? ", " : "", names[i]);
		free(names[i]);
	}
	free(names);
	if (!st)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there is no profile '%s' in %s; there are %s", TEXT_SANITIZED(name),
				directory ? directory : "this program", list.bytes);
	buf_release(&list);
	return st;
}

enum assay_status emulate_profile_load(const char *directory, const char *name, struct emulate_profile *out, struct assay_error *err)
{
	char *file = mem_format("%s.yaml", name);
	char *path = directory ? mem_format("%s/%s", directory, file) : NULL;
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_E_NOTFOUND;

	*out = (struct emulate_profile){ 0 };
	for (size_t i = 0; !path && i < emulate_data_n; i++) {
		if (strcmp(emulate_data[i].name, file) == 0 && name_length(file))
			st = emulate_profile_parse(file, name, emulate_data[i].bytes, (size_t)(emulate_data[i].end - emulate_data[i].bytes),
						   out, err);
	}
	if (path && name_length(file))
		st = file_read(path, EMULATE_PROFILE_BYTES_MAX, &text, err);
	if (path && !st)
		st = emulate_profile_parse(path, name, text.bytes ? text.bytes : "", text.size, out, err);
	if (st == ASSAY_E_NOTFOUND)
		st = refuse_name(directory, name, err);
	buf_release(&text);
	mem_free(path, file);
	return st;
}
