#include "gate/variance/fragments.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/cgroup/stops.h"
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/samples/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_MASK	 (((UINT64_C(1) << INTERPOSE_TAG_BITS) - 1) << INTERPOSE_PEER_BITS)
#define ENDS_NUMBERS	 256u	/* maximum number of ends of a process, limited by `kind` in runs/inside/interpose/interpose.h */
#define PARTNERS	 0x1p50 /* limit of values that contain the partner of an MPI call */
#define WEIGHT_BOUND_MIN 8
#define REMAINING_MIN	 .05  /* minimum fraction of a thread's time for fragments that represent many others */
#define CLOCK_STEP_S	 .1   /* difference of two clocks above which one of them was set, s; CLOCK_STEP_PART applies, too */
#define CLOCK_STEP_PART	 .001 /* the same as a fraction of the time; a smaller difference is a reading error */
#define TICKS_MAX_S	 1e9  /* limit of the difference of ticks on one clock, s */

/* Indices of a file's columns by meaning; SIZE_MAX if the file has no such column. */
struct columns {
	size_t size, kind, result, args, from, since, work, from_weight, usage_counter[USAGE_COUNTERS];
	enum basis basis; /* unit of `work` */
};

/* Activities of the calls of a site: [0] on files, [1] on pipes and sockets. */
struct site_activities {
	enum activity activity[2];
	bool moves;
};

/* State of loading: fragments, snapshots and sites of all files so far. */
struct fragments_loader {
	struct fragments out;
	size_t items_capacity, snapshots_capacity, processes_capacity, sites_capacity;
	const struct fragments_window *window; /* NULL for the whole run */
	uint32_t run;			       /* run of the current file */
	struct site_activities *call_meanings; /* [functions], meanings of the functions in the current file */
	uint32_t ends[ENDS_NUMBERS];	       /* 1 + index in out.ends of the ends in the current file; 0 if there is none */
	const char *cut;		       /* first file that ends before its first call; NULL if there is none */
};

/* ---- ends of pipes and connections ---- */

/* Reports whether an address is valid on its host only; other hosts use the same address for themselves. */
static bool is_local(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strncmp(address, "[0:0:0:0:0:0:0:1]:", 18) == 0;
}

/* Returns a key that is the same for both ends of a connection: it has the two addresses in sorted order. */
static char *connection_key(const char *local, const char *peer, const struct fragment_process *p)
{
	bool up = strcmp(local, peer) < 0;

	return mem_format("%u %s %s %s", p->run, up ? local : peer, up ? peer : local, is_local(local) ? p->host : "");
}

/* Reads "PID pipe DEVICE:INODE" or "PID inet LOCAL PEER". Returns false for an end of another process (the parent) and for other text. */
static bool end_read(const char *value, const struct fragment_process *p, struct fragment_end *out)
{
	char *words = mem_string(value), *rest, *pid = strtok_r(words, " ", &rest), *kind = strtok_r(NULL, " ", &rest);
	char *one = strtok_r(NULL, " ", &rest), *two = strtok_r(NULL, " ", &rest);
	int64_t number;
	bool is = one && text_parse_int64(pid, &number) && number >= 0 && (uint64_t)number == p->pid, found = true;

	if (is && strcmp(kind, "pipe") == 0 && !two)
		*out = (struct fragment_end){ .key = mem_format("%u pipe %s %s", p->run, one, p->host), .peer = mem_string("") };
	else if (is && strcmp(kind, "inet") == 0 && two)
		*out = (struct fragment_end){ .key = connection_key(one, two, p), .peer = mem_string(two) };
	else
		found = false;
	free(words);
	return found;
}

/* Adds the ends of the file's process, the next to be added. map[N]: 1 + index in fragments->ends of the file's end N; 0 if there is
 * none. */
static void ends_add(struct fragments *f, const struct samples *s, const struct fragment_process *p, uint32_t map[ENDS_NUMBERS])
{
	memset(map, 0, ENDS_NUMBERS * sizeof(*map));
	for (size_t i = 0; i < s->n_infos; i++) {
		struct fragment_end end;
		int64_t number;

		if (strncmp(s->infos[i].key, "end:", 4) != 0 || !text_parse_int64(s->infos[i].key + 4, &number) || number < 1 ||
		    number >= (int64_t)ENDS_NUMBERS || map[number] || !end_read(s->infos[i].value, p, &end))
			continue;
		end.process = (uint32_t)f->n_processes;
		mem_append(f->ends, f->n_ends, &f->ends_capacity, end);
		map[number] = (uint32_t)f->n_ends;
	}
}

