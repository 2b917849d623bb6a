#include "gate/variance/fragments.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/variance/ends.h"
#include "gate/variance/scale.h"
#include "gate/variance/weights.h"
#include "gate/variance/window.h"
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/samples/samples_children.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_MASK (((UINT64_C(1) << INTERPOSE_TAG_BITS) - 1) << INTERPOSE_PEER_BITS)
#define PARTNERS 0x1p50 /* all bits of a partner */

/* The columns of a file by what they mean; SIZE_MAX: it has none. */
struct columns {
	size_t size, kind, result, args, from, since, work, from_weight, account[ACCOUNTS];
	enum basis basis; /* what `work` counts */
};

/* What calls of a site are for: of descriptors that lead to files, and of those that lead to other processes. */
struct meaning {
	enum activity activity[2];
	bool moves;
};

/* What is being put together: fragments and snapshots of all files so far, with the sites of their own files. */
struct loading {
	struct fragments out;
	size_t items_capacity, snapshots_capacity, processes_capacity, sites_capacity;
	const struct fragments_window *window; /* NULL: all */
	uint32_t run;			       /* of the present file, */
	struct meaning *meanings;	       /* of its functions, */
	uint32_t ends[ENDS_NUMBERS];	       /* and of its ends */
	const char *cut;		       /* the first file that ends before its first call; NULL: none does */
};

/* ---- one file ---- */

static enum basis basis_of(const struct samples *s)
{
	const char *work = samples_info(s, "work");

	return !work				   ? BASIS_UNVERIFIED
	       : strcmp(work, "instructions") == 0 ? BASIS_INSTRUCTIONS
	       : strcmp(work, "statements") == 0   ? BASIS_STATEMENTS
						   : BASIS_UNVERIFIED;
}

static void columns_find(const struct samples *s, struct columns *c)
{
#define ACCOUNT_NAME(id, name, unit) name,
	static const char *const accounts[] = { ACCOUNT_ROWS(ACCOUNT_NAME) };

	c->size = samples_counter(s, "size");
	c->kind = samples_counter(s, "kind");
	c->result = samples_counter(s, "result");
	c->args = samples_counter(s, "args");
	c->from = samples_counter(s, "from");
	c->since = samples_counter(s, "since");
	c->work = samples_counter(s, "work");
	c->basis = basis_of(s);
	c->from_weight = samples_counter(s, "from_weight");
	for (size_t a = 0; a < ACCOUNTS; a++)
		c->account[a] = samples_counter(s, accounts[a]);
}

/* NaN: not known. */
static double value_at(const struct samples *s, size_t i, size_t column)
{
	return column == SIZE_MAX ? (double)NAN : s->values[i * s->n_counters + column];
}

static uint64_t mixed(uint64_t hash, double value)
{
	uint64_t bits = UINT64_MAX;

	if (!isnan(value))
		memcpy(&bits, &value, sizeof(bits));
	return fragment_hash(hash, bits);
}

static void fragment_add(struct loading *l, const struct fragment *f, double weight)
{
	unsigned thin = l->window ? l->window->thin_log2 : 0;

	l->out.items = mem_grow(l->out.items, l->out.n, &l->items_capacity, sizeof(*f));
	l->out.items[l->out.n] = *f;
	l->out.items[l->out.n++].weight = (uint32_t)fmin(ldexp(weight, (int)thin), UINT32_MAX);
}

/* `args` are partners then, and its tag is no part of the work. */
static bool is_mpi(uint64_t kind, double args)
{
	return (kind == INTERPOSE_MESSAGE || kind == INTERPOSE_COLLECTIVE) && args >= 0 && args < PARTNERS;
}

static void partner_read(struct fragment *f, uint64_t args, uint64_t kind)
{
	f->peer = (int32_t)(args & ((1u << INTERPOSE_PEER_BITS) - 1)) - 1;
	f->comm = (uint32_t)(args >> (INTERPOSE_PEER_BITS + INTERPOSE_TAG_BITS)) & ((1u << INTERPOSE_COMM_BITS) - 1);
	f->collective = kind == INTERPOSE_COLLECTIVE;
}

