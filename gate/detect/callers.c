#include "gate/detect/callers.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/detect/counters.h"
#include "gate/detect/observe.h"
#include "runs/inside/changes/functions.h"

#include <math.h>
#include <string.h>

#define ROUNDS	      5000 /* maximum number of rounds; functions that call each other need many */
#define REMAINING_MIN 1e-9 /* fraction of the counts that may stay undistributed */

/* Upper limit of the cost of a call, compared with the same code inside the caller: the entered block, the block after the return, and
 * values that the caller keeps in memory during the call. */
static const struct {
	const char *counter;
	double each;
} call_counters[] = { { "emulated:blocks", 2 }, { "emulated:accesses", 3 } };
#define CALL_COUNTERS (sizeof(call_counters) / sizeof(call_counters[0]))
#define CALL_NS	      1. /* uncounted time of a call and its return, ns: 0.9 to 1.1 for a leaf, from 0.5 on with -O0 */

/* Connection from a function in a thread to one of its callers, which receives counts. */
struct edge {
	size_t from, to;    /* function and caller, as indices into samples.calls */
	double calls, work; /* sums over the samples; edges_divide() converts them to fractions of the counts that the caller receives */
	double *sums;	    /* [n_counters], the same per counter: the fractions differ between counters */
};

/* State of passing counts to callers in one file. */
struct count_propagation {
	struct samples *s; /* samples of the file, with their own functions, calls and sums */
	const struct stems *names[2];
	bool *moves;	    /* [n_functions], the callers receive the function's counts */
	struct edge *edges; /* [n], sorted by `from` and `to` */
	size_t n, capacity;
	double *costs; /* [n_counters], cost of one event, ns */
	size_t work[SAMPLES_WORK_MAX], n_work;
	struct callers *out; /* result, which receives the parts */
	double scale;	     /* factor for the costs of parts */
};

static bool is_one_sided(const struct count_propagation *p, size_t function)
{
	const char *name = p->s->functions[function].name;

	return p->s->functions[function].n > 0 && (stems_find(p->names[0], name) == SIZE_MAX || stems_find(p->names[1], name) == SIZE_MAX);
}

/* Returns the index of main() in s->calls, which started all threads; SIZE_MAX if there is none, as in a child of fork(). */
static size_t count_main_calls(const struct samples *s)
{
	for (size_t i = 0; i < s->n_calls; i++)
		if (strcmp(s->functions[s->calls[i].function].name, "main") == 0)
			return i;
	return SIZE_MAX;
}

static double sample_work(const struct count_propagation *p, size_t item)
{
	double work = 1; /* gives weight to a call without work */

	for (size_t k = 0; k < p->n_work; k++)
		work += fmax(0, p->s->self_counts[item * p->s->n_counters + p->work[k]]);
	return isnan(work) ? 1 : work;
}

/* Returns the edge between `from` and `to`, and adds it if needed. `first` is the index of the function's first edge. */
static struct edge *find_or_add_edge(struct count_propagation *p, size_t first, size_t from, size_t to)
{
	for (size_t i = first; i < p->n; i++)
		if (p->edges[i].from == from && p->edges[i].to == to)
			return &p->edges[i];
	mem_append(p->edges, p->n, &p->capacity,
		   (struct edge){ .from = from, .to = to, .sums = mem_new(p->s->n_counters + 1, sizeof(double)) });
	return &p->edges[p->n - 1];
}

static bool passing_add_function(struct count_propagation *p, size_t function)
{
	const struct samples_function *f = &p->s->functions[function];
	size_t n = p->n;

	if (!observe_is_total_known(p->s, function))
		return false;
	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct sample *item = &p->s->items[i];
		bool first = item->caller == RECORD_NO_CALLER;
		size_t from = samples_find_calls(p->s, function, item->thread), to;
		struct edge *edge;

		if (!item->caller)
			return false;
		to = first ? count_main_calls(p->s) : samples_find_calls(p->s, item->caller - 1, item->thread);
		if (to == from || (first && to == SIZE_MAX))
			continue;
		if (to == SIZE_MAX || from == SIZE_MAX)
			return false;
		edge = find_or_add_edge(p, n, from, to);
		edge->calls += item->weight;
		edge->work += item->weight * sample_work(p, i);
		for (size_t c = 0; c < p->s->n_counters; c++)
			edge->sums[c] += item->weight * fmax(0, p->s->self_counts[i * p->s->n_counters + c]);
	}
	return true;
}

