/* Instrumented runs: in how many runs a host can count what is wanted, what each run is told, and its files of samples, brought
 * here one by one and kept with the execution. A repetition is one execution, however many runs the counters take. */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "runs/running/execute_internal.h"
#include "runs/inside/samples/samples.h"

#include <inttypes.h>
#include <math.h>

#define LIST_BYTES_MAX (1u << 20)

/* "BYTES NAME" a line; where there is none, the pattern is no file. */
static const char list_script[] = "cd -- \"$1\" && for f in *.samples; do [ -f \"$f\" ] && echo \"$(wc -c <\"$f\") $f\"; done; :";

/* ---- what is asked ---- */

void execute_samples_facts(const struct execute *x, struct execute_host *h, const struct facts *facts)
{
	struct execute_probe *probe = &h->probe;

	free(probe->hardware_type);
	probe->hardware_type = types_of_host(h->host, facts);
	free(probe->samples);
	probe->samples = mem_format("%s/samples", h->directory);
	counting_events_release(&probe->events);
	if (x->options->instrument)
		probe->asked = !instrument_events(&x->options->manifest->probe, facts, &probe->events);
}

void execute_samples_request(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	const struct execute_probe *probe = &h->probe;
	const char *const list[] = {"sh", "-c", list_script, "sh", probe->samples};
	char *path;

	(void)x;
	switch (h->stage) {
	case EXECUTE_COUNTERS:
		counting_request_plan(out, h->host, &probe->events);
		break;
	case EXECUTE_COUNTING:
		counting_request_deploy(out, h->host);
		break;
	case EXECUTE_LIST:
		measure_request(out, h->host, list, 5, EXECUTE_COMMAND_MS);
		measure_request_lock(out);
		break;
	default:
		path = mem_format("%s/%s", probe->samples, probe->files[probe->file].name);
		helper_request_init(out, "get");
		helper_request_text(out, HELPER_PATH, path);
		free(path);
	}
}

char *execute_probe_directory(const struct execute_host *h)
{
	return mem_format("%s/probe", h->directory);
}

void execute_samples_tell(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	const struct plan_cell *cell = &h->cells[h->cell];
	char *files = execute_probe_directory(h);
	const struct instrument_run run = {cell->version, x->options->plan->inputs[cell->input], files, h->probe.samples,
	                                   h->probe.packs.n ? &h->probe.packs.runs[h->probe.pack] : NULL};
	struct manifest_words environment;

	instrument_environment(x->options->instrument, &run, &environment);
	for (size_t i = 0; i < environment.n; i++)
		helper_request_variable(out, environment.items[i]);
	manifest_words_release(&environment);
	free(files);
}

/* ---- which runs the counters take ---- */

static bool take_counters(struct execute_host *h, const struct helper_answer *answer)
{
	struct execute_probe *probe = &h->probe;
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;

	if (counting_is_missing(answer) && !probe->deployed) {
		h->stage = EXECUTE_COUNTING;
		return true;
	}
	probe->asked = true;
	if (!execute_went_well(answer))
		return execute_leave_with(h, answer, "the counting program does not run there");
	if (spool_text(&answer->out, COUNTING_PLAN_BYTES_MAX, &text, &n, &err) ||
	    counting_plan_parse(text, n, &probe->packs, &err))
		execute_leave(h, err.text);
	free(text);
	return true;
}

static bool take_counting(struct execute_host *h, const struct helper_answer *answer)
{
	h->probe.deployed = true;
	h->stage = EXECUTE_COUNTERS;
	return execute_went_well(answer) || execute_leave_with(h, answer, "the counting program could not be deployed");
}

/* ---- one run ---- */

static void files_release(struct execute_probe *probe)
{
	for (size_t i = 0; i < probe->n; i++)
		free(probe->files[i].name);
	free(probe->files);
	probe->files = NULL;
	probe->n = probe->file = probe->capacity = probe->kept = 0;
}

