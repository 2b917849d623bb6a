/* Finds the sub-command that argv names. Makes --help, manual pages and shell completion from the commands' descriptions. */
#include "base/cancel.h"
#include "base/command.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define HELP_COLUMNS 100
#define HELP_OPTION  28 /* column at which the help of an option starts */

/* ---- output of --help ---- */

/* Appends paragraphs, wrapped to lines of at most HELP_COLUMNS. The first line starts at column `at`, the others at column `indent`. */
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

static void add_usage_text(const struct command *command, struct buf *out)
{
	for (const struct cli_option *w = command->words; w && w->name; w++) {
		bool optional = !w->required && w->low == 0;

		buf_format(out, optional ? " [%s]" : " %s", w->name);
		buf_text(out, w->type == CLI_TYPE_LIST ? "..." : "");
	}
}

/* Appends the name of an option's value: "N", or "human|json" for a choice. */
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

/* Calls add() for every option of the command: first its own options, then the shared ones. */
static void for_each_option(const struct program *program, const struct command *command,
			    void (*add)(const struct cli_option *o, struct buf *out), struct buf *out)
{
	struct cli_option shared[CLI_SHARED_OPTIONS_MAX];

	command_shared_options(program, command, shared);
	for (const struct cli_option *o = command->options; o && o->name; o++)
		add(o, out);
	for (const struct cli_option *o = shared; o->name; o++)
		add(o, out);
}

void command_help(const struct program *program, const struct command *command, struct buf *out)
{
	buf_format(out, "Usage: assay %s [OPTION...]", command->name);
	add_usage_text(command, out);
	buf_text(out, "\n");
	add_wrapped(command->about, 0, 0, out);
	buf_text(out, "\n");
	for_each_option(program, command, add_option_help, out);
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

/* Appends text for roff: escapes backslashes and dashes, and dots or quotes at the start of a line. `line` is true if the text itself
 * starts a line. */
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

static void add_program_manual(const struct program *program, struct buf *out)
{
	buf_text(out, ".TH ASSAY 1 \"\" \"assay " ASSAY_VERSION
		      "\"\n.SH NAME\nassay \\- measure the resources that a program uses and find slower versions\n.SH SYNOPSIS\n.B "
		      "assay\n[\\-C DIR] COMMAND [ARGUMENT...]\n.SH COMMANDS\n");
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

/* Appends a manual page in man macros for `command`; for the whole program if `command` is NULL. */
static void add_command_manual(const struct program *program, const struct command *command, struct buf *out)
{
	char *title;

	if (!command) {
		add_program_manual(program, out);
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
	add_usage_text(command, out);
	buf_text(out, "\n.SH DESCRIPTION\n");
	add_roff(command->about, true, out);
	buf_text(out, "\n.SH OPTIONS\n");
	for_each_option(program, command, add_roff_option, out);
	if (command->more)
		add_roff_literal("NOTES", command->more, out);
	if (command->examples)
		add_roff_literal("EXAMPLES", command->examples, out);
	buf_text(out, ".SH EXIT STATUS\n");
	add_roff(command->exit_status ? command->exit_status : "0 on success, 1 on failure, 2 on wrong usage.", true, out);
	buf_text(out, "\n.SH SEE ALSO\n.BR assay (1)\n");
	free(title);
}

/* ---- shell completion ---- */

/* Appends text escaped for use between single quotes in a shell, including fish. */
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

/* Appends the second words of all commands that have the same first word as command i. Does nothing unless i is the first of these. */
static void add_second_arguments(const struct program *program, size_t i, struct buf *out)
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

/* Appends a completion script for bash, which zsh reads by bashcompinit. The longest command name at the line's start sets the options. */
static void add_bash_completion(const struct program *program, struct buf *out)
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
			for_each_option(program, command, add_long_option, out);
			buf_text(out, "'\n\t\tcase $previous in\n");
			for_each_option(program, command, add_choices, out);
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
		add_second_arguments(program, i, out);
	buf_text(out, "\t\tesac\n\tfi\n"
		      "\tcase $current in -*) words=$options ;; esac\n\t[ -z \"$choices\" ] || words=$choices\n"
		      "\t[ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
		      "complete -o default -F _assay assay\n");
}

static void add_fish_option(const char *condition, const struct cli_option *o, struct buf *out)
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

static void add_fish_completion(const struct program *program, struct buf *out)
{
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];
		const char *blank = strchr(command->name, ' ');
		int first = (int)strcspn(command->name, " ");
		struct cli_option shared[CLI_SHARED_OPTIONS_MAX];
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
		command_shared_options(program, command, shared);
		for (const struct cli_option *o = command->options; o && o->name; o++)
			add_fish_option(condition, o, out);
		for (const struct cli_option *o = shared; o->name; o++)
			add_fish_option(condition, o, out);
		free(condition);
	}
}

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static void add_completion(const struct program *program, const char *shell, struct buf *out)
{
	if (strcmp(shell, "fish") == 0) {
		add_fish_completion(program, out);
		return;
	}
	buf_text(out, strcmp(shell, "zsh") == 0 ? "#compdef assay\nautoload -U +X bashcompinit && bashcompinit\n" : "");
	add_bash_completion(program, out);
}