ORDER_BY(by_ends, struct edge, BY_ASC(from) BY_ASC(to))

static size_t edges_end(const struct count_propagation *p, size_t first)
{
	size_t end = first;

	while (end < p->n && p->edges[end].from == p->edges[first].from)
		end++;
	return end;
}

/* Converts sums to fractions that add up to 1 per function and thread. If no sample has events of a counter, uses the fractions of work. */
static void edges_divide(struct count_propagation *p)
{
	double *all = mem_new(p->s->n_counters + 1, sizeof(all[0]));

	order_sort(p->edges, p->n, by_ends);
	for (size_t first = 0, end; first < p->n; first = end) {
		double calls = 0, work = 0;

		end = edges_end(p, first);
		memset(all, 0, p->s->n_counters * sizeof(all[0]));
		for (size_t i = first; i < end; i++) {
			calls += p->edges[i].calls;
			work += p->edges[i].work;
			for (size_t c = 0; c < p->s->n_counters; c++)
				all[c] += p->edges[i].sums[c];
		}
		for (size_t i = first; i < end; i++) {
			struct edge *edge = &p->edges[i];

			edge->calls /= calls;
			edge->work /= work;
			for (size_t c = 0; c < p->s->n_counters; c++)
				edge->sums[c] = all[c] > 0 ? edge->sums[c] / all[c] : edge->work;
		}
	}
	free(all);
}

/* Stores the upper limit of the cost of calling a function after the function's sums. Callers receive it like the sums. */
static void calls_find_calling(const struct samples *s, struct samples_calls *calls)
{
	for (size_t k = 0; k < CALL_COUNTERS; k++)
		calls->sums[s->n_counters + k] = call_counters[k].each * (double)calls->calls;
}

static double sums_weighted_cost(const struct count_propagation *p, const double *sums)
{
	double cost = 0;

	for (size_t c = 0; c < p->s->n_counters; c++)
		cost += isnan(sums[c]) ? 0 : p->costs[c] * sums[c];
	return cost;
}

static void part_add(struct count_propagation *p, const struct edge *edge, double cost)
{
	struct callers *out = p->out;
	const char *function = p->s->functions[p->s->calls[edge->to].function].name,
		   *part = p->s->functions[p->s->calls[edge->from].function].name;

	if (p->moves[p->s->calls[edge->to].function] || !is_one_sided(p, p->s->calls[edge->from].function))
		return;
	mem_append(out->parts, out->n_parts, &out->parts_capacity,
		   (struct callers_part){ mem_bytes(function, functions_stem_length(function)), mem_string(part), p->scale * cost });
}

/* Passes counts to callers, one level up. Adds the passed costs to costs[n] of the edges. Returns the cost that was still to be passed. */
static double edges_pass(struct count_propagation *p, double *costs)
{
	size_t width = p->s->n_counters + CALL_COUNTERS;
	double left = 0, *sums = mem_new(width, sizeof(sums[0]));

	for (size_t first = 0, end; first < p->n; first = end) {
		double *from = p->s->calls[p->edges[first].from].sums, cost = sums_weighted_cost(p, from);

		end = edges_end(p, first);
		left += cost;
		if (!(cost > 0))
			continue;
		memcpy(sums, from, width * sizeof(sums[0]));
		memset(from, 0, width * sizeof(from[0]));
		for (size_t i = first; i < end; i++) {
			const struct edge *edge = &p->edges[i];
			double *to = p->s->calls[edge->to].sums;

			for (size_t c = 0; c < p->s->n_counters; c++) {
				to[c] += edge->sums[c] * sums[c];
				costs[i] += isnan(sums[c]) ? 0 : edge->sums[c] * p->costs[c] * sums[c];
			}
			for (size_t c = p->s->n_counters; c < width; c++)
				to[c] += edge->calls * sums[c];
		}
	}
	free(sums);
	return left;
}

