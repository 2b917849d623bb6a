/* Things of a fleet whose state was lost, found by the tag in their names. */
#include "fleet/emulate/emulate_cgroup.h"
#include "fleet/emulate/emulate_sweep.h"

#include "base/mem.h"

#include <dirent.h>
#include <net/if.h>
#include <stdbool.h>

static void add(struct emulate_state *state, enum emulate_thing_kind kind, char *name)
{
	for (size_t i = 0; i < state->n; i++) {
		if (state->things[i].kind == kind && strcmp(state->things[i].name, name) == 0) {
			free(name);
			return;
		}
	}
	state->things = mem_resize(state->things, state->n + 1, sizeof(*state->things));
	state->things[state->n++] = (struct emulate_thing){ .kind = kind, .name = name };
}

/* The bridge first, as `up` makes it. */
static void add_links(struct emulate_state *state)
{
	struct if_nameindex *all = if_nameindex();
	char *prefix = mem_format("as%s", state->tag);

	for (int hosts = 0; hosts < 2; hosts++) {
		for (const struct if_nameindex *link = all; link && link->if_index; link++) {
			size_t n = strlen(prefix);

			if (strncmp(link->if_name, prefix, n) == 0 && (link->if_name[n] != '\0') == hosts)
				add(state, EMULATE_THING_LINK, mem_string(link->if_name));
		}
	}
	free(prefix);
	if (all)
		if_freenameindex(all);
}

static void add_group(struct emulate_state *state, const char *directory)
{
	DIR *dir = directory ? opendir(directory) : NULL;

	if (!dir)
		return;
	add(state, EMULATE_THING_CGROUP, mem_string(directory));
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			add(state, EMULATE_THING_CGROUP, mem_format("%s/%s", directory, entry->d_name));
	}
	closedir(dir);
}

void emulate_sweep_orphans(struct emulate_state *state)
{
	struct emulate_cgroups groups;

	add_links(state);
	emulate_cgroups_find(state->tag, &groups);
	add_group(state, groups.memory);
	add_group(state, groups.pids);
	emulate_cgroups_release(&groups);
}
