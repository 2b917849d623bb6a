/* assay fleet up */
#include "base/cancel.h"
#include "base/command.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/cmd.h"
#include "fingerprint/like/like.h"
#include "fingerprint/take/take.h"
#include "fleet/emulate/emulate.h"
#include "fleet/engine/reach.h"

#include <math.h>
#include <stdlib.h>

#define PROFILE	 "like"
#define MEASURED (LIKE_KNOBS + 4) /* the machine as it is, each knob, two fits, and what stands */

struct cmd_like {
	const char *machine;   /* MACHINE, MACHINE@DATE or a fingerprint's id, in the laboratory of -C, else in `directory` */
	const char *battery;   /* that it was measured with: a name or a file */
	const char *directory; /* of the fleet; gets profiles/like.yaml */
	bool no_root;
	struct emulate_listener *listener;
};

struct work {
	const struct cmd_like *like;
	struct battery battery;
	struct fingerprint_set set; /* of the target */
	const struct fingerprint *target;
	size_t n;		       /* stressors of the set */
	double *rates;		       /* [n] of the target */
	double *base;		       /* [n] of this machine */
	double *costs[LIKE_KNOBS + 2]; /* [n] each, relative to base: the knobs', the target's, and the last fit's */
	struct emulate_profile probes[LIKE_KNOBS];
	char *profiles; /* DIRECTORY/profiles */
	struct progress progress;
	size_t done;
};
#define TARGET LIKE_KNOBS
#define FIT    (LIKE_KNOBS + 1)

/* ---- the fingerprint that is wanted ---- */

static enum assay_status open_target(struct work *w, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = lab_open(cli_directory(), STORE_READ, &lab, err);

	if (!st)
		st = fingerprint_load(&lab.store, &w->set, err);
	if (!st)
		st = choose_fingerprint(&w->set, w->like->machine, &w->target, err);
	lab_close(&lab);
	if (st)
		return st;
	if (strcmp(w->target->battery_hash, w->battery.hash) != 0)
		return assay_fail(
		    err, ASSAY_E_USAGE,
		    "the fingerprint of '%s' is of the battery '%s' (%s), not of '%s' (%s): --battery names the one it was measured with",
		    w->target->machine, w->target->battery, w->target->battery_hash, w->battery.name, w->battery.hash);
	w->n = w->set.n_stressors;
	w->rates = mem_new(w->n, sizeof(*w->rates));
	w->base = mem_new(w->n, sizeof(*w->base));
	for (size_t i = 0; i < LIKE_KNOBS + 2; i++)
		w->costs[i] = mem_new(w->n, sizeof(*w->costs[i]));
	for (size_t i = 0; i < w->n; i++)
		w->rates[i] = fingerprint_summarise(&w->set, w->target, i).median;
	return ASSAY_OK;
}

/* ---- measuring one profile ---- */

/* The medians of what was just taken, in the order of the target's set. */
static enum assay_status read_rates(struct work *w, struct lab *lab, const char *id, double *rates, struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	const struct fingerprint *taken;
	enum assay_status st = fingerprint_load(&lab->store, &set, err);

	taken = st ? NULL : fingerprint_find(&set, id);
	if (!st && !(taken && fingerprint_comparable(taken, w->target)))
		st = assay_fail(err, ASSAY_E_USAGE,
				"the fingerprint of '%s' was taken with stress-ng %s on %s, and stressors change: it is like no host of "
				"this machine (%s, %s)",
				w->target->machine, w->target->stress_ng, w->target->architecture, taken ? taken->stress_ng : "?",
				taken ? taken->architecture : "?");
	for (size_t i = 0; !st && i < w->n; i++) {
		rates[i] = (double)NAN;
		for (size_t j = 0; j < set.n_stressors; j++) {
			if (strcmp(set.stressors[j], w->set.stressors[i]) == 0)
				rates[i] = fingerprint_summarise(&set, taken, j).median;
		}
	}
	fingerprint_set_release(&set);
	return st;
}