static void passing_run(struct count_propagation *p)
{
	double *costs = mem_new(p->n, sizeof(costs[0])), all = edges_pass(p, costs), left = all;

	for (int round = 0; round < ROUNDS && left > REMAINING_MIN * all; round++)
		left = edges_pass(p, costs);
	for (size_t i = 0; i < p->n; i++)
		part_add(p, &p->edges[i], costs[i]);
	free(costs);
}

/* Removes the functions whose callers received all counts. */
static void passing_remove_counts(struct count_propagation *p, struct stems *moved)
{
	size_t kept = 0;
	bool *gone = mem_new(p->s->n_calls + 1, sizeof(gone[0]));

	for (size_t i = 0; i < p->n; i++) {
		gone[p->edges[i].from] = true;
		stems_add(moved, p->s->functions[p->s->calls[p->edges[i].from].function].name);
		p->s->functions[p->s->calls[p->edges[i].from].function].n = 0;
	}
	stems_sort(moved);
	for (size_t i = 0; i < p->s->n_calls; i++)
		if (!gone[i])
			p->s->calls[kept++] = p->s->calls[i];
	p->s->n_calls = kept;
	free(gone);
}

/* Passes counts to callers in one file. Returns false if callers are unknown. */
static bool file_pass(struct samples *s, const struct stems names[2], double scale, struct stems *moved, struct callers *out)
{
	struct count_propagation p = { .s = s, .names = { &names[0], &names[1] }, .out = out, .scale = scale };
	bool known = true;

	p.moves = mem_new(s->n_functions + 1, sizeof(p.moves[0]));
	p.costs = mem_new(s->n_counters + 1, sizeof(p.costs[0]));
	p.n_work = samples_find_work_counters(s, p.work);
	for (size_t c = 0; c < s->n_counters; c++) {
		struct counter_info about = counter_info(s->back_end, s->counters[c]);

		p.costs[c] = about.role == COUNTER_EFFECT ? 0 : about.cost_ns;
	}
	for (size_t f = 0; f < s->n_functions; f++)
		p.moves[f] = is_one_sided(&p, f) || (s->functions[f].n && record_is_library(s->functions[f].name));
	for (size_t f = 0; f < s->n_functions && known; f++)
		known = !p.moves[f] || passing_add_function(&p, f);
	if (known) {
		edges_divide(&p);
		for (size_t i = 0; i < s->n_calls; i++)
			if (is_one_sided(&p, s->calls[i].function))
				calls_find_calling(s, &s->calls[i]);
		passing_run(&p);
		passing_remove_counts(&p, moved);
	}
	mem_free(p.moves, p.costs);
	for (size_t i = 0; i < p.n; i++)
		free(p.edges[i].sums);
	free(p.edges);
	return known;
}

static struct samples samples_view(const struct samples *from)
{
	struct samples s = *from;
	size_t width = s.n_counters + CALL_COUNTERS;

	s.functions = mem_new(s.n_functions + 1, sizeof(s.functions[0]));
	s.calls = mem_new(s.n_calls + 1, sizeof(s.calls[0]));
	s.sums = mem_new(s.n_calls * width + 1, sizeof(s.sums[0]));
	if (s.n_functions)
		memcpy(s.functions, from->functions, s.n_functions * sizeof(s.functions[0]));
	for (size_t i = 0; i < s.n_calls; i++) {
		s.calls[i] = from->calls[i];
		s.calls[i].sums = s.sums + i * width;
		for (size_t c = 0; c < s.n_counters; c++)
			s.calls[i].sums[c] = from->calls[i].sums ? from->calls[i].sums[c] : (double)NAN;
	}
	return s;
}

