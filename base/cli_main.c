/* Finding the sub-command. */
#include "base/cli.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Commands that begin with `prefix`; all of them with their headings when it is empty. */
static void print_rows(const struct cli_row *rows, size_t n, const char *prefix)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width = rows[i].run && strlen(rows[i].name) > width ? strlen(rows[i].name) : width;
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].run && !*prefix)
			printf("%s%s:\n", i ? "\n" : "", rows[i].name);
		else if (rows[i].run && strncmp(rows[i].name, prefix, strlen(prefix)) == 0)
			printf("  %-*s  %s\n", (int)width, rows[i].name, rows[i].summary);
	}
}

static void print_help(const struct cli_row *rows, size_t n)
{
	puts("assay tells what a program is made of, in terms of the machine resources that it stresses, and whether a new\n"
	     "version is slower, why, and where in the code.\n\n"
	     "Usage: assay [-C DIR] COMMAND [ARGUMENT...]\n");
	print_rows(rows, n, "");
	puts("\nA first look, on hosts that are emulated on this machine (some two minutes; needs sshd and stress-ng):\n"
	     "  assay fleet up lab --hosts 4\n"
	     "  assay -C lab fingerprint run\n"
	     "  assay -C lab run example --versions large-pieces,small-pieces\n"
	     "  assay -C lab gate example@large-pieces example@small-pieces\n"
	     "  assay -C lab report example@large-pieces example@small-pieces -o report.html\n"
	     "  assay fleet down lab\n"
	     "With machines that somebody else recorded: assay init lab; assay -C lab import quiho DIR.\n\n"
	     "'assay COMMAND --help' explains a command with an example. -C DIR names the laboratory (default: the current directory).\n"
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

static bool is_group(const struct cli_row *rows, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].run && strncmp(rows[i].name, word, strlen(word)) == 0 && rows[i].name[strlen(word)] == ' ')
			return true;
	}
	return false;
}

/* A first word of several commands, and nothing behind it that chooses one. */
static int group_alone(const struct cli_row *rows, size_t n, int argc, char **argv)
{
	const char *between = " '";
	char *prefix;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		prefix = mem_format("%s ", argv[0]);
		printf("assay %s: one of these ('assay %s ... --help' explains it with an example):\n", argv[0], argv[0]);
		print_rows(rows, n, prefix);
		free(prefix);
		return end_of_help();
	}
	fprintf(stderr, "assay: '%s' is the beginning of several commands:", argv[0]);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].run && strncmp(rows[i].name, argv[0], strlen(argv[0])) == 0 && rows[i].name[strlen(argv[0])] == ' ') {
			fprintf(stderr, "%s%s'", between, rows[i].name);
			between = ", '";
		}
	}
	fputc('\n', stderr);
	return 2;
}

static int unknown(const struct cli_row *rows, size_t n, int argc, char **argv)
{
	const char **names = mem_new(n, sizeof(char *));
	bool two = argc > 1 && argv[1][0] != '-';
	char *text = two ? mem_format("%s %s", argv[0], argv[1]) : mem_string(argv[0]);
	char shown[TEXT_SHOWN_BYTES];
	const char *nearest;
	size_t commands = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].run)
			names[commands++] = rows[i].name;
	}
	nearest = text_nearest(text, names, commands);
	if (!nearest && two && !is_group(rows, n, argv[0])) {
		text[strlen(argv[0])] = '\0'; /* what stands behind is an argument */
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

static int dispatch(const struct cli_row *rows, size_t n, int argc, char **argv, const char *directory)
{
	for (size_t i = 0; i < n; i++) {
		int words = rows[i].run ? words_matched(rows[i].name, argc, argv) : 0;
		char *name;
		int status;

		if (!words)
			continue;
		name = mem_format("assay %s", rows[i].name);
		argv[words - 1] = name;
		status = rows[i].run(argc - words + 1, argv + words - 1, directory);
		free(name);
		return status;
	}
	if (is_group(rows, n, argv[0]) && (argc == 1 || argv[1][0] == '-'))
		return group_alone(rows, n, argc, argv);
	return unknown(rows, n, argc, argv);
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

/* What a program may meet when it starts. A standard descriptor that is closed would be taken by the next file that is opened, and
 * text meant for people would go into it: /dev/null takes its place, such that writing to it fails. A limit of file size is to be
 * an error of the write that meets it, not the end of the process. */
static void prepare_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			abort();
	}
	signal(SIGXFSZ, SIG_IGN);
}

int cli_main(const struct cli_row *rows, size_t n, int argc, char **argv)
{
	const char *directory = ".";
	int i = 1;

	prepare_process();
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(rows, n);
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
			fprintf(stderr, "assay: -C needs a directory behind it ('assay --help' shows how)\n");
			return 2;
		}
	}
	if (i < argc)
		return dispatch(rows, n, argc - i, argv + i, directory);
	print_help(rows, n);
	return 2;
}
