#include "runs/running/samples_fetch.h"

#include "base/mem.h"
#include "base/order.h"
#include "fleet/agent/helper_client.h"
#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/run_features.h"

#include <math.h>

#define LIST_BYTES_MAX	  (1u << 20)
#define LIST_MS		  (5 * 60 * 1000)
#define FETCH_MS	  (60 * 60 * 1000) /* time limit per file, ms */
#define CALLS_FILES_MAX	  8192		   /* maximum number of files that `assay variance` reads */
#define TIMEOUT_MARGIN_MS (60 * 1000)	   /* extra time to wait for an answer, beyond the limit that the host itself enforces, ms */

/* List of files on a host. */
struct samples_found {
	struct samples_found_file {
		char *name;
		uint64_t bytes;
	} * items; /* [n], files */
	size_t n, capacity;
};

static void samples_found_release(struct samples_found *samples)
{
	for (size_t i = 0; i < samples->n; i++)
		free(samples->items[i].name);
	free(samples->items);
	*samples = (struct samples_found){ NULL, 0, 0 };
}

/* Reports whether a name is PID-N with the suffix, such as 12-0.samples. Other files belong to the program that was run. */
static bool is_written_name(const char *name, const char *suffix)
{
	static const char digits[] = "0123456789";
	size_t pid = strspn(name, digits), n = name[pid] == '-' ? strspn(name + pid + 1, digits) : 0;

	return pid && n && pid + n < 64 && strcmp(name + pid + 1 + n, suffix) == 0;
}

/* Parses lines "BYTES NAME", and changes the text. Keeps files that are named like those of the probe. *out must be empty;
 * samples_found_release() frees it. */
static void samples_found_parse(char *text, const char *suffix, struct samples_found *out)
{
	for (char *line = text, *next; line; line = next) {
		char *end;
		uint64_t bytes;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		bytes = strtoull(line, &end, 10);
		if (end != line && *end == ' ' && is_written_name(end + 1, suffix))
			mem_append(out->items, out->n, &out->capacity,
				   (struct samples_found_file){ .name = mem_string(end + 1), .bytes = bytes });
	}
}

ORDER_BY(largest_first, struct samples_found_file, BY_DESC(bytes) BY_TEXT(name))

/* Keeps the largest files within the limits. Returns the number of excluded files. */
static size_t samples_found_limit(struct samples_found *found, size_t files_max, uint64_t bytes_max)
{
	size_t kept = 0, all = found->n;

	order_sort(found->items, all, largest_first);
	for (size_t i = 0; i < all; i++) {
		if (kept == files_max || found->items[i].bytes > bytes_max) {
			free(found->items[i].name);
			continue;
		}
		bytes_max -= found->items[i].bytes;
		found->items[kept++] = found->items[i];
	}
	found->n = kept;
	return all - kept;
}

void samples_mark_missing(struct execution *e, const char *why)
{
	if (e->outcome != EXECUTION_OK)
		return; /* the execution has already failed for another reason */
	e->outcome = EXECUTION_NO_SAMPLES;
	e->metric = (double)NAN;
	free(e->detail);
	e->detail = mem_string(why);
}

/* Keeps all files if they are within the limits. Else keeps none, and sets *why to the reason. */
static void limit_all(struct samples_found *found, const char *what, const char *remedy, char **why)
{
	if (!samples_found_limit(found, SAMPLES_FETCH_FILES_MAX, SAMPLES_FETCH_BYTES_MAX))
		return;
	samples_found_release(found);
	*why = mem_format("its %s exceed the limit for a run (%u MiB in %d files): %s", what, SAMPLES_FETCH_BYTES_MAX >> 20,
			  SAMPLES_FETCH_FILES_MAX, remedy);
}

/* output of the script below if the directory is missing */
#define FILE_MISSING_REPLY "gone\n"

/* Lists the files in `directory` that end with the suffix. If there is no list, sets *why to the reason, and *out stays empty. The caller
 * frees *why. Returns false if the host has failed. */
