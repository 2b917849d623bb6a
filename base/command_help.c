/* What a row says of its command: --help, manual pages, completion for shells. */
#include "base/command.h"

#include "base/mem.h"

#include <string.h>

#define HELP_COLUMNS 100
#define HELP_OPTION  28 /* where the help of an option begins */

/* ---- --help ---- */

/* Paragraphs broken into lines of HELP_COLUMNS, the first one beginning at column `at`, the others at `indent`. */
static void add_wrapped(const char *text, size_t at, size_t indent, struct buf *out)
{
	while (*text) {
		size_t n = strcspn(text, " \n");

		if (at > indent && at + 1 + n > HELP_COLUMNS) {
			buf_format(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			buf_char(out, ' ');
			at++;
		}
		buf_add(out, text, n);
		at += n;
		text += n;
		if (*text == '\n') {
			buf_format(out, "\n%*s", text[1] == '\n' ? 0 : (int)indent, "");
			at = indent;
		}
		text += *text != '\0';
	}
	buf_char(out, '\n');
}

static void add_usage_words(const struct command *command, struct buf *out)
{
	for (const struct cli_option *w = command->words; w && w->name; w++) {
		bool optional = !w->required && w->low == 0;

		buf_format(out, optional ? " [%s]" : " %s", w->name);
		buf_text(out, w->type == CLI_TYPE_LIST ? "..." : "");
	}
}

/* "N", or "human|json" of a choice. */
static void add_value(const struct cli_option *o, struct buf *out)
{
	if (o->type != CLI_TYPE_CHOICE)
		buf_text(out, o->value);
	else
		for (size_t i = 0; o->choices[i]; i++)
			buf_format(out, "%s%s", i ? "|" : "", o->choices[i]);
}

static void add_option_name(const struct cli_option *o, struct buf *out)
{
	buf_format(out, o->letter ? "-%c, " : "    ", o->letter);
	buf_format(out, "--%s", o->name);
	if (o->value) {
		buf_text(out, o->implied ? "[=" : "=");
		add_value(o, out);
		buf_text(out, o->implied ? "]" : "");
	}
}

static void add_option_help(const struct cli_option *o, struct buf *out)
{
	size_t start = out->size, width;

	buf_text(out, "  ");
	add_option_name(o, out);
	width = out->size - start;
	if (width + 2 > HELP_OPTION) {
		buf_char(out, '\n');
		width = 0;
	}
	buf_format(out, "%*s", (int)(HELP_OPTION - width), "");
	add_wrapped(o->help, HELP_OPTION, HELP_OPTION, out);
}

/* Calls add() for every option of the command, its own first. */
static void each_option(const struct program *program, const struct command *command,
			void (*add)(const struct cli_option *o, struct buf *out), struct buf *out)
{
	struct cli_option shared[CLI_SHARED_MAX];

	command_shared(program, command, shared);
	for (const struct cli_option *o = command->options; o && o->name; o++)
		add(o, out);
	for (const struct cli_option *o = shared; o->name; o++)
		add(o, out);
}

void command_help(const struct program *program, const struct command *command, struct buf *out)
{
	buf_format(out, "Usage: assay %s [OPTION...]", command->name);
	add_usage_words(command, out);
	buf_text(out, "\n");
	add_wrapped(command->about, 0, 0, out);
	buf_text(out, "\n");
	each_option(program, command, add_option_help, out);
	if (command->more)
		buf_format(out, "\n%s", command->more);
	if (command->examples)
		buf_format(out, "\n%s:\n%s", strchr(command->examples, '\n')[1] ? "Examples" : "Example", command->examples);
	if (command->exit_status) {
		buf_text(out, "\nExit status:");
		add_wrapped(command->exit_status, strlen("Exit status:"), 0, out);
	}
}

/* ---- manual pages ---- */

/* Text for roff: a line must not begin with a request, backslashes are characters. `line`: the text begins a line. */
static void add_roff(const char *text, bool line, struct buf *out)
{
	for (; *text; text++) {
		if (line && (*text == '.' || *text == '\''))
			buf_text(out, "\\&");
		if (*text == '\\')
			buf_text(out, "\\e");
		else if (*text == '-')
			buf_text(out, "\\-");
		else if (*text == '\n' && text[1] == '\n')
			buf_text(out, "\n.PP");
		else
			buf_char(out, *text);
		line = *text == '\n';
	}
}

static void add_roff_option(const struct cli_option *o, struct buf *out)
{
	buf_text(out, ".TP\n.B ");
	if (o->letter)
		buf_format(out, "\\-%c\\fR, \\fB", o->letter);
	buf_text(out, "\\-\\-");
	add_roff(o->name, false, out);
	if (o->value) {
		buf_text(out, o->implied ? "\\fR[=\\fI" : "\\fR=\\fI");
		add_value(o, out);
		if (o->implied)
			buf_text(out, "\\fR]");
	}
	buf_text(out, "\n");
	add_roff(o->help, true, out);
	buf_text(out, "\n");
}

static void add_roff_literal(const char *heading, const char *text, struct buf *out)
{
	buf_format(out, ".SH %s\n.nf\n", heading);
	add_roff(text, true, out);
	buf_text(out, ".fi\n");
}

static void manual_of_program(const struct program *program, struct buf *out)
{
	buf_text(out, ".TH ASSAY 1 \"\" \"assay " ASSAY_VERSION
		      "\"\n.SH NAME\nassay \\- what a program stresses, and whether a new version is slower\n"
		      ".SH SYNOPSIS\n.B assay\n[\\-C DIR] COMMAND [ARGUMENT...]\n.SH COMMANDS\n");
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];

		buf_text(out, command->run ? ".TP\n.B assay " : ".SS ");
		add_roff(command->name, false, out);
		buf_text(out, "\n");
		if (command->run) {
			add_roff(command->summary, true, out);
			buf_text(out, "\n");
		}
	}
}

