#include "base/cli.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"
#include "runs/running/version.h"
#include "runs/cmd.h"

static const char doc[] =
    "Compares two builds of a program or shared library (x86-64, with debug information) function by function: what was "
    "modified, added, "
    "removed, renamed, what is inlined into whom, and which callers are to be looked at because of that. Addresses do not "
    "matter: "
    "calls are compared by what they call, constants by what they are. With a git repository, the difference between two of its "
    "references "
    "tells changed functions from those that were only compiled differently. OLD and NEW are files, or versions of an "
    "application as "
    "APP@VERSION, whose programs are compared, and their sources too when both come from one git repository."
    "\vExample:\n"
    "  assay changes old/myapp new/myapp\n"
    "  assay changes old/libmy.so new/libmy.so --git ~/my --refs v1.0..v1.1 --list functions.txt\n"
    "  assay changes myapp@1.0 myapp@1.1 --object lib/libmy.so\n"
    "\n"
    "Exit status: 0 whatever the difference is; 1 failure, 2 usage, or a file that cannot be compared.";

enum { OPTION_GIT = 256, OPTION_REFS, OPTION_OBJECT, OPTION_LIST, OPTION_LIST_OLD, OPTION_ALL, OPTION_WRAPPER };

static const struct argp_option options[] = {
    {"git", OPTION_GIT, "REPOSITORY", 0, "Use the difference between the sources, too; needs --refs", 1},
    {"refs", OPTION_REFS, "OLD..NEW", 0, "The commits, tags or branches that the builds were made from", 1},
    {"object", OPTION_OBJECT, "PATH", 0,
     "Of APP@VERSION: the file to compare, as it is deployed (default: what the command starts)", 1},
    {"list", OPTION_LIST, "FILE", 0, "Write the functions of NEW that are worth measuring, for the probe", 2},
    {"list-old", OPTION_LIST_OLD, "FILE", 0, "The same functions of OLD", 2},
    {"wrapper", OPTION_WRAPPER, "N", 0,
     "A function that changed, calls another and has at most N instructions brings in its callers (default: 16)", 3},
    {"all", OPTION_ALL, NULL, 0, "List also the functions that differ in line numbers only, or in the source only", 3},
    {0}};

struct arguments {
	const char *builds[2], *object, *list, *list_old;
	char *references; /* owned: cut in two */
	struct changes_options options;
	bool all;
};

/* "v1..v2": references do not have "..". */
static void parse_references(struct arguments *a, char *arg, struct argp_state *state)
{
	char *dots;

	free(a->references);
	a->references = mem_string(arg);
	dots = strstr(a->references, "..");
	if (!dots || dots == a->references || !dots[2] || strstr(dots + 2, ".."))
		cli_refuse(state, "--refs takes two references, as v1.0..v1.1, not '%s'", arg);
	*dots = '\0';
	a->options.old_reference = a->references;
	a->options.new_reference = dots + 2;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	int64_t n;

	switch (key) {
	case OPTION_GIT:
		a->options.repository = arg;
		return 0;
	case OPTION_REFS:
		parse_references(a, arg, state);
		return 0;
	case OPTION_OBJECT:
		a->object = arg;
		return 0;
	case OPTION_LIST:
		a->list = arg;
		return 0;
	case OPTION_LIST_OLD:
		a->list_old = arg;
		return 0;
	case OPTION_ALL:
		a->all = true;
		return 0;
	case OPTION_WRAPPER:
		if (!text_int64(arg, &n) || n < 0 || n > 1000)
			cli_refuse(state, "--wrapper is a number of instructions from 0 to 1000, not '%s'", arg);
		a->options.wrapper = (size_t)n;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!a->options.repository != !a->references)
			cli_refuse(state, "--git and --refs belong together");
		return 0;
	default:
		return cli_words(key, arg, state, a->builds, 2, "OLD and NEW");
	}
}

/* A file, or what APP@VERSION stands for. */
static enum assay_status open_side(const struct cli *cli, const struct arguments *a, int side, struct version_object *object,
                                   struct build *build, struct assay_error *err)
{
	const char *path = a->builds[side];
	enum assay_status st = ASSAY_OK;

	if (version_is_selector(path))
		st = version_find(cli->directory, path, a->object, NULL, object, err);
	if (!st)
		st = build_open(object->path ? object->path : path, build, err);
	return st;
}

/* Versions of one repository bring their sources along. */
static void use_repository(struct changes_options *to, const struct version_object *objects)
{
	if (to->repository || !objects[0].repository || !objects[1].repository ||
	    strcmp(objects[0].repository, objects[1].repository) != 0)
		return;
	to->repository = objects[0].repository;
	to->old_reference = objects[0].commit;
	to->new_reference = objects[1].commit;
}

static enum assay_status write_list(const struct cli *cli, const struct changes *changes, bool of_old, const char *path,
                                    struct assay_error *err)
{
	struct buf out = BUF_INIT;
	enum assay_status st;
	size_t n;

	if (!path)
		return ASSAY_OK;
	n = changes_list(changes, of_old, &out);
	st = file_replace(path, out.bytes, out.size, 0644, err);
	if (!st)
		cli_note(cli, "%zu function%s in '%s'", n, text_plural(n), path);
	buf_release(&out);
	return st;
}

static enum assay_status show(const struct cli *cli, const struct arguments *a, const struct changes *changes,
                              struct assay_error *err)
{
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (cli->format == CLI_JSON)
		changes_json(changes, &out);
	else
		changes_print(changes, a->all, &out);
	st = cli_print(&out, err);
	if (!st)
		st = write_list(cli, changes, false, a->list, err);
	if (!st)
		st = write_list(cli, changes, true, a->list_old, err);
	buf_release(&out);
	return st;
}

int cmd_changes(int argc, char **argv, const char *directory)
{
	static const struct argp argp = {options, parse, "OLD NEW", doc, NULL, NULL, NULL};
	struct arguments a = {.options = {.wrapper = CHANGES_WRAPPER}};
	struct build builds[2] = {{.referred = NULL}, {.referred = NULL}};
	struct version_object objects[2] = {{.path = NULL}, {.path = NULL}};
	struct changes changes = {.items = NULL};
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = open_side(&cli, &a, 0, &objects[0], &builds[0], &err);
	if (!st)
		st = open_side(&cli, &a, 1, &objects[1], &builds[1], &err);
	use_repository(&a.options, objects);
	if (!st)
		st = changes_find(&builds[0], &builds[1], &a.options, &changes, &err);
	if (!st)
		st = show(&cli, &a, &changes, &err);
	changes_release(&changes);
	for (int i = 0; i < 2; i++) {
		build_release(&builds[i]);
		version_object_release(&objects[i]);
	}
	free(a.references);
	return cli_end(&cli, st, &err, 0);
}
