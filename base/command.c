/* Parses the arguments and options of a command and runs it. Prints each error as one line on standard error. */
#include "base/command.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define OPTIONS_MAX 64

/* State of the running command, of which a process has one, and the values of the shared options. */
static struct running_command {
	const char *name, *directory, *output;
	int format;
	bool quiet, help;
	doc_renderer *renderer; /* renderer for `format` */
} running_command;

const char *cli_directory(void)
{
	return running_command.directory;
}

bool cli_is_quiet(void)
{
	return running_command.quiet;
}

bool cli_is_human_format(void)
{
	return running_command.format == 0;
}

doc_renderer *cli_renderer(void)
{
	return running_command.renderer;
}

const char *cli_command_name(void)
{
	return running_command.name;
}

/* Prints "NAME: text" and `after` on one line. '?' replaces control characters, so that outside text cannot break the line or send
 * escapes. */
static void print_line(const char *name, const char *text, const char *after)
{
	fprintf(stderr, "%s: ", name);
	text_print_sanitized(text, stderr);
	fprintf(stderr, "%s\n", after);
}

void cli_note(const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	text_vformat_elided(text, sizeof(text), fmt, args);
	va_end(args);
	secrets_mask_in_place(text, sizeof(text));
	if (isatty(STDERR_FILENO)) /* erases a progress line, which progress_show() will print again */
		fputs("\r\033[K", stderr);
	print_line(running_command.name, text, "");
}

static void refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void refuse(const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES], *after = mem_format(" (see '%s --help')", running_command.name);
	va_list args;

	va_start(args, fmt);
	text_vformat_elided(text, sizeof(text), fmt, args);
	va_end(args);
	print_line(running_command.name, text, after);
	free(after);
	exit(assay_status_exit_code(ASSAY_E_USAGE));
}

/* ---- options: those of a command, and shared ones ---- */

static const struct cli_option shared_options[] = {
	CLI_OPTION(TEXT, "directory", "DIR", struct running_command, directory,
		   "Directory of the laboratory (default: the current one); other paths are still relative to the current directory",
		   .letter = 'C'),
	CLI_OPTION(CHOICE, "format", "NAME", struct running_command, format, "Format of the answer; the first is the default",
		   .letter = 'f'),
	CLI_OPTION(TEXT, "output", "FILE", struct running_command, output, "Write the answer to FILE, which is replaced", .letter = 'o'),
	CLI_OPTION(FLAG, "quiet", NULL, struct running_command, quiet, "Show no progress", .letter = 'q'),
	CLI_OPTION(FLAG, "help", NULL, struct running_command, help, "Show this help", .letter = 'h'),
	CLI_END
};

void command_shared_options(const struct program *program, const struct command *command, struct cli_option out[CLI_SHARED_OPTIONS_MAX])
{
	size_t n = 0;

	for (const struct cli_option *o = shared_options; o->name; o++) {
		if ((o->letter == 'C' && command->lab == CLI_LAB_NONE) || (o->letter == 'f' && command->flags & CLI_NO_FORMAT) ||
		    (o->letter == 'o' && !(command->flags & CLI_DECISIONS)) || (o->letter == 'q' && !(command->flags & CLI_PROGRESS)))
			continue;
		out[n] = *o;
		if (o->letter == 'f')
			out[n].choices = command->flags & CLI_DECISIONS ? program->decision_formats : program->formats;
		n++;
	}
	out[n] = (struct cli_option)CLI_END;
}

struct parser {
	const struct program *program;
	const struct command *command;
	char *arguments; /* [command->arguments_bytes], values of the command's arguments and options */
	struct cli_option options[OPTIONS_MAX];
	size_t n, n_command_options; /* options[0..n_command_options) belong to the command; options[n_command_options..n) are shared */
	bool given[OPTIONS_MAX];
};

static void parser_init(struct parser *p)
{
	struct cli_option shared[CLI_SHARED_OPTIONS_MAX];

	for (const struct cli_option *o = p->command->options; o && o->name; o++) {
		ASSAY_BUG_IF(p->n_command_options == OPTIONS_MAX - CLI_SHARED_OPTIONS_MAX);
		p->options[p->n_command_options++] = *o;
	}
	p->n = p->n_command_options;
	command_shared_options(p->program, p->command, shared);
	for (const struct cli_option *o = shared; o->name; o++)
		p->options[p->n++] = *o;
	p->arguments = mem_new(p->command->arguments_bytes + 1, 1);
	if (p->command->defaults)
		memcpy(p->arguments, p->command->defaults, p->command->arguments_bytes);
}

