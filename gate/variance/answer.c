#include "gate/variance/answer.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define REGIONS_REPORTED      20 /* maximum number of regions whose causes users see; JSON has all */
#define NAMES_REPORTED	      3
#define TIMES_REPORTED	      100
#define WAITED_SHARE	      .05  /* minimum fraction of waiting that the answer mentions */
#define WHOLE_SHARE	      .9   /* minimum fraction of the run that is called "throughout" */
#define SIMULTANEOUS_MIN      1.25 /* ratio of summed to elapsed loss above which users see both */
#define CHANGED_RATIO	      .05  /* minimum relative increase of work, and minimum fraction of a loss, that more work may explain */
#define ALONE_SHARE	      .95  /* fraction of a loss; if the first cause has more, the first sentence names no other cause */
#define LOSS_SHARE_MIN	      .005 /* minimum fraction of a loss that users see */
#define BUILD_FOR_WORK_REMEDY "to find out, build the program with 'assay build --for work' and record it again"
#define LOST_SHARE_MAX	      .05 /* fraction of lost records above which a comparison is impossible; as large as a relevant change */

/* Returns the name of the evidence for the work of most of the computation, by time. */
static const char *main_basis(const struct variance *v)
{
	double time_s[BASES] = { 0 };
	enum basis most = BASIS_UNVERIFIED;

	for (size_t c = 0; c < v->n_clusters; c++)
		if (v->clusters[c].activity == ACTIVITY_COMPUTATION)
			time_s[v->clusters[c].basis] += v->clusters[c].time_s;
	for (enum basis b = 0; b < BASES; b++)
		most = time_s[b] > time_s[most] ? b : most;
	return basis_name(most);
}

/* Appends `name` to a list. `before` is the number of earlier names. The list has at most NAMES_REPORTED names, then "...". */
static void name_add(struct buf *names, size_t before, const char *name)
{
	if (before < NAMES_REPORTED)
		buf_format(names, "%s%s", before ? ", " : "", name);
	else if (before == NAMES_REPORTED)
		buf_text(names, ", ...");
}

/* Returns a note on ranks without records; NULL if there are none. Sets *missing to their number. The caller frees the note. */
static char *describe_missing_ranks(const struct fragments *f, size_t *missing)
{
	struct buf names = BUF_INIT;
	char *text = NULL;

	*missing = 0;
	for (size_t p = 0, next = 0; p < f->n_processes; p++) {
		const struct fragment_process *one = &f->processes[p];
		bool last = p + 1 == f->n_processes || one[1].run != one->run;
		size_t until = one->rank > 0 ? (size_t)one->rank : 0;

		for (until = last && one->ranks > until ? one->ranks : until; next < until; next++)
			if ((int64_t)next != one->rank) {
				char *name = mem_format("%zu%s%s", next, f->n_runs ? " of " : "", f->n_runs ? f->runs[one->run] : "");

				name_add(&names, (*missing)++, name);
				free(name);
			}
		next = last ? 0 : one->rank < 0 ? next : (size_t)one->rank + 1;
	}
	if (*missing)
		text = mem_format("%zu rank%s left no records here (%s): their work, and waits for them, are not known", *missing,
				  text_plural(*missing), names.bytes);
	buf_release(&names);
	return text;
}

/* Returns a note on truncated records; NULL if there are none. The caller frees it. */
static char *records_cut(const struct fragments *f)
{
	struct buf names = BUF_INIT;
	size_t cut = 0;
	char *text = NULL;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].truncated)
			name_add(&names, cut++, f->processes[p].name);
	if (cut)
		text = mem_format("the records of %s are cut off: later calls are missing from this answer", names.bytes);
	buf_release(&names);
	return text;
}

/* Returns a note on record files that cannot be read; NULL if there are none. The caller frees it. */
static char *describe_missing_records(const struct fragments *f)
{
	return f->n_unreadable_files ? mem_format("%zu record file%s cannot be read: %s", f->n_unreadable_files,
						  text_plural(f->n_unreadable_files), f->unreadable_reason)
				     : NULL;
}