/* ---- help on groups and on the program ---- */

/* Reports whether the command's name is `group`, a space and another word. */
static bool is_in_group(const struct command *command, const char *group)
{
	size_t n = strlen(group);

	return command->run && strncmp(command->name, group, n) == 0 && command->name[n] == ' ';
}

static bool is_group(const struct program *program, const char *word)
{
	for (size_t i = 0; i < program->n; i++) {
		if (is_in_group(program->commands[i], word))
			return true;
	}
	return false;
}

/* Appends one line per command of the group. If `group` is NULL, appends every command, with headings. */
static void add_rows(const struct program *program, const char *group, struct buf *out)
{
	size_t width = 0;

	for (size_t i = 0; i < program->n; i++) {
		size_t n = program->commands[i]->run ? strlen(program->commands[i]->name) : 0;

		width = n > width ? n : width;
	}
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];

		if (!command->run && !group)
			buf_format(out, "%s%s:\n", i ? "\n" : "", command->name);
		else if (command->run && (!group || is_in_group(command, group)))
			buf_format(out, "  %-*s  %s\n", (int)width, command->name, command->summary);
	}
}

static void add_group_help(const struct program *program, const char *group, struct buf *out)
{
	buf_format(out, "Usage: assay %s COMMAND [ARGUMENT...]\n\n", group);
	add_rows(program, group, out);
	buf_format(out, "\n'assay %s COMMAND --help' explains a command with an example.\n", group);
}

static void add_program_help(const struct program *program, struct buf *out)
{
	buf_text(out, "assay measures which machine resources a program uses, and finds whether a new version is slower, why, and\nwhere "
		      "in the code.\n\nUsage: assay [-C DIR] COMMAND [ARGUMENT...]\n\n");
	add_rows(program, NULL, out);
	buf_text(
	    out,
	    "\nA first look, on hosts that are emulated on this machine (about two minutes; needs sshd and stress-ng):\n  assay host up "
	    "lab --hosts 4\n  assay -C lab host measure\n  assay -C lab run example --versions large-pieces,small-pieces\n  assay -C lab "
	    "gate example@large-pieces example@small-pieces\n  assay -C lab report example@large-pieces example@small-pieces -o "
	    "report.html\n  assay host down lab\nWith machines recorded elsewhere: assay init lab; assay -C lab host import FILE; assay -C "
	    "lab result import FILE.\n\n'assay COMMAND --help' explains a command with an example. -C DIR names the laboratory (default: "
	    "the current directory).\nExit status of commands that decide: 0 pass or improved, 1 failure, 2 usage, 3 regression, 4 "
	    "inconclusive,\n5 environment, 6 nothing measured. Commands on many hosts: 0 all succeeded, 7 some succeeded, 1 none.\n");
}

/* Prints the text on standard output and releases it. Returns `status`, or 1 if writing fails. */
static int print_help(struct buf *text, int status)
{
	fwrite(text->bytes, 1, text->size, stdout);
	buf_release(text);
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "assay: cannot write to standard output: %s\n", strerror(errno));
	return 1;
}

/* ---- names of commands ---- */

/* Returns the number of words in `name` if argv starts with them, else 0. */
static int count_matched_words(const char *name, int argc, char **argv)
{
	int words = 0;

	while (*name) {
		size_t n = strcspn(name, " ");

		if (words >= argc || strlen(argv[words]) != n || strncmp(name, argv[words], n) != 0)
			return 0;
		words++;
		name += n + (name[n] == ' ');
	}
	return words;
}

/* Returns the command with whose name argv starts, and sets *words to the number of words in this name. Returns NULL if there is none. */
static const struct command *find_command(const struct program *program, int argc, char **argv, int *words)
{
	for (size_t i = 0; i < program->n; i++) {
		*words = program->commands[i]->run ? count_matched_words(program->commands[i]->name, argc, argv) : 0;
		if (*words)
			return program->commands[i];
	}
	return NULL;
}

static const struct renamed *find_renamed(const struct program *program, int argc, char **argv)
{
	for (const struct renamed *r = program->renamed; r->old_name; r++) {
		if (count_matched_words(r->old_name, argc, argv))
			return r;
	}
	return NULL;
}

