/* The options that all sub-commands share, and how a command says what is wrong: one line on standard error. */
#include "base/cli.h"

#include "base/mem.h"
#include "base/term.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#define OPTIONS_MAX 100

static const char *const format_names[] = { "human", "json" };

#define SHARED 3

static const struct argp_option shared_options[SHARED] = {
	{ "directory", 'C', "DIR", 0, "The laboratory's directory (default: the current one); other paths stay relative to where you are", 90 },
	{ "format", 'f', "human|json", 0, "For people (default) or for programs", 90 },
	{ "help", 'h', NULL, 0, "Show this", 90 },
};

/* "NAME: text", one line whatever the text holds: bytes from outside must neither break it nor reach the terminal as escapes. */
static void print_line(const char *name, const char *text, const char *behind)
{
	fprintf(stderr, "%s: ", name);
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control(text);
		fputc(control ? '?' : *text, stderr);
	}
	fprintf(stderr, "%s\n", behind);
}

/* ---- what is wrong with an option ---- */

static bool is_prefix(const char *word, size_t n, const char *name)
{
	return name && strncmp(word, name, n) == 0;
}

/* The option that a long one means, whole or shortened, among both tables; NULL when none or several do. */
static const struct argp_option *find_long(const struct argp_option *const *tables, const char *word, size_t n)
{
	const struct argp_option *found = NULL;
	size_t matches = 0;

	for (int t = 0; t < 2; t++) {
		for (const struct argp_option *o = tables[t]; o && o->name; o++) {
			if (!is_prefix(word, n, o->name))
				continue;
			if (strlen(o->name) == n)
				return o;
			found = o;
			matches++;
		}
	}
	return matches == 1 ? found : NULL;
}

static const struct argp_option *find_short(const struct argp_option *const *tables, int key)
{
	for (int t = 0; t < 2; t++) {
		for (const struct argp_option *o = tables[t]; o && o->name; o++) {
			if (o->key == key)
				return o;
		}
	}
	return NULL;
}

static const char *nearest_long(const struct argp_option *const *tables, const char *word, size_t n)
{
	const char *names[OPTIONS_MAX], *nearest;
	char *name = mem_bytes(word, n);
	size_t n_names = 0;

	for (int t = 0; t < 2; t++) {
		for (const struct argp_option *o = tables[t]; o && o->name && n_names < OPTIONS_MAX; o++)
			names[n_names++] = o->name;
	}
	nearest = text_nearest(name, names, n_names);
	free(name);
	return nearest;
}

/* getopt tells only that something is wrong with the word at which it stopped. */
static void refuse_option(struct argp_state *state, const struct argp_option *const *tables, const char *word)
{
	bool is_long = strncmp(word, "--", 2) == 0;
	size_t n = is_long ? strcspn(word + 2, "=") : 0;
	const struct argp_option *option = is_long ? find_long(tables, word + 2, n) : find_short(tables, word[strlen(word) - 1]);
	const char *nearest;

	if (option && option->arg)
		cli_refuse(state, "'%s' needs a value: %s", word, option->arg);
	else if (option)
		cli_refuse(state, "'--%s' takes no value", option->name);
	nearest = is_long ? nearest_long(tables, word + 2, n) : NULL;
	if (nearest)
		cli_refuse(state, "unknown option '%s' (did you mean '--%s'?)", word, nearest);
	cli_refuse(state, "unknown option '%s'", word);
}

/* ---- parsing ---- */

struct parse_inputs {
	struct cli *cli;
	void *command;
	const struct argp *both;
	const struct argp_option *tables[2]; /* of the command (or NULL) and the shared ones */
};

static _Noreturn void show_help(const struct parse_inputs *inputs)
{
	struct assay_error err;
	char *name = mem_string(inputs->cli->name);

	setenv("ARGP_HELP_FMT", "no-dup-args-note,rmargin=100", 0);
	argp_help(inputs->both, stdout, ARGP_HELP_STD_HELP & ~(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR), name);
	free(name);
	exit(cli_end(inputs->cli, cli_print(&(struct buf)BUF_INIT, &err), &err, 0));
}