ORDER_POINTERS_BY(ends_order, struct fragment_end, BY_TEXT(key) BY_ASC(process))

/* Sets the partners of ends[n] of one pipe or connection. If two processes have ends, they are partners. If only one process is known, the
 * partner of a connection was not recorded; the partner of a pipe can also be a thread, or a process without calls. */
static void partners_report(struct fragment_end **ends, size_t n)
{
	size_t processes = 1;

	for (size_t i = 1; i < n; i++)
		processes += ends[i]->process != ends[i - 1]->process;
	for (size_t i = 0; i < n; i++)
		ends[i]->partner = processes == 2	      ? ends[ends[i]->process == ends[0]->process ? n - 1 : 0]->process
				   : n == 1 && *ends[i]->peer ? END_NOT_RECORDED
							      : END_UNKNOWN;
}

/* Fills `partner` of all ends. All files must have been read, and the processes sorted. */
static void match_ends(struct fragments *f)
{
	struct fragment_end **at = mem_new(f->n_ends, sizeof(struct fragment_end *));

	for (size_t i = 0; i < f->n_ends; i++)
		at[i] = &f->ends[i];
	order_sort(at, f->n_ends, ends_order);
	for (size_t i = 0, n; i < f->n_ends; i += n) {
		for (n = 1; i + n < f->n_ends && strcmp(at[i]->key, at[i + n]->key) == 0;)
			n++;
		partners_report(at + i, n);
	}
	free(at);
}

static void ends_release(struct fragments *f)
{
	for (size_t i = 0; i < f->n_ends; i++)
		mem_free(f->ends[i].key, f->ends[i].peer);
	free(f->ends);
}

/* ---- starts of processes ---- */

static double difference_s(uint64_t to, uint64_t from, double unit_s)
{
	return (double)(int64_t)(to - from) * unit_s;
}

double fragments_since(const struct fragments_clock *from, const struct fragments_clock *to)
{
	double real_s = difference_s(to->ns, from->ns, 1e-9), ticks_s = difference_s(to->ticks, from->ticks, from->tick_s);
	bool same = from->clock && to->clock && from->ticks && to->ticks && strcmp(from->clock, to->clock) == 0;

	return same && fabs(ticks_s) < TICKS_MAX_S && fabs(real_s - ticks_s) > CLOCK_STEP_S + CLOCK_STEP_PART * fabs(ticks_s) ? ticks_s
															      : real_s;
}

static struct fragments_clock process_clock(const struct fragment_process *p)
{
	return (struct fragments_clock){ p->started_ns, p->started_ticks, p->tick_s, p->clock };
}

/* Fills start_s of the processes [first, end), which are of one run. Processes of one kernel are placed relative to the first of them,
 * whose real time counts. */
static void starts_find(struct fragments *f, size_t first, size_t end)
{
	const struct fragments_clock zero = process_clock(&f->processes[first]);
	double began_s = 0;

	for (size_t p = first; p < end; p++) {
		const struct fragments_clock one = process_clock(&f->processes[p]);
		struct fragments_clock leader;
		size_t k = first;

		while (strcmp(f->processes[k].clock, f->processes[p].clock) != 0)
			k++;
		leader = process_clock(&f->processes[k]);
		f->processes[p].start_s = difference_s(leader.ns, zero.ns, 1e-9) + fragments_since(&leader, &one);
		began_s = fmin(began_s, f->processes[p].start_s);
	}
	for (size_t p = first; p < end; p++)
		f->processes[p].start_s -= began_s;
}

static void all_starts_find(struct fragments *f, const struct fragments_window *window)
{
	for (size_t p = 0; window && p < f->n_processes; p++) {
		const struct fragments_clock one = process_clock(&f->processes[p]);

		f->processes[p].start_s = fmax(fragments_since(&window->run_start, &one), 0);
	}
	for (size_t first = 0, end; !window && first < f->n_processes; first = end) {
		for (end = first; end < f->n_processes && f->processes[end].run == f->processes[first].run;)
			end++;
		starts_find(f, first, end);
	}
}

/* ---- weights ---- */

ORDER_POINTERS_BY(places_order, struct fragment, BY_ASC(thread) BY_ASC(from) BY_ASC(to) BY_ADDRESS)

