#include "gate/detect/detect.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

#include <math.h>
#include <string.h>

#define OTHER_WORK_SHARE    .5 /* minimum fraction of each side's work without counterpart, for different programs */
#define OTHER_FUNCTIONS_MIN 3  /* minimum number of functions without counterpart; one or two may have been renamed */

static double run_number(const struct side *side, size_t run, size_t k)
{
	double numbers[INPUT_NUMBERS_MAX];

	input_parse_run_numbers(&side->runs[run], numbers);
	return numbers[k];
}

/* Returns the number of runs whose k-th number differs from `number`. */
static size_t count_other_numbers(const struct side *side, size_t k, double number)
{
	size_t n = 0;

	for (size_t r = 0; r < side->n; r++) {
		double here = run_number(side, r, k);

		n += here < number || here > number;
	}
	return n;
}

static char *explain_different_numbers(const struct side *old, const struct side *new, size_t numbers)
{
	for (size_t k = 0; k < numbers; k++) {
		double then = run_number(old, 0, k), now = run_number(new, 0, k);

		if (count_other_numbers(old, k, then) || 2 * count_other_numbers(new, k, then) <= new->n)
			continue;
		for (size_t r = 0; r < new->n && !(now < then || now > then); r++)
			now = run_number(new, r, k);
		return mem_format("the inputs differ: number %zu of the arguments is %.10g in all runs of %s, and %.10g%s in those of %s, "
				  "so the versions did not do the same work: give both the same inputs",
				  k + 1, sinh(then), old->label, sinh(now), count_other_numbers(new, k, now) ? " or another" : "",
				  new->label);
	}
	return NULL;
}

/* Returns the build that a run's functions are from; NULL if unknown. */
static const char *run_build(const struct side_run *run)
{
	const struct samples *s = side_run_first_process(run);
	const char *module = s->n_functions ? s->functions[0].module : "-";

	return strchr("-=~", *module) ? NULL : module;
}

static bool is_same_build(const struct side *old, const struct side *new)
{
	const char *build = run_build(&old->runs[0]);

	for (size_t r = 0; build && r < old->n + new->n; r++) {
		const char *other = run_build(r < old->n ? &old->runs[r] : &new->runs[r - old->n]);

		build = other && strcmp(build, other) == 0 ? build : NULL;
	}
	return build != NULL;
}

static char *explain_different_inputs(const struct side *old, const struct side *new)
{
	size_t numbers = input_count_numbers(old);

	if (input_has_common(old, new))
		return NULL;
	if (numbers && numbers == input_count_numbers(new))
		return explain_different_numbers(old, new, numbers);
	return is_same_build(old, new)
		   ? mem_format("the inputs differ: %s and %s are runs of the same program, and have no input in common", old->label,
				new->label)
		   : NULL;
}

/* Returns the fraction of the side's work that these functions do, without nested calls. */
static double work_share(const struct side *side, const struct stems *names)
{
	struct observe_share *share = mem_new(names->n + 1, sizeof(share[0]));
	double sum = 0;

	(void)observe_shares(side, names, share);
	for (size_t i = 0; i < names->n; i++)
		sum += share[i].self_share;
	free(share);
	return sum;
}

/* Functions of a side that the other lacks. */
struct own_part {
	struct stems functions;
	size_t common; /* number of functions that both sides have */
	double share;  /* fraction of the side's work */
};

static struct own_part own_part_compute(const struct side *side, const struct side *other)
{
	struct own_part part = { .common = 0 };
	struct stems here = { .items = NULL }, there = { .items = NULL };

	stems_collect(side, &here);
	stems_collect(other, &there);
	for (size_t i = 0; i < here.n; i++) {
		if (stems_find(&there, here.items[i]) != SIZE_MAX)
			part.common++;
		else if (!record_is_library(here.items[i]))
			stems_add(&part.functions, here.items[i]);
	}
	stems_sort(&part.functions);
	part.share = work_share(side, &part.functions);
	stems_release(&here);
	stems_release(&there);
	return part;
}

static bool part_is_most(const struct own_part *part)
{
	return part->functions.n >= OTHER_FUNCTIONS_MIN && part->functions.n > part->common && part->share >= OTHER_WORK_SHARE;
}

static char *explain_different_programs(const struct side *old, const struct side *new)
{
	struct own_part then = own_part_compute(old, new), now = own_part_compute(new, old);
	char *text = NULL;

	if (part_is_most(&then) && part_is_most(&now))
		text = mem_format("%s and %s do not look like versions of one program: %zu functions of the old one, with %.0f %% of its "
				  "work, and %zu of the new one, with %.0f %%, have no counterpart",
				  old->label, new->label, then.functions.n, 100 * then.share, now.functions.n, 100 * now.share);
	stems_release(&then.functions);
	stems_release(&now.functions);
	return text;
}