/* Returns the command name nearest to `text`; NULL if none is near. For an old name that is nearest, returns the current name. */
static const char *nearest_name(const struct program *program, const char *text)
{
	const char **names = NULL, *nearest;
	size_t n = 0, capacity = 0, commands, i;

	for (i = 0; i < program->n; i++) {
		if (program->commands[i]->run)
			mem_append(names, n, &capacity, program->commands[i]->name);
	}
	commands = n;
	for (i = 0; program->renamed[i].old_name; i++)
		mem_append(names, n, &capacity, program->renamed[i].old_name);
	nearest = text_nearest(text, names, n);
	i = nearest ? text_index(names, n, nearest) : 0;
	free(names);
	return i >= commands ? program->renamed[i - commands].new_name : nearest;
}

/* Fails with a message that contains the unknown command and, if there is one, its current or nearest name. */
static enum assay_status refuse_unknown(const struct program *program, int argc, char **argv, struct assay_error *err)
{
	const struct renamed *renamed = find_renamed(program, argc, argv);
	bool two = argc > 1 && argv[1][0] != '-';
	char *text, shown[TEXT_SANITIZED_BYTES];
	const char *nearest;

	if (renamed)
		return assay_fail(err, ASSAY_E_USAGE, "unknown command '%s'; it is 'assay %s'", renamed->old_name, renamed->new_name);
	text = two ? mem_format("%s %s", argv[0], argv[1]) : mem_string(argv[0]);
	nearest = nearest_name(program, text);
	if (!nearest && two && !is_group(program, argv[0])) {
		text[strlen(argv[0])] = '\0'; /* tries only the first word, because the second may be an argument */
		nearest = nearest_name(program, text);
	}
	text_sanitize(text, shown);
	free(text);
	return nearest ? assay_fail(err, ASSAY_E_USAGE, "unknown command '%s' (did you mean '%s'?)", shown, nearest)
		       : assay_fail(err, ASSAY_E_USAGE, "unknown command '%s' ('assay --help' lists all)", shown);
}

static int dispatch(const struct program *program, int argc, char **argv, const char *directory)
{
	int words, status = assay_status_exit_code(ASSAY_E_USAGE);
	const struct command *command = find_renamed(program, argc, argv) ? NULL : find_command(program, argc, argv, &words);
	struct assay_error err;
	struct buf text = BUF_INIT;
	char *name;

	if (command) {
		name = mem_format("assay %s", command->name);
		argv[words - 1] = name;
		status = command_main(program, command, argc - words + 1, argv + words - 1, directory);
		free(name);
	} else if (is_group(program, argv[0]) && (argc == 1 || argv[1][0] == '-')) {
		add_group_help(program, argv[0], &text);
		return print_help(&text, argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) ? 0 : status);
	} else {
		refuse_unknown(program, argc, argv, &err);
		fprintf(stderr, "assay: %s\n", err.text);
	}
	return status;
}

static int refuse_option(const char *word)
{
	static const char *const names[] = { "--directory", "--help", "--version" };
	const char *nearest = text_nearest(word, names, sizeof(names) / sizeof(names[0]));
	char shown[TEXT_SANITIZED_BYTES];

	text_sanitize(word, shown);
	if (nearest)
		fprintf(stderr, "assay: unknown option '%s' (did you mean '%s'?)\n", shown, nearest);
	else
		fprintf(stderr, "assay: unknown option '%s' before a command (see 'assay --help')\n", shown);
	return 2;
}

/* Returns DIR of -C or --directory at argv[*i] ("" if missing), and moves *i to the option's last argument; NULL for other options. */
static const char *read_directory_option(int argc, char **argv, int *i)
{
	const char *word = argv[*i], *value = NULL;

	if (strcmp(word, "-C") == 0 || strcmp(word, "--directory") == 0)
		value = *i + 1 < argc ? argv[++*i] : "";
	else if (strncmp(word, "-C", 2) == 0)
		value = word + 2;
	else if (strncmp(word, "--directory=", strlen("--directory=")) == 0)
		value = word + strlen("--directory=");
	return value;
}

/* ---- handling of signals ---- */

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t *cancel_flag; /* flag that cancel_on_signals() got; NULL before that call */
static const char *write_failure_note;
static pid_t reporting_pid; /* process that prints write_failure_note; its forked children do not print them */

static void on_signal(int number)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (cancel_flag && *cancel_flag != number) {
		*cancel_flag = number;
		return;
	}
	if (write_failure_note && getpid() == reporting_pid) {
		ssize_t ignored = write(STDERR_FILENO, write_failure_note, strlen(write_failure_note));

		(void)ignored;
	}
	sigaction(number, &action, NULL);
	raise(number); /* takes effect when this handler returns */
}