void command_manual(const struct program *program, const struct command *command, struct buf *out)
{
	char *title;

	if (!command) {
		manual_of_program(program, out);
		return;
	}
	title = mem_string(command->name);
	for (char *c = title; *c; c++)
		*c = *c == ' ' ? '-' : *c;
	buf_format(out, ".TH ASSAY-%s 1 \"\" \"assay " ASSAY_VERSION "\"\n.SH NAME\nassay-%s \\- ", title, title);
	add_roff(command->summary, false, out);
	buf_text(out, "\n.SH SYNOPSIS\n.B assay ");
	add_roff(command->name, false, out);
	buf_text(out, "\n[OPTION...]");
	add_usage_words(command, out);
	buf_text(out, "\n.SH DESCRIPTION\n");
	add_roff(command->about, true, out);
	buf_text(out, "\n.SH OPTIONS\n");
	each_option(program, command, add_roff_option, out);
	if (command->more)
		add_roff_literal("NOTES", command->more, out);
	if (command->examples)
		add_roff_literal("EXAMPLES", command->examples, out);
	buf_text(out, ".SH EXIT STATUS\n");
	add_roff(command->exit_status ? command->exit_status : "0 on success, 1 on failure, 2 on wrong usage.", true, out);
	buf_text(out, "\n.SH SEE ALSO\n.BR assay (1)\n");
	free(title);
}

/* ---- completion ---- */

/* The text for a word in single quotes of a shell, or of fish. */
static void add_quoted(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_text(out, "'\\''");
		else
			buf_char(out, *text);
	}
}

static void add_long_option(const struct cli_option *o, struct buf *out)
{
	buf_format(out, " --%s", o->name);
}

static void add_choices(const struct cli_option *o, struct buf *out)
{
	if (o->type != CLI_TYPE_CHOICE)
		return;
	buf_format(out, o->letter ? "\t\t-%c | " : "\t\t", o->letter);
	buf_format(out, "--%s) choices='", o->name);
	for (size_t i = 0; o->choices[i]; i++)
		buf_format(out, "%s%s", i ? " " : "", o->choices[i]);
	buf_text(out, "' ;;\n");
}

/* The second words of the commands that share the first word of the i-th, when it is the first of them. */
static void add_second_words(const struct program *program, size_t i, struct buf *out)
{
	const char *name = program->commands[i]->name;
	size_t n = strcspn(name, " ") + 1;

	if (!program->commands[i]->run || !name[n - 1])
		return;
	for (size_t k = 0; k < i; k++) {
		if (program->commands[k]->run && strncmp(program->commands[k]->name, name, n) == 0)
			return;
	}
	buf_format(out, "\t\t%.*s) words='", (int)n - 1, name);
	for (size_t k = i; k < program->n; k++) {
		if (program->commands[k]->run && strncmp(program->commands[k]->name, name, n) == 0)
			buf_format(out, "%s ", program->commands[k]->name + n);
	}
	buf_text(out, "' ;;\n");
}