/* There are far more calls than sites. */
static void meanings_find(struct loading *l, const struct samples *s)
{
	free(l->meanings);
	l->meanings = mem_new(s->n_functions, sizeof(*l->meanings));
	for (size_t f = 0; f < s->n_functions; f++) {
		struct meaning *m = &l->meanings[f];

		m->activity[0] = call_activity(s->functions[f].name, INTERPOSE_FILE, &m->moves);
		m->activity[1] = call_activity(s->functions[f].name, INTERPOSE_PIPE, &m->moves);
	}
}

/* The call itself. */
static void call_add(struct loading *l, const struct samples *s, const struct columns *c, size_t i, uint32_t site)
{
	double size = value_at(s, i, c->size), kind = value_at(s, i, c->kind), result = value_at(s, i, c->result);
	double args = value_at(s, i, c->args);
	uint64_t descriptor = kind >= 0 && kind < UINT32_MAX ? (uint64_t)kind : 0, end = descriptor >> INTERPOSE_KIND_BITS;
	struct fragment f = { .start_s = s->items[i].start_s,
			      .time_s = s->items[i].ns / 1e9,
			      .process = (uint32_t)l->out.n_processes,
			      .thread = s->items[i].thread,
			      .from = FRAGMENT_NO_SITE,
			      .to = site,
			      .basis = BASIS_ARGUMENTS,
			      .end = end < ENDS_NUMBERS ? l->ends[end] : 0,
			      .peer = -1 };
	const struct meaning *m = &l->meanings[s->items[i].function];

	descriptor -= end << INTERPOSE_KIND_BITS;
	f.activity = (uint16_t)m->activity[descriptor == INTERPOSE_PIPE || descriptor == INTERPOSE_SOCKET];
	f.work = m->moves && !isnan(result) ? result : isnan(size) ? 0 : size;
	if (is_mpi(descriptor, args)) {
		partner_read(&f, (uint64_t)args, descriptor);
		args -= (double)((uint64_t)args & TAG_MASK);
	}
	f.arguments = mixed(mixed(mixed(0, (double)descriptor), args), isnan(result) ? 0 : 1); /* a call that fails does something else */
	if (f.activity == ACTIVITY_COMMUNICATION && !s->items[i].ordinal) /* the first one waits until its partner begins */
		f.arguments = mixed(f.arguments, 1);
	if (s->items[i].weight)
		fragment_add(l, &f, s->items[i].weight);
}

/* The computation that led to the call. */
static void edge_add(struct loading *l, const struct samples *s, const struct columns *c, size_t i, uint32_t first_site)
{
	double from = value_at(s, i, c->from), since = value_at(s, i, c->since), work = value_at(s, i, c->work),
	       size = value_at(s, i, c->size);
	double weight = c->from_weight == SIZE_MAX ? s->items[i].weight : value_at(s, i, c->from_weight);
	struct fragment f = {
		.process = (uint32_t)l->out.n_processes, .thread = s->items[i].thread, .activity = ACTIVITY_COMPUTATION, .peer = -1
	};

	if (!(from >= 0) || from >= (double)s->n_functions || !(since >= 0) || !(weight >= 1) || weight > (double)UINT32_MAX)
		return;
	f.time_s = since * s->ns_per_tick / 1e9;
	if (!(f.time_s < 1e9))
		return;
	f.start_s = s->items[i].start_s - f.time_s;
	f.from = first_site + (uint32_t)from;
	f.to = first_site + s->items[i].function;
	f.basis = (uint16_t)(isnan(work) ? BASIS_UNVERIFIED : c->basis);
	if (isnan(work) && value_at(s, i, c->kind) == INTERPOSE_FUNCTION && !isnan(size)) {
		f.basis = BASIS_ARGUMENTS; /* the user has said that it tells the work */
		work = size;
	}
	f.work = f.basis == BASIS_UNVERIFIED ? 0 : work;
	if (f.basis == BASIS_UNVERIFIED)
		f.arguments = mixed(0, value_at(s, i, c->args));
	fragment_add(l, &f, weight);
}