static char *explain_missing_names(const struct side *side)
{
	struct stems names = { .items = NULL };
	double share;

	stems_add(&names, "?");
	share = work_share(side, &names);
	stems_release(&names);
	return share < OTHER_WORK_SHARE
		   ? NULL
		   : mem_format("%s: %.0f %% of its work is in functions without a name: the program is stripped; use the "
				"executable before 'strip'",
				side->label, 100 * share);
}

static void add(struct comparable_note *out, size_t *n, const char *code, char *text, bool apart)
{
	if (text)
		out[(*n)++] = (struct comparable_note){ code, text, apart };
}

static char *truncated_excluded_text(const struct side *side)
{
	return side->cut ? mem_format("%s: %zu run%s excluded: %s sample files are cut off (the first: '%s')", side->label, side->cut,
				      side->cut == 1 ? " is" : "s are", side->cut == 1 ? "its" : "their", side->truncated_file)
			 : NULL;
}

static char *killed_excluded_text(const struct side *side)
{
	return side->killed ? mem_format("%s: %zu run%s excluded: the program was killed or crashed in them, but not in the others",
					 side->label, side->killed, side->killed == 1 ? " is" : "s are")
			    : NULL;
}

static char *empty_excluded_text(const struct side *side)
{
	return side->empty ? mem_format("%s: %zu director%s empty and excluded%s", side->label, side->empty,
					side->empty == 1 ? "y is" : "ies are", side->empty == 1 ? "s" : "")
			   : NULL;
}

static char *interrupted_text(const struct side *side)
{
	return side->interrupted ? mem_format("%s: in %zu run%s one measured call took longer than all others together: it was "
					      "interrupted, and its time is replaced by theirs",
					      side->label, side->interrupted, side->interrupted == 1 ? "" : "s")
				 : NULL;
}

/* Returns the number of files that more than half of the runs have; 0 if there is no such number. */
static size_t count_files(const struct side *side)
{
	for (size_t r = 0; r < side->n; r++) {
		size_t same = 0;

		for (size_t k = 0; k < side->n; k++)
			same += side->runs[k].n_files == side->runs[r].n_files;
		if (2 * same > side->n)
			return side->runs[r].n_files;
	}
	return 0;
}

/* Returns a note if a run has several times as many processes as runs of the other version, and so may be several runs; otherwise NULL. */
static char *explain_different_processes(const struct side *old, const struct side *new)
{
	for (int s = 0; s < 2; s++) {
		const struct side *side = s ? old : new, *other = s ? new : old;
		size_t files = count_files(other);

		for (size_t r = 0; r < side->n && files; r++)
			if (side->runs[r].n_files > files && side->runs[r].n_files % files == 0)
				return mem_format(
				    "run '%s' of %s has %zu sample files, where runs of %s have %zu: was its directory used for "
				    "several runs?",
				    side->runs[r].name, side->label, side->runs[r].n_files, other->label, files);
	}
	return NULL;
}

/* Returns the version of the emulation's counting method (`counting` in sample files). An older assay may have built it into the
 * program. */
static uint64_t counting_method(const struct side *side)
{
	return samples_info_number(side_run_first_process(&side->runs[0]), "counting");
}

static char *explain_different_counting(const struct side *old, const struct side *new)
{
	uint64_t then = counting_method(old), now = counting_method(new);

	if (then == now)
		return NULL;
	return mem_format(
	    "%s was built by an earlier assay, which counted work differently: build it again with 'assay build --for counters'",
	    then < now ? old->label : new->label);
}

size_t comparable_find_notes(const struct side *old, const struct side *new, struct comparable_note out[COMPARABLE_NOTES_MAX])
{
	const struct side *sides[2] = { old, new };
	size_t n = 0;

	for (size_t s = 0; s < 2; s++)
		add(out, &n, "stripped", explain_missing_names(sides[s]), true);
	add(out, &n, "other_program", explain_different_programs(old, new), true);
	add(out, &n, "other_work", explain_different_inputs(old, new), true);
	add(out, &n, "counted_otherwise", explain_different_counting(old, new), true);
	add(out, &n, "processes", explain_different_processes(old, new), false);
	for (size_t s = 0; s < 2; s++) {
		add(out, &n, "cut_off", truncated_excluded_text(sides[s]), false);
		add(out, &n, "killed", killed_excluded_text(sides[s]), false);
		add(out, &n, "empty", empty_excluded_text(sides[s]), false);
		add(out, &n, "interrupted", interrupted_text(sides[s]), false);
	}
	return n;
}

#define ANONYMOUS_NAMESPACE "(anonymous namespace)"
#define OPERATOR_KEYWORD    "operator"

/* A function that only one side has. In a list of pairs, also has the symbol on the other side. */
struct unmatched {
	char *name; /* name without parameters and template arguments */
	const char *stem, *other;
};

