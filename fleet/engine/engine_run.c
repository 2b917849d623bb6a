/* Before and after the loop: defaults, descriptors, names, and all that is given back at the end. */
#include "fleet/engine/engine_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define FANOUT             32
#define CONNECT_TIMEOUT_MS 10000
#define OUTPUT_BYTES_MAX   ((uint64_t)256 << 20)
#define FDS_OF_CONN        8 /* socket, agent, jump, or pipes and process; spools */
#define FDS_OF_RESULT      2 /* spools that have gone to disk */
#define FDS_RESERVE        64

static int compare_names(const void *a, const void *b)
{
	const struct engine_target *const *x = a, *const *y = b;

	return strcmp((*x)->address, (*y)->address);
}

/* Every name once, however many hosts share it. Returns the number of names; free() them after engine_resolve_release(). */
static size_t resolve_targets(struct engine *engine, struct engine_resolve_name **out)
{
	struct engine_target **wanted = mem_new(engine->n, sizeof(struct engine_target *));
	struct engine_resolve_name *names = mem_new(engine->n, sizeof(*names));
	size_t n_wanted = 0, n = 0;

	for (size_t i = 0; i < engine->n; i++) {
		struct engine_target *target = &engine->targets.items[i];

		if (target->address && !target->jump)
			wanted[n_wanted++] = target;
	}
	qsort(wanted, n_wanted, sizeof(struct engine_target *), compare_names);
	for (size_t i = 0; i < n_wanted; i++) {
		if (n == 0 || strcmp(names[n - 1].name, wanted[i]->address) != 0)
			names[n++].name = wanted[i]->address;
		wanted[i]->resolved = &names[n - 1];
	}
	free(wanted);
	engine_resolve_all(names, n, engine->options.connect_timeout_ms, engine->options.cancelled);
	*out = names;
	return n;
}

/* Room for the descriptors, as far as the system gives it; the fan-out follows. It stays: results keep theirs. */
static void make_room(struct engine *engine)
{
	uint64_t wanted = FDS_RESERVE + (uint64_t)engine->options.fanout * FDS_OF_CONN + (uint64_t)engine->n * FDS_OF_RESULT;
	struct rlimit limit, more;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	more = limit;
	more.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (!setrlimit(RLIMIT_NOFILE, &more))
		limit = more;
	if (limit.rlim_cur < FDS_RESERVE + (uint64_t)engine->options.fanout * FDS_OF_CONN)
		engine->options.fanout = limit.rlim_cur > FDS_RESERVE + FDS_OF_CONN ? (limit.rlim_cur - FDS_RESERVE) / FDS_OF_CONN : 1;
}

static bool any_ssh(const struct engine *engine)
{
	for (size_t i = 0; i < engine->n; i++) {
		if (!engine->hosts[i]->local)
			return true;
	}
	return false;
}

static struct fleet_options with_defaults(const struct fleet_options *options)
{
	struct fleet_options all = *options;

	all.fanout = all.fanout ? all.fanout : FANOUT;
	all.connect_timeout_ms = all.connect_timeout_ms ? all.connect_timeout_ms : CONNECT_TIMEOUT_MS;
	all.output_bytes_max = all.output_bytes_max ? all.output_bytes_max : OUTPUT_BYTES_MAX;
	return all;
}

static enum assay_status run(struct engine *engine, struct assay_error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_before;
	struct engine_resolve_name *names = NULL;
	enum assay_status st = ASSAY_OK;
	size_t n_names;

	for (size_t i = 0; i < engine->n; i++)
		engine_result_init(&engine->results[i], engine->options.output_bytes_max);
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (engine->epoll < 0)
		return assay_fail_errno(err, errno, "cannot make an epoll set");
	sigaction(SIGPIPE, &ignore, &pipe_before); /* commands of this machine may not read their input */
	make_room(engine);
	engine->started = mem_new(engine->n, sizeof(bool));
	engine_targets_init(&engine->targets, engine->hosts, engine->n, &engine->options);
	engine_agent_init(&engine->agent, any_ssh(engine));
	n_names = resolve_targets(engine, &names);
	st = engine_loop(engine, err);
	engine_agent_release(&engine->agent);
	engine_keys_release(&engine->keys);
	engine_targets_release(&engine->targets);
	engine_resolve_release(names, n_names);
	free(names);
	free(engine->started);
	sigaction(SIGPIPE, &pipe_before, NULL);
	close(engine->epoll);
	return st;
}

enum assay_status fleet_run(const struct host *const *hosts, size_t n, struct fleet_driver *driver, const struct fleet_options *options,
			    struct fleet_result *results, struct assay_error *err)
{
	struct engine engine = { .hosts = hosts, .n = n, .driver = driver, .options = with_defaults(options), .results = results };

	return run(&engine, err);
}

static bool no_command(struct fleet_driver *driver, size_t host, const struct fleet_result *last, struct fleet_command *out)
{
	(void)driver, (void)host, (void)last, (void)out;
	return false;
}

enum assay_status fleet_host_keys(const struct host *const *hosts, size_t n, const struct fleet_options *options, char **keys,
				  struct fleet_result *results, struct assay_error *err)
{
	struct fleet_driver driver = { .next = no_command };
	struct engine engine = { .hosts = hosts, .n = n, .driver = &driver, .options = with_defaults(options), .results = results,
				 .host_keys = keys };

	for (size_t i = 0; i < n; i++)
		keys[i] = NULL;
	return run(&engine, err);
}