static enum assay_status take_one(struct work *w, struct lab *lab, double *rates, struct assay_error *err)
{
	const struct host *host = &lab->config.inventory.hosts[0];
	struct take_options options = { .battery = &w->battery };
	struct take_result result = { .complete = false };
	struct catalog catalog = { 0 };
	struct fleet_options fleet;
	struct reach reach = { 0 };
	enum assay_status st = reach_init(lab, &reach, err);

	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st) {
		fleet = reach_options(&reach);
		fleet.cancelled = w->like->listener->cancelled;
		options.fleet = &fleet;
		st = take_fingerprints(lab, &catalog, &host, 1, &options, &result, err);
	}
	if (!st && !result.complete)
		st = assay_fail(err, ASSAY_E_IO, "%s could not be measured: %s", host->name,
				*result.fleet.message ? result.fleet.message : "its fingerprint is not complete");
	if (!st)
		st = read_rates(w, lab, result.fingerprint, rates, err);
	take_results_release(&result, 1);
	catalog_release(&catalog);
	reach_release(&reach);
	return st;
}

/* Brings one host of this profile up, which stays, and measures it. */
static enum assay_status measure(struct work *w, const char *profile, double *rates, struct emulate_fleet *fleet, struct assay_error *err)
{
	bool fitted = strcmp(profile, PROFILE) == 0;
	const struct emulate_options options = { .directory = w->like->directory,
						 .n_hosts = 1,
						 .profiles = profile,
						 .profile_directory = fitted ? w->profiles : NULL,
						 .no_root = w->like->no_root };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	emulate_fleet_release(fleet);
	st = emulate_up(&options, w->done ? NULL : w->like->listener, fleet, err);
	if (!st)
		st = lab_open(w->like->directory, STORE_WRITE, &lab, err);
	if (!st)
		st = take_one(w, &lab, rates, err);
	lab_close(&lab);
	w->done++;
	progress_show(&w->progress, progress_now(), w->done == MEASURED, "%zu of %d fingerprints, last of the profile %s", w->done,
		      MEASURED, profile);
	return st;
}

/* Rates become costs relative to this machine as it is. */
static void to_costs(const struct work *w, const double *rates, double *costs)
{
	for (size_t i = 0; i < w->n; i++)
		costs[i] = w->base[i] / rates[i];
}

static enum assay_status measure_knobs(struct work *w, struct emulate_fleet *fleet, struct assay_error *err)
{
	enum assay_status st = measure(w, "base", w->base, fleet, err);

	for (size_t k = 0; !st && k < LIKE_KNOBS; k++) {
		st = emulate_profile_load(NULL, like_probe(k), &w->probes[k], err);
		if (!st)
			st = measure(w, like_probe(k), w->costs[k], fleet, err);
		if (!st)
			to_costs(w, w->costs[k], w->costs[k]);
	}
	to_costs(w, w->rates, w->costs[TARGET]);
	return st;
}

/* ---- fitting ---- */

static enum assay_status write_profile(const struct work *w, const double *doses, struct assay_error *err)
{
	struct emulate_profile profile = like_profile(w->probes, doses);
	char *path = mem_format("%s/" PROFILE ".yaml", w->profiles);
	struct buf text = BUF_INIT;
	enum assay_status st;

	buf_text(&text, "# Made by 'assay fleet up --like', as near to a fingerprint as these knobs allow; replaced by the next.\n");
	emulate_profile_write(&profile, &text);
	st = file_make_directory(w->profiles, 0755, err);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

/* Fits twice: knobs that work together do not just add up, so the second aims beside the target by as much as the first missed what it
 * should have been. The doses of the nearer one are kept. */
static enum assay_status fit(struct work *w, struct emulate_fleet *fleet, struct assay_error *err)
{
	double *aim = mem_new(w->n, sizeof(*aim)), best = (double)INFINITY, doses[LIKE_KNOBS], kept[LIKE_KNOBS] = { 0 };
	struct like_costs costs = { .target = aim, .n = w->n };
	enum assay_status st = ASSAY_OK;

