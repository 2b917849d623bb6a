/* What is asked of a host, stage by stage. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/running/execute_internal.h"
#include "runs/running/stack.h"

#include <inttypes.h>

/* 0 the common files, behind them those of each version, then what measures them. */
const struct artefact *execute_files(const struct execute *x, size_t set)
{
	if (set > x->options->plan->n_versions)
		return &x->options->instrument->files;
	return set == 0 ? x->options->files : &x->options->versions[set - 1];
}

size_t execute_sets(const struct execute *x)
{
	return 1 + x->options->plan->n_versions + (x->options->instrument != NULL);
}

/* Names of one length for all versions: a program's speed may depend on the length of its path. */
static char *set_directory(const struct execute *x, const struct execute_host *h, size_t set)
{
	if (set > x->options->plan->n_versions)
		return execute_probe_directory(h);
	return set == 0 ? mem_format("%s/files", h->directory) : mem_format("%s/b%03zu", h->directory, set - 1);
}

/* A command that prepares or cleans up: under the lock, for it must not disturb what others measure. */
static void command(const struct execute_host *h, const char *const *words, size_t n, struct helper_request *out)
{
	measure_request(out, h->host, words, n, EXECUTE_COMMAND_MS);
	measure_request_lock(out);
}

/* Directories that nobody will come back for. One of another laboratory: its session would have changed it between runs, and
 * would hold the lock while one runs; eight days are more than the longest run and the wait for the lock. Those of this
 * laboratory need no time to be known for dead. */
static void request_sweep(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	char *base = mem_format("%s/", x->options->manifest->work),
	     *pattern = mem_format(EXECUTE_PREFIX "%" PRId64 "-*", h->user);
	const char *const head[] = {"find", base, "-maxdepth", "1", "(", "(", "-name", pattern, "-mmin", "+11520", ")"},
	                  *const tail[] = {")", "-exec", "rm", "-rf", "--", "{}", "+"};

	command(h, head, sizeof(head) / sizeof(head[0]), out);
	for (size_t i = 0; i < x->n_stale; i++) {
		char *name = mem_format(EXECUTE_PREFIX "%" PRId64 "-%s-*", h->user, x->stale[i]);

		if (strcmp(x->stale[i], x->options->plan->id) !=
		    0) { /* another host of this very session may share the directory */
			helper_request_text(out, HELPER_ARGUMENT, "-o");
			helper_request_text(out, HELPER_ARGUMENT, "-name");
			helper_request_text(out, HELPER_ARGUMENT, name);
		}
		free(name);
	}
	for (size_t i = 0; i < sizeof(tail) / sizeof(tail[0]); i++)
		helper_request_text(out, HELPER_ARGUMENT, tail[i]);
	free(pattern);
	free(base);
}

static void request_tree(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	const char *const words[] = {"mkdir", "-p", "--", h->work};

	command(h, words, 4, out);
	for (size_t set = 0; set < execute_sets(x); set++) {
		const struct artefact *files = execute_files(x, set);
		char *top = set_directory(x, h, set);

		if (set == 0 || files->n || files->n_directories)
			helper_request_text(out, HELPER_ARGUMENT, top);
		for (size_t i = 0; i < files->n_directories; i++) {
			char *path = mem_format("%s/%s", top, files->directories[i]);

			helper_request_text(out, HELPER_ARGUMENT, path);
			free(path);
		}
		free(top);
	}
}

/* What is deployed is what was hashed, or nothing. */
static bool request_put(const struct execute *x, struct execute_host *h, struct helper_request *out)
{
	const struct artefact_file *file = &execute_files(x, h->set)->files[h->file];
	char *top = set_directory(x, h, h->set), *path = mem_format("%s/%s", top, file->path);
	struct buf bytes = BUF_INIT;
	char hash[DIGEST_HEX_BYTES];
	struct assay_error err;
	bool ok = false;

	if (file->content) {
		buf_add(&bytes, file->content, file->bytes);
		ok = true;
	} else if (file_read(file->source, HELPER_INPUT_BYTES_MAX, &bytes, &err)) {
		h->fault = mem_string(err.text);
	} else {
		digest_sha256(bytes.bytes ? bytes.bytes : "", bytes.size, hash);
		ok = strcmp(hash, file->hash) == 0;
		if (!ok)
			h->fault = mem_format("'%s' was changed while it was deployed", file->source);
	}
	if (ok) {
		helper_request_init(out, "put");
		helper_request_text(out, HELPER_PATH, path);
		helper_request_mode(out, file->mode);
		helper_request_input(out, bytes.bytes ? bytes.bytes : "", bytes.size);
	}
	buf_release(&bytes);
	free(path);
	free(top);
	return ok;
}

