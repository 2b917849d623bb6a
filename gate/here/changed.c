#include "gate/here/changed.h"

#include "base/cancel.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/progress.h"
#include "fleet/engine/local_command.h"
#include "runs/inside/changes/changes.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define KEPT_BYTES	 (1 << 20) /* maximum number of bytes of a run's output to keep, for explaining a failure */
#define WALK_DESCRIPTORS 16
#define INTERRUPTED	 "interrupted: the decision is complete without them"

enum { A, B, SIDES };

/* Returns the path of `file` relative to its tree if the runs used a file of this name in one of the trees; otherwise NULL. */
static const char *path_inside(const struct code *code, const struct changed_request *asked, const char *file)
{
	for (int side = 0; side < SIDES; side++) {
		const char *path = code_find_path(code, file, asked->directories[side]);

		if (path)
			return path + strlen(asked->directories[side]) + 1;
	}
	return NULL;
}

/* Compares both builds of a program or library and sets *out; the caller calls changes_release(). Returns false if that is impossible. */
static bool object_open(const struct code *code, const struct changed_request *asked, const char *file, struct changes *out)
{
	const struct changes_options options = { asked->repository, asked->commits[A], asked->commits[B], CHANGES_WRAPPER_MAX };
	struct build builds[SIDES] = { { .referenced_addresses = NULL }, { .referenced_addresses = NULL } };
	const char *inside = path_inside(code, asked, file);
	struct assay_error ignored;
	bool known = inside;

	for (int side = 0; known && side < SIDES; side++) {
		char *path = mem_format("%s/%s", asked->directories[side], inside);

		known = !build_open(path, IMAGE_EXPORTED, &builds[side], &ignored);
		free(path);
	}
	known = known && builds[A].image.detail == builds[B].image.detail && !changes_find(&builds[A], &builds[B], &options, out, &ignored);
	for (int side = 0; side < SIDES; side++)
		build_release(&builds[side]);
	return known;
}

static const struct function *find_function(const struct functions *functions, const char *name)
{
	char shown[CODE_NAME_BYTES];

	for (size_t i = 0; i < functions->n; i++) {
		if (!functions->items[i].present)
			continue;
		code_function_name(functions->items[i].symbol, shown);
		if (strcmp(shown, name) == 0)
			return &functions->items[i];
	}
	return NULL;
}

/* Returns the change of function `new` in the new build (of `old` in the old build if `new` is FUNCTIONS_NONE); NULL if unchanged. */
static const struct change *find_change(const struct changes *c, size_t old, size_t new)
{
	for (size_t i = 0; i < c->n; i++)
		if (new != FUNCTIONS_NONE ? c->items[i].new == new : c->items[i].old == old)
			return &c->items[i];
	return NULL;
}

struct line_count {
	const char *file; /* owned by the image */
	unsigned line;
	unsigned long long count;
};

struct line_samples {
	struct line_count *items; /* [n] */
	size_t n, capacity;
};

/* Adds a run's samples to *met, per source line. Counts only samples in this function of the file `path`. fleet/helper/sampler.h describes
 * the format of `samples`. */
static void line_samples_count(const struct build *build, size_t function, const char *path, const char *samples, struct line_samples *met)
{
	char *text = mem_string(samples ? samples : ""), *rest = text, *line, *where;
	bool inside = false;

	while ((line = strsep(&rest, "\n"))) {
		unsigned long long count = strtoull(line, &where, 10);
		struct functions_location place;
		uint64_t address;
		size_t body, i = 0;

		if (strncmp(where, " user ", 6) == 0)
			inside = strcmp(where + 6, path) == 0;
		if (!inside || strncmp(where, " at ", 4) != 0 ||
		    !image_find_address(&build->image, strtoull(where + 4, NULL, 16), &address))
			continue;
		body = functions_find_body(&build->functions, address);
		if (body == SIZE_MAX || build->functions.bodies[body].function != function ||
		    !functions_locate(&build->image, &build->functions, address, &place) || !place.file)
			continue;
		while (i < met->n && (met->items[i].line != place.line || strcmp(met->items[i].file, place.file) != 0))
			i++;
		if (i == met->n)
			mem_append(met->items, met->n, &met->capacity, (struct line_count){ .file = place.file, .line = place.line });
		met->items[i].count += count;
	}
	free(text);
}

/* Returns the name of a source file as in git, otherwise relative to the tree `directory`, otherwise as in the debug information. free()
 * it. */
static char *find_source(const struct source_tree *committed, const char *directory, const char *file)
{
	const char *name = source_find_file(committed, file);
	size_t n = strlen(directory);

	if (!name)
		name = strncmp(file, directory, n) == 0 && file[n] == '/' ? file + n + 1 : file;
	return mem_string(name);
}