	memcpy(aim, w->costs[TARGET], w->n * sizeof(*aim));
	for (size_t k = 0; k < LIKE_KNOBS; k++)
		costs.probed[k] = w->costs[k];
	for (int round = 0; !st && round < 2; round++) {
		double distance;

		like_fit(&costs, w->probes, doses);
		st = write_profile(w, doses, err);
		if (!st)
			st = measure(w, PROFILE, w->costs[FIT], fleet, err);
		if (st)
			break;
		to_costs(w, w->costs[FIT], w->costs[FIT]);
		distance = like_distance(w->costs[TARGET], w->costs[FIT], w->n);
		if (distance < best) {
			best = distance;
			memcpy(kept, doses, sizeof(kept));
		}
		for (size_t i = 0; i < w->n; i++)
			aim[i] *= like_predicted(&costs, i, doses) / w->costs[FIT][i];
	}
	if (!st)
		st = write_profile(w, kept, err);
	free(aim);
	return st;
}

/* ---- the answer ---- */

struct nearness {
	size_t n, worst;
	double median, worst_factor; /* factors, 1 or more */
};

/* How far rates are from the target's, whichever way. */
static struct nearness nearness_of(const struct work *w, const double *rates)
{
	struct nearness near = { .worst_factor = 0 };
	double *factors = mem_new(w->n, sizeof(*factors));

	for (size_t i = 0; i < w->n; i++) {
		double factor = exp(fabs(log(w->rates[i] / rates[i])));

		if (isnan(factor))
			continue;
		factors[near.n++] = factor;
		if (factor > near.worst_factor) {
			near.worst_factor = factor;
			near.worst = i;
		}
	}
	near.median = near.n ? stats_median(factors, near.n) : (double)NAN;
	free(factors);
	return near;
}

static void add_answer(const struct work *w, const double *rates, const struct emulate_fleet *fleet, struct document *d)
{
	struct nearness before = nearness_of(w, w->base), near = nearness_of(w, rates);

	doc_line(
	    d, "%s is like %s by a factor of %.2f (median of %zu stressors; the worst, %s: %.2f); this machine as it is: %.2f (%s: %.2f).",
	    fleet->hosts[0].name, w->target->machine, near.median, near.n, w->set.stressors[near.worst], near.worst_factor, before.median,
	    w->set.stressors[before.worst], before.worst_factor);
	doc_object(d, "like");
	doc_set(d, "machine", w->target->machine);
	doc_set(d, "fingerprint", w->target->id);
	doc_set(d, "median_factor", near.median);
	doc_set(d, "worst_factor", near.worst_factor);
	doc_set(d, "worst", w->set.stressors[near.worst]);
	doc_set(d, "median_factor_before", before.median);
	doc_set(d, "worst_factor_before", before.worst_factor);
	doc_table(d, "stressors");
	for (size_t i = 0; i < w->n; i++) {
		if (isnan(w->rates[i] / rates[i]))
			continue;
		doc_row(d);
		doc_show(d, "stressor", "stressor", w->set.stressors[i]);
		doc_showf(d, "ratio_before", "this machine", w->rates[i] / w->base[i], "%.2f", w->rates[i] / w->base[i]);
		doc_showf(d, "ratio", "the host", w->rates[i] / rates[i], "%.2f", w->rates[i] / rates[i]);
	}
	doc_end(d);
	doc_end(d);
	doc_line(d,
		 "Ratios: cost of an operation there / on %s. Knobs make things dearer only: where this machine is dearer already, they "
		 "cannot help. The profile is %s/" PROFILE ".yaml, for --profile-dir.",
		 w->target->machine, w->profiles);
}

static void work_release(struct work *w)
{
	for (size_t k = 0; k < LIKE_KNOBS; k++)
		emulate_profile_release(&w->probes[k]);
	for (size_t i = 0; i < LIKE_KNOBS + 2; i++)
		free(w->costs[i]);
	mem_free(w->rates, w->base, w->profiles);
	fingerprint_set_release(&w->set);
	battery_release(&w->battery);
}

/* Measures this machine as it is and with each knob alone, fits, measures that, corrects it once, and brings up the nearer one, which is
 * measured once more for the answer, in `d`. *fleet is the host that stands; emulate_fleet_release() it. After a failure nothing stands. */
static enum assay_status cmd_like_up(const struct cmd_like *like, struct emulate_fleet *fleet, struct document *d, struct assay_error *err)
{
	struct work w = { .like = like, .profiles = mem_format("%s/profiles", like->directory) };
	struct assay_error ignored;
	bool found;
	enum assay_status st = battery_open(like->battery, &w.battery, err);