/* Returns a note on calls that were not recorded; NULL if their fraction of all calls is at most `part`. The caller frees it. */
static char *describe_lost_records(const struct fragments *f, double part)
{
	struct buf names = BUF_INIT;
	double lost = 0, kept = 0;
	size_t processes = 0;
	const char *why = "";
	char *text = NULL;

	for (size_t p = 0; p < f->n_processes; p++) {
		lost += (double)f->processes[p].dropped;
		if (f->processes[p].dropped) {
			name_add(&names, processes++, f->processes[p].name);
			why = *why ? why : f->processes[p].dropped_reason;
		}
	}
	for (size_t i = 0; i < f->n; i++)
		kept += f->items[i].from == FRAGMENT_NO_SITE;
	if (lost > part * (lost + kept))
		text = mem_format("%.0f call%s of %s could not be recorded (%s): they are missing from this answer and its coverage", lost,
				  lost == 1 ? "" : "s", names.bytes, *why ? why : "a full disk, or a limit on the size of files");
	buf_release(&names);
	return text;
}

static bool is_recorded(const struct fragments *f, const struct fragment_process *parent, uint64_t pid)
{
	size_t p = 0;

	while (p < f->n_processes &&
	       (f->processes[p].run != parent->run || f->processes[p].pid != pid || strcmp(f->processes[p].host, parent->host) != 0))
		p++;
	return p < f->n_processes;
}

/* Reports whether the run has MPI ranks. The launcher of ranks has no records. */
static bool has_ranks(const struct fragments *f, uint32_t run)
{
	size_t p = 0;

	while (p < f->n_processes && (f->processes[p].run != run || f->processes[p].rank < 0))
		p++;
	return p < f->n_processes;
}

/* Returns a note on child processes without records; NULL if there are none. Sets *missing to their number. The caller frees the note. */
static char *children_missing(const struct fragments *f, size_t *missing)
{
	struct buf names = BUF_INIT;
	char *text = NULL;

	*missing = 0;
	for (size_t p = 0; p < f->n_processes; p++)
		for (size_t i = 0; i < f->processes[p].n_children && !has_ranks(f, f->processes[p].run); i++)
			if (!is_recorded(f, &f->processes[p], f->processes[p].children[i])) {
				char *name = mem_format("%llu", (unsigned long long)f->processes[p].children[i]);

				name_add(&names, (*missing)++, name);
				free(name);
			}
	if (*missing)
		text = mem_format("%zu child process%s left no records here (%s) and are missing from this answer (they made no call, ran "
				  "a statically linked program, or their records are gone)",
				  *missing, *missing == 1 ? "" : "es", names.bytes);
	buf_release(&names);
	return text;
}

char *variance_explain_incomplete(const struct fragments *f)
{
	size_t missing;
	char *text = describe_missing_records(f);

	text = text ? text : records_cut(f);
	text = text ? text : describe_missing_ranks(f, &missing);
	return text ? text : describe_lost_records(f, LOST_SHARE_MAX);
}

/* Adds the text as a line unless it is NULL. Frees the text. */
static void line_write(struct document *d, char *text)
{
	if (text)
		doc_line(d, "%s", text);
	free(text);
}

static void add_missing_notes(const struct variance *v, struct document *d)
{
	const struct fragments *f = &v->fragments;
	size_t ranks, children;

	line_write(d, describe_missing_records(f));
	line_write(d, records_cut(f));
	line_write(d, describe_lost_records(f, 0));
	line_write(d, describe_missing_ranks(f, &ranks));
	line_write(d, children_missing(f, &children));
	doc_set(d, "unreadable_files", f->n_unreadable_files);
	doc_set(d, "missing_children", children);
	doc_set(d, "missing_ranks", ranks);
}

char *variance_region_processes(const struct variance *v, const struct region *r)
{
	struct buf text = BUF_INIT;
	size_t told = r->n <= NAMES_REPORTED + 1 ? r->n : NAMES_REPORTED;

	for (size_t i = 0; i < told; i++)
		buf_format(&text, "%s%s", !i ? "" : i + 1 == r->n ? " and " : ", ", v->fragments.processes[r->members[i].process].name);
	if (told < r->n)
		buf_format(&text, " and %zu more", r->n - told);
	return buf_take(&text);
}