static bool same_place(const struct fragment *x, const struct fragment *y)
{
	return x->thread == y->thread && x->from == y->from && x->to == y->to;
}

static bool is_separate(const struct fragment *items, size_t n)
{
	size_t i = 0;

	while (i < n && items[i].weight <= 1)
		i++;
	return i == n;
}

/* Returns the number of neighbours on either side that limit the weight of a fragment. Small weights use some dozens of neighbours,
 * because random choice evens out only over so many. Fewer would take away the weight of a long fragment among short ones. */
static size_t neighbour_count(uint32_t weight)
{
	return weight <= WEIGHT_BOUND_MIN ? WEIGHT_BOUND_MIN * (size_t)weight : 1;
}

/* Returns the longest time that at[i] can represent. at[n] are the fragments at one place. */
static double largest_nearby(const struct fragment_process *p, struct fragment *const *at, size_t n, size_t i)
{
	size_t k = neighbour_count(at[i]->weight);
	double from = i >= k ? at[i - k]->start_s : p->start_s, to = i + k < n ? at[i + k]->start_s : p->end_s;

	return fmax(to - from, 0) / 2;
}

/* Limits the weights of the fragments at[n] at one place by time. A fragment represents others up to halfway to its neighbours, and these
 * cannot have taken more time than there was. Otherwise one recorded fragment that waited for a CPU would count like thousands of waits. */
static void place_bound(const struct fragment_process *p, struct fragment *const *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double most = largest_nearby(p, at, n, i);

		if (at[i]->weight * at[i]->time_s > most)
			at[i]->weight = (uint32_t)fmax(most / at[i]->time_s, 1);
	}
}

/* Reduces the weights of a thread's sampled fragments at[n], so that their total time does not much exceed the thread's lifetime. Random
 * choice makes sums inexact, and timing lengthens very short calls. */
static void limit_thread_weights(struct fragment *const *at, size_t n)
{
	double from = (double)INFINITY, to = 0, few = 0, many = 0, part;

	for (size_t i = 0; i < n; i++) {
		double time = at[i]->weight * at[i]->time_s;

		*(at[i]->weight <= WEIGHT_BOUND_MIN ? &few : &many) += time;
		from = fmin(from, at[i]->start_s);
		to = fmax(to, at[i]->start_s + at[i]->time_s);
	}
	part = fmax(to - from - few, REMAINING_MIN * (to - from)) / many;
	for (size_t i = 0; many > 0 && part < 1 && i < n; i++)
		if (at[i]->weight > WEIGHT_BOUND_MIN)
			at[i]->weight = (uint32_t)fmax(at[i]->weight * part, 1);
}

/* Limits the weights of a process. at[p->n] is scratch memory. */
static void process_bound(struct fragments *f, const struct fragment_process *p, struct fragment **at)
{
	if (is_separate(f->items + p->first, p->n))
		return;
	for (size_t i = 0; i < p->n; i++)
		at[i] = &f->items[p->first + i];
	order_sort(at, p->n, places_order);
	for (size_t first = 0, n; first < p->n; first += n) {
		for (n = 1; first + n < p->n && same_place(at[first], at[first + n]);)
			n++;
		place_bound(p, at + first, n);
	}
	for (size_t first = 0, n; first < p->n; first += n) {
		for (n = 1; first + n < p->n && at[first]->thread == at[first + n]->thread;)
			n++;
		limit_thread_weights(at + first, n);
	}
}

/* Limits weights by the time between neighbours and by the lifetime of the thread. The fragments of all threads must be complete and
 * sorted. Costs O(n log n). */
static void limit_weights(struct fragments *f)
{
	struct fragment **at = mem_new(f->n, sizeof(struct fragment *));

	for (size_t p = 0; p < f->n_processes; p++)
		process_bound(f, &f->processes[p], at);
	free(at);
}

/* ---- windows ---- */

static bool is_same_thread(const struct snapshot *x, const struct snapshot *y)
{
	return x->process == y->process && x->thread == y->thread;
}

/* Keeps the snapshots in the window and, per thread, one before and one after it, so that differences cover the whole window. */
static void snapshots_cut(struct fragments *f, double to_s)
{
	struct snapshot *s = f->snapshots, before = { .process = UINT32_MAX };
	size_t n = 0;

	for (size_t i = 0; i < f->n_snapshots; i++) {
		const struct snapshot now = s[i];
		bool early = i + 1 < f->n_snapshots && is_same_thread(&now, &s[i + 1]) && s[i + 1].at_s <= f->from_s;
		bool late = is_same_thread(&now, &before) && before.at_s >= to_s;

		before = now;
		if (early || late)
			continue;
		s[n] = now;
		s[n++].at_s -= f->from_s;
	}
	f->n_snapshots = n;
}

