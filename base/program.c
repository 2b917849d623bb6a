/* The program: finds the sub-command among its rows. */
#include "base/command.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const struct program *the_program; /* for the commands about commands */

/* Whether the command is `group` and another word. */
static bool is_in_group(const struct command *command, const char *group, size_t n)
{
	return command->run && strncmp(command->name, group, n) == 0 && command->name[n] == ' ';
}

/* Commands that begin with `prefix`; all of them with their headings when it is empty. */
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
	     "With machines that somebody else recorded: assay init lab; assay -C lab import quiho DIR.\n\n"
	     "'assay COMMAND --help' explains a command with an example. -C DIR names the laboratory (default: the current "
	     "directory).\n"
	     "Exit status of commands that decide: 0 pass or improved, 1 failure, 2 usage, 3 regression, 4 inconclusive,\n"
	     "5 environment, 6 nothing measured. Of commands on many hosts: 0 all did well, 7 some did, 1 none did.");
}

/* How many words of argv name the row; 0 when they do not. */
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

/* The end of a command that printed nothing but help. */
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

/* A first word of several commands, and nothing after it that chooses one. */
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
		text[strlen(argv[0])] = '\0'; /* what follows is an argument */
		nearest = text_nearest(text, names, commands);
	}
	text_shown(text, shown);
	if (nearest)
		fprintf(stderr, "assay: unknown command '%s' (did you mean '%s'?)\n", shown, nearest);
	else
		fprintf(stderr, "assay: unknown command '%s' ('assay --help' lists all)\n", shown);
	free(text);
	free(names);
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

/* The directory that argv[*i] names, in one word or with the next one; *i moves to its last word. NULL when it names none. */
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

/* What a program may meet when it starts. A standard descriptor that is closed would be taken by the next file that is opened,
 * and text meant for people would go into it: /dev/null takes its place, such that writing to it fails. A limit of file size is
 * to be an error of the write that meets it, not the end of the process. */
static void prepare_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			abort();
	}
	signal(SIGXFSZ, SIG_IGN);
	cancel_say("assay: interrupted; what was stored until then is kept\n");
}

int program_main(const struct program *program, int argc, char **argv)
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
	.arguments_bytes = sizeof(struct completion_arguments),
	.flags = CLI_NO_FORMAT,
	.run = completion_run,
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
	.arguments_bytes = sizeof(struct manual_arguments),
	.flags = CLI_NO_FORMAT,
	.run = manual_run,
};
