#include "base/cli.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

static const char *const format_names[] = { "human", "json" };

static const struct argp_option shared_options[] = {
	{ "directory", 'C', "DIR", 0, "The laboratory's directory (default: the current one); other paths stay relative to where you are", 90 },
	{ "format", 'f', "human|json", 0, "For people (default) or for programs", 90 },
	{ "help", 'h', NULL, 0, "Show this", 90 },
	{ 0 }
};

/* "NAME: text", one line whatever the text holds: outside bytes must neither break the line nor reach the terminal as escapes. */
static void print_line(const char *name, const char *text, const char *behind)
{
	fprintf(stderr, "%s: ", name);
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
	fprintf(stderr, "%s\n", behind);
}

static void print_formatted(const char *name, const char *behind, const char *fmt, va_list args)
{
	char text[ASSAY_ERROR_BYTES];

	vsnprintf(text, sizeof(text), fmt, args);
	print_line(name, text, behind);
}

static error_t parse_shared(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	switch (key) {
	case 'C':
		cli->directory = arg;
		return 0;
	case 'f':
		for (size_t i = 0; i < sizeof(format_names) / sizeof(format_names[0]); i++) {
			if (strcmp(arg, format_names[i]) == 0) {
				cli->format = (enum cli_format)i;
				return 0;
			}
		}
		argp_error(state, "unknown format '%s': it is human or json", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp shared_argp = { shared_options, parse_shared, NULL, NULL, NULL, NULL, NULL };

struct parse_inputs {
	struct cli *cli;
	void *command;
};

/* A wrapper around the command's parser hands the two inputs to the two parsers. */
static error_t parse_split(int key, char *arg, struct argp_state *state)
{
	struct parse_inputs *inputs = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = inputs->command;
	state->child_inputs[1] = inputs->cli;
	return 0;
}

void cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, const char *directory, void *input)
{
	struct argp command = *argp;
	struct argp_child children[] = { { &command, 0, NULL, 0 }, { &shared_argp, 0, NULL, 0 }, { 0 } };
	struct argp both = { NULL, parse_split, argp->args_doc, argp->doc, children, NULL, NULL };
	struct parse_inputs inputs = { cli, input };

	*cli = (struct cli){ argv[0], directory, CLI_HUMAN };
	command.args_doc = NULL;
	command.doc = NULL;
	argp_err_exit_status = 2;
	if (argp_parse(&both, argc, argv, 0, NULL, &inputs))
		exit(2);
}

enum assay_status cli_print(const struct buf *text, struct assay_error *err)
{
	size_t n = text->size ? fwrite(text->bytes, 1, text->size, stdout) : 0;

	if (n != text->size || fflush(stdout))
		return assay_fail_errno(err, errno, "cannot write to standard output");
	return ASSAY_OK;
}

int cli_end(const struct cli *cli, enum assay_status status, const struct assay_error *err, int decided)
{
	if (!status)
		return decided;
	fprintf(stderr, "%s: %s\n", cli->name, err->text);
	return assay_status_exit(status);
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "%s: ", cli->name);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

error_t cli_words(int key, char *arg, struct argp_state *state, const char **words, unsigned wanted, const char *what)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num >= wanted)
			argp_error(state, "'%s' is one word too many: wanted is %s", arg, what);
		words[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < wanted)
			argp_error(state, "%s missing", what);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