static void snapshot_add(struct loading *l, const struct samples *s, const struct columns *c, size_t i)
{
#define ACCOUNT_UNIT(id, name, unit) unit,
	static const double unit[] = { ACCOUNT_ROWS(ACCOUNT_UNIT) };
	struct snapshot *at;

	if (isnan(value_at(s, i, c->account[ACCOUNT_CPU])) && isnan(value_at(s, i, c->account[ACCOUNT_QUEUE])))
		return;
	at = mem_next(l->out.snapshots, l->out.n_snapshots, &l->snapshots_capacity);
	*at = (struct snapshot){ .at_s = s->items[i].start_s, .process = (uint32_t)l->out.n_processes, .thread = s->items[i].thread };
	for (size_t a = 0; a < ACCOUNTS; a++)
		at->value[a] = value_at(s, i, c->account[a]) * unit[a];
}

static int64_t rank_of(const struct samples *s)
{
	const char *text = samples_info(s, "rank");
	int64_t rank;

	return text && text_int64(text, &rank) && rank >= 0 ? rank : -1;
}

static void threads_name(const struct samples *s, struct fragment_process *p)
{
	size_t capacity = 0;
	int64_t number;

	for (size_t i = 0; i < s->n_infos; i++) {
		if (strncmp(s->infos[i].key, "thread:", 7) != 0 || !text_int64(s->infos[i].key + 7, &number) || number < 0 ||
		    number >= FRAGMENTS_THREADS_MAX)
			continue;
		mem_append(p->named, p->n_named, &capacity, (struct fragment_thread){ (uint32_t)number, mem_string(s->infos[i].value) });
	}
}

char *fragment_thread_text(const struct fragment_process *process, uint32_t thread)
{
	for (size_t i = process->n_named; i-- > 0;)
		if (process->named[i].number == thread)
			return mem_format("thread %u (%s)", thread + 1, process->named[i].name);
	return mem_format("thread %u", thread + 1);
}

static void process_describe(const struct samples *s, struct fragment_process *p)
{
	const char *program = samples_info(s, "program"), *host = samples_info(s, "host"), *slash = program ? strrchr(program, '/') : NULL;
	const char *arguments = samples_info(s, "arguments"), *boot = samples_info(s, "boot"), *name = samples_info(s, "name");

	p->program = mem_string(name ? name : program ? slash ? slash + 1 : program : "");
	p->arguments = mem_string(arguments ? arguments : "");
	p->host = mem_string(host ? host : "");
	p->clock = mem_string(boot ? boot : p->host);
	p->rank = rank_of(s);
	p->ranks = samples_info_number(s, "ranks") <= FRAGMENTS_FILES_MAX ? (size_t)samples_info_number(s, "ranks") : 0;
	p->recording = samples_info_number(s, "run");
	p->pid = s->pid;
	p->started_ns = s->started_ns;
	p->started_ticks = s->started_ticks;
	p->tick_s = s->ns_per_tick / 1e9;
	p->dropped = s->dropped;
	p->dropped_why = mem_string(samples_info(s, "dropped") ? samples_info(s, "dropped") : "");
	p->finished = s->finished;
	p->truncated = s->truncated;
	p->children = samples_children(s, &p->n_children);
	threads_name(s, p);
	p->name = p->rank >= 0 ? mem_format("rank %lld", (long long)p->rank)
			       : mem_format("process %llu%s%s%s", (unsigned long long)p->pid, *p->program ? " (" : "", p->program,
					    *p->program ? ")" : "");
}

