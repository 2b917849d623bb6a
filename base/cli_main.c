/* Finding the sub-command. */
#include "base/cli.h"

#include "base/mem.h"
#include "base/text.h"



static void print_rows(const struct cli_row *rows, size_t n, const char *prefix, FILE *stream)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(rows[i].name, prefix, strlen(prefix)) == 0)
			fprintf(stream, "  %-16s %s\n", rows[i].name, rows[i].summary);
	}
}

static void print_help(const struct cli_row *rows, size_t n)
{
	puts("assay tells what a program is made of, in terms of the machine resources that it stresses, and whether a new\n"
	     "version is slower, why, and where in the code.\n\n"
	     "Usage: assay [-C DIR] COMMAND [ARGUMENT...]\n");
	print_rows(rows, n, "", stdout);
	puts("\nA first look, with the recorded machines of the quiho experiments in DIR:\n"
	     "  assay init lab\n"
	     "  assay -C lab import quiho DIR\n"
	     "  assay -C lab profile hpccg\n"
	     "  assay -C lab gate mysqlslap/innodb_load mysqlslap/memory_load\n\n"
	     "'assay COMMAND --help' explains a command with an example. -C DIR names the laboratory (default: the current directory).\n"
	     "Exit status of commands that decide: 0 pass or improved, 1 failure, 2 usage, 3 regression, 4 inconclusive,\n"
	     "5 environment, 6 nothing measured.");
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

static int unknown(const struct cli_row *rows, size_t n, int argc, char **argv)
{
	const char **names = mem_new(n, sizeof(char *));
	char *prefix = mem_format("%s ", argv[0]);
	const char *nearest;
	bool group = false;
	char *text;

	for (size_t i = 0; i < n; i++) {
		names[i] = rows[i].name;
		group = group || strncmp(rows[i].name, prefix, strlen(prefix)) == 0;
	}
	text = argc > 1 && argv[1][0] != '-' ? mem_format("%s %s", argv[0], argv[1]) : mem_string(argv[0]);
	nearest = text_nearest(text, names, n);
	if (!nearest)
		nearest = text_nearest(argv[0], names, n);
	if (group && (argc == 1 || strcmp(argv[1], "--help") == 0)) {
		FILE *stream = argc == 1 ? stderr : stdout;

		fprintf(stream, "assay %s: one of these:\n", argv[0]);
		print_rows(rows, n, prefix, stream);
	} else if (nearest) {
		fprintf(stderr, "assay: unknown command '%s' (did you mean '%s'?)\n", text, nearest);
	} else {
		fprintf(stderr, "assay: unknown command '%s' ('assay --help' lists all)\n", text);
	}
	free(text);
	free(prefix);
	free(names);
	return group && argc > 1 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
}

static int dispatch(const struct cli_row *rows, size_t n, int argc, char **argv, const char *directory)
{
	for (size_t i = 0; i < n; i++) {
		int words = words_matched(rows[i].name, argc, argv);
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
	return unknown(rows, n, argc, argv);
}

int cli_main(const struct cli_row *rows, size_t n, int argc, char **argv)
{
	const char *directory = ".";
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(rows, n);
			return 0;
		}
		if (strcmp(argv[i], "--version") == 0) {
			puts("assay " ASSAY_VERSION);
			return 0;
		}
		if (strcmp(argv[i], "-C") != 0 || i + 1 >= argc) {
			fprintf(stderr, "assay: %s '%s' ('assay --help' shows how)\n",
				strcmp(argv[i], "-C") ? "unknown option" : "no directory behind", argv[i]);
			return 2;
		}
		directory = argv[i + 1];
		i += 2;
	}
	if (i < argc)
		return dispatch(rows, n, argc - i, argv + i, directory);
	print_help(rows, n);
	return 2;
}