static bool files_list(struct session *session, const char *directory, const char *suffix, struct samples_found *out, char **why)
{
	/* Prints "BYTES NAME" for each file. If there are none, the shell leaves the pattern unchanged, and `-f` is false. */
	static const char script[] = "cd -- \"$1\" 2>/dev/null || { echo gone; exit 0; }; for f in *\"$2\"; do [ -f \"$f\" ] && "
				     "echo \"$(wc -c <\"$f\") $f\"; done; :";
	const char *const words[] = { "sh", "-c", script, "sh", directory, suffix };
	struct helper_request request;
	struct helper_answer answer;
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;
	bool ok;

	measure_request(&request, session->host, words, 6, LIST_MS);
	measure_request_lock(&request);
	ok = session_run(session, &request, LIST_MS + TIMEOUT_MARGIN_MS, &answer) && session_check_exit(session, &answer);
	if (!ok)
		session_prefix_reason(session, "cannot list the files that runs left");
	else if (spool_text(&answer.out, LIST_BYTES_MAX, &text, &n, &err))
		*why = mem_string(err.text);
	else if (strcmp(text, FILE_MISSING_REPLY) == 0)
		*why = mem_string("its records are missing: their directory was removed during the run");
	else
		samples_found_parse(text, suffix, out);
	helper_request_release(&request);
	helper_answer_release(&answer);
	free(text);
	return ok;
}

/* Fetches a file into *bytes. The caller frees the result. Returns false if the host has failed. */
static bool file_get(struct session *session, const char *directory, const char *name, char **bytes, size_t *n)
{
	char *path = mem_format("%s/%s", directory, name);
	struct assay_error err;
	struct spool spool;
	bool ok = session_get(session, path, FETCH_MS + TIMEOUT_MARGIN_MS, &spool) ||
		  session_prefix_reason(session, "cannot fetch a file that a run left");

	if (ok && spool_text(&spool, SAMPLES_FETCH_BYTES_MAX, bytes, n, &err))
		ok = session_fail(session, "%s", err.text);
	spool_release(&spool);
	free(path);
	return ok;
}

/* Checks that a sample file is complete and comes from the expected back end. Sets *empty if its process called no selected function. */
static enum assay_status samples_check(const struct samples_source *source, const char *name, const char *bytes, size_t n,
				       enum record_back_end *back_end, bool *empty, struct assay_error *err)
{
	struct samples samples;
	enum assay_status st = samples_parse(name, bytes, n, &samples, err);

	if (st)
		return st;
	*back_end = samples.back_end;
	*empty = samples.n == 0 && samples.n_calls == 0;
	if (source->emulated != (samples.back_end == RECORD_EMULATED))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: was written by the %s", name,
				source->emulated ? "probe, not by the emulation" : "emulation, not by the probe");
	samples_release(&samples);
	return st;
}

/* Stores a sample file, unless it is empty. If the file is faulty, the execution fails. */
static enum assay_status samples_store(const struct samples_source *source, const char *name, size_t pack, const char *bytes, size_t n,
				       struct execution *e, struct assay_error *fault)
{
	enum record_back_end back_end = RECORD_TIME;
	struct sample_stored kept;
	enum assay_status st;
	struct assay_error err;
	bool empty = false;

	if (samples_check(source, name, bytes, n, &back_end, &empty, &err)) {
		samples_mark_missing(e, err.text);
		return ASSAY_OK;
	}
	if (empty)
		return ASSAY_OK;
	st = sample_file_store(source->lab, bytes, n, back_end, &kept, fault); /* without the fleet's lock: 256 MiB may take seconds */
	if (st)
		return st;
	kept.pack = (int64_t)pack;
	mem_append(e->samples, e->n_samples, &e->samples_capacity, kept);
	return ASSAY_OK;
}

static bool samples_get(struct session *session, const struct samples_source *source, const char *name, size_t pack, struct execution *e,
			struct assay_error *fault)
{
	char *bytes = NULL;
	size_t n = 0;
	bool ok =
	    file_get(session, source->directory, name, &bytes, &n) && samples_store(source, name, pack, bytes, n, e, fault) == ASSAY_OK;

	free(bytes);
	return ok;
}

/* Fetches sample files of functions. If files are missing, wrong or too many, the execution fails. */
static bool functions_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
			    struct assay_error *fault)
{
	struct samples_found files = { NULL, 0, 0 };
	size_t before = e->n_samples;
	char *why = NULL;
	bool ok = files_list(session, source->directory, ".samples", &files, &why);