static bool side_pass(const struct side *side, const struct stems names[2], double scale, struct callers *callers, int at)
{
	struct side *out = &callers->sides[at];
	bool known = true;

	*out = *side;
	out->runs = mem_new(side->n, sizeof(out->runs[0]));
	for (size_t r = 0; r < side->n; r++) {
		out->runs[r] = side->runs[r];
		out->runs[r].files = mem_new(side->runs[r].n_files + 1, sizeof(out->runs[r].files[0]));
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			out->runs[r].files[f] = samples_view(&side->runs[r].files[f]);
			known = known && file_pass(&out->runs[r].files[f], names, scale, &callers->moved[at], callers);
		}
	}
	return known;
}

/* Sums over the calls of a function on one side. */
struct called {
	double calls, sums[CALL_COUNTERS], call_counters[CALL_COUNTERS];
};

/* Returns the fraction (0 to 1) of the upper limit for calling that the additional events of a call need, compared with the other side. */
static double called_share(const struct called *here, const struct called *there, size_t k)
{
	double more = there->calls > 0 ? here->sums[k] - there->sums[k] / there->calls * here->calls : 0;

	return more > 0 && here->call_counters[k] > 0 ? fmin(1, more / here->call_counters[k]) : 0;
}

/* Adds a file to here[names->n]. If `there` (the other side's sums) is not NULL, subtracts the cost of calling from the file instead. */
static void sum_calls_of_file(struct samples *s, const struct stems *names, struct called *here, const struct called *there)
{
	for (size_t i = 0; i < s->n_calls; i++) {
		double *sums = s->calls[i].sums, *of = sums + s->n_counters;
		size_t name = stems_find(names, s->functions[s->calls[i].function].name);

		if (name != SIZE_MAX && !there)
			here[name].calls += (double)s->calls[i].calls;
		for (size_t k = 0; k < CALL_COUNTERS && name != SIZE_MAX; k++) {
			size_t c = samples_find_counter(s, call_counters[k].counter);

			if (c != SIZE_MAX && there) {
				sums[c] -= called_share(&here[name], &there[name], k) * of[k];
			} else if (c != SIZE_MAX) {
				here[name].sums[k] += sums[c];
				here[name].call_counters[k] += of[k];
			}
		}
	}
}

static void sum_calls_of_side(const struct side *side, const struct stems *names, struct called *here, const struct called *there)
{
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			sum_calls_of_file(&side->runs[r].files[f], names, here, there);
}

/* Returns the estimated cost that is subtracted per call, ns. */
static double call_cost_difference_ns(const struct called *here, const struct called *there)
{
	double ns = 0;

	for (size_t k = 0; k < CALL_COUNTERS && here->calls > 0; k++)
		ns += called_share(here, there, k) * here->call_counters[k] / here->calls *
		      counter_info(RECORD_EMULATED, call_counters[k].counter).cost_ns;
	return ns;
}

/* Returns the mean number of calls, per call of this function, to functions that the other side lacks. */
static double count_missing_calls(const struct called *here)
{
	return here->calls > 0 ? here->call_counters[0] / call_counters[0].each / here->calls : 0;
}

/* Subtracts the cost of calling. Sets call_cost_ns[names->n] to the difference, new - old, of the subtracted cost and the time of calls. */
static void sides_subtract_call_cost(const struct side sides[2], const struct stems *names, double *call_cost_ns)
{
	struct called *called[2] = { mem_new(names->n + 1, sizeof(*called[0])), mem_new(names->n + 1, sizeof(*called[1])) };

	for (int s = 0; s < 2; s++)
		sum_calls_of_side(&sides[s], names, called[s], NULL);
	for (int s = 0; s < 2; s++)
		sum_calls_of_side(&sides[s], names, called[s], called[!s]);
	for (size_t i = 0; i < names->n; i++)
		call_cost_ns[i] = call_cost_difference_ns(&called[1][i], &called[0][i]) -
				  call_cost_difference_ns(&called[0][i], &called[1][i]) +
				  CALL_NS * (count_missing_calls(&called[1][i]) - count_missing_calls(&called[0][i]));
	mem_free(called[0], called[1]);
}

