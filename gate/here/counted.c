#include "gate/here/counted.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "fleet/engine/local_command.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_BYTES	 (1 << 20) /* of what a run prints, to say why it failed */
#define WALK_DESCRIPTORS 16
#define INTERRUPTED	 "interrupted: the decision stands without them"

enum { OLD, NEW, SIDES };

static volatile sig_atomic_t counted_cancelled;

/* What is run. */
struct counting {
	const struct counted_asked *asked;
	const struct trees *trees;    /* with counters */
	char *place, *samples[SIDES]; /* directories */
	struct why *why;
};

/* Runs one side. Sets why->code if the program fails, `left_s` is over or the user ends it. */
static enum assay_status count_once(const struct counting *c, int side, size_t turn, double left_s, struct assay_error *err)
{
	const struct counted_asked *a = c->asked;
	const struct here_side *of = &a->sides[side];
	char *directory = mem_format("%s/%zu", c->samples[side], turn), *variable = mem_format("ASSAY_EMULATE_DIRECTORY=%s", directory);
	const char **words = mem_new(of->n + 2, sizeof(*words));
	const struct local_command command = { .words = words,
					       .n = of->n + 2,
					       .directory = of->directory ? c->trees->directories[side] : NULL,
					       .input = a->input,
					       .kept_bytes = KEPT_BYTES,
					       .timeout_ms = (int64_t)(left_s * 1e3) + 1,
					       .cancelled = &counted_cancelled };
	struct local_said said = { .ok = false };
	enum assay_status st = file_make_directory(directory, 0700, err);

	words[0] = "env";
	words[1] = variable;
	memcpy(words + 2, of->words, of->n * sizeof(*words));
	words[2] = c->trees->programs[side] ? c->trees->programs[side] : words[2];
	if (!st)
		st = local_command_run(&command, &said, err);
	if (!st && counted_cancelled)
		why_not(c->why, "interrupted", INTERRUPTED);
	else if (!st && !said.ok && !(a->any_status && said.result.exit_status > 0))
		why_not(c->why, "failed", said.fault);
	else if (!st)
		c->why->runs++;
	local_said_release(&said);
	free(words);
	mem_free(directory, variable);
	return st;
}

static enum assay_status count_in_turn(const struct counting *c, struct assay_error *err)
{
	const struct counted_asked *a = c->asked;
	struct progress shown = progress_begin(stderr, progress_now() - PROGRESS_LOG_S); /* logs have the first line, too */
	size_t needed = why_runs_needed();
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
		why_not(c->why, "budget_ended", "--why is too short for three runs of each version with emulated counters");
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
		c->samples[side] = mem_format("%s/%s", c->place, side == OLD ? "old" : "new");
		st = st ? st : file_make_directory(c->samples[side], 0700, err);
	}
	st = st ? st : count_in_turn(c, err);
	if (!st && !c->why->code)
		function_evidence_read((const char *const *)c->samples, functions);
	if (!st && functions->missing)
		why_not(c->why, "not_judged", functions->missing);
	nftw(c->place, remove_one, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
	mem_free(c->samples[OLD], c->samples[NEW]);
	return st;
}

enum assay_status counted_functions(const struct counted_asked *asked, struct function_evidence *functions, struct why *why,
				    struct assay_error *err)
{
	struct trees_asked with = asked->trees;
	struct trees trees;
	struct counting c = { .asked = asked, .trees = &trees, .why = why };
	enum assay_status st;

	*functions = (struct function_evidence){ .there = false };
	*why = (struct why){ .asked = true, .hosts = 1 };
	with.kind = VARIANT_COUNTERS;
	st = trees_build(&with, &trees, err);
	if (st && (trees.reason || trees.cancelled)) {
		why_not(why, trees.cancelled ? "interrupted" : variant_reason_codes[trees.reason],
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