static void expand(const struct execute *x, const struct execute_host *h, size_t version, size_t input,
                   struct manifest_words *words, struct manifest_words *environment)
{
	const struct artefact *own = execute_files(x, version + 1);
	char *files = set_directory(x, h, 0), *build = set_directory(x, h, version + 1);
	const struct manifest_places places = {files, own->n || own->n_directories ? build : NULL, h->work};

	manifest_command(x->options->manifest, x->versions[version], x->inputs[input], &places, words, environment);
	free(files);
	free(build);
}

static void add_environment(struct helper_request *out, const struct manifest_words *environment)
{
	for (size_t i = 0; i < environment->n; i++)
		helper_request_variable(out, environment->items[i]);
}

static void add_candidates(const struct execute *x, const struct execute_host *h, size_t set, struct helper_request *out)
{
	const struct artefact *files = execute_files(x, set);
	char *top = set_directory(x, h, set);

	for (size_t i = 0; i < files->n; i++) {
		char *path = mem_format("%s/%s", top, files->files[i].path);

		if (stack_is_candidate(&files->files[i]))
			helper_request_text(out, HELPER_ARGUMENT, path);
		free(path);
	}
	free(top);
}

/* Emulated hosts preload different libraries on purpose: these are the machine, not the software. */
static void request_stack(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	struct manifest_words words = {NULL, 0}, environment = {NULL, 0};

	expand(x, h, h->version, 0, &words, &environment);
	command(h, stack_words, STACK_WORDS, out);
	helper_request_text(out, HELPER_ARGUMENT, words.items[0]);
	add_candidates(x, h, 0, out);
	add_candidates(x, h, h->version + 1, out);
	if (h->host->profile)
		helper_request_text(out, HELPER_ENVIRON, "LD_PRELOAD=");
	add_environment(out, &environment);
	helper_request_text(out, HELPER_DIRECTORY, h->work);
	manifest_words_release(&words);
	manifest_words_release(&environment);
}

static void request_run(const struct execute *x, const struct execute_host *h, struct helper_request *out)
{
	const struct plan_cell *cell = &h->cells[h->cell];
	struct manifest_words words = {NULL, 0}, environment = {NULL, 0};

	expand(x, h, cell->version, cell->input, &words, &environment);
	measure_request(out, h->host, (const char *const *)words.items, words.n, x->options->manifest->time_limit_ms);
	measure_request_lock(out);
	add_environment(out, &environment);
	if (x->options->instrument)
		execute_samples_tell(x, h, out);
	helper_request_text(out, HELPER_DIRECTORY, h->work);
	manifest_words_release(&words);
	manifest_words_release(&environment);
}

/* New, empty directories in the place of what is there: fixed text, the paths are arguments. */
static void request_directories(const struct execute_host *h, const char *path, const char *second, struct helper_request *out)
{
	const char *const words[] = {"sh", "-c", "rm -rf -- \"$@\" && mkdir -m 700 -- \"$@\"", "sh", path, second};

	command(h, words, second ? 6 : 5, out);
}

bool execute_request(const struct execute *x, struct execute_host *h, struct helper_request *out)
{
	const char *const remove[] = {"rm", "-rf", "--", h->directory};

	switch (h->stage) {
	case EXECUTE_FACTS:
		helper_request_init(out, "facts");
		break;
	case EXECUTE_SWEEP:
		request_sweep(x, h, out);
		break;
	case EXECUTE_DIRECTORY:
		request_directories(h, h->directory, NULL, out);
		break;
	case EXECUTE_TREE:
		request_tree(x, h, out);
		break;
	case EXECUTE_PUT:
		return request_put(x, h, out);
	case EXECUTE_STACK:
		request_stack(x, h, out);
		break;
	case EXECUTE_WORK:
		request_directories(h, h->work, x->options->instrument ? h->probe.samples : NULL, out);
		break;
	case EXECUTE_RUN:
		request_run(x, h, out);
		break;
	case EXECUTE_COUNTERS:
	case EXECUTE_COUNTING:
	case EXECUTE_LIST:
	case EXECUTE_FETCH:
		execute_samples_request(x, h, out);
		break;
	case EXECUTE_REMOVE:
		command(h, remove, 4, out);
		break;
	}
	return true;
}
