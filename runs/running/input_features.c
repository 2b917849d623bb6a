#include "runs/running/input_features.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define NUMBER_SEPARATORS	" \t,=:"
#define WORD_BYTES_MAX		40 /* maximum length of a word that becomes a feature */
#define NAME_BYTES_MAX		200
#define NUMBERS_MAX		256 /* maximum number of values of one argument or variable */
#define FILES			"{files}/"
#define ARGUMENT		"argument "
#define FEATURE_VALUE_SEPARATOR " is "
#define LIMIT_MS		(60 * 1000)
#define SPARE_MS		(60 * 1000) /* extra time to wait for an answer, beyond LIMIT_MS, which the host itself enforces, ms */

bool input_feature_is_text(const char *name)
{
	size_t head = strlen(ARGUMENT), digits = strspn(name + (strncmp(name, ARGUMENT, head) == 0 ? head : 0), "0123456789");

	return strncmp(name, ARGUMENT, head) == 0 && digits &&
	       strncmp(name + head + digits, FEATURE_VALUE_SEPARATOR, strlen(FEATURE_VALUE_SEPARATOR)) == 0;
}

/* Reports whether a text is a valid feature name: one line of UTF-8, without a space at either end. */
static bool is_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || *name == ' ' || name[n - 1] == ' ' || !text_is_utf8(name, n))
		return false;
	while (*name && !text_control_char_bytes(name))
		name++;
	return !*name;
}

/* Adds a line with a feature. Does nothing if its name is invalid or too long. */
__attribute__((format(printf, 3, 4))) static void add_value(struct buf *list, double value, const char *fmt, ...)
{
	char name[NAME_BYTES_MAX];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	if (n > 0 && (size_t)n < sizeof(name) && is_name(name))
		buf_format(list, "%s %s\n", TEXT_DOUBLE(value), name);
}

static size_t count_lines(const struct artefact_file *file)
{
	int fd = file->source ? open(file->source, O_RDONLY | O_CLOEXEC) : -1;
	char bytes[65536];
	size_t lines = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(bytes + n - at))); at++)
			lines++;
	}
	if (fd >= 0)
		close(fd);
	return lines;
}

/* Adds the features of the deployed file or directory `path`, and appends the hashes of its contents to `hashed`. Returns false if nothing
 * was deployed there. */
static bool add_files(const struct artefact *files, const char *path, const char *of, struct buf *list, struct buf *hashed)
{
	size_t n = strlen(path), found = 0, bytes = 0, lines = 0;
	bool whole = false;

	while (n && path[n - 1] == '/')
		n--;
	for (size_t i = 0; n && i < files->n; i++) {
		const struct artefact_file *file = &files->files[i];

		if (strncmp(file->path, path, n) != 0 || (file->path[n] && file->path[n] != '/'))
			continue;
		whole = !file->path[n];
		found++;
		bytes += file->bytes;
		lines += count_lines(file);
		buf_format(hashed, "%s %s\n", file->path + n, file->hash);
	}
	if (!found)
		return false;
	add_value(list, (double)bytes, "bytes of %s", of);
	add_value(list, (double)lines, "lines of %s", of);
	if (!whole)
		add_value(list, (double)found, "files of %s", of);
	return true;
}

/* ---- arguments and variables ---- */

size_t input_feature_parse_numbers(const char *word, double *numbers, size_t room)
{
	bool option = word[0] == '-' && word[1] >= '0' && word[1] <= '9' && !strpbrk(word, ".eE");
	char *parts = mem_string(option ? word + 1 : word), *rest = parts, *part;
	size_t n = 0;
	double number;

	while ((part = strsep(&rest, NUMBER_SEPARATORS))) {
		if (text_parse_double(part, &number) && n++ < room)
			numbers[n - 1] = number;
	}
	free(parts);
	return n;
}

/* Adds a feature for each number in `word`. Returns how many numbers there are. */
static size_t add_numbers(const char *word, const char *of, struct buf *list)
{
	double numbers[NUMBERS_MAX];
	size_t n = input_feature_parse_numbers(word, numbers, NUMBERS_MAX);

	for (size_t k = 0; k < n && k < NUMBERS_MAX; k++) {
		if (strpbrk(word, NUMBER_SEPARATORS))
			add_value(list, numbers[k], "%s, number %zu", of, k + 1);
		else
			add_value(list, numbers[k], "%s", of);
	}
	return n;
}