static void append_list_item(struct cli_list *list, const char *text, size_t n)
{
	if (list->n + 1 >= list->capacity) {
		list->capacity = 2 * list->capacity + 8;
		list->items = mem_resize(list->items, list->capacity, sizeof(*list->items));
	}
	list->items[list->n++] = mem_bytes(text, n);
	list->items[list->n] = NULL;
}

/* Frees the values that the parser owns, and zeroes them, because two options may have the same member. */
static void release_values(const struct cli_option *options, char *arguments)
{
	for (const struct cli_option *o = options; o && o->name; o++) {
		struct cli_list *list = (struct cli_list *)(void *)(arguments + o->offset);

		if (o->owned) {
			free(list->items);
			list->items = NULL;
		}
		if (o->type != CLI_TYPE_LIST && o->type != CLI_TYPE_NAMES)
			continue;
		mem_free_all(list->items, list->n);
		*list = (struct cli_list){ 0 };
	}
}

static void parser_release(struct parser *p)
{
	release_values(p->command->options, p->arguments);
	release_values(p->command->words, p->arguments);
	free(p->arguments);
}

/* ---- wrong options ---- */

/* Returns the index of the option that has the n bytes at `word` as its name or as a unique prefix; SIZE_MAX if none or several match. */
static size_t find_long_option(const struct parser *p, const char *word, size_t n)
{
	size_t found = SIZE_MAX, matches = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (strncmp(word, p->options[i].name, n) != 0)
			continue;
		if (strlen(p->options[i].name) == n)
			return i;
		found = i;
		matches++;
	}
	return matches == 1 ? found : SIZE_MAX;
}

static const char *find_nearest_option(const struct parser *p, const char *word, size_t n)
{
	const char *names[OPTIONS_MAX], *nearest;
	char *name = mem_bytes(word, n);

	for (size_t i = 0; i < p->n; i++)
		names[i] = p->options[i].name;
	nearest = text_nearest(name, names, p->n);
	free(name);
	return nearest;
}

/* Refuses an option, with the best explanation. getopt reports only the argument at which it stopped, or a letter in that argument. */
static void refuse_option(const struct parser *p, const char *word, int letter)
{
	bool is_long = strncmp(word, "--", 2) == 0;
	size_t n = is_long ? strcspn(word + 2, "=") : 0, found = is_long ? find_long_option(p, word + 2, n) : SIZE_MAX;
	const char *nearest;
	bool behind;

	for (size_t i = 0; !is_long && i < p->n; i++)
		found = p->options[i].letter && p->options[i].letter == letter ? i : found;
	if (found != SIZE_MAX && p->options[found].value)
		refuse("'%s' needs a value: %s", word, p->options[found].value);
	if (found != SIZE_MAX)
		refuse("'--%s' takes no value", p->options[found].name);
	nearest = is_long ? find_nearest_option(p, word + 2, n) : NULL;
	behind = p->command->words && p->command->words->name && strstr(p->command->words->name, "-- ");
	if (nearest)
		refuse("unknown option '%s' (did you mean '--%s'?)", word, nearest);
	refuse("unknown option '%s'%s", word, behind ? "; options of the command to run go after --" : "");
}

/* ---- storing values ---- */

static void store_choice(const struct cli_option *o, const char *text, int *to)
{
	struct buf names = BUF_INIT;

	for (int i = 0; o->choices[i]; i++) {
		if (strcmp(o->choices[i], text) == 0) {
			*to = i;
			buf_release(&names);
			return;
		}
		buf_format(&names, "%s%s", i == 0 ? "" : o->choices[i + 1] ? ", " : " or ", o->choices[i]);
	}
	refuse("--%s must be %s, not '%s'", o->name, names.bytes, text);
}

static void store_names(const struct cli_option *o, const char *text, struct cli_list *list)
{
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");

		if (n == 0)
			refuse("--%s has an empty name in '%s'", o->name, text);
		append_list_item(list, at, n);
		at += n;
		if (!*at)
			return;
	}
}

static void store_number(const struct cli_option *o, const char *text, void *to)
{
	char least[TEXT_DOUBLE_BYTES], most[TEXT_DOUBLE_BYTES];
	int64_t integer = 0;
	double real = 0;

	if (o->type == CLI_TYPE_INTEGER && (!text_parse_int64(text, &integer) || integer < o->low || integer > o->high))
		refuse("--%s must be a whole number from %" PRId64 " to %" PRId64 ", not '%s'", o->name, o->low, o->high, text);
	if (o->type == CLI_TYPE_REAL && (!text_parse_double(text, &real) || real < o->least || real > o->most))
		refuse("--%s must be a number from %s to %s, not '%s'", o->name, text_from_double(o->least, least),
		       text_from_double(o->most, most), text);
	if (o->type == CLI_TYPE_INTEGER)
		*(int64_t *)to = integer;
	else
		*(double *)to = real;
}