/* Appends the process or address that the calls of a region waited for. */
static void add_calls_of_region(const struct variance *v, const struct region *r, struct buf *text)
{
	if (r->waited_for != VARIANCE_NONE)
		buf_format(text, ", waiting for %s", v->fragments.processes[r->waited_for].name);
	else if (r->peer)
		buf_format(text, ", waiting for %s or the network in between", r->peer);
	else
		buf_text(text, ", waiting for the other end");
}

static double part_share(const struct breakdown *why, size_t i)
{
	return why->loss_s > 0 ? why->parts[i].impact_s / why->loss_s : 0;
}

/* Returns a cause such as "throttled by its cgroup's quota" or "inside the calls, waiting for rank 1". The caller frees it. */
static char *cause_text(const struct variance *v, const struct region *r, size_t part)
{
	struct buf text = BUF_INIT;

	buf_text(&text, r->condition && r->cause == LOSS_STOPPED ? "stopped" : loss_cause_text(r->breakdown.parts[part].cause));
	if (r->activity == ACTIVITY_COMMUNICATION && r->breakdown.parts[part].cause == LOSS_CALLS)
		add_calls_of_region(v, r, &text);
	return buf_take(&text);
}

char *variance_region_causes(const struct variance *v, const struct region *r)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < r->breakdown.n && i < 3 && part_share(&r->breakdown, i) >= .05; i++) {
		char *cause = cause_text(v, r, i);

		buf_format(&text, "%s%.0f %% %s", i ? ", " : "", 100 * part_share(&r->breakdown, i), cause);
		free(cause);
	}
	return buf_take(&text);
}

/* Reports whether the cause is outside the run. */
static bool is_environment(enum loss_cause cause)
{
	return cause == LOSS_QUEUE || cause == LOSS_THROTTLED || cause == LOSS_STEAL || cause == LOSS_CLOCK;
}

double region_environment_share(const struct region *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->breakdown.n; i++)
		sum += is_environment(r->breakdown.parts[i].cause) ? r->breakdown.parts[i].impact_s : 0;
	return r->breakdown.loss_s > 0 ? sum / r->breakdown.loss_s : 0;
}

bool region_is_by_environment(const struct region *r)
{
	return r->causing_region == VARIANCE_NONE && region_environment_share(r) >= .5;
}

/* Reports whether more work can explain the loss. More work needs more CPU time, even if it waits longer: the loss must be on the CPU. */
static bool is_likely_work(const struct region *r)
{
	double ran = r->breakdown.n ? 0 : 1; /* fraction of the loss that was spent on the CPU */

	for (size_t i = 0; i < r->breakdown.n; i++) {
		enum loss_cause cause = r->breakdown.parts[i].cause;

		if (cause == LOSS_PROCESSOR || loss_cause_is_pipeline(cause) || cause == LOSS_MINOR || cause == LOSS_SWITCHES ||
		    cause == LOSS_UNKNOWN)
			ran += r->breakdown.parts[i].impact_s / r->breakdown.loss_s;
	}
	return !r->condition && r->verified < .5 && r->activity == ACTIVITY_COMPUTATION && ran > CHANGED_RATIO &&
	       ran * r->loss_s > CHANGED_RATIO * r->expected_s;
}

bool variance_has_slow_region(const struct variance *v)
{
	return v->n_regions && !v->regions[0].work;
}

static double slowdown_factor(const struct region *r)
{
	return r->expected_s > 0 ? r->time_s / r->expected_s : (double)NAN;
}

/* Returns the ratio to the usual time: "1.50", or "more than 100" for calls that only take time if they wait. The caller frees it. */
static char *format_slowdown(const struct region *r)
{
	return slowdown_factor(r) > TIMES_REPORTED ? mem_format("more than %d", TIMES_REPORTED) : mem_format("%.2f", slowdown_factor(r));
}

/* Returns the time of all threads or of all records, whichever is more. Records include the timing cost of calls that were not timed. */
static double total_thread_time_s(const struct variance *v)
{
	double sum = 0;

	for (size_t a = 0; a < ACTIVITIES; a++)
		sum += v->activity_s[a];
	return fmax(v->total_s, sum);
}

double variance_coverage(const struct variance *v)
{
	double judged_s = total_thread_time_s(v) - v->activity_s[ACTIVITY_WAITING];

	return judged_s > 0 ? v->covered_s / judged_s : 0;
}