/* The execution has no samples, or not all: that is what came of it. */
static void spoil(struct execute_probe *probe, const char *why)
{
	struct execution *e = &probe->pending;

	if (e->outcome != EXECUTION_OK)
		return; /* there is a better reason */
	e->outcome = EXECUTION_NO_SAMPLES;
	e->metric = (double)NAN;
	free(e->detail);
	e->detail = mem_string(why);
}

/* The repetition is complete, or will not be. */
static bool settle(struct execute *x, struct execute_host *h)
{
	struct execute_probe *probe = &h->probe;
	bool ok = execute_settle(x, h, &probe->pending);

	execution_release(&probe->pending);
	probe->has_pending = false;
	probe->pack = 0;
	return ok;
}

/* All files of this run are here. */
static bool pack_end(struct execute *x, struct execute_host *h)
{
	struct execute_probe *probe = &h->probe;

	if (probe->kept == 0)
		spoil(probe, "no selected function was called, or its process wrote no file of samples");
	files_release(probe);
	h->stage = EXECUTE_FETCH; /* whose end it is: what comes next is not ours to say */
	if (probe->pending.outcome == EXECUTION_OK && probe->pack + 1 < probe->packs.n) {
		probe->pack++;
		return true;
	}
	return settle(x, h);
}

/* The first run's numbers and output stand for the repetition, or those of the first that did not end well. */
bool execute_samples_run(struct execute *x, struct execute_host *h, struct execution *e, bool alive)
{
	struct execute_probe *probe = &h->probe;

	if (!x->options->instrument || h->cells[h->cell].repetition < 1)
		return false;
	if (probe->has_pending && e->outcome != EXECUTION_OK) {
		e->samples = probe->pending.samples;
		e->n_samples = probe->pending.n_samples;
		e->samples_capacity = probe->pending.samples_capacity;
		probe->pending.samples = NULL;
		execution_release(&probe->pending);
	}
	if (!probe->has_pending || e->outcome != EXECUTION_OK) {
		probe->pending = *e;
		*e = (struct execution){.detail = NULL};
	}
	probe->has_pending = true;
	files_release(probe);
	h->stage = EXECUTE_LIST;
	if (!alive)
		return true;
	spoil(probe, "processes of it could not be ended, and would go on writing samples");
	settle(x, h);
	return true;
}

/* ---- its files ---- */

/* PID-N.samples, as the writer calls them; all else is the program's own. */
static bool is_name(const char *name)
{
	static const char digits[] = "0123456789";
	size_t pid = strspn(name, digits), n = name[pid] == '-' ? strspn(name + pid + 1, digits) : 0;

	return pid && n && pid + n < 64 && strcmp(name + pid + 1 + n, ".samples") == 0;
}

bool execute_samples_list(struct execute_probe *probe, char *text, char **why)
{
	uint64_t all = 0;

	for (char *line = text, *next; line; line = next) {
		struct execute_file file = {NULL, 0};
		char *end;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		file.bytes = strtoull(line, &end, 10);
		if (end == line || *end != ' ' || !is_name(end + 1))
			continue;
		all += file.bytes;
		if (probe->n == EXECUTE_SAMPLES_FILES_MAX || file.bytes > EXECUTE_SAMPLES_BYTES_MAX ||
		    all > EXECUTE_SAMPLES_BYTES_MAX) {
			*why = mem_format(
			    "its samples are more than is fetched of a run (%u MiB in %d files): select fewer functions",
			    EXECUTE_SAMPLES_BYTES_MAX >> 20, EXECUTE_SAMPLES_FILES_MAX);
			return false;
		}
		file.name = mem_string(end + 1);
		probe->files = mem_grow(probe->files, probe->n, &probe->capacity, sizeof(file));
		probe->files[probe->n++] = file;
	}
	return true;
}

static bool take_list(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	struct execute_probe *probe = &h->probe;
	struct assay_error err;
	char *text = NULL, *why = NULL;
	size_t n = 0;

	if (!execute_went_well(answer))
		return execute_leave_with(h, answer, "the files of samples cannot be listed");
	if (spool_text(&answer->out, LIST_BYTES_MAX, &text, &n, &err)) {
		spoil(probe, err.text);
	} else if (!execute_samples_list(probe, text, &why)) {
		spoil(probe, why);
		files_release(probe);
	}
	free(text);
	free(why);
	h->stage = EXECUTE_FETCH;
	return probe->n > 0 || pack_end(x, h);
}