enum assay_status cli_parse_duration(const char *text, void *seconds, struct assay_error *err)
{
	return text_parse_duration(text, seconds) ? ASSAY_OK
						  : assay_fail(err, ASSAY_E_USAGE, "a time such as 90s, 20m or 2h, at most a year");
}

/* Stores the value of an option or argument. `text` is NULL for a flag. `shown` is the name for messages, such as "--top" or "BASELINE". */
static void store_value(const struct cli_option *o, const char *text, const char *shown, char *arguments)
{
	void *to = arguments + o->offset;
	struct assay_error err;

	switch (o->type) {
	case CLI_TYPE_FLAG:
		*(bool *)to = true;
		return;
	case CLI_TYPE_TEXT:
		if (!*text)
			refuse("%s is empty", shown);
		*(const char **)to = text;
		return;
	case CLI_TYPE_INTEGER:
	case CLI_TYPE_REAL:
		store_number(o, text, to);
		return;
	case CLI_TYPE_CHOICE:
		store_choice(o, text, to);
		return;
	case CLI_TYPE_LIST:
		append_list_item(to, text, strlen(text));
		return;
	case CLI_TYPE_NAMES:
		store_names(o, text, to);
		return;
	case CLI_TYPE_PARSED:
		if (o->parse(text, to, &err))
			refuse("%s: %s", shown, err.text);
	}
}

/* ---- parsing the command line ---- */

static void parse_options(struct parser *p, int argc, char **argv)
{
	struct option table[OPTIONS_MAX + 1] = { { 0 } };
	struct buf letters = BUF_INIT;
	int code;

	for (size_t i = 0; i < p->n; i++) {
		const struct cli_option *o = &p->options[i];

		table[i] = (struct option){ o->name,
					    o->implied ? optional_argument
					    : o->value ? required_argument
						       : no_argument,
					    NULL, 256 + (int)i };
		if (o->letter)
			buf_format(&letters, "%c%s", o->letter, o->implied ? "::" : o->value ? ":" : "");
	}
	opterr = 0;
	optind = 1;
	while (!running_command.help && (code = getopt_long(argc, argv, letters.bytes, table, NULL)) != -1) {
		size_t i = code >= 256 ? (size_t)code - 256 : 0;
		char *shown;

		while (code < 256 && i < p->n && p->options[i].letter != code)
			i++;
		if (code == '?' || i == p->n)
			refuse_option(p, argv[optind - 1][0] == '-' || optind == argc ? argv[optind - 1] : argv[optind], optopt);
		p->given[i] = true;
		shown = mem_format("--%s", p->options[i].name);
		store_value(&p->options[i], optarg ? optarg : p->options[i].implied, shown,
			    i < p->n_command_options ? p->arguments : (char *)&running_command);
		free(shown);
	}
	buf_release(&letters);
}

/* Returns the names of all arguments of a command for a message: "BASELINE and CANDIDATE". The caller frees the result. */
static char *arguments_text(const struct cli_option *words)
{
	struct buf text = BUF_INIT;

	for (const struct cli_option *w = words; w && w->name; w++)
		buf_format(&text, "%s%s", w == words ? "" : w[1].name ? ", " : " and ", w->name);
	return buf_take(&text);
}

static void parse_words(struct parser *p, int argc, char **argv)
{
	const struct cli_option *word = p->command->words;
	char *all = arguments_text(word);
	int64_t n = 0;

	for (int i = optind; i < argc; i++) {
		if (!word || !word->name)
			refuse(*all ? "unexpected argument '%s' (expected %s)" : "unexpected argument '%s'%s", argv[i], all);
		store_value(word, argv[i], word->name, p->arguments);
		n++;
		if (word->type != CLI_TYPE_LIST) {
			word++;
			n = 0;
		}
	}
	if (word && word->name && (word->required || n < word->low)) {
		if (word > p->command->words)
			refuse("missing argument: %s (expected %s)", word->name, all);
		refuse("missing argument: %s", all);
	}
	free(all);
	for (size_t i = 0; i < p->n_command_options; i++) {
		if (p->options[i].required && !p->given[i])
			refuse("--%s %s is required", p->options[i].name, p->options[i].value ? p->options[i].value : "");
	}
}

/* Refuses a command that works only in builds for x86-64, unless this is one. */
static void check_architecture(const struct command *command)
{
#if !defined(__x86_64__)
	if (command->only_x86_64)
		refuse("not available on this architecture: %s; use assay on an x86-64 machine (docs/architectures.md)",
		       command->only_x86_64);
#endif
	(void)command;
}