/* Removes fragments that ended outside the window. Converts times since the run's start to times since the window's origin. Snapshots must
 * be sorted. Costs O(fragments + snapshots). */
static void fragments_cut(struct fragments *f, const struct fragments_window *w)
{
	double first = w->from_s;
	size_t n = 0;

	f->next_s = (double)INFINITY;
	for (size_t i = 0; i < f->n; i++) {
		const struct fragment *item = &f->items[i];
		double end = item->start_s + item->time_s;

		if (end > w->to_s)
			f->next_s = fmin(f->next_s, end);
		if (!(end > w->from_s && end <= w->to_s))
			continue;
		first = fmin(first, item->start_s);
		f->items[n++] = *item;
	}
	f->n = n;
	f->from_s = fmax(first, fmax(2 * w->from_s - w->to_s, 0));
	for (size_t i = 0; i < f->n; i++) {
		struct fragment *item = &f->items[i];
		double before = fmax(f->from_s - item->start_s, 0);

		item->start_s += before - f->from_s;
		item->time_s -= before;
	}
	for (size_t p = 0; p < f->n_processes; p++) {
		f->processes[p].start_s = fmax(f->processes[p].start_s - f->from_s, 0);
		for (size_t i = 0; i < f->processes[p].n_readings; i++)
			f->processes[p].readings[i].at_s -= f->from_s;
	}
	snapshots_cut(f, w->to_s);
}

/* ---- one file ---- */

static enum basis find_basis(const struct samples *s)
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
	static const char *const accounts[] = { USAGE_ROWS(ACCOUNT_NAME) };

	c->size = samples_find_counter(s, "size");
	c->kind = samples_find_counter(s, "kind");
	c->result = samples_find_counter(s, "result");
	c->args = samples_find_counter(s, "args");
	c->from = samples_find_counter(s, "from");
	c->since = samples_find_counter(s, "since");
	c->work = samples_find_counter(s, "work");
	c->basis = find_basis(s);
	c->from_weight = samples_find_counter(s, "from_weight");
	for (size_t a = 0; a < USAGE_COUNTERS; a++)
		c->usage_counter[a] = samples_find_counter(s, accounts[a]);
}

/* Returns a value of a record; NaN if unknown. */
static double sample_value(const struct samples *s, size_t i, size_t column)
{
	return column == SIZE_MAX ? (double)NAN : s->values[i * s->n_counters + column];
}

static uint64_t mix_hash(uint64_t hash, double value)
{
	uint64_t bits = UINT64_MAX;

	if (!isnan(value))
		memcpy(&bits, &value, sizeof(bits));
	return fragment_hash(hash, bits);
}

static void fragment_add(struct fragments_loader *l, const struct fragment *f, double weight)
{
	unsigned thin = l->window ? l->window->thin_log2 : 0;

	l->out.items = mem_grow(l->out.items, l->out.n, &l->items_capacity, sizeof(*f));
	l->out.items[l->out.n] = *f;
	l->out.items[l->out.n++].weight = (uint32_t)fmin(ldexp(weight, (int)thin), UINT32_MAX);
}

/* Reports whether `args` contains the partner and tag of an MPI call. The tag does not affect the work. */
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

/* Finds the meaning of each function once: there are far more calls than functions. */
static void meanings_find(struct fragments_loader *l, const struct samples *s)
{
	free(l->call_meanings);
	l->call_meanings = mem_new(s->n_functions, sizeof(*l->call_meanings));
	for (size_t f = 0; f < s->n_functions; f++) {
		struct site_activities *m = &l->call_meanings[f];

		m->activity[0] = call_activity(s->functions[f].name, INTERPOSE_FILE, &m->moves);
		m->activity[1] = call_activity(s->functions[f].name, INTERPOSE_PIPE, &m->moves);
	}
}