	*fleet = (struct emulate_fleet){ 0 };
	w.progress = progress_begin(stderr, progress_now());
	if (!st)
		st = battery_select(&w.battery, NULL, 0, err);
	if (!st)
		st = open_target(&w, err);
	if (!st)
		st = measure_knobs(&w, fleet, err);
	if (!st)
		st = fit(&w, fleet, err);
	if (!st)
		st = measure(&w, PROFILE, w.costs[FIT], fleet, err);
	progress_end(&w.progress);
	if (!st)
		add_answer(&w, w.costs[FIT], fleet, d);
	else if (w.done)
		emulate_down(like->directory, NULL, &found, &ignored);
	work_release(&w);
	return st;
}

struct arguments {
	const char *directory, *profiles, *profile_directory, *like, *battery;
	int64_t hosts;
	bool no_root;
};

/* By default twelve, or one for each profile named. */
static size_t default_hosts(const char *profiles)
{
	size_t n = 1;

	for (; profiles && *profiles; profiles++)
		n += *profiles == ',';
	return profiles && n <= EMULATE_HOSTS_MAX ? n : EMULATE_HOSTS_DEFAULT;
}

static void add_fleet(const struct emulate_fleet *fleet, const char *directory, struct document *d)
{
	char *use = text_command((const char *const[]){ "-C", directory, "fleet", "exec", "-w", "@all", "--", "hostname", NULL });
	char *end = text_command((const char *const[]){ "fleet", "down", directory, NULL });

	doc_set(d, "laboratory", fleet->directory);
	doc_set_bool(d, "emulated", true);
	doc_set_bool(d, "namespaces", fleet->namespaces);
	doc_set(d, "user", fleet->user);
	doc_table(d, "hosts");
	for (size_t i = 0; i < fleet->n; i++) {
		const struct emulated *host = &fleet->hosts[i];

		doc_row(d);
		doc_show(d, "name", "host", host->name);
		doc_show(d, "address", "address", host->address);
		doc_show(d, "port", "port", host->port);
		doc_show(d, "profile", "profile", host->profile);
	}
	doc_end(d);
	doc_line(d, "%zu emulated host%s up. Try %s; %s ends them.", fleet->n, fleet->n == 1 ? " is" : "s are", use, end);
	mem_free(use, end);
}

static volatile sig_atomic_t cancelled;

static void show_step(struct emulate_listener *listener, const char *line)
{
	(void)listener;
	cli_remark("%s", line);
}

static enum assay_status fleet_up_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct emulate_listener listener = { show_step, &cancelled };
	const struct emulate_options options = {
		.directory = arguments->directory ? arguments->directory : cli_directory(),
		.n_hosts = arguments->hosts ? (size_t)arguments->hosts : default_hosts(arguments->profiles),
		.profiles = arguments->profiles,
		.profile_directory = arguments->profile_directory,
		.no_root = arguments->no_root,
	};
	const struct cmd_like like = { arguments->like, arguments->battery, options.directory, arguments->no_root, &listener };
	struct emulate_fleet fleet = { 0 };
	enum assay_status st;