struct unmatched_list {
	struct unmatched *items;
	size_t n, capacity;
};

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the length of a token that may contain brackets: "{...}" or, if `first`, an operator. Returns 0 if there is none. */
static size_t token_bytes(const char *text, bool first)
{
	size_t n = strlen(OPERATOR_KEYWORD);

	if (text[0] == '{')
		return strcspn(text, "}") + (strchr(text, '}') ? 1 : 0);
	if (!first || !starts_with(text, OPERATOR_KEYWORD))
		return 0;
	return n + strcspn(text + n, text[n] == ' ' ? "(" : "( ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
}

/* Returns the name without parameters: "Few::push" for "void Few<int, 4u>::push(int const&)"; NULL if no name is left. */
static char *strip_parameters(const char *symbol)
{
	char *text = demangle(symbol);
	struct buf out = BUF_INIT;
	size_t depth = 0;

	for (size_t i = 0, n; text[i] && (text[i] != '(' || depth || starts_with(text + i, ANONYMOUS_NAMESPACE)); i += n) {
		char last = out.size ? out.bytes[out.size - 1] : ':';

		n = depth ? 0 : token_bytes(text + i, last == ':');
		if (n)
			buf_add(&out, text + i, n);
		else if (text[i] == '<')
			depth++;
		else if (text[i] == '>' && depth)
			depth--;
		else if (!depth && text[i] == ' ')
			out.size = 0; /* drops the return type */
		else if (!depth)
			buf_char(&out, text[i]);
		n = n ? n : 1;
	}
	free(text);
	if (out.size && out.bytes[0] != ':')
		return buf_take(&out);
	buf_release(&out);
	return NULL;
}

ORDER_BY(by_name, struct unmatched, BY_TEXT(name))
ORDER_BY(by_stem, struct unmatched, BY_TEXT(stem))

static struct unmatched_list only_in(const struct stems *here, const struct stems *there)
{
	struct unmatched_list list = { .items = NULL };

	for (size_t i = 0; i < here->n; i++) {
		bool both = stems_find(there, here->items[i]) != SIZE_MAX || record_is_library(here->items[i]);
		char *name = both ? NULL : strip_parameters(here->items[i]);

		if (!name)
			continue;
		mem_append(list.items, list.n, &list.capacity, (struct unmatched){ .name = name, .stem = here->items[i] });
	}
	order_sort(list.items, list.n, by_name);
	return list;
}

static void unmatched_release(struct unmatched_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].name);
	free(list->items);
}

/* Returns the only function in the list with the name of `key`; NULL if there is none or several. */
static const struct unmatched *find_unique(const struct unmatched_list *list, const struct unmatched *key)
{
	const struct unmatched *found = list->n ? bsearch(key, list->items, list->n, sizeof(list->items[0]), by_name) : NULL;
	const struct unmatched *end = list->items + list->n;

	if (!found || (found > list->items && by_name(found - 1, key) == 0) || (found + 1 < end && by_name(found + 1, key) == 0))
		return NULL;
	return found;
}

/* Renames a function if it is in `pairs`, and keeps its compiler suffix ("" or ".constprop.0"). */
static void function_rename(struct samples_function *f, const struct unmatched_list *pairs)
{
	size_t length = functions_stem_length(f->name);
	char *stem = mem_bytes(f->name, length), *name;
	struct unmatched key = { .stem = stem };
	const struct unmatched *pair = pairs->n ? bsearch(&key, pairs->items, pairs->n, sizeof(pairs->items[0]), by_stem) : NULL;

	if (pair) {
		name = mem_format("%s%s", pair->other, f->name + length);
		free(f->name);
		f->name = name;
	}
	free(stem);
}

static void side_rename(struct side *side, const struct unmatched_list *pairs)
{
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			for (size_t k = 0; k < side->runs[r].files[f].n_functions; k++)
				function_rename(&side->runs[r].files[f].functions[k], pairs);
}

static char *list_unmatched_versions(const struct unmatched_list *pairs)
{
	char *name = demangle(pairs->items[0].other), *text;

	text = mem_format("%s%s: compared with a function of the same name but other parameters or template arguments", name,
			  pairs->n > 1 ? " and others" : "");
	free(name);
	return text;
}

char *match_renamed_functions(struct side *old, const struct side *new)
{
	struct stems names[2] = { { .items = NULL } };
	struct unmatched_list then, now, pairs = { .items = NULL };
	char *text = NULL;

	stems_collect(old, &names[0]);
	stems_collect(new, &names[1]);
	then = only_in(&names[0], &names[1]);
	now = only_in(&names[1], &names[0]);
	for (size_t i = 0; i < then.n; i++) {
		const struct unmatched *same = find_unique(&then, &then.items[i]) ? find_unique(&now, &then.items[i]) : NULL;

		if (!same)
			continue;
		mem_append(pairs.items, pairs.n, &pairs.capacity, (struct unmatched){ .stem = then.items[i].stem, .other = same->stem });
	}
	if (pairs.n) {
		text = list_unmatched_versions(&pairs);
		qsort(pairs.items, pairs.n, sizeof(pairs.items[0]), by_stem);
		side_rename(old, &pairs);
	}
	free(pairs.items);
	unmatched_release(&then);
	unmatched_release(&now);
	stems_release(&names[0]);
	stems_release(&names[1]);
	return text;
}