/* Adds the fragment of a call. */
static void call_add(struct fragments_loader *l, const struct samples *s, const struct columns *c, size_t i, uint32_t site)
{
	double size = sample_value(s, i, c->size), kind = sample_value(s, i, c->kind), result = sample_value(s, i, c->result);
	double args = sample_value(s, i, c->args);
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
	const struct site_activities *m = &l->call_meanings[s->items[i].function];

	descriptor -= end << INTERPOSE_KIND_BITS;
	f.activity = (uint16_t)m->activity[descriptor == INTERPOSE_PIPE || descriptor == INTERPOSE_SOCKET];
	f.work = m->moves && !isnan(result) ? result : isnan(size) ? 0 : size;
	if (is_mpi(descriptor, args)) {
		partner_read(&f, (uint64_t)args, descriptor);
		args -= (double)((uint64_t)args & TAG_MASK);
	}
	f.arguments = mix_hash(mix_hash(mix_hash(0, (double)descriptor), args), isnan(result) ? 0 : 1); /* a failed call does other work */
	if (f.activity == ACTIVITY_COMMUNICATION && !s->items[i].ordinal) /* the first call waits until its partner starts */
		f.arguments = mix_hash(f.arguments, 1);
	if (s->items[i].weight)
		fragment_add(l, &f, s->items[i].weight);
}

/* Adds the fragment of the computation before a call. */
static void edge_add(struct fragments_loader *l, const struct samples *s, const struct columns *c, size_t i, uint32_t first_site)
{
	double from = sample_value(s, i, c->from), since = sample_value(s, i, c->since), work = sample_value(s, i, c->work),
	       size = sample_value(s, i, c->size);
	double weight = sample_value(s, i, c->from_weight);
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
	if (isnan(work) && sample_value(s, i, c->kind) == INTERPOSE_FUNCTION && !isnan(size)) {
		f.basis = BASIS_ARGUMENTS; /* the user declared that the argument measures the work */
		work = size;
	}
	f.work = f.basis == BASIS_UNVERIFIED ? 0 : work;
	if (f.basis == BASIS_UNVERIFIED)
		f.arguments = mix_hash(0, sample_value(s, i, c->args));
	fragment_add(l, &f, weight);
}

static void snapshot_add(struct fragments_loader *l, const struct samples *s, const struct columns *c, size_t i)
{
#define ACCOUNT_UNIT(id, name, unit) unit,
	static const double unit[] = { USAGE_ROWS(ACCOUNT_UNIT) };
	struct snapshot *at;

	if (isnan(sample_value(s, i, c->usage_counter[USAGE_CPU])) && isnan(sample_value(s, i, c->usage_counter[USAGE_QUEUE])))
		return;
	at = mem_append_slot(l->out.snapshots, l->out.n_snapshots, &l->snapshots_capacity);
	*at = (struct snapshot){ .at_s = s->items[i].start_s, .process = (uint32_t)l->out.n_processes, .thread = s->items[i].thread };
	for (size_t a = 0; a < USAGE_COUNTERS; a++)
		at->value[a] = sample_value(s, i, c->usage_counter[a]) * unit[a];
}

static int64_t read_rank(const struct samples *s)
{
	const char *text = samples_info(s, "rank");
	int64_t rank;

	return text && text_parse_int64(text, &rank) && rank >= 0 ? rank : -1;
}

static void process_describe(const struct samples *s, struct fragment_process *p)
{
	const char *program = samples_info(s, "program"), *host = samples_info(s, "host"), *slash = program ? strrchr(program, '/') : NULL;
	const char *arguments = samples_info(s, "arguments"), *boot = samples_info(s, "boot"), *name = samples_info(s, "name");

	p->program = mem_string(name ? name : program ? slash ? slash + 1 : program : "");
	p->arguments = mem_string(arguments ? arguments : "");
	p->host = mem_string(host ? host : "");
	p->clock = mem_string(boot ? boot : p->host);
	p->rank = read_rank(s);
	p->ranks = samples_info_number(s, "ranks") <= FRAGMENTS_FILES_MAX ? (size_t)samples_info_number(s, "ranks") : 0;
	p->recording = samples_info_number(s, "run");
	p->pid = s->pid;
	p->started_ns = s->started_ns;
	p->started_ticks = s->started_ticks;
	p->tick_s = s->ns_per_tick / 1e9;
	p->dropped = s->dropped;
	p->dropped_reason = mem_string(samples_info(s, "dropped") ? samples_info(s, "dropped") : "");
	p->finished = s->finished;
	p->truncated = s->truncated;
	p->children = samples_list_children(s, &p->n_children);
	p->name = p->rank >= 0 ? mem_format("rank %lld", (long long)p->rank)
			       : mem_format("process %llu%s%s%s", (unsigned long long)p->pid, *p->program ? " (" : "", p->program,
					    *p->program ? ")" : "");
}

