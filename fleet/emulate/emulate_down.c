#include "fleet/emulate/emulate_site.h"
#include "fleet/emulate/emulate_net.h"
#include "fleet/emulate/emulate_sweep.h"

#include "base/mem.h"

#include <errno.h>
#include <ftw.h>
#include <net/if.h>
#include <time.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path) && errno != ENOENT ? -1 : 0;
}

/* Follows no symbolic links, does not leave the file system. */
static enum assay_status remove_tree(const char *base, const char *name, struct assay_error *err)
{
	char *path = mem_format("%s/%s", base, name);
	enum assay_status st = ASSAY_OK;

	if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
		st = assay_fail_errno(err, errno, "cannot remove '%s'", path);
	free(path);
	return st;
}

static size_t count(const struct emulate_state *state, enum emulate_thing_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < state->n; i++)
		n += state->things[i].kind == kind;
	return n;
}

/* The kernel removes a host's link some time after the last process of its namespace; removing it ourselves costs more than to
 * wait a little for that. */
static enum assay_status remove_links(const struct emulate_state *state, struct emulate_listener *listener,
				      struct assay_error *err)
{
	const struct timespec pause = { 0, 5000000 };
	size_t n = count(state, EMULATE_THING_LINK);
	int fd = -1, turns = 0;
	enum assay_status st = n ? emulate_net_open(&fd, err) : ASSAY_OK;

	for (size_t i = state->n; !st && i > 0; i--) {
		const struct emulate_thing *thing = &state->things[i - 1];

		if (thing->kind != EMULATE_THING_LINK)
			continue;
		/* The bridge is the first of them: nothing else would remove it. */
		while (n > 1 && turns++ < 100 && if_nametoindex(thing->name))
			nanosleep(&pause, NULL);
		if (if_nametoindex(thing->name))
			st = emulate_net_delete(fd, thing->name, err);
		n--;
	}
	if (fd >= 0)
		close(fd);
	if (!st && count(state, EMULATE_THING_LINK))
		emulate_step(listener, "removed the network (%zu links)", count(state, EMULATE_THING_LINK));
	return st;
}

static enum assay_status remove_groups(const struct emulate_state *state, struct emulate_listener *listener,
				       struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = state->n; !st && i > 0; i--) { /* backwards: what lies inside goes first */
		if (state->things[i - 1].kind == EMULATE_THING_CGROUP)
			st = emulate_cgroup_remove(state->things[i - 1].name, err);
	}
	if (!st && count(state, EMULATE_THING_CGROUP))
		emulate_step(listener, "removed %zu control groups", count(state, EMULATE_THING_CGROUP));
	return st;
}

static bool is_this_boot(const struct emulate_state *state)
{
	char *boot = emulate_boot();
	bool same = false;

	for (size_t i = 0; i < state->n; i++)
		same = same || (state->things[i].kind == EMULATE_THING_BOOT && strcmp(state->things[i].name, boot) == 0);
	free(boot);
	return same;
}

static enum assay_status take_away(struct emulate_site *site, const struct emulate_state *state,
				   struct emulate_listener *listener, struct assay_error *err)
{
	size_t ended = 0;
	enum assay_status st = emulate_sweep(state, site->base, &ended, err);

	if (!st && ended)
		emulate_step(listener, "ended %zu process%s", ended, ended == 1 ? "" : "es");
	if (!st)
		st = remove_links(state, listener, err);
	return st ? st : remove_groups(state, listener, err);
}

/* No fleet is known; but its directory may have been removed, and made again, while one stood. */
static void look_for_orphans(const struct emulate_site *site, struct emulate_state *state)
{
	memcpy(state->tag, site->tag, sizeof(state->tag));
	emulate_sweep_orphans(state);
}

static enum assay_status clear_things(struct emulate_site *site, struct emulate_state *state, struct emulate_listener *listener,
				      bool *found, struct assay_error *err)
{
	*found = count(state, EMULATE_THING_BOOT) > 0;
	if (*found && !is_this_boot(state)) {
		emulate_step(listener, "the machine was started anew since: nothing of the fleet runs");
		return ASSAY_OK;
	}
	if (!*found)
		look_for_orphans(site, state);
	return take_away(site, state, listener, err);
}

enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found,
				     struct assay_error *err)
{
	char *path = mem_format("%s/state", site->base);
	struct emulate_state state;
	enum assay_status st = emulate_state_read(path, &state, err);

	*found = false;
	if (!st)
		st = clear_things(site, &state, listener, found, err);
	if (!st)
		st = remove_tree(site->base, "run", err);
	if (!st)
		st = remove_tree(site->base, "lib", err);
	if (!st && *found)
		st = emulate_state_end(path, state.tag, err);
	emulate_state_release(&state);
	free(path);
	return st;
}

enum assay_status emulate_down(const char *directory, struct emulate_listener *listener, bool *found, struct assay_error *err)
{
	struct emulate_site site = { .netlink = -1, .state = -1, .lock = -1 };
	enum assay_status st = emulate_site_open(directory, false, &site, err);

	*found = false;
	if (!st)
		st = emulate_site_clear(&site, listener, found, err);
	emulate_site_close(&site);
	return st;
}
