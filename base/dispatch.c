/* The program: finds the sub-command among its rows, and makes --help, manual pages and completion for shells from them. */
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
#define HELP_OPTION  28 /* column of an option's help */

/* ---- --help ---- */

/* Appends paragraphs broken into lines of HELP_COLUMNS. The first line starts at column `at`, the others at `indent`. */
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

/* Appends "N", or "human|json" for a choice. */
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

/* Calls add() for every option of the command, first for its own. */
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

/* Appends text for roff: a line must not start with a request, and backslashes are characters. `line`: the text starts a line. */
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

/* Appends a manual page of one command, or of the program if command is NULL, in the man macros. */
static void command_manual(const struct program *program, const struct command *command, struct buf *out)
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

/* Appends text for a word in single quotes of a shell, or of fish. */
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

/* Appends the second words of the commands that share the first word of the i-th, if that is the first of them. */
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

/* Appends completion for bash, and for zsh by its bashcompinit. The longest command at the start of the words determines the options. */
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

/* Appends completion for "bash", "zsh" or "fish"; false: another word. */
static bool command_completion(const struct program *program, const char *shell, struct buf *out)
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

static const struct program *the_program; /* for the commands about commands */

/* Reports whether the command is `group` and another word. */
static bool is_in_group(const struct command *command, const char *group, size_t n)
{
	return command->run && strncmp(command->name, group, n) == 0 && command->name[n] == ' ';
}

/* Prints the commands that start with `prefix`; if it is empty, all of them with their headings. */
static void print_rows(const struct program *program, const char *prefix)
{
	size_t width = 0;

	for (size_t i = 0; i < program->n; i++) {
		size_t n = program->commands[i]->run ? strlen(program->commands[i]->name) : 0;

		width = n > width ? n : width;
	}
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];

		if (!command->run && !*prefix)
			printf("%s%s:\n", i ? "\n" : "", command->name);
		else if (command->run && strncmp(command->name, prefix, strlen(prefix)) == 0)
			printf("  %-*s  %s\n", (int)width, command->name, command->summary);
	}
}

static void print_help(const struct program *program)
{
	puts("assay tells what a program is made of, in terms of the machine resources that it stresses, and whether a new\n"
	     "version is slower, why, and where in the code.\n\n"
	     "Usage: assay [-C DIR] COMMAND [ARGUMENT...]\n");
	print_rows(program, "");
	puts("\nA first look, on hosts that are emulated on this machine (some two minutes; needs sshd and stress-ng):\n"
	     "  assay fleet up lab --hosts 4\n"
	     "  assay -C lab fingerprint run\n"
	     "  assay -C lab run example --versions large-pieces,small-pieces\n"
	     "  assay -C lab gate example@large-pieces example@small-pieces\n"
	     "  assay -C lab report example@large-pieces example@small-pieces -o report.html\n"
	     "  assay fleet down lab\n"
	     "With machines recorded elsewhere: assay init lab; assay -C lab import machines FILE; assay -C lab import results FILE.\n\n"
	     "'assay COMMAND --help' explains a command with an example. -C DIR names the laboratory (default: the current directory).\n"
	     "Exit status of commands that decide: 0 pass or improved, 1 failure, 2 usage, 3 regression, 4 inconclusive,\n"
	     "5 environment, 6 nothing measured. Of commands on many hosts: 0 all did well, 7 some did, 1 none did.");
}

/* Returns the number of arguments that name the row; 0: they do not. */
static int words_matched(const char *name, int argc, char **argv)
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

/* Returns the exit status after printing help. */
static int end_of_help(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "assay: cannot write to standard output: %s\n", strerror(errno));
	return 1;
}

static bool is_group(const struct program *program, const char *word)
{
	for (size_t i = 0; i < program->n; i++) {
		if (is_in_group(program->commands[i], word, strlen(word)))
			return true;
	}
	return false;
}