	limit_all(&files, "samples", "select fewer functions", &why);
	if (why)
		samples_mark_missing(e, why);
	for (size_t i = 0; ok && i < files.n; i++)
		ok = samples_get(session, source, files.items[i].name, pack, e, fault);
	if (ok && e->n_samples == before)
		samples_mark_missing(e, "no selected function was called, or its process wrote no sample file");
	samples_found_release(&files);
	free(why);
	return ok;
}

/* Stores the records of one process, unless it made no recorded call. Sets *why to the fault of the first faulty file. */
static enum assay_status calls_store(const struct samples_source *source, const char *name, const char *bytes, size_t n,
				     struct execution *e, char **why, struct assay_error *fault)
{
	struct samples samples;
	struct sample_stored kept;
	struct assay_error err;
	enum assay_status st = samples_parse(name, bytes, n, &samples, &err);
	bool empty = !st && !samples.n;

	if (st) {
		if (!*why)
			*why = mem_format("the records of a process are not kept: %s", err.text);
		return ASSAY_OK;
	}
	samples_release(&samples);
	st = empty ? ASSAY_OK : sample_file_store(source->lab, bytes, n, RECORD_CALLS, &kept, fault);
	if (!st && !empty)
		mem_append(e->samples, e->n_samples, &e->samples_capacity, kept);
	return st;
}

/* Fetches records of calls: all of them, or the largest files if there are too many. Notes faults in the execution's `detail`. */
static bool calls_fetch(struct session *session, const struct samples_source *source, struct execution *e, struct assay_error *fault)
{
	struct samples_found files = { NULL, 0, 0 };
	char *why = NULL;
	bool ok = files_list(session, source->directory, ".samples", &files, &why);
	size_t all = files.n, without = samples_found_limit(&files, CALLS_FILES_MAX, SAMPLES_FETCH_BYTES_MAX);

	if (without)
		why = mem_format("its records exceed the limit for a run (%u MiB in %d files): %zu of %zu files are excluded; 'assay "
				 "record' on the machine itself keeps all",
				 SAMPLES_FETCH_BYTES_MAX >> 20, CALLS_FILES_MAX, without, all);
	for (size_t i = 0; ok && i < files.n; i++) { /* a faulty file does not end the loop */
		char *bytes = NULL;
		size_t n = 0;

		ok = file_get(session, source->directory, files.items[i].name, &bytes, &n) &&
		     calls_store(source, files.items[i].name, bytes, n, e, &why, fault) == ASSAY_OK;
		free(bytes);
	}
	if (why && !e->detail) {
		e->detail = why;
		why = NULL;
	}
	samples_found_release(&files);
	free(why);
	return ok;
}

/* Reads files of features into e->features.counted. Notes faults in the execution's `detail`. */
static bool features_fetch(struct session *session, const char *directory, struct execution *e)
{
	struct samples_found found = { NULL, 0, 0 };
	struct run_features_file *files = NULL;
	struct assay_error err;
	char *why = NULL;
	bool ok = files_list(session, directory, FEATURES_SUFFIX, &found, &why);

	limit_all(&found, "counted features", "measure a command that starts fewer processes", &why);
	files = mem_new(found.n, sizeof(*files));
	for (size_t i = 0; ok && i < found.n; i++) {
		files[i].name = found.items[i].name;
		ok = file_get(session, directory, files[i].name, &files[i].bytes, &files[i].size);
	}
	if (ok && !why && run_features_parse(files, found.n, &e->features.counted, &err))
		why = mem_string(err.text);
	if (ok && !why && e->features.counted.incomplete) {
		run_features_release(&e->features.counted);
		why = mem_string("some of its threads could not count, so its features are not kept");
	}
	if (why && !e->detail) {
		e->detail = why;
		why = NULL;
	}
	for (size_t i = 0; i < found.n; i++)
		free(files[i].bytes);
	free(files);
	samples_found_release(&found);
	free(why);
	return ok;
}

bool samples_fetch(struct session *session, const struct samples_source *source, size_t pack, struct execution *e,
		   struct assay_error *fault)
{
	switch (source->kind) {
	case SAMPLES_OF_FUNCTIONS:
		return functions_fetch(session, source, pack, e, fault);
	case SAMPLES_OF_CALLS:
		return calls_fetch(session, source, e, fault);
	case SAMPLES_OF_FEATURES:
		break;
	}
	return features_fetch(session, source->directory, e);
}