static void process_release(struct fragment_process *p)
{
	for (size_t i = 0; i < p->n_named; i++)
		free(p->named[i].name);
	mem_free(p->named, p->name, p->program, p->arguments, p->host, p->clock, p->children, p->dropped_why);
}

/* The same process from another file is a copy, or the same file by another name. */
static bool is_there(const struct loading *l, const struct fragment_process *one)
{
	for (size_t p = 0; p < l->out.n_processes; p++) {
		const struct fragment_process *other = &l->out.processes[p];

		if (other->run == one->run && other->pid == one->pid && other->started_ns == one->started_ns &&
		    strcmp(other->host, one->host) == 0)
			return true;
	}
	return false;
}

/* Recorded at another time than those before it, whose run it would be taken for a part of. */
static bool is_of_another(const struct loading *l, const struct fragment_process *one)
{
	for (size_t p = 0; p < l->out.n_processes; p++) {
		const struct fragment_process *other = &l->out.processes[p];

		if (other->run == one->run && other->recording && one->recording && other->recording != one->recording)
			return true;
	}
	return false;
}

static void site_release(struct fragment_site *site)
{
	mem_free(site->module, site->name, site->file, site->place);
}

/* Libraries' paths, for each function of theirs: "module:N" is of the one that function N is in. free() it. */
static const char **modules_find(const struct samples *s)
{
	const char **path = mem_new(s->n_functions, sizeof(*path));
	int64_t n;

	for (size_t i = 0; i < s->n_infos; i++) {
		if (strncmp(s->infos[i].key, "module:", 7) != 0 || !text_int64(s->infos[i].key + 7, &n) || n < 0 ||
		    n >= (int64_t)s->n_functions)
			continue;
		for (size_t f = (size_t)n; f < s->n_functions; f++)
			if (strcmp(s->functions[f].module, s->functions[n].module) == 0)
				path[f] = s->infos[i].value;
	}
	return path;
}

static void sites_add(struct loading *l, const struct samples *s)
{
	const char *program = samples_info(s, "program"), **path = modules_find(s);

	for (size_t f = 0; f < s->n_functions; f++) {
		const char *file = path[f] ? path[f] : program;

		mem_append(l->out.sites, l->out.n_sites, &l->sites_capacity,
			   (struct fragment_site){ .module = mem_string(s->functions[f].module),
						   .name = mem_string(s->functions[f].name),
						   .address = s->functions[f].address,
						   .file = mem_string(file ? file : ""),
						   .is_file = path[f] != NULL });
	}
	free(path);
}

static enum assay_status file_add(struct loading *l, const char *name, const struct samples *s, struct assay_error *err)
{
	uint32_t first_site = (uint32_t)l->out.n_sites;
	struct columns c;
	struct fragment_process p = { .first = l->out.n, .first_snapshot = l->out.n_snapshots, .run = l->run };

	columns_find(s, &c);
	if (c.size == SIZE_MAX || c.kind == SIZE_MAX)
		return assay_fail(err, ASSAY_E_FORMAT,
				  "%s: not a file of 'assay variance record': it has no calls into the outside ('assay samples' "
				  "tells what it has)",
				  name);
	if (l->out.n + 2 * s->n > FRAGMENTS_MAX || l->out.n_sites + s->n_functions >= UINT32_MAX)
		return assay_fail(
		    err, ASSAY_E_LIMIT,
		    "%s: with this file there would be more than %u fragments: analyse the processes in groups, by naming their files",
		    name, FRAGMENTS_MAX);
	process_describe(s, &p);
	if (is_of_another(l, &p)) {
		process_release(&p);
		return assay_fail(err, ASSAY_E_CONFLICT,
				  "%s: belongs to another run than the files before it, and one directory holds one run: put each "
				  "run's files into a directory of its own, and name the directories",
				  name);
	}
	if (is_there(l, &p)) {
		process_release(&p);
		return ASSAY_OK;
	}
	if (s->truncated && !s->n && !l->cut)
		l->cut = name;
	sites_add(l, s);
	ends_add(&l->out, s, &p, l->ends);
	meanings_find(l, s);
	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].thread >= FRAGMENTS_THREADS_MAX || !(s->items[i].ns >= 0 && s->items[i].ns < 1e18) ||
		    !(fabs(s->items[i].start_s) < 1e9))
			continue;
		p.lives_s = fmax(p.lives_s, s->items[i].start_s + s->items[i].ns / 1e9);
		call_add(l, s, &c, i, first_site + s->items[i].function);
		edge_add(l, s, &c, i, first_site);
		snapshot_add(l, s, &c, i);
	}
	p.n = l->out.n - p.first;
	p.n_snapshots = l->out.n_snapshots - p.first_snapshot;
	mem_append(l->out.processes, l->out.n_processes, &l->processes_capacity, p);
	return ASSAY_OK;
}

