#include "gate/here/keep.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/signature.h"
#include "fleet/lab/lab.h"
#include "runs/running/execution.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <string.h>

enum { A, B, SIDES };

/* ---- the manifest ---- */

/* A text in quotes; braces are no placeholders. What is no UTF-8 is shown. */
static void quote(const char *word, struct buf *out)
{
	cJSON *string = cJSON_CreateString(text_is_utf8(word, strlen(word)) ? word : TEXT_SHOWN(word));
	char *text = cJSON_PrintUnformatted(string);

	for (const char *c = text; *c; c++)
		buf_format(out, *c == '{' ? "{%c" : "%c", *c);
	cJSON_free(text);
	cJSON_Delete(string);
}

static void manifest_text(const struct keep_side sides[SIDES], const char *const names[SIDES], struct buf *out)
{
	buf_text(out, "description: kept by 'assay diff'\nwarm_ups: 0\nversions:\n");
	for (int side = 0; side < SIDES; side++) {
		buf_text(out, "  ");
		quote(names[side], out);
		for (size_t i = 0; i < sides[side].n_words; i++) {
			buf_text(out, i ? ", " : ":\n    command: [");
			quote(sides[side].words[i], out);
		}
		buf_text(out, "]\n");
	}
}

/* ---- the runs ---- */

static enum assay_status run_put(struct store *store, const struct execution_place *place, size_t version, const struct keep_side *side,
				 size_t i, struct assay_error *err)
{
	const struct helper_result *r = &side->results[i];
	char path[] = "samples";
	struct helper_file samples = { path, side->samples[i], side->samples[i] ? strlen(side->samples[i]) : 0, NULL };
	const struct helper_answer answer = { .ended = true, .result = *r, .files = &samples, .n_files = samples.bytes ? 1 : 0 };
	struct execution e = { .cell = { 0, version, (int64_t)i + 1 },
			       .metric = (double)r->wall_ns / 1e9,
			       .taken_ms = r->started_ms,
			       .usage = { r->wall_ns, r->user_us, r->sys_us },
			       .max_rss_bytes = r->max_rss_bytes,
			       .exit_status = r->exit_status,
			       .signal = r->signal,
			       .signature = signature_text(&answer) };
	enum assay_status st = execution_put(store, place, &e, err);

	execution_release(&e);
	return st;
}

static enum assay_status plan_put(struct store *store, const struct manifest *manifest, const struct keep_side sides[SIDES], double level,
				  struct assay_error *err)
{
	char *versions[] = { manifest->versions[A].name, manifest->versions[B].name };
	char *artefacts[] = { mem_string(sides[A].build), mem_string(sides[B].build) }, machine[] = KEEP_MACHINE, *machines[] = { machine };
	struct plan plan = { .application = manifest->application,
			     .versions = versions,
			     .artefacts = artefacts,
			     .n_versions = SIDES,
			     .inputs = &manifest->inputs[0].name,
			     .n_inputs = 1,
			     .machines = machines,
			     .n_machines = 1,
			     .repetitions = (int64_t)sides[A].n,
			     .level = (double)NAN };
	const struct execution_place place = { &plan, machine, NULL, KEEP_APPLICATION, 1, NULL, NULL };
	enum assay_status st = plan_new(store, manifest, &plan, err);

	for (size_t i = 0; !st && i < sides[A].n; i++)
		for (size_t side = 0; !st && side < SIDES; side++)
			st = run_put(store, &place, side, &sides[side], i, err);
	if (!st)
		st = plan_complete(store, &plan, err);
	if (!st && level > 0)
		st = plan_grow(store, plan.id, plan.repetitions, level, err);
	mem_free(artefacts[A], artefacts[B]);
	return st;
}

static bool is_name(const char *name)
{
	return name && !run_name_fault(name) && !strpbrk(name, "/,") && *name != '-' && !strchr(name, ' ');
}

enum assay_status keep_runs(const char *directory, const struct keep_side sides[SIDES], double level, struct assay_error *err)
{
	bool named = is_name(sides[A].name) && is_name(sides[B].name) && strcmp(sides[A].name, sides[B].name) != 0;
	const char *const names[] = { named ? sides[A].name : "a", named ? sides[B].name : "b" };
	char *path = mem_format("%s/apps/" KEEP_APPLICATION ".yaml", directory);
	struct manifest manifest = { .file = NULL };
	struct lab lab = { .lock_fd = -1 };
	struct buf text = BUF_INIT;
	enum assay_status st;

	manifest_text(sides, names, &text);
	st = manifest_parse(path, text.bytes, text.size, &manifest, err);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	if (!st)
		st = lab_open(directory, STORE_WRITE, &lab, err);
	if (!st)
		st = plan_put(&lab.store, &manifest, sides, level, err);
	lab_close(&lab);
	manifest_release(&manifest);
	buf_release(&text);
	free(path);
	return st;
}