static error_t parse_shared(int key, char *arg, struct argp_state *state)
{
	struct parse_inputs *inputs = state->input;
	struct cli *cli = inputs->cli;

	switch (key) {
	case 'C':
		if (!*arg)
			cli_refuse(state, "the directory after -C is empty");
		cli->directory = arg;
		return 0;
	case 'f':
		for (size_t i = 0; i < sizeof(format_names) / sizeof(format_names[0]); i++) {
			if (strcmp(arg, format_names[i]) == 0) {
				cli->format = (enum cli_format_old)i;
				return 0;
			}
		}
		cli_refuse(state, "unknown format '%s': it is human or json", arg);
	case 'h':
		show_help(inputs);
	case ARGP_KEY_ARG: /* the command itself has refused it */
		cli_refuse(state, "unexpected argument '%s'", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A wrapper around the command's parser hands the two inputs to the two parsers, and says what is wrong where argp stopped. */
static error_t parse_split(int key, char *arg, struct argp_state *state)
{
	struct parse_inputs *inputs = state->input;
	int at = state->next - 1;

	(void)arg;
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = inputs->command;
		state->child_inputs[1] = inputs;
		return 0;
	}
	if (key != ARGP_KEY_ERROR)
		return ARGP_ERR_UNKNOWN;
	if (state->next < state->argc && (at < 1 || state->argv[at][0] != '-'))
		at = state->next; /* inside of several short options in one word */
	refuse_option(state, inputs->tables, state->argv[at]);
	return 0;
}

void cli_parse_without(struct cli *cli, unsigned without, const struct argp *argp, int argc, char **argv, const char *directory, void *input)
{
	struct argp_option options[SHARED + 1] = { { 0 } };
	struct argp command = *argp, shared = { options, parse_shared, NULL, NULL, NULL, NULL, NULL };
	struct argp_child children[] = { { &command, 0, NULL, 0 }, { &shared, 0, NULL, 0 }, { 0 } };
	struct argp both = { NULL, parse_split, argp->args_doc, argp->doc, children, NULL, NULL };
	struct parse_inputs inputs = { cli, input, &both, { argp->options, options } };

	for (size_t i = 0, n = 0; i < SHARED; i++) {
		int key = shared_options[i].key;

		if (!(key == 'C' && without & CLI_NO_DIRECTORY_OLD) && !(key == 'f' && without & CLI_NO_FORMAT_OLD))
			options[n++] = shared_options[i];
	}
	*cli = (struct cli){ argv[0], directory, CLI_HUMAN };
	command.args_doc = NULL;
	command.doc = NULL;
	/* argp's own messages take several lines and know no nearest name. */
	if (argp_parse(&both, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &inputs))
		exit(assay_status_exit(ASSAY_E_USAGE));
}

void cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, const char *directory, void *input)
{
	cli_parse_without(cli, 0, argp, argc, argv, directory, input);
}

void cli_refuse(const struct argp_state *state, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES], *behind = mem_format(" ('%s --help' shows how)", state->argv[0]);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_line(state->argv[0], text, behind);
	free(behind);
	exit(assay_status_exit(ASSAY_E_USAGE));
}

int64_t cli_number(const struct argp_state *state, const char *option, const char *arg, int64_t low, int64_t high)
{
	int64_t n = 0;

	if (!text_int64(arg, &n) || n < low || n > high)
		cli_refuse(state, "%s must be a whole number from %" PRId64 " to %" PRId64 ", not '%s'", option, low, high, arg);
	return n;
}

error_t cli_words(int key, char *arg, struct argp_state *state, const char **words, unsigned wanted, const char *what)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num >= wanted)
			cli_refuse(state, "unexpected argument '%s' (expected %s)", arg, what);
		words[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < wanted)
			cli_refuse(state, "missing argument: %s", what);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t cli_directory_old(int key, char *arg, struct argp_state *state, const char **directory)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*directory)
		cli_refuse(state, "one directory, not two ('%s' and '%s')", *directory, arg);
	*directory = arg;
	return 0;
}

/* ---- results ---- */

enum assay_status cli_print(const struct buf *text, struct assay_error *err)
{
	bool terminal = isatty(STDOUT_FILENO);

	if (text->size && terminal)
		term_put(text->bytes, text->size, term_colours(stdout), stdout);
	else if (text->size)
		fwrite(text->bytes, 1, text->size, stdout);
	if (fflush(stdout) || ferror(stdout))
		return assay_fail_errno(err, errno, "cannot write to standard output");
	return ASSAY_OK;
}

int cli_end(const struct cli *cli, enum assay_status status, const struct assay_error *err, int decided)
{
	if (!status)
		return decided;
	print_line(cli->name, err->text, "");
	return assay_status_exit(status);
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_line(cli->name, text, "");
}