ORDER_BY(by_function_and_part, struct callers_part, BY_TEXT(function) BY_TEXT(part))
ORDER_BY(by_function_and_cost, struct callers_part, BY_TEXT(function) BY_DESC(cost_ns))

/* Sorts the parts. Merges the parts of the same two functions from all runs. */
static void parts_sort(struct callers *callers)
{
	size_t kept = 0;

	order_sort(callers->parts, callers->n_parts, by_function_and_part);
	for (size_t i = 0; i < callers->n_parts; i++) {
		struct callers_part *part = &callers->parts[i], *last = &callers->parts[kept ? kept - 1 : 0];

		if (!kept || by_function_and_part(last, part) != 0) {
			callers->parts[kept++] = *part;
			continue;
		}
		last->cost_ns += part->cost_ns;
		mem_free(part->function, part->part);
	}
	callers->n_parts = kept;
	order_sort(callers->parts, kept, by_function_and_cost);
}

void callers_find(const struct side *old, const struct side *new, struct callers *out)
{
	const struct side *sides[2] = { old, new };
	struct stems names[2] = { { .items = NULL } };
	bool known = old->back_end == RECORD_EMULATED && new->back_end == RECORD_EMULATED;

	*out = (struct callers){ .is_known = false };
	for (int s = 0; s < 2; s++)
		stems_collect(sides[s], &names[s]);
	for (int s = 0; s < 2 && known; s++)
		known = side_pass(sides[s], names, s ? 1 : -(double)new->n / (double)old->n, out, s);
	out->names = names[0];
	out->call_cost_ns = mem_new(out->names.n + 1, sizeof(out->call_cost_ns[0]));
	if (known)
		sides_subtract_call_cost(out->sides, &out->names, out->call_cost_ns);
	stems_release(&names[1]);
	if (known && (out->moved[0].n || out->moved[1].n)) {
		parts_sort(out);
		out->is_known = true;
	} else {
		callers_release(out);
	}
}

void callers_release(struct callers *callers)
{
	for (int s = 0; s < 2; s++) {
		for (size_t r = 0; callers->sides[s].runs && r < callers->sides[s].n; r++) {
			struct side_run *run = &callers->sides[s].runs[r];

			for (size_t f = 0; f < run->n_files; f++)
				mem_free(run->files[f].functions, run->files[f].calls, run->files[f].sums);
			free(run->files);
		}
		free(callers->sides[s].runs);
		stems_release(&callers->moved[s]);
	}
	for (size_t i = 0; i < callers->n_parts; i++)
		mem_free(callers->parts[i].function, callers->parts[i].part);
	mem_free(callers->parts, callers->call_cost_ns);
	stems_release(&callers->names);
	*callers = (struct callers){ .is_known = false };
}

const struct callers_part *callers_find_part(const struct callers *callers, const char *function, double *gained)
{
	const struct callers_part *most = NULL;

	*gained = 0;
	for (size_t i = 0; i < callers->n_parts; i++) {
		const struct callers_part *part = &callers->parts[i];

		if (strcmp(part->function, function) != 0)
			continue;
		most = most ? most : part;
		*gained += part == most || part->cost_ns < 0 ? part->cost_ns : 0;
	}
	return most && most->cost_ns > 0 ? most : NULL;
}

double callers_call_cost_change_ns(const struct callers *callers, const char *function)
{
	size_t name = callers->is_known ? stems_find(&callers->names, function) : SIZE_MAX;

	return name == SIZE_MAX ? 0 : callers->call_cost_ns[name];
}