	(void)lab;
	if (arguments->like && (arguments->profiles || arguments->profile_directory || arguments->hosts))
		return assay_fail(err, ASSAY_E_USAGE, "--like makes one host, of a profile of its own: not with --hosts or profiles");
	cancel_on_signals(&cancelled); /* then what stands so far is taken away */
	st = arguments->like ? cmd_like_up(&like, &fleet, d, err) : emulate_up(&options, &listener, &fleet, err);
	if (!st)
		add_fleet(&fleet, options.directory, d);
	emulate_fleet_release(&fleet);
	return st;
}

static const struct arguments defaults = { .battery = "quick" };

static const struct cli_option words[] = { CLI_OPTIONAL_WORD("DIR", struct arguments, directory), CLI_END };

static const struct cli_option options[] = {
	CLI_OPTION(INTEGER, "hosts", "N", struct arguments, hosts, "How many (default: 12, or one for each profile of --profiles)",
		   .letter = 'n', .low = 1, .high = EMULATE_HOSTS_MAX),
	CLI_OPTION(TEXT, "profiles", "NAME,...", struct arguments, profiles,
		   "Their profiles, from the first again when there are more hosts (default: all)", .letter = 'p'),
	CLI_TEXT("profile-dir", "PATH", struct arguments, profile_directory,
		 "Read profiles from the files NAME.yaml there, not from the program"),
	CLI_TEXT("like", "MACHINE", struct arguments, like,
		 "One host as near to the fingerprint of MACHINE (or MACHINE@DATE, or a fingerprint's id) as knobs make it"),
	CLI_TEXT("battery", "NAME|FILE", struct arguments, battery, "With --like: what MACHINE was measured with (default: quick)"),
	CLI_FLAG("no-root", struct arguments, no_root, "No namespaces and limits, even where we may have them"),
	CLI_END
};

const struct command fleet_up_command = {
	.name = "fleet up",
	.summary = "bring up emulated hosts on this machine, to try everything on",
	.about = "Brings up hosts on this machine, each with its own sshd, host key and environment, made different by profiles, and makes "
		 "DIR a laboratory of them. As root each host has its own network address, host name, tmpfs and limits; otherwise they are "
		 "sshd's of yours on ports of 127.0.0.1 from 22001 on. Needs openssh-server, and iproute2 for the network. What an earlier "
		 "one left is removed first, however it ended.\n\n"
		 "The fleet stands until 'assay fleet down DIR', or until the machine is started anew. All hosts share this machine: they "
		 "measure one after another, and /dev/shm, processors and memory are the machine's. lab.yaml and known_hosts of DIR are "
		 "replaced each time; a DIR with a lab.yaml of yours is refused.\n\n"
		 "Twelve hosts are the machine as it is and eleven on which three things each are dearer: reading and writing (io), names "
		 "of files (meta), mapping memory (vm), page faults (fault), page walks (walk), string functions (str), comparators "
		 "(sort), allocation (malloc), the processor (clock). Profiles with one of them alone have their names, as have bw (memory "
		 "in use by another), process, sync, net and time; yours are YAML files of the same kind (machines/emulated/base.yaml "
		 "explains the keys).\n\n"
		 "--like measures this machine as it is and with each knob alone (some five minutes with the battery quick), fits the "
		 "knobs to a fingerprint of the laboratory of -C, brings that host up and says how near it is, stressor by stressor.",
	.examples = "  assay fleet up lab --hosts 4 --profiles base,vm,str,clock\n"
		    "  assay -C lab fleet exec -w @all -- hostname\n"
		    "  assay -C mine fleet up trial --like node07\n"
		    "  assay fleet down lab\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_LATER, fleet_up_run),
};