static enum assay_status bytes_add(struct loading *l, const char *name, const void *bytes, size_t n, struct assay_error *err)
{
	struct samples s = { .items = NULL };
	enum assay_status st = samples_parse_in_order(name, bytes, n, l->window ? l->window->thin_log2 : 0, &s, err);

	if (!st)
		st = file_add(l, name, &s, err);
	samples_release(&s);
	return st == ASSAY_E_NODATA ? ASSAY_OK : st; /* its process ended before it did anything */
}

/* ---- all of them ---- */

ORDER_BY(processes_order, struct fragment_process, BY_UP(run) BY_UP(rank) BY_UP(started_ns) BY_UP(pid) BY_TEXT(host))

#define BY_SITE BY_TEXT(module) BY_UP(address) BY_TEXT(name)
ORDER_BY(sites_order, struct fragment_site, BY_SITE)

ORDER_POINTERS_BY(site_places_order, struct fragment_site, BY_SITE BY_PLACE)

/* The sites of all files as one list in order, each once; map[] from those of the files. */
static void sites_join(struct fragments *f, uint32_t *map)
{
	struct fragment_site **places = mem_new(f->n_sites, sizeof(struct fragment_site *));
	struct fragment_site *joined = mem_new(f->n_sites, sizeof(*joined));
	size_t n = 0;

	for (size_t i = 0; i < f->n_sites; i++)
		places[i] = &f->sites[i];
	order_sort(places, f->n_sites, site_places_order);
	for (size_t i = 0; i < f->n_sites; i++) {
		if (n && sites_order(&joined[n - 1], places[i]) == 0)
			site_release(places[i]);
		else
			joined[n++] = *places[i];
		map[places[i] - f->sites] = (uint32_t)n - 1;
	}
	mem_free(places, f->sites);
	f->sites = joined;
	f->n_sites = n;
}

ORDER_BY(items_order, struct fragment, BY_UP(thread) BY_UP(start_s) BY_UP(time_s) BY_UP(from))

ORDER_BY(snapshots_order, struct snapshot, BY_UP(process) BY_UP(thread) BY_UP(at_s))

ORDER_POINTERS_BY(commands_order, struct fragment_process, BY_UP(run) BY_TEXT(program) BY_TEXT(arguments) BY_PLACE)

/* What a program was asked to do is a part of its work where nothing else tells that, and says with whom it talks: of processes without
 * ranks, which of the different command lines of their program in their run theirs is, from 0, in the order in which the first of each
 * began. free() it. */