static double waiting_share(const struct variance *v)
{
	double all = total_thread_time_s(v);

	return all > 0 ? v->activity_s[ACTIVITY_WAITING] / all : 0;
}

static bool is_throughout(const struct region *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->members[i].throughout)
			return false;
	return true;
}

/* Adds the coverage. If it is low, recommends a comparison of several runs, in which even work that a run does only once is repeated. */
static void describe_coverage(const struct variance *v, struct document *d)
{
	bool few = variance_coverage(v) < VARIANCE_COVERAGE_MIN;
	char *waiting = waiting_share(v) < WAITED_SHARE
			    ? mem_string("")
			    : mem_format("was waiting, which is not judged; %.0f %% of the rest ", 100 * variance_coverage(v));

	doc_line(d, "%.0f %% of the time %swas in repeated work (coverage)%s", 100 * (*waiting ? waiting_share(v) : variance_coverage(v)),
		 waiting, few ? ": the remaining time cannot be judged" : "");
	if (few && v->fragments.n_runs < VARIANCE_REPEATED_MIN)
		doc_line(d,
			 "to compare work that a run does only once, record it %d times ('assay record -o run1 -- ...', -o run2 and so on) "
			 "and show all of them together ('assay timeline run1 run2 ...')",
			 VARIANCE_REPEATED_MIN);
	free(waiting);
}

static void describe_no_region(const struct variance *v, struct document *d)
{
	char *work = v->n_regions ? variance_region_sentence(v, &v->regions[0]) : NULL, *least = variance_format_seconds(v->least_s);
	bool few = variance_coverage(v) < VARIANCE_COVERAGE_MIN || waiting_share(v) > 1 - VARIANCE_COVERAGE_MIN;

	if (work)
		doc_answer(d, DOC_DOUBTFUL, "", "%s", work);
	else if (v->covered_s <= 0)
		doc_answer(d, DOC_DOUBTFUL, "", "nothing could be judged: no work of this run repeats");
	else if (few)
		doc_answer(d, DOC_DOUBTFUL, "", "no variance found in the %.0f %% of the time that could be judged",
			   total_thread_time_s(v) > 0 ? 100 * v->covered_s / total_thread_time_s(v) : 0);
	else
		doc_answer(d, DOC_GOOD, "", "no variance found");
	if (work)
		doc_line(d, BUILD_FOR_WORK_REMEDY);
	doc_line(d, "no %srepeated work took more than %.2f times as long as usual and lost %s or more", work ? "other " : "",
		 1 / v->threshold, least);
	mem_free(work, least);
}

/* Returns the lost time as text: if threads or processes lost time in parallel, the lost run time and the sum. The caller frees it. */
static char *format_lost_time(const struct region *r)
{
	char *lost = variance_format_seconds(fmax(r->estimated_s, 0)), *elapsed = variance_format_seconds(r->elapsed_s), *text;

	if (r->estimated_s > SIMULTANEOUS_MIN * r->elapsed_s)
		text = mem_format("%s of run time (%s summed over its %s)", elapsed, lost, r->n > 1 ? "processes" : "threads");
	else
		text = mem_string(lost);
	mem_free(elapsed, lost);
	return text;
}

/* Returns a period such as "from 1.0 s to 2.0 s" or "throughout the run". The caller frees it. */
static char *period_text(const struct variance *v, const struct region *r)
{
	char *from = variance_format_seconds(r->from_s), *to = variance_format_seconds(r->to_s), *text;
	const char *ran = !is_throughout(r) ? "" : r->n > 1 ? "for as long as they ran, " : "for as long as it ran, ";

	text = *ran && r->to_s - r->from_s >= WHOLE_SHARE * v->fragments.span_s ? mem_string("throughout the run")
										: mem_format("%sfrom %s to %s", ran, from, to);
	mem_free(from, to);
	return text;
}