/* bash, and zsh by its bashcompinit: the longest command that the words begin with decides which options there are. */
static void completion_of_bash(const struct program *program, struct buf *out)
{
	buf_text(out, "_assay() {\n\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words='' "
		      "options='' choices=''\n"
		      "\tlocal one=${COMP_WORDS[1]} two=\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\"\n\tCOMPREPLY=()\n\tcase $two in\n");
	for (int words = 2; words > 0; words--) {
		for (size_t i = 0; i < program->n; i++) {
			const struct command *command = program->commands[i];

			if (!command->run || (strchr(command->name, ' ') != NULL) != (words == 2))
				continue;
			buf_format(out, words == 2 ? "\t'%s')\n\t\toptions='" : "\t'%s '*)\n\t\toptions='", command->name);
			each_option(program, command, add_long_option, out);
			buf_text(out, "'\n\t\tcase $previous in\n");
			each_option(program, command, add_choices, out);
			buf_text(out, "\t\tesac ;;\n");
		}
	}
	buf_text(out, "\tesac\n\tif [ \"$COMP_CWORD\" = 1 ]; then words='");
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];

		if (command->run)
			buf_format(out, "%.*s ", (int)strcspn(command->name, " "), command->name);
	}
	buf_text(out, "'\n\telif [ \"$COMP_CWORD\" = 2 ]; then\n\t\tcase $one in\n");
	for (size_t i = 0; i < program->n; i++)
		add_second_words(program, i, out);
	buf_text(out, "\t\tesac\n\tfi\n"
		      "\tcase $current in -*) words=$options ;; esac\n\t[ -z \"$choices\" ] || words=$choices\n"
		      "\t[ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
		      "complete -o default -F _assay assay\n");
}

static void fish_option(const char *condition, const struct cli_option *o, struct buf *out)
{
	buf_format(out, "complete -c assay -n '%s' -l %s", condition, o->name);
	if (o->letter)
		buf_format(out, " -s %c", o->letter);
	if (o->value && !o->implied)
		buf_text(out, " -r");
	if (o->type == CLI_TYPE_CHOICE) {
		buf_text(out, " -f -a '");
		for (size_t i = 0; o->choices[i]; i++)
			buf_format(out, "%s%s", i ? " " : "", o->choices[i]);
		buf_char(out, '\'');
	}
	buf_text(out, " -d '");
	add_quoted(o->help, out);
	buf_text(out, "'\n");
}

static void completion_of_fish(const struct program *program, struct buf *out)
{
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];
		const char *blank = strchr(command->name, ' ');
		int first = (int)strcspn(command->name, " ");
		struct cli_option shared[CLI_SHARED_MAX];
		char *condition;

		if (!command->run)
			continue;
		if (blank)
			condition = mem_format("__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s", first, command->name,
					       blank + 1);
		else
			condition = mem_format("__fish_seen_subcommand_from %s", command->name);
		buf_format(out,
			   blank ? "complete -c assay -f -n '__fish_seen_subcommand_from %.*s' -a %s -d '"
				 : "complete -c assay -f -n __fish_use_subcommand -a %.*s%s -d '",
			   first, command->name, blank ? blank + 1 : "");
		add_quoted(command->summary, out);
		buf_text(out, "'\n");
		if (blank)
			buf_format(out, "complete -c assay -f -n __fish_use_subcommand -a %.*s\n", first, command->name);
		command_shared(program, command, shared);
		for (const struct cli_option *o = command->options; o && o->name; o++)
			fish_option(condition, o, out);
		for (const struct cli_option *o = shared; o->name; o++)
			fish_option(condition, o, out);
		free(condition);
	}
}

bool command_completion(const struct program *program, const char *shell, struct buf *out)
{
	if (strcmp(shell, "bash") == 0) {
		completion_of_bash(program, out);
	} else if (strcmp(shell, "zsh") == 0) {
		buf_text(out, "#compdef assay\nautoload -U +X bashcompinit && bashcompinit\n");
		completion_of_bash(program, out);
	} else if (strcmp(shell, "fish") == 0) {
		completion_of_fish(program, out);
	} else {
		return false;
	}
	return true;
}