static double *commands_number(const struct fragments *f)
{
	const struct fragment_process **commands = mem_new(f->n_processes, sizeof(*commands));
	size_t *first = mem_new(f->n_processes, sizeof(*first)), *of_program = mem_new(f->n_processes, sizeof(*of_program));
	double *number = mem_new(f->n_processes, sizeof(*number)), *n = mem_new(f->n_processes, sizeof(*n));

	for (size_t p = 0; p < f->n_processes; p++)
		commands[p] = &f->processes[p];
	order_sort(commands, f->n_processes, commands_order);
	for (size_t i = 0; i < f->n_processes; i++) {
		const struct fragment_process *p = commands[i], *before = i ? commands[i - 1] : NULL;
		bool same_program = before && before->run == p->run && strcmp(before->program, p->program) == 0;
		size_t at = (size_t)(p - f->processes), last = before ? (size_t)(before - f->processes) : 0;

		of_program[at] = same_program ? of_program[last] : at;
		first[at] = same_program && strcmp(before->arguments, p->arguments) == 0 ? first[last] : at;
	}
	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].rank < 0)
			number[p] = first[p] == p ? n[of_program[p]]++ : number[first[p]];
	mem_free(commands, first, of_program, n);
	return number;
}

static void commands_tell(struct fragments *f)
{
	double *number = commands_number(f);

	for (size_t i = 0; i < f->n; i++) {
		struct fragment *item = &f->items[i];

		if (number[item->process] > 0 && (item->activity == ACTIVITY_COMMUNICATION ||
						  (item->activity == ACTIVITY_COMPUTATION && item->basis == BASIS_UNVERIFIED)))
			item->arguments = mixed(item->arguments, number[item->process]);
	}
	free(number);
}

/* Times of all processes since their run's beginning, and new numbers for sites and processes. */
static void number_all(struct fragments *f, const struct fragments_window *window, const uint32_t *map)
{
	uint32_t *process_now = mem_new(f->n_processes, sizeof(*process_now));

	for (size_t p = 0; p < f->n_processes; p++)
		f->processes[p].was = (uint32_t)p;
	order_sort(f->processes, f->n_processes, processes_order);
	for (size_t p = 0; p < f->n_processes; p++)
		process_now[f->processes[p].was] = (uint32_t)p;
	scale_find(f, window);
	for (size_t i = 0; i < f->n_ends; i++)
		f->ends[i].process = process_now[f->ends[i].process];
	for (size_t i = 0; i < f->n; i++) {
		struct fragment *item = &f->items[i];

		item->process = process_now[item->process];
		item->start_s = fmax(item->start_s + f->processes[item->process].start_s, 0);
		item->to = map[item->to];
		if (item->from != FRAGMENT_NO_SITE)
			item->from = map[item->from];
	}
	for (size_t i = 0; i < f->n_snapshots; i++) {
		f->snapshots[i].process = process_now[f->snapshots[i].process];
		f->snapshots[i].at_s += f->processes[f->snapshots[i].process].start_s;
	}
	free(process_now);
	commands_tell(f);
}

/* Each process's behind those of the one before it, and these in order. */
static void items_sort(struct fragments *f)
{
	struct fragment *sorted = mem_new(f->n, sizeof(*sorted));
	size_t *next = mem_new(f->n_processes + 1, sizeof(*next));

	for (size_t i = 0; i < f->n; i++)
		next[f->items[i].process + 1]++;
	for (size_t p = 0; p < f->n_processes; p++)
		next[p + 1] += next[p];
	for (size_t i = 0; i < f->n; i++)
		sorted[next[f->items[i].process]++] = f->items[i];
	for (size_t p = 0, from = 0; p < f->n_processes; from = next[p++])
		order_sort(sorted + from, next[p] - from, items_order);
	mem_free(next, f->items);
	f->items = sorted;
}

/* What is known of processes from their fragments, which are in order. */
static void processes_complete(struct fragments *f)
{
	size_t at = 0, snapshot = 0;

	f->one_host = true;
	for (size_t k = 0; k < f->n_processes; k++) {
		struct fragment_process *p = &f->processes[k];
		double from = 0, to = 0;

		p->first = at;
		p->end_s = p->start_s;
		for (; at < f->n && f->items[at].process == k; at++) {
			const struct fragment *item = &f->items[at];
			bool begins = at == p->first || item->thread != item[-1].thread;

			if (begins) {
				p->thread_s += to - from;
				from = item->start_s;
				to = from;
			}
			to = fmax(to, item->start_s + item->time_s);
			p->end_s = fmax(p->end_s, to);
		}
		p->thread_s += to - from;
		p->n = at - p->first;
		p->first_snapshot = snapshot;
		while (snapshot < f->n_snapshots && f->snapshots[snapshot].process == k)
			snapshot++;
		p->n_snapshots = snapshot - p->first_snapshot;
		f->span_s = fmax(f->span_s, p->end_s);
		f->one_host &= strcmp(p->host, f->processes[0].host) == 0;
	}
}