/* Returns the line with most samples in a function of the candidate, as "FILE:LINE"; NULL if it has no samples. free() it. */
static char *find_hottest_line(const struct changed_request *asked, const struct changes *c, const struct code *code, const char *file,
			       const struct function *function)
{
	const char *path = code_find_path(code, file, asked->directories[B]);
	struct line_samples met = { .items = NULL };
	const struct line_count *best = NULL;
	char *name = NULL, *text;

	for (size_t r = 0; path && r < asked->candidate->n; r++)
		line_samples_count(&c->new, (size_t)(function - c->new.functions.items), path, asked->candidate->runs[r].samples, &met);
	for (size_t i = 0; i < met.n; i++)
		best = !best || met.items[i].count > best->count ? &met.items[i] : best;
	if (best)
		name = find_source(&c->source.new, asked->directories[B], best->file);
	text = best ? mem_format("%s:%u", name, best->line) : NULL;
	mem_free(met.items, name);
	return text;
}

/* Returns the time difference measured for `other`, the other name of a renamed function, in seconds; 0 if it was not measured. */
static double renamed_difference(const struct measured *measured, const struct measured_part *of, const struct function *other)
{
	char shown[CODE_NAME_BYTES];

	code_function_name(other->symbol, shown);
	for (size_t i = 0; i < measured->n; i++)
		if (measured->parts[i].depth == of->depth && measured->parts[i].level == of->level &&
		    strcmp(measured->parts[i].name, shown) == 0)
			return measured->parts[i].difference;
	return 0;
}

static void part_fill(const struct changed_request *asked, const struct changes *c, const struct code *code,
		      const struct measured *measured, struct measured_part *part)
{
	const struct function *new = find_function(&c->new.functions, part->name),
			      *function = new ? new : find_function(&c->old.functions, part->name);
	const struct change *change;

	if (!function)
		return;
	change = new ? find_change(c, FUNCTIONS_NONE, (size_t)(new - c->new.functions.items))
		     : find_change(c, (size_t)(function - c->old.functions.items), FUNCTIONS_NONE);
	part->change = change_kind_code(change ? change->kind : CHANGE_NONE);
	if (change && change->kind == CHANGE_RENAMED)
		part->renamed =
		    renamed_difference(measured, part, new ? c->old.functions.items + change->old : c->new.functions.items + change->new);
	part->line = function->line;
	if (function->file)
		part->source = find_source(new ? &c->source.new : &c->source.old, asked->directories[new ? B : A], function->file);
	if (new && function->file)
		part->hottest = find_hottest_line(asked, c, code, part->file, new);
}

bool changed_describe_functions(struct measured *measured, const struct code *code, const struct changed_request *asked, double least)
{
	struct measured_part **wanted =
	    mem_new(measured->n, sizeof(*wanted)); /* functions to describe; an entry becomes NULL when it is done */
	bool described = true;
	size_t n = 0;

	for (size_t i = 0; i < measured->n; i++) {
		struct measured_part *part = &measured->parts[i];

		if (part->depth == PART_FUNCTION && part->certain && fabs(part->difference) > least)
			wanted[n++] = part;
	}
	for (size_t i = 0; i < n; i++) { /* each turn describes all functions of one file */
		const char *file = wanted[i] ? wanted[i]->file : NULL;
		struct changes changes = { .items = NULL };
		bool known = file && object_open(code, asked, file, &changes);

		for (size_t k = i; file && k < n; k++) {
			if (!wanted[k] || strcmp(wanted[k]->file, file) != 0)
				continue;
			if (known)
				part_fill(asked, &changes, code, measured, wanted[k]);
			wanted[k] = NULL;
		}
		described = described && !(known && changes.new.image.detail != IMAGE_DEBUG_INFO);
		changes_release(&changes);
	}
	free(wanted);
	return described;
}

static bool is_first_of_file(const struct measured *measured, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (measured->parts[k].file && strcmp(measured->parts[k].file, measured->parts[i].file) == 0)
			return false;
	return true;
}

char *changed_unchanged_files(const struct measured *measured, const struct code *code, const struct changed_request *asked)
{
	struct buf names = BUF_INIT;
	bool unchanged = true;

	for (size_t i = 0; i < measured->n && unchanged; i++) {
		const char *file = measured->parts[i].file;
		struct changes changes = { .items = NULL };

		if (!file || !path_inside(code, asked, file) || !is_first_of_file(measured, i))
			continue;
		unchanged = object_open(code, asked, file, &changes) && changes.n == 0;
		changes_release(&changes);
		buf_format(&names, "%s'%s'", names.size ? ", " : "", file);
	}
	if (unchanged && names.size)
		return buf_take(&names);
	buf_release(&names);
	return NULL;
}

const struct measured_part *changed_find_largest(const struct measured *measured, double least, bool slower)
{
	const struct measured_part *first = NULL;
	double most = 0;

	for (size_t i = 0; i < measured->n; i++) {
		const struct measured_part *part = &measured->parts[i];
		double more = (slower ? 1 : -1) * (part->difference + part->renamed),
		       surely = slower ? part->low + part->renamed : -part->high - part->renamed;

		if (part->change && more > least && (!first || surely > most)) {
			first = part;
			most = surely;
		}
	}
	return first;
}

static volatile sig_atomic_t counted_cancelled;

/* Runs of both versions that count events in their functions. */
struct counting {
	const struct counted_request *asked;
	const struct trees *trees;    /* builds with emulated counters */
	char *place, *samples[SIDES]; /* directory for the counts; subdirectory of each version */
	struct explanation *why;
};