/* Is it whole, and what it should be? One of a process that called none of the functions is neither kept nor wrong. */
static enum assay_status check_file(const struct execute *x, const char *name, const char *bytes, size_t n,
                                    enum record_back_end *back_end, bool *empty, struct assay_error *err)
{
	bool emulated = x->options->manifest->probe.back_end == MANIFEST_EMULATED;
	struct samples samples;
	enum assay_status st = samples_parse(name, bytes, n, &samples, err);

	if (st)
		return st;
	*back_end = samples.back_end;
	*empty = samples.n == 0 && samples.n_calls == 0;
	if (emulated != (samples.back_end == RECORD_EMULATED))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: was written by the %s", name,
		                emulated ? "probe, not by the emulation" : "emulation, not by the probe");
	samples_release(&samples);
	return st;
}

static void pending_add(struct execute_probe *probe, const struct sample_kept *kept)
{
	struct execution *e = &probe->pending;

	e->samples = mem_grow(e->samples, e->n_samples, &e->samples_capacity, sizeof(*kept));
	e->samples[e->n_samples] = *kept;
	e->samples[e->n_samples++].pack = (int64_t)probe->pack;
	probe->kept++;
}

/* False when it could not be kept here: nothing can any more. What is wrong with the file itself spoils the execution. */
static bool keep_file(struct execute *x, struct execute_host *h, const char *bytes, size_t n, struct assay_error *err)
{
	struct execute_probe *probe = &h->probe;
	enum record_back_end back_end = RECORD_TIME;
	struct sample_kept kept;
	bool empty = false;

	if (check_file(x, probe->files[probe->file].name, bytes, n, &back_end, &empty, err)) {
		spoil(probe, err->text);
		return true;
	}
	if (empty)
		return true;
	if (sample_keep_file(x->lab, bytes, n, back_end, &kept, err))
		return false;
	pending_add(probe, &kept);
	return true;
}

static bool take_file(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	struct execute_probe *probe = &h->probe;
	struct assay_error err;
	char *bytes = NULL;
	size_t n = 0;
	bool kept;

	if (answer->refusal)
		return execute_leave_with(h, answer, "a file of samples cannot be fetched");
	if (answer->result.bytes != (int64_t)answer->out.size ||
	    spool_text(&answer->out, EXECUTE_SAMPLES_BYTES_MAX, &bytes, &n, &err)) {
		free(bytes);
		return execute_leave(h, "a file of samples did not arrive whole");
	}
	kept = keep_file(x, h, bytes, n, &err);
	free(bytes);
	if (!kept)
		return execute_store_failed(x, h, &err);
	return ++probe->file < probe->n || pack_end(x, h);
}

/* ---- all together ---- */

bool execute_samples_advance(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	switch (h->stage) {
	case EXECUTE_COUNTERS:
		return take_counters(h, answer);
	case EXECUTE_COUNTING:
		return take_counting(h, answer);
	case EXECUTE_LIST:
		return take_list(x, h, answer);
	default:
		return take_file(x, h, answer);
	}
}

bool execute_samples_done(const struct execute_host *h)
{
	return h->stage == EXECUTE_COUNTERS ? h->probe.asked : h->stage == EXECUTE_FETCH && h->probe.n == 0;
}

void execute_samples_start_over(struct execute_probe *probe)
{
	if (probe->has_pending)
		execution_release(&probe->pending);
	files_release(probe);
	counting_plan_release(&probe->packs);
	probe->has_pending = probe->asked = probe->deployed = false;
	probe->pack = 0;
}

void execute_samples_release(struct execute_probe *probe)
{
	execute_samples_start_over(probe);
	counting_events_release(&probe->events);
	free(probe->samples);
	free(probe->hardware_type);
}