/* Handles a first word that several commands share, without a valid second word. */
static int group_alone(const struct program *program, int argc, char **argv)
{
	const char *between = " '";
	char *prefix;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		prefix = mem_format("%s ", argv[0]);
		printf("assay %s: one of these ('assay %s ... --help' explains it with an example):\n", argv[0], argv[0]);
		print_rows(program, prefix);
		free(prefix);
		return end_of_help();
	}
	fprintf(stderr, "assay: '%s' is the beginning of several commands:", argv[0]);
	for (size_t i = 0; i < program->n; i++) {
		if (is_in_group(program->commands[i], argv[0], strlen(argv[0]))) {
			fprintf(stderr, "%s%s'", between, program->commands[i]->name);
			between = ", '";
		}
	}
	fputc('\n', stderr);
	return 2;
}

static int unknown(const struct program *program, int argc, char **argv)
{
	const char **names = mem_new(program->n, sizeof(char *));
	bool two = argc > 1 && argv[1][0] != '-';
	char *text = two ? mem_format("%s %s", argv[0], argv[1]) : mem_string(argv[0]);
	char shown[TEXT_SHOWN_BYTES];
	const char *nearest;
	size_t commands = 0;

	for (size_t i = 0; i < program->n; i++) {
		if (program->commands[i]->run)
			names[commands++] = program->commands[i]->name;
	}
	nearest = text_nearest(text, names, commands);
	if (!nearest && two && !is_group(program, argv[0])) {
		text[strlen(argv[0])] = '\0'; /* the rest is an argument */
		nearest = text_nearest(text, names, commands);
	}
	text_shown(text, shown);
	if (nearest)
		fprintf(stderr, "assay: unknown command '%s' (did you mean '%s'?)\n", shown, nearest);
	else
		fprintf(stderr, "assay: unknown command '%s' ('assay --help' lists all)\n", shown);
	mem_free(text, names);
	return 2;
}

static int dispatch(const struct program *program, int argc, char **argv, const char *directory)
{
	for (size_t i = 0; i < program->n; i++) {
		const struct command *command = program->commands[i];
		int words = command->run ? words_matched(command->name, argc, argv) : 0;
		char *name;
		int status;

		if (!words)
			continue;
		name = mem_format("assay %s", command->name);
		argv[words - 1] = name;
		status = command_main(program, command, argc - words + 1, argv + words - 1, directory);
		free(name);
		return status;
	}
	if (is_group(program, argv[0]) && (argc == 1 || argv[1][0] == '-'))
		return group_alone(program, argc, argv);
	return unknown(program, argc, argv);
}

/* Runs `help COMMAND` as `COMMAND --help`, and `help` as `--help`. */
static int help(const struct program *program, int argc, char **argv, const char *directory)
{
	char option[] = "--help", **words;
	int status;

	if (argc == 1) {
		print_help(program);
		return end_of_help();
	}
	words = mem_new((size_t)argc + 1, sizeof(*words));
	memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	words[argc - 1] = option;
	status = dispatch(program, argc, words, directory);
	free(words);
	return status;
}

static int refuse_option(const char *word)
{
	static const char *const names[] = { "--directory", "--help", "--version" };
	const char *nearest = text_nearest(word, names, sizeof(names) / sizeof(names[0]));
	char shown[TEXT_SHOWN_BYTES];

	text_shown(word, shown);
	if (nearest)
		fprintf(stderr, "assay: unknown option '%s' (did you mean '%s'?)\n", shown, nearest);
	else
		fprintf(stderr, "assay: unknown option '%s' in front of a command ('assay --help' shows how)\n", shown);
	return 2;
}

/* Returns the directory that argv[*i] gives, in one argument or with the next one; moves *i to its last argument. NULL: none. */
static const char *directory_option(int argc, char **argv, int *i)
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

/* ---- signals ---- */

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t *to_set; /* NULL: not set yet */
static const char *last_words;
static pid_t speaker; /* excludes its forked children */

static void on_signal(int number)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (to_set && *to_set != number) {
		*to_set = number;
		return;
	}
	if (last_words && getpid() == speaker) {
		ssize_t ignored = write(STDERR_FILENO, last_words, strlen(last_words));

		(void)ignored;
	}
	sigaction(number, &action, NULL);
	raise(number); /* takes effect when this function returns */
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
	to_set = flag;
	catch_signals(true);
}