char *variance_region_sentence(const struct variance *v, const struct region *r)
{
	char *who = variance_region_processes(v, r), *why = variance_region_causes(v, r), *lost = format_lost_time(r),
	     *when = period_text(v, r), *times = format_slowdown(r);
	char *cause = r->breakdown.n ? cause_text(v, r, 0) : mem_string("nothing slow"), *text, *how;
	double part = v->fragments.span_s > 0 ? 100 * r->elapsed_s / v->fragments.span_s : 0;

	how = r->condition ? mem_string("")
			   : mem_format(", in %s that took %s times as long as usual%s%s", activity_text(r->activity), times,
					r->breakdown.n > 1 && part_share(&r->breakdown, 0) < ALONE_SHARE ? ": " : "",
					r->breakdown.n > 1 && part_share(&r->breakdown, 0) < ALONE_SHARE ? why : "");
	text = r->work
		   ? mem_format("%s most likely had more work %s: its computation, whose work was not counted, took %s times as long as "
				"usual (%s longer)",
				who, when, times, lost)
		   : mem_format("%s: %s lost %s %s (%.0f %% of the run)%s", cause, who, lost, when, part, how);
	mem_free(cause, times, who, why, lost, when, how);
	return text;
}

static void describe_region(const struct variance *v, const struct region *r, struct document *d)
{
	char *text = variance_region_sentence(v, r);

	doc_answer(d, r->work_not_excluded ? DOC_DOUBTFUL : DOC_BAD, "", "%s", text);
	if (is_likely_work(r))
		doc_line(d, "the work of this computation was not counted, so the cause may be more work; " BUILD_FOR_WORK_REMEDY);
	free(text);
}

/* Adds a line for each rank with more work than the median rank: other ranks wait for such a rank. */
static void describe_work(const struct variance *v, struct document *d)
{
	double *more = additional_work(v, false);

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		if (more[p] > 0)
			doc_line(
			    d,
			    "%s did %.0f %% more work than the median rank, by count: the cause is its code or input, not the environment",
			    v->fragments.processes[p].name, 100 * more[p]);
	free(more);
}

static void region_members(const struct variance *v, const struct region *r, struct document *d)
{
	doc_list(d, "processes");
	doc_hide(d);
	for (size_t i = 0; i < r->n; i++) {
		const struct region_member *m = &r->members[i];
		const struct fragment_process *p = &v->fragments.processes[m->process];

		doc_object(d, NULL);
		doc_set(d, "process", p->name);
		doc_set(d, "rank", p->rank >= 0 ? doc_value_integer(p->rank) : DOC_NULL_VALUE);
		doc_set(d, "pid", (int64_t)p->pid);
		doc_set(d, "host", p->host);
		doc_set(d, "from_s", m->from_s);
		doc_set(d, "to_s", m->to_s);
		doc_set(d, "loss_s", m->estimated_s);
		doc_set(d, "elapsed_loss_s", region_elapsed_s(m));
		doc_set(d, "fragments", m->fragments);
		doc_set_bool(d, "throughout", m->throughout);
		doc_end(d);
	}
	doc_end(d);
}

static void region_parts(const struct region *r, struct document *d)
{
	doc_list(d, "parts");
	doc_hide(d);
	for (size_t i = 0; i < r->breakdown.n; i++) {
		const struct breakdown_part *p = &r->breakdown.parts[i];

		doc_object(d, NULL);
		doc_set(d, "cause", loss_cause_name(p->cause));
		doc_set(d, "impact_s", p->impact_s);
		doc_set(d, "low_s", p->low_s);
		doc_set(d, "high_s", p->high_s);
		doc_set(d, "share", part_share(&r->breakdown, i));
		doc_set_bool(d, "timed", p->is_measured);
		doc_set(d, "count", p->count);
		doc_set(d, "lasted_s", p->duration_s);
		doc_end(d);
	}
	doc_end(d);
}