static void process_release(struct fragment_process *p)
{
	mem_free(p->name, p->program, p->arguments, p->host, p->clock, p->children, p->dropped_reason, p->readings);
}

/* Reports whether the file was added before, as a copy or under another name. */
static bool is_already_loaded(const struct fragments_loader *l, const struct fragment_process *one)
{
	for (size_t p = 0; p < l->out.n_processes; p++) {
		const struct fragment_process *other = &l->out.processes[p];

		if (other->run == one->run && other->pid == one->pid && other->started_ns == one->started_ns &&
		    strcmp(other->host, one->host) == 0)
			return true;
	}
	return false;
}

/* Reports whether the file is from another recording than the other files of its run. */
static bool is_of_other_recording(const struct fragments_loader *l, const struct fragment_process *one)
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

/* Returns the path of each function's library, from the entries "module:N" for function N; NULL if unknown. The caller frees the array. */
static const char **modules_find(const struct samples *s)
{
	const char **path = mem_new(s->n_functions, sizeof(*path));
	int64_t n;

	for (size_t i = 0; i < s->n_infos; i++) {
		if (strncmp(s->infos[i].key, "module:", 7) != 0 || !text_parse_int64(s->infos[i].key + 7, &n) || n < 0 ||
		    n >= (int64_t)s->n_functions)
			continue;
		for (size_t f = (size_t)n; f < s->n_functions; f++)
			if (strcmp(s->functions[f].module, s->functions[n].module) == 0)
				path[f] = s->infos[i].value;
	}
	return path;
}

static void sites_add(struct fragments_loader *l, const struct samples *s)
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

/* Adds the readings from outside (fleet/cgroup/stops.h) in the file, up to the first whose time does not increase. */
static void readings_add(const struct fragments_file *file, struct fragment_process *p)
{
	const double unit_s = 1e-4;
	struct process_monitor_reading one;
	size_t capacity = 0;
	double before_s = 0;

	for (size_t at = RECORD_READINGS_OFFSET;
	     at + sizeof(one) <= file->n && at < RECORD_READINGS_OFFSET + MONITOR_READINGS * sizeof(one); at += sizeof(one)) {
		double at_s;

		memcpy(&one, (const char *)file->bytes + at, sizeof(one));
		at_s = difference_s(one.at_ns, p->started_ns, 1e-9);
		if (!one.at_ns || !(at_s >= before_s))
			return;
		before_s = at_s;
		mem_append(p->readings, p->n_readings, &capacity,
			   (struct fragment_reading){ at_s, one.cpu * unit_s, one.run_delay * unit_s, one.stopped * unit_s });
	}
}

static enum assay_status file_add(struct fragments_loader *l, const struct fragments_file *file, const struct samples *s,
				  struct assay_error *err)
{
	uint32_t first_site = (uint32_t)l->out.n_sites;
	const char *name = file->name;
	struct columns c;
	struct fragment_process p = { .first = l->out.n, .first_snapshot = l->out.n_snapshots, .run = l->run };

	columns_find(s, &c);
	if (c.size == SIZE_MAX || c.kind == SIZE_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a record of calls ('assay inspect' shows its content)", name);
	if (l->out.n + 2 * s->n > FRAGMENTS_MAX || l->out.n_sites + s->n_functions >= UINT32_MAX)
		return assay_fail(
		    err, ASSAY_E_LIMIT,
		    "%s: too many fragments with this file (limit %u): analyse the processes in groups, by naming their files", name,
		    FRAGMENTS_MAX);
	process_describe(s, &p);
	if (is_of_other_recording(l, &p)) {
		process_release(&p);
		return assay_fail(err, ASSAY_E_CONFLICT,
				  "%s: belongs to another run than the files before it: put each run's files into its own directory, and "
				  "name the directories",
				  name);
	}
	if (is_already_loaded(l, &p)) {
		process_release(&p);
		return ASSAY_OK;
	}
	if (s->truncated && !s->n && !l->cut)
		l->cut = name;
	readings_add(file, &p);
	sites_add(l, s);
	ends_add(&l->out, s, &p, l->ends);
	meanings_find(l, s);
	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].thread >= FRAGMENTS_THREADS_MAX || !(s->items[i].ns >= 0 && s->items[i].ns < 1e18) ||
		    !(fabs(s->items[i].start_s) < 1e9))
			continue;
		call_add(l, s, &c, i, first_site + s->items[i].function);
		edge_add(l, s, &c, i, first_site);
		snapshot_add(l, s, &c, i);
	}
	p.n = l->out.n - p.first;
	p.n_snapshots = l->out.n_snapshots - p.first_snapshot;
	mem_append(l->out.processes, l->out.n_processes, &l->processes_capacity, p);
	return ASSAY_OK;
}