/* Adds the features of an argument or a variable's value: files, else numbers, else, if `words` is set, the word itself. */
static void add_word(const struct artefact *files, const char *word, const char *of, bool words, struct buf *list, struct buf *hashed)
{
	if (strncmp(word, FILES, strlen(FILES)) == 0 && add_files(files, word + strlen(FILES), of, list, hashed))
		return;
	if (add_numbers(word, of, list) == 0 && words && *word && strlen(word) <= WORD_BYTES_MAX && !strchr(word, '{'))
		add_value(list, 1.0, "%s" FEATURE_VALUE_SEPARATOR "%s", of, word);
}

void input_features_compute(const struct manifest *manifest, size_t input, const struct artefact *files, struct execution_features *out)
{
	struct manifest_arguments arguments, environment;
	struct buf hashed = BUF_INIT, list = BUF_INIT;
	struct assay_error ignored;

	*out = (struct execution_features){ .input = "" };
	manifest_input_arguments(manifest, input, &arguments, &environment);
	for (size_t i = 0; i < arguments.n; i++) {
		char *of = mem_format(ARGUMENT "%zu", i + 1);

		buf_format(&hashed, "%zu:%s\n", strlen(arguments.items[i]), arguments.items[i]);
		add_word(files, arguments.items[i], of, true, &list, &hashed);
		free(of);
	}
	for (size_t i = 0; i < environment.n; i++) {
		char *name = mem_bytes(environment.items[i], strcspn(environment.items[i], "=")), *of = mem_format("variable %s", name);

		buf_format(&hashed, "%zu:%s\n", strlen(environment.items[i]), environment.items[i]);
		if (!secret_is_name(name))
			add_word(files, environment.items[i] + strlen(name) + 1, of, false, &list, &hashed);
		mem_free(of, name);
	}
	if (manifest->inputs_directory) {
		size_t n = strlen(manifest->inputs_directory);
		char *directory = mem_string(manifest->inputs_directory), *path;

		while (n && directory[n - 1] == '/')
			directory[--n] = '\0';
		path = mem_format("%s/%s", text_file_name(directory), manifest->inputs[input].name);
		(void)add_files(files, path, "the input", &list, &hashed);
		mem_free(path, directory);
	} else if (!arguments.n && !environment.n) {
		buf_format(&hashed, "%s\n", manifest->inputs[input].name); /* only the name identifies such an input */
	}
	(void)run_features_text_parse(list.bytes ? list.bytes : "", list.size, &out->known, &ignored); /* cannot fail: names are valid */
	digest_sha256(hashed.bytes ? hashed.bytes : "", hashed.size, out->input);
	buf_release(&list);
	buf_release(&hashed);
	manifest_arguments_release(&arguments);
	manifest_arguments_release(&environment);
}

/* ---- features printed by the manifest's command ---- */

struct printed_features_output {
	char *asked;		  /* input and command that printed the features */
	char *no_features_reason; /* reason why there are none; NULL if there is no such reason */
	struct run_features list;
	double seconds;
};

void printed_features_release(struct printed_features *own)
{
	for (size_t i = 0; i < own->n; i++) {
		mem_free(own->items[i].asked, own->items[i].no_features_reason);
		run_features_release(&own->items[i].list);
	}
	free(own->items);
	*own = (struct printed_features){ NULL, 0, 0 };
}

/* Parses the command's output into *out. Names must differ from those of static features and counts. Returns the reason why the output is
 * invalid; NULL if it is valid. The caller frees the result. */
static char *read_printed(const struct printed_features_request *asked, const char *text, size_t n, struct run_features *out)
{
	struct assay_error err;

	if (run_features_text_parse(text, n, out, &err))
		return mem_format("output of the command 'features' for input '%s': %s", asked->input, err.text);
	for (size_t i = 0; i < out->n; i++) {
		bool is_counted = out->items[i].kind == FEATURE_COUNT || strncmp(out->items[i].name, "value ", strlen("value ")) == 0;

		if (is_counted || run_features_find(asked->known, out->items[i].name))
			return mem_format("output of the command 'features' for input '%s': '%.15g %s' uses a reserved name", asked->input,
					  out->items[i].value, TEXT_SANITIZED(out->items[i].name));
	}
	return NULL;
}