/* Runs one version once. Sets why->code if the program fails, `remaining_s` seconds pass, or the user interrupts. */
static enum assay_status count_once(const struct counting *c, int side, size_t turn, double remaining_s, struct assay_error *err)
{
	const struct counted_request *a = c->asked;
	const struct adhoc_side *of = &a->sides[side];
	char *directory = mem_format("%s/%zu", c->samples[side], turn), *variable = mem_format("ASSAY_EMULATE_DIRECTORY=%s", directory);
	const char **words = mem_new(of->n + 2, sizeof(*words));
	const struct local_command command = { .words = words,
					       .n = of->n + 2,
					       .directory = of->directory ? c->trees->directories[side] : NULL,
					       .input = a->input,
					       .output_kept_bytes = KEPT_BYTES,
					       .timeout_ms = (int64_t)(remaining_s * 1e3) + 1,
					       .cancelled = &counted_cancelled };
	struct local_report said = { .ok = false };
	enum assay_status st = file_make_directory(directory, 0700, err);

	words[0] = "env";
	words[1] = variable;
	memcpy(words + 2, of->words, of->n * sizeof(*words));
	words[2] = c->trees->programs[side] ? c->trees->programs[side] : words[2];
	if (!st)
		st = local_command_run(&command, &said, err);
	if (!st && counted_cancelled)
		explanation_set_reason(c->why, "interrupted", INTERRUPTED);
	else if (!st && !said.ok && !(a->accept_any_status && said.result.exit_status > 0))
		explanation_set_reason(c->why, "failed", said.fault);
	else if (!st)
		c->why->runs++;
	local_report_release(&said);
	free(words);
	mem_free(directory, variable);
	return st;
}

static enum assay_status count_in_turn(const struct counting *c, struct assay_error *err)
{
	const struct counted_request *a = c->asked;
	struct progress shown =
	    progress_begin(stderr, progress_now() - PROGRESS_LOG_S); /* an earlier start, so that logs contain the first line, too */
	size_t needed = explanation_runs_needed();
	double began_s = progress_now(), spent_s = 0, turn_s = 0;
	enum assay_status st = ASSAY_OK;
	size_t turn = 0;

	while (!st && !c->why->code && turn < needed && spent_s + turn_s <= a->budget_s) {
		for (int side = 0; !st && !c->why->code && side < SIDES; side++) {
			if (a->progress)
				progress_show(&shown, progress_now(), false,
					      "slower; counting why, run %zu of %zu, %.0f of %.0f s (Ctrl-C keeps the decision)",
					      SIDES * turn + (size_t)side + 1, SIDES * needed, progress_now() - began_s, a->budget_s);
			st = count_once(c, side, turn, a->budget_s - (progress_now() - began_s), err);
		}
		turn++;
		turn_s = progress_now() - began_s - spent_s;
		spent_s += turn_s;
	}
	progress_end(&shown);
	c->why->seconds = spent_s;
	if (!st && !counted_cancelled && (c->why->code ? spent_s >= a->budget_s : turn < DETECT_RUNS_MIN))
		explanation_set_reason(c->why, "budget_ended", "--why is too short for three runs of each version with emulated counters");
	return st;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)info;
	(void)type;
	(void)place;
	return remove(path);
}

static enum assay_status count_and_judge(struct counting *c, struct function_evidence *functions, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");
	enum assay_status st = ASSAY_OK;

	c->place = mem_format("%s/assay-counted-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(c->place))
		return assay_fail_errno(err, errno, "cannot make a directory '%s'", c->place);
	for (int side = 0; side < SIDES; side++) {
		c->samples[side] = mem_format("%s/%s", c->place, side == A ? "old" : "new");
		st = st ? st : file_make_directory(c->samples[side], 0700, err);
	}
	st = st ? st : count_in_turn(c, err);
	if (!st && !c->why->code)
		function_evidence_read((const char *const *)c->samples, functions);
	if (!st && functions->missing)
		explanation_set_reason(c->why, "not_judged", functions->missing);
	nftw(c->place, remove_one, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
	mem_free(c->samples[A], c->samples[B]);
	return st;
}

enum assay_status count_changed_functions(const struct counted_request *asked, struct function_evidence *functions, struct explanation *why,
					  struct assay_error *err)
{
	struct trees_request with = asked->trees;
	struct trees trees;
	struct counting c = { .asked = asked, .trees = &trees, .why = why };
	enum assay_status st;

	*functions = (struct function_evidence){ .has_result = false };
	*why = (struct explanation){ .is_needed = true, .hosts = 1 };
	with.kind = VARIANT_COUNTERS;
	st = trees_build(&with, &trees, err);
	if (st && (trees.reason || trees.cancelled)) {
		explanation_set_reason(why, trees.cancelled ? "interrupted" : variant_reason_codes[trees.reason],
				       trees.cancelled ? INTERRUPTED : err->text);
		st = ASSAY_OK;
	} else if (!st) {
		cancel_on_signals(&counted_cancelled);
		st = count_and_judge(&c, functions, err);
	}
	free(c.place);
	trees_release(&trees);
	return st;
}