static enum assay_status bytes_add(struct fragments_loader *l, const struct fragments_file *file, struct assay_error *err)
{
	struct samples s = { .items = NULL };
	enum assay_status st = samples_parse_in_order(file->name, file->bytes, file->n, l->window ? l->window->thin_log2 : 0, &s, err);

	if (!st)
		st = file_add(l, file, &s, err);
	samples_release(&s);
	return st == ASSAY_E_NODATA ? ASSAY_OK : st; /* the process ended before its first call */
}

/* ---- all files ---- */

ORDER_BY(processes_order, struct fragment_process, BY_ASC(run) BY_ASC(rank) BY_ASC(started_ns) BY_ASC(pid) BY_TEXT(host))

#define BY_SITE BY_TEXT(module) BY_ASC(address) BY_TEXT(name)
ORDER_BY(sites_order, struct fragment_site, BY_SITE)

ORDER_POINTERS_BY(site_places_order, struct fragment_site, BY_SITE BY_ADDRESS)

/* Merges the sites of all files into one sorted list without duplicates. Sets map[] to the new index of each old index. */
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

ORDER_BY(items_order, struct fragment, BY_ASC(thread) BY_ASC(start_s) BY_ASC(time_s) BY_ASC(from))

ORDER_BY(snapshots_order, struct snapshot, BY_ASC(process) BY_ASC(thread) BY_ASC(at_s))

/* Returns numbers of command lines [n_processes], for processes without ranks: the number, from 0, of a process's command line among those
 * of its program in its run. Without other evidence, different command lines may mean different work. The caller frees the array. */
static double *commands_number(const struct fragments *f)
{
	double *number = mem_new(f->n_processes, sizeof(*number));

	for (size_t i = 0; i < f->n_processes; i++) {
		const struct fragment_process *p = &f->processes[i];

		for (size_t k = 0; p->rank < 0 && k < i && f->processes[k].run <= p->run; k++) {
			const struct fragment_process *other = &f->processes[k];

			if (other->run != p->run || strcmp(other->program, p->program) != 0)
				continue;
			if (strcmp(other->arguments, p->arguments) == 0) {
				number[i] = number[k];
				break;
			}
			number[i] = fmax(number[i], number[k] + 1);
		}
	}
	return number;
}

static void commands_count(struct fragments *f)
{
	double *number = commands_number(f);

	for (size_t i = 0; i < f->n; i++) {
		struct fragment *item = &f->items[i];

		if (number[item->process] > 0 && (item->activity == ACTIVITY_COMMUNICATION ||
						  (item->activity == ACTIVITY_COMPUTATION && item->basis == BASIS_UNVERIFIED)))
			item->arguments = mix_hash(item->arguments, number[item->process]);
	}
	free(number);
}

/* Makes readings relative to the run's start. Removes those after the process executed another program, which is another process. */
static void readings_finish(const struct fragments *f, struct fragment_process *p)
{
	double until_s = (double)INFINITY;
	size_t n = 0;

	for (const struct fragment_process *o = f->processes; o < f->processes + f->n_processes; o++)
		if (o->run == p->run && o->pid == p->pid && o->start_s > p->start_s && strcmp(o->host, p->host) == 0)
			until_s = fmin(until_s, o->start_s);
	while (n < p->n_readings && p->readings[n].at_s + p->start_s <= until_s)
		p->readings[n++].at_s += p->start_s;
	p->n_readings = n;
}

/* Makes times relative to the run's start, and renumbers sites and processes. */
static void renumber_all(struct fragments *f, const struct fragments_window *window, const uint32_t *map)
{
	uint32_t *process_now = mem_new(f->n_processes, sizeof(*process_now));

	for (size_t p = 0; p < f->n_processes; p++)
		f->processes[p].file_index = (uint32_t)p;
	order_sort(f->processes, f->n_processes, processes_order);
	for (size_t p = 0; p < f->n_processes; p++)
		process_now[f->processes[p].file_index] = (uint32_t)p;
	all_starts_find(f, window);
	for (size_t p = 0; p < f->n_processes; p++)
		readings_finish(f, &f->processes[p]);
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
	commands_count(f);
}