/* Returns the reason why the command failed for this input, with the first line of its error output; NULL if it succeeded. The caller frees
 * the result. */
static char *explain_failed_command(const struct printed_features_request *asked, const struct execution *e, bool flooded)
{
	size_t n = strcspn(e->err, "\n");
	char shown[TEXT_SANITIZED_BYTES], *line = mem_bytes(e->err, n), *why = NULL;

	if (flooded)
		why = mem_format("the command 'features' printed more than %u MiB of input '%s'", PRINTED_FEATURES_BYTES_MAX >> 20,
				 asked->input);
	else if (e->outcome != EXECUTION_OK)
		why = mem_format("the command 'features' failed for input '%s': %s%s%s", asked->input, e->detail, n ? ": " : "",
				 text_sanitize(line, shown));
	free(line);
	return why;
}

/* Reads the helper's answer about the command. Masks secrets, also in feature names. Returns false if the host has failed. */
static bool read_answer(struct session *session, const struct printed_features_request *asked, const struct helper_answer *answer,
			struct printed_features_output *out)
{
	const struct metric ended_well = { .source = METRIC_WALL };
	struct execution e = { .detail = NULL };
	struct assay_error err;
	char *text = NULL, *fault = NULL;
	size_t n = 0;
	bool ok = execution_classify(&ended_well, answer, &e, &fault) || session_fail(session, "the command 'features': %s", fault);

	if (ok) {
		secrets_register(asked->environment.items, asked->environment.n);
		secrets_mask_buffer(&e.err, &e.err_bytes);
		out->no_features_reason = explain_failed_command(asked, &e, answer->result.flooded > 0);
	}
	if (ok && !out->no_features_reason && spool_text(&answer->out, PRINTED_FEATURES_BYTES_MAX, &text, &n, &err))
		ok = session_fail(session, "%s", err.text);
	if (ok && !out->no_features_reason) {
		secrets_mask_buffer(&text, &n);
		out->no_features_reason = read_printed(asked, text ? text : "", n, &out->list);
		out->seconds = 1e-6 * (double)(answer->result.user_us + answer->result.sys_us);
	}
	execution_release(&e);
	mem_free(fault, text);
	return ok;
}

static bool run_features_command(struct session *session, const struct printed_features_request *asked, struct printed_features_output *out)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok;

	measure_request(&request, session->host, (const char *const *)asked->words.items, asked->words.n, LIMIT_MS);
	measure_request_lock(&request);
	helper_request_number(&request, HELPER_OUTPUT, PRINTED_FEATURES_BYTES_MAX);
	for (size_t i = 0; i < asked->environment.n; i++)
		helper_request_variable(&request, asked->environment.items[i]);
	helper_request_text(&request, HELPER_DIRECTORY, asked->work);
	ok = session_run(session, &request, LIMIT_MS + SPARE_MS, &answer) && read_answer(session, asked, &answer, out);
	helper_request_release(&request);
	helper_answer_release(&answer);
	return ok;
}

/* Returns a text that identifies input and command. It contains the input's name, because inputs may differ only in their environment. */
static char *request_key(const struct printed_features_request *asked)
{
	struct buf out = BUF_INIT;

	buf_format(&out, "%s\n", asked->input);
	for (size_t i = 0; i < asked->words.n; i++)
		buf_format(&out, "%zu:%s\n", strlen(asked->words.items[i]), asked->words.items[i]);
	return buf_take(&out);
}

bool printed_features_read(struct session *session, const struct printed_features_request *asked, struct printed_features *own,
			   struct execution_features *out, const char **why)
{
	struct printed_features_output one = { .asked = request_key(asked) };
	size_t i = 0;

	while (i < own->n && strcmp(own->items[i].asked, one.asked) != 0)
		i++;
	if (i == own->n && !run_features_command(session, asked, &one)) {
		free(one.asked);
		return false;
	}
	if (i == own->n)
		mem_append(own->items, own->n, &own->capacity, one);
	else
		free(one.asked);
	*why = own->items[i].no_features_reason;
	if (!*why) {
		run_features_copy(&own->items[i].list, &out->printed);
		out->features_command_s = own->items[i].seconds;
	}
	return true;
}