static void add_region_row(const struct variance *v, size_t at, struct document *d)
{
	const struct region *r = &v->regions[at];
	char *who = variance_region_processes(v, r), *why = variance_region_causes(v, r), *lost = variance_format_seconds(r->estimated_s),
	     *times = format_slowdown(r);

	doc_row(d);
	doc_show(d, "region", "region", at + 1);
	doc_show(d, NULL, "process", who);
	doc_set(d, "activity", activity_name(r->activity));
	doc_set_bool(d, "condition", r->condition);
	doc_show(d, NULL, "activity", r->condition ? "all" : activity_text(r->activity));
	doc_showf(d, "from_s", "from s", r->from_s, "%.2f", r->from_s);
	doc_showf(d, "to_s", "to s", r->to_s, "%.2f", r->to_s);
	doc_showf(d, "loss_s", "lost", r->estimated_s, "%s", lost);
	doc_set(d, "elapsed_loss_s", r->elapsed_s);
	doc_showf(d, "times_usual", "times usual", slowdown_factor(r), "%s", times);
	doc_set(d, "fragments", r->fragments);
	doc_set(d, "environment", region_environment_share(r));
	doc_set(d, "verified", r->verified);
	doc_set_bool(d, "throughout", is_throughout(r));
	doc_set_bool(d, "marked", r->marked);
	doc_set_bool(d, "likely_work", r->work);
	doc_set_bool(d, "proved", !r->work && !r->work_not_excluded);
	doc_set(d, "caused_by", r->causing_region == VARIANCE_NONE ? DOC_NULL_VALUE : doc_value_size(r->causing_region + 1));
	doc_set(d, "waited_for", r->waited_for == VARIANCE_NONE ? DOC_NULL_VALUE : doc_value_size(r->waited_for));
	if (r->causing_region != VARIANCE_NONE)
		doc_showf(d, NULL, "why", why, "waited for region %zu", r->causing_region + 1);
	else if (r->waited_for != VARIANCE_NONE)
		doc_showf(d, NULL, "why", why, "waited for %s", v->fragments.processes[r->waited_for].name);
	else
		doc_showf(d, NULL, "why", why, "%s%s", r->work ? "most likely more work: " : "", *why ? why : "-");
	region_members(v, r, d);
	region_parts(r, d);
	mem_free(times, who, why, lost);
}

void variance_add_regions(const struct variance *v, struct document *d)
{
	if (!v->n_regions)
		doc_list(d, "regions");
	else {
		doc_section(d, "regions", "Regions", "Where and when work was slow",
			    "In each of these intervals, one or more processes were slower than usual at repeated work. The loss includes "
			    "time between repeated work, which is assumed to be equally slow.");
		doc_table(d, "regions");
	}
	for (size_t r = 0; r < v->n_regions; r++)
		add_region_row(v, r, d);
	doc_end(d);
}

static void parts_table(const struct variance *v, size_t at, struct document *d)
{
	const struct region *r = &v->regions[at];
	char *who = variance_region_processes(v, r);

	doc_subheading(d, "Region %zu: %s, %.2f s to %.2f s", at + 1, who, r->from_s, r->to_s);
	doc_table(d, NULL);
	for (size_t i = 0; i < r->breakdown.n; i++) {
		const struct breakdown_part *p = &r->breakdown.parts[i];
		double share = part_share(&r->breakdown, i);
		char *impact, *low, *high;

		if (share < LOSS_SHARE_MIN)
			continue;
		impact = variance_format_seconds(p->impact_s);
		low = variance_format_seconds(p->low_s);
		high = variance_format_seconds(p->high_s);
		doc_row(d);
		doc_show(d, NULL, "cause", loss_cause_text(p->cause));
		doc_showf(d, NULL, "share", share, "%.0f %%", 100 * share);
		doc_bar(d, "", fmin(share, 1));
		doc_show(d, NULL, "lost", impact);
		if (!isnan(p->duration_s))
			doc_showf(d, NULL, "how it is known", p->duration_s, "by CPU counters, for %.3g s", p->duration_s);
		else if (!isnan(p->count))
			doc_showf(d, NULL, "how it is known", "", "estimated, 95 %% interval %s to %s", low, high);
		else
			doc_show(d, NULL, "how it is known",
				 !p->is_measured	    ? "the remainder"
				 : p->cause == LOSS_CLOCK   ? "timed by a loop of fixed length"
				 : p->cause == LOSS_STOPPED ? "measured from outside, or the remainder"
							    : "timed by the kernel");
		mem_free(impact, low, high);
	}
	doc_end(d);
	free(who);
}

static void parts_section(const struct variance *v, struct document *d)
{
	size_t told = 0;

	for (size_t r = 0; r < v->n_regions && told < REGIONS_REPORTED; r++) {
		if (v->regions[r].causing_region != VARIANCE_NONE || v->regions[r].breakdown.n < 2)
			continue;
		if (!told++)
			doc_section(d, "why", "Why", "Causes of the time",
				    "Times measured by the kernel are subtracted first. The cost of events that it only counts is "
				    "estimated by least squares.");
		parts_table(v, r, d);
	}
}