static void file_too_large(int signal)
{
	(void)signal;
}

/* Prepares for unusual starts. A closed standard descriptor would be reused by the next opened file, which would then receive messages. So
 * /dev/null replaces it in a mode in which writing fails. A limit of file size becomes an error of the write that meets it, and does not
 * end the process. Programs that it starts have the original state. */
static void prepare_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			abort();
	}
	if (signal(SIGXFSZ, file_too_large) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
	last_words = "assay: interrupted; what was stored until then is kept\n";
	speaker = getpid();
	catch_signals(false);
}

int dispatch_main(const struct program *program, int argc, char **argv)
{
	const char *directory = ".";
	int i = 1;

	prepare_process();
	the_program = program;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(program);
			return end_of_help();
		}
		if (strcmp(argv[i], "--version") == 0) {
			puts("assay " ASSAY_VERSION);
			return end_of_help();
		}
		directory = directory_option(argc, argv, &i);
		if (!directory)
			return refuse_option(argv[i]);
		if (!*directory) {
			fprintf(stderr, "assay: -C needs a directory ('assay --help' shows how)\n");
			return 2;
		}
	}
	if (i < argc && strcmp(argv[i], "help") == 0)
		return help(program, argc - i, argv + i, directory);
	if (i < argc)
		return dispatch(program, argc - i, argv + i, directory);
	print_help(program);
	return 2;
}

/* ---- commands about commands ---- */

struct completion_arguments {
	const char *shell;
};

static enum assay_status completion_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct completion_arguments *a = arguments;
	struct buf text = BUF_INIT;

	(void)lab;
	if (!command_completion(the_program, a->shell, &text))
		return assay_fail(err, ASSAY_E_USAGE, "there is no completion for '%s': it is for bash, zsh and fish", a->shell);
	doc_raw(d, text.bytes);
	buf_release(&text);
	return ASSAY_OK;
}

static const struct cli_option completion_words[] = { CLI_WORD("SHELL", struct completion_arguments, shell), CLI_END };

const struct command completion_command = {
	.name = "completion",
	.summary = "print completions for a shell",
	.about = "Prints a script that completes commands and options of assay in bash, zsh or fish.",
	.examples = "  source <(assay completion bash)\n"
		    "  assay completion zsh > ~/.zsh/completions/_assay\n"
		    "  assay completion fish > ~/.config/fish/completions/assay.fish\n",
	.words = completion_words,
	.flags = CLI_NO_FORMAT,
	CLI_RUN(struct completion_arguments, CLI_LAB_NONE, completion_run),
};

struct manual_arguments {
	struct cli_list words;
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < the_program->n; i++) {
		if (the_program->commands[i]->run && strcmp(the_program->commands[i]->name, name) == 0)
			return the_program->commands[i];
	}
	return NULL;
}

static enum assay_status manual_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct manual_arguments *a = arguments;
	struct buf name = BUF_INIT, text = BUF_INIT;
	const struct command *command = NULL;
	enum assay_status st = ASSAY_OK;

	(void)lab;
	for (size_t i = 0; i < a->words.n; i++)
		buf_format(&name, "%s%s", i ? " " : "", a->words.items[i]);
	if (name.size)
		command = find_command(name.bytes);
	if (name.size && !command)
		st = assay_fail(err, ASSAY_E_USAGE, "there is no command '%s' ('assay --help' lists all)", name.bytes);
	if (!st) {
		command_manual(the_program, command, &text);
		doc_raw(d, text.bytes);
	}
	buf_release(&name);
	buf_release(&text);
	return st;
}

static const struct cli_option manual_words[] = { CLI_WORDS("COMMAND", struct manual_arguments, words, 0), CLI_END };

const struct command manual_command = {
	.name = "manual",
	.summary = "print a manual page",
	.about = "Prints the manual page of a command, or of the program, for man.",
	.examples = "  assay manual | man -l -\n"
		    "  assay manual fleet exec > assay-fleet-exec.1\n",
	.words = manual_words,
	.flags = CLI_NO_FORMAT,
	CLI_RUN(struct manual_arguments, CLI_LAB_NONE, manual_run),
};