/* Sorts fragments by process, then within each process. */
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

/* Fills the members of processes that depend on the sorted fragments. */
static void processes_complete(struct fragments *f)
{
	size_t at = 0, snapshot = 0;

	f->is_one_host = true;
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
		f->is_one_host &= strcmp(p->host, f->processes[0].host) == 0;
	}
}

static enum assay_status all_complete(struct fragments_loader *l, struct assay_error *err)
{
	uint32_t *map;

	if (!l->out.n && !l->window)
		return assay_fail(err, ASSAY_E_NODATA, "%s%s", l->cut ? l->cut : "no calls were recorded: the program makes none, or the ",
				  l->cut ? ": the file has been cut: it ends before the first call that was recorded"
					 : "library that records them was not loaded");
	l->out.snapshots = mem_grow(l->out.snapshots, l->out.n_snapshots, &l->snapshots_capacity,
				    sizeof(*l->out.snapshots)); /* avoids NULL if there are no snapshots */
	map = mem_new(l->out.n_sites, sizeof(*map));
	sites_join(&l->out, map);
	renumber_all(&l->out, l->window, map);
	match_ends(&l->out);
	order_sort(l->out.snapshots, l->out.n_snapshots, snapshots_order);
	if (l->window)
		fragments_cut(&l->out, l->window);
	items_sort(&l->out);
	processes_complete(&l->out);
	limit_weights(&l->out);
	free(map);
	return ASSAY_OK;
}

static enum assay_status loading_finish(struct fragments_loader *l, enum assay_status st, struct fragments *out, struct assay_error *err)
{
	if (!st && !(st = all_complete(l, err))) {
		*out = l->out;
		l->out = (struct fragments){ .n = 0 };
	}
	fragments_release(&l->out);
	free(l->call_meanings);
	return st;
}

/* Adds the file, or counts it as unreadable. Fails if all `n` files are unreadable and there is no window. */
static enum assay_status file_take(struct fragments_loader *l, struct fragments_file *file, size_t n, struct assay_error *err)
{
	enum assay_status st = file->st ? file->st : bytes_add(l, file, err);

	if (!file->st && st != ASSAY_E_FORMAT && st != ASSAY_E_VERSION)
		return st;
	if (!file->st)
		file->reason = mem_string(err->text);
	file->st = st;
	if (!l->out.unreadable_reason)
		l->out.unreadable_reason = mem_string(file->reason);
	return ++l->out.n_unreadable_files == n && !l->window ? assay_fail(err, st, "%s", file->reason) : ASSAY_OK;
}

enum assay_status fragments_parse(struct fragments_file *files, size_t n, const struct fragments_window *window, struct fragments *out,
				  struct assay_error *err)
{
	struct fragments_loader l = { .window = window };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = file_take(&l, &files[i], n, err);
	return loading_finish(&l, st, out, err);
}

enum assay_status fragments_read(const char *const *paths, const uint32_t *run, size_t n, struct fragments *out, struct assay_error *err)
{
	struct fragments_loader l = { .items_capacity = 0 };
	enum assay_status st = ASSAY_OK;

	if (n > FRAGMENTS_FILES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%zu record files: at most %u can be analysed at once", n, FRAGMENTS_FILES_MAX);
	for (size_t i = 0; !st && i < n; i++) {
		struct buf bytes = BUF_INIT;
		struct fragments_file file = { .name = paths[i], .st = file_read(paths[i], SAMPLES_FILE_BYTES_MAX, &bytes, err) };

		file.reason = file.st ? mem_string(err->text) : NULL;
		file.bytes = bytes.bytes ? bytes.bytes : "";
		file.n = bytes.size;
		l.run = run ? run[i] : 0;
		st = file_take(&l, &file, n, err);
		free(file.reason);
		buf_release(&bytes);
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
	mem_free(f->processes, f->sites, f->items, f->snapshots, f->unreadable_reason);
	*f = (struct fragments){ .n = 0 };
}

ROWS_FUNCTION(basis_name, enum basis, BASIS_ROWS, ROWS_WORD)