static enum assay_status all_complete(struct loading *l, struct assay_error *err)
{
	uint32_t *map;

	if (!l->out.n && !l->window)
		return assay_fail(err, ASSAY_E_NODATA, "%s%s", l->cut ? l->cut : "no calls were recorded: the program makes none, or the ",
				  l->cut ? ": the file has been cut: it ends before the first call that was recorded"
					 : "library that records them was not loaded");
	l->out.snapshots = mem_grow(l->out.snapshots, l->out.n_snapshots, &l->snapshots_capacity, sizeof(*l->out.snapshots)); /* not NULL */
	map = mem_new(l->out.n_sites, sizeof(*map));
	sites_join(&l->out, map);
	number_all(&l->out, l->window, map);
	ends_match(&l->out);
	order_sort(l->out.snapshots, l->out.n_snapshots, snapshots_order);
	if (l->window)
		fragments_cut(&l->out, l->window);
	items_sort(&l->out);
	processes_complete(&l->out);
	weights_bound(&l->out);
	free(map);
	return ASSAY_OK;
}

static enum assay_status loading_finish(struct loading *l, enum assay_status st, struct fragments *out, struct assay_error *err)
{
	if (!st && !(st = all_complete(l, err))) {
		*out = l->out;
		l->out = (struct fragments){ .n = 0 };
	}
	fragments_release(&l->out);
	free(l->meanings);
	return st;
}

enum assay_status fragments_parse(const struct fragments_file *files, size_t n, const struct fragments_window *window,
				  struct fragments *out, struct assay_error *err)
{
	struct loading l = { .window = window };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = bytes_add(&l, files[i].name, files[i].bytes, files[i].n, err);
	return loading_finish(&l, st, out, err);
}

enum assay_status fragments_read(const char *const *paths, const uint32_t *run, size_t n, struct fragments *out, struct assay_error *err)
{
	struct loading l = { .items_capacity = 0 };
	enum assay_status st = ASSAY_OK;

	if (n > FRAGMENTS_FILES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%zu record files: at most %u can be analysed at once", n, FRAGMENTS_FILES_MAX);
	for (size_t i = 0; !st && i < n; i++) {
		struct buf bytes = BUF_INIT;
		bool read = !(st = file_read(paths[i], SAMPLES_FILE_BYTES_MAX, &bytes, err));

		l.run = run ? run[i] : 0;
		if (read)
			st = bytes_add(&l, paths[i], bytes.bytes ? bytes.bytes : "", bytes.size, err);
		buf_release(&bytes);
		if (!(read ? st == ASSAY_E_FORMAT || st == ASSAY_E_VERSION : st) || ++l.out.gone == n)
			continue;
		l.out.gone_why = l.out.gone_why ? l.out.gone_why : mem_string(err->text);
		st = ASSAY_OK;
	}
	return loading_finish(&l, st, out, err);
}

void fragments_release(struct fragments *f)
{
	for (size_t p = 0; p < f->n_processes; p++)
		process_release(&f->processes[p]);
	for (size_t s = 0; s < f->n_sites; s++)
		site_release(&f->sites[s]);
	ends_release(f);
	mem_free_all(f->runs, f->n_runs);
	mem_free(f->processes, f->sites, f->items, f->snapshots, f->mended, f->gone_why);
	*f = (struct fragments){ .n = 0 };
}

ROWS_FUNCTION(basis_name, enum basis, BASIS_ROWS, ROWS_WORD)