static void catch_signals(bool even_ignored)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;

	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++) {
		if (!sigaction(end_signals[i], NULL, &before) &&
		    (before.sa_handler != SIG_IGN || (even_ignored && end_signals[i] != SIGHUP)))
			sigaction(end_signals[i], &action, NULL);
	}
}

void cancel_on_signals(volatile sig_atomic_t *flag)
{
	cancel_flag = flag;
	catch_signals(true);
}

static void on_file_size_limit(int signal)
{
	(void)signal;
}

/* Prepares the process for unusual starts. Opens /dev/null for a closed standard descriptor, in a mode that makes its use fail. Otherwise
 * the next opened file would get this descriptor and the messages. Handles SIGXFSZ, so that write() fails at a limit of file size and does
 * not end the process. Programs that the process starts get the default action. */
static void prepare_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			abort();
	}
	if (signal(SIGXFSZ, on_file_size_limit) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
	write_failure_note = "assay: interrupted; stored results are kept\n";
	reporting_pid = getpid();
	catch_signals(false);
}

static const struct program *current_program; /* set by dispatch_main(), used by help_command */

int dispatch_main(const struct program *program, int argc, char **argv)
{
	const char *directory = ".";
	struct buf text = BUF_INIT;
	int i = 1;

	prepare_process();
	current_program = program;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			add_program_help(program, &text);
			return print_help(&text, 0);
		}
		if (strcmp(argv[i], "--version") == 0) {
			buf_text(&text, "assay " ASSAY_VERSION "\n");
			return print_help(&text, 0);
		}
		directory = read_directory_option(argc, argv, &i);
		if (!directory)
			return refuse_option(argv[i]);
		if (!*directory) {
			fprintf(stderr, "assay: -C needs a directory (see 'assay --help')\n");
			return 2;
		}
	}
	if (i < argc)
		return dispatch(program, argc - i, argv + i, directory);
	add_program_help(program, &text);
	return print_help(&text, 2);
}

/* ---- the command `assay help` ---- */

struct help_arguments {
	struct cli_list words;
	bool manual;
	int shell; /* index into `shells`; -1 if the option is not given */
};

static enum assay_status help_check(void *arguments, struct assay_error *err)
{
	const struct help_arguments *a = arguments;

	if (a->shell >= 0 && (a->manual || a->words.n))
		return assay_fail(err, ASSAY_E_USAGE,
				  "--completion cannot be combined with --man or COMMAND: the script completes all commands");
	return ASSAY_OK;
}

static enum assay_status help_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct help_arguments *a = arguments;
	int argc = (int)a->words.n, words = 0;
	const struct command *command = find_command(current_program, argc, a->words.items, &words);
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	(void)lab;
	if (a->shell >= 0) {
		add_completion(current_program, shells[a->shell], &text);
	} else if (a->manual && (!argc || (command && words == argc))) {
		add_command_manual(current_program, command, &text);
	} else if (!argc) {
		add_program_help(current_program, &text);
	} else if (command && words == argc) {
		command_help(current_program, command, &text);
	} else if (argc == 1 && !a->manual && is_group(current_program, a->words.items[0])) {
		add_group_help(current_program, a->words.items[0], &text);
	} else if (command && words < argc) {
		st = assay_fail(err, ASSAY_E_USAGE, "unexpected argument '%s' after '%s'", a->words.items[words], command->name);
	} else {
		st = refuse_unknown(current_program, argc, a->words.items, err);
	}
	if (!st)
		doc_raw(d, text.bytes);
	buf_release(&text);
	return st;
}

static const struct cli_option help_words[] = { CLI_ARGUMENTS("COMMAND", struct help_arguments, words, 0), CLI_END };
static const struct cli_option help_options[] = {
	CLI_FLAG("man", struct help_arguments, manual, "Print a manual page in the format of man"),
	CLI_CHOICE("completion", shells, struct help_arguments, shell, "Print a completion script for this shell"),
	CLI_END,
};
static const struct help_arguments help_defaults = { .shell = -1 };

const struct command help_command = {
	.name = "help",
	.summary = "show the help of a command, a manual page, or completions for a shell",
	.about = "Shows the help of a command or of a group of commands; without COMMAND, the list of all commands.",
	.examples = "  assay help host exec\n"
		    "  assay help --man gate | man -l -\n"
		    "  source <(assay help --completion bash)\n"
		    "  assay help --completion zsh > ~/.zsh/completions/_assay\n"
		    "  assay help --completion fish > ~/.config/fish/completions/assay.fish\n",
	.words = help_words,
	.options = help_options,
	.defaults = &help_defaults,
	.flags = CLI_NO_FORMAT,
	.check = help_check,
	CLI_RUN(struct help_arguments, CLI_LAB_NONE, help_run),
};