static void parse(struct parser *p, int argc, char **argv)
{
	struct assay_error err;

	parser_init(p);
	parse_options(p, argc, argv);
	if (running_command.help)
		return;
	check_architecture(p->command);
	parse_words(p, argc, argv);
	if (p->command->check && p->command->check(p->arguments, &err))
		refuse("%s", err.text);
}

/* ---- properties of the terminal ---- */

/* Reports whether to use colours: the stream is a terminal, TERM is not "dumb", and NO_COLOR is unset or empty. */
static bool has_terminal_colours(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

static bool is_terminal_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = false;

	/* The locale of the process stays "C", so that numbers have a decimal point. */
	if (locale) {
		utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
		freelocale(locale);
	}
	return utf8;
}

/* Returns the width in columns: $COLUMNS, else the terminal's width, else 100. */
static unsigned terminal_columns(FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t n;

	if (columns && text_parse_int64(columns, &n) && n >= 20 && n <= 1000)
		return (unsigned)n;
	if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 100;
}

/* Returns the size of the colour sequence "ESC [ numbers m" at `bytes`; 0 if there is none. */
static size_t colour_sequence(const char *bytes, size_t n)
{
	size_t length = 2;

	if (n < 3 || bytes[0] != '\033' || bytes[1] != '[')
		return 0;
	while (length < n && ((bytes[length] >= '0' && bytes[length] <= '9') || bytes[length] == ';'))
		length++;
	return length < n && bytes[length] == 'm' ? length + 1 : 0;
}

void cli_write_sanitized(const char *bytes, size_t n, bool colours, FILE *to)
{
	for (size_t i = 0, length; i < n; i += length) {
		char here[5] = "";
		size_t control;

		memcpy(here, bytes + i, n - i < 4 ? n - i : 4);
		control = *here == '\t' || *here == '\n' ? 0 : text_control_char_bytes(here);

		length = colours ? colour_sequence(bytes + i, n - i) : 0;
		if (length) {
			fwrite(bytes + i, 1, length, to);
			continue;
		}
		putc(control ? '?' : *here, to);
		length = control > 1 ? control : 1;
	}
}

/* ---- running a command ---- */

static enum assay_status print_document(const struct buf *text, struct assay_error *err)
{
	if (running_command.output && !running_command.help)
		return file_replace(running_command.output, text->bytes, text->size, 0644, err);
	if (text->size && isatty(STDOUT_FILENO))
		cli_write_sanitized(text->bytes, text->size, has_terminal_colours(stdout), stdout);
	else if (text->size)
		fwrite(text->bytes, 1, text->size, stdout);
	if (fflush(stdout) || ferror(stdout))
		return assay_fail_errno(err, errno, "cannot write to standard output");
	return ASSAY_OK;
}

static enum assay_status run_command(struct parser *p, struct document *d, struct assay_error *err)
{
	const struct command *command = p->command;
	struct lab *lab = NULL;
	enum assay_status st = ASSAY_OK;

	if (running_command.output)
		st = file_check_replaceable(running_command.output, err);
	if (!st && command->lab >= CLI_LAB_READ)
		st = p->program->lab_open(running_command.directory, command->lab == CLI_LAB_WRITE, running_command.name, &lab, err);
	if (!st)
		st = command->run(lab, p->arguments, d, err);
	if (lab)
		p->program->lab_close(lab);
	return st;
}

int command_main(const struct program *program, const struct command *command, int argc, char **argv, const char *directory)
{
	struct doc_style style;
	struct parser parser = { .program = program, .command = command };
	struct buf text = BUF_INIT;
	struct document d;
	struct assay_error err;
	enum assay_status st = ASSAY_OK;
	int exit_status;

	running_command.name = argv[0];
	running_command.directory = directory;
	document_init(&d);
	parse(&parser, argc, argv);
	style = (struct doc_style){ has_terminal_colours(stdout) && !running_command.output, is_terminal_utf8(), terminal_columns(stdout) };
	running_command.renderer = program->renderers[running_command.format];
	if (running_command.help) {
		command_help(program, command, &text);
	} else {
		st = run_command(&parser, &d, &err);
		if (!st && !d.is_streamed)
			running_command.renderer(&d, &style, &text);
	}
	if (!st)
		st = print_document(&text, &err);
	if (st)
		print_line(running_command.name, err.text, "");
	exit_status = st ? assay_status_exit_code(st) : d.exit_status;
	parser_release(&parser);
	document_release(&d);
	buf_release(&text);
	return exit_status;
}