static void variance_notes(const struct variance *v, struct document *d)
{
	const struct fragments *f = &v->fragments;
	size_t truncated = 0, unfinished = 0, dropped = 0;

	for (size_t p = 0; p < f->n_processes; p++) {
		dropped += (size_t)f->processes[p].dropped;
		truncated += f->processes[p].truncated;
		unfinished += !f->processes[p].finished;
	}
	doc_section(d, "notes", NULL, "Basis of this answer",
		    "Only repeated work can be compared. Coverage is its share of the time of all threads, without waiting.");
	doc_show(d, "processes", "processes", f->n_processes);
	doc_set(d, "fragments", f->n);
	doc_show(d, "basis", "work of computation known by", main_basis(v));
	doc_showf(d, "coverage", "coverage", variance_coverage(v), "%.0f %%", 100 * variance_coverage(v));
	doc_showf(d, "waiting", "waiting", waiting_share(v), "%.0f %%", 100 * waiting_share(v));
	doc_showf(d, "column_s", "one column of the maps", v->column_s, "%.3g s", v->column_s);
	doc_show(d, "dropped", "calls not recorded, because memory was full", dropped);
	doc_show(d, "unfinished", "processes that did not exit normally", unfinished);
	doc_set(d, "truncated", truncated);
	doc_set(d, "verified_coverage", v->covered_s > 0 ? variance_coverage(v) * v->verified_s / v->covered_s : 0);
	doc_set(d, "span_s", f->span_s);
	doc_set(d, "threshold", v->threshold);
	doc_set(d, "least_s", v->least_s);
	if (!f->is_one_host)
		doc_line(d, "the processes ran on several hosts: times are only as exact as the agreement of their clocks");
}

static const char *file_end(const char *module)
{
	const char *slash = strrchr(module, '/');

	return slash ? slash + 1 : *module == '=' ? module + 1 : module;
}

/* Returns the place of a call site, such as "read in main, sort.c:88" or "read at 4f2a in sort". If the file is unknown, its build-id
 * replaces its name. The caller frees the text. */
static char *site_text(const struct fragment_site *s)
{
	int n = (int)strcspn(s->name, "<");
	const char *path = s->name[n] ? s->name + n : "", *between = *path ? " " : "";

	if (s->place)
		return mem_format("%.*s in %s%s%s", n, s->name, s->place, between, path);
	return mem_format("%.*s at %llx in %.*s%s%s", n, s->name, (unsigned long long)s->address, s->is_file || *s->module == '=' ? 256 : 6,
			  file_end(s->is_file ? s->file : s->module), between, path);
}

char *variance_format_place(const struct fragments *f, uint32_t from, uint32_t to)
{
	char *end = site_text(&f->sites[to]), *begin, *text;

	if (from == FRAGMENT_NO_SITE)
		return end;
	begin = site_text(&f->sites[from]);
	text = mem_format("%s -> %s", begin, end);
	mem_free(begin, end);
	return text;
}

void variance_add_conclusion(const struct variance *v, struct document *d)
{
	size_t by_environment = 0;

	for (size_t r = 0; r < v->n_regions; r++)
		by_environment += region_is_by_environment(&v->regions[r]);
	if (v->fragments.n_runs)
		variance_describe_runs(v, d);
	else if (variance_has_slow_region(v))
		describe_region(v, &v->regions[0], d);
	else
		describe_no_region(v, d);
	if (!v->fragments.n_runs)
		describe_work(v, d);
	if (variance_coverage(v) < VARIANCE_COVERAGE_MIN || !(v->fragments.n_runs || variance_has_slow_region(v)))
		describe_coverage(v, d);
	add_missing_notes(v, d);
	doc_set_bool(d, "variance", variance_has_slow_region(v));
	doc_set(d, "by_environment", by_environment);
}

void variance_add_details(const struct variance *v, struct document *d)
{
	variance_add_regions(v, d);
	parts_section(v, d);
	variance_add_maps(v, d);
	variance_add_graph(v, d);
	variance_notes(v, d);
}

void variance_describe(const struct variance *v, struct document *d)
{
	variance_add_conclusion(v, d);
	variance_add_details(v, d);
}
