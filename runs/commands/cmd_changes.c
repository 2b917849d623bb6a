/* The command 'assay changes': finds the functions that changed between two builds. */
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/changes/changes.h"
#include "runs/running/version.h"

struct references {
	char *old, *new; /* old: owned; new: pointer into the memory of `old` */
};

struct arguments {
	const char *builds[2], *object, *list, *list_old, *repository;
	struct references references;
	int64_t wrapper;
	bool all;
};

static const struct arguments defaults = { .wrapper = CHANGES_WRAPPER_MAX };

/* Parses "OLD..NEW". A reference cannot contain "..". */
static enum assay_status parse_references(const char *text, void *to, struct assay_error *err)
{
	struct references *references = to;
	const char *dots = strstr(text, "..");

	if (!dots || dots == text || !dots[2] || strstr(dots + 2, ".."))
		return assay_fail(err, ASSAY_E_USAGE, "expected two references, as v1.0..v1.1, not '%s'", text);
	free(references->old);
	references->old = mem_string(text);
	references->old[dots - text] = '\0';
	references->new = references->old + (dots + 2 - text);
	return ASSAY_OK;
}

static enum assay_status changes_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!a->repository != !a->references.old)
		return assay_fail(err, ASSAY_E_USAGE, "--git and --refs belong together");
	return ASSAY_OK;
}

/* Opens the file of one side, which is given by its path or as APP@VERSION. */
static enum assay_status open_side(const struct arguments *a, int side, struct version_object *object, struct build *build,
				   struct assay_error *err)
{
	const char *path = a->builds[side];
	enum assay_status st = ASSAY_OK;

	if (version_is_selector(path))
		st = version_find(cli_directory(), path, a->object, NULL, object, err);
	else
		st = version_check_selector(cli_directory(), path, err);
	return st ? st : build_open(object->path ? object->path : path, IMAGE_EXPORTED, build, err);
}

/* Refuses builds with different symbols or debug information, because inlined or static functions would seem added or removed. */
static enum assay_status check_details(const struct build *builds, struct assay_error *err)
{
	static const char *const texts[] = { "has debug information", "has symbols, but no debug information", "is stripped" };
	const struct image *old = &builds[0].image, *new = &builds[1].image;

	if (old->detail == new->detail)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_FORMAT,
			  "'%s' %s, and '%s' %s: compare two builds of the same kind, preferably with debug information", old->path,
			  texts[old->detail], new->path, texts[new->detail]);
}

/* Returns the sources to compare: those of --git and --refs or, if both versions were built from one repository, their commits. */
static struct changes_options make_options(const struct arguments *a, const struct version_object *objects)
{
	struct changes_options options = { a->repository, a->references.old, a->references.new, (size_t)a->wrapper };

	if (!options.repository && objects[0].repository && objects[1].repository &&
	    strcmp(objects[0].repository, objects[1].repository) == 0) {
		options.repository = objects[0].repository;
		options.old_reference = objects[0].commit;
		options.new_reference = objects[1].commit;
	}
	return options;
}

static enum assay_status write_list(const struct changes *changes, bool of_old, const char *path, struct assay_error *err)
{
	struct buf out = BUF_INIT;
	enum assay_status st;
	size_t n;

	if (!path)
		return ASSAY_OK;
	n = changes_list_entries(changes, of_old, &out);
	st = file_replace(path, out.bytes, out.size, 0644, err);
	if (!st)
		cli_note("%zu function%s in '%s'", n, text_plural(n), path);
	buf_release(&out);
	return st;
}

static enum assay_status changes_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct build builds[2] = { { .referenced_addresses = NULL }, { .referenced_addresses = NULL } };
	struct version_object objects[2] = { { .path = NULL }, { .path = NULL } };
	struct changes changes = { .items = NULL };
	struct changes_options options;
	enum assay_status st = ASSAY_OK;

	(void)lab;
	for (int i = 0; i < 2 && !st; i++)
		st = open_side(a, i, &objects[i], &builds[i], err);
	if (!st)
		st = check_details(builds, err);
	options = make_options(a, objects);
	if (!st)
		st = changes_find(&builds[0], &builds[1], &options, &changes, err);
	if (!st)
		changes_describe(&changes, a->all, d);
	if (!st)
		st = write_list(&changes, false, a->list, err);
	if (!st)
		st = write_list(&changes, true, a->list_old, err);
	changes_release(&changes);
	for (int i = 0; i < 2; i++) {
		build_release(&builds[i]);
		version_object_release(&objects[i]);
	}
	return st;
}

static const struct cli_option options[] = {
	CLI_TEXT("git", "REPOSITORY", struct arguments, repository,
		 "Git repository of the sources: also compare the sources; needs --refs"),
	CLI_OPTION(PARSED, "refs", "OLD..NEW", struct arguments, references, "Commits, tags or branches of the two builds",
		   .parse = parse_references, .owned = true),
	CLI_TEXT("object", "PATH", struct arguments, object,
		 "Deployed file to compare (with APP@VERSION; default: the program that the command starts)"),
	CLI_TEXT("list", "FILE", struct arguments, list, "Write the functions of NEW to measure to FILE, for the probe"),
	CLI_TEXT("list-old", "FILE", struct arguments, list_old, "Write the same functions of OLD to FILE"),
	CLI_INTEGER("wrapper", "N", struct arguments, wrapper, 0, 1000,
		    "Include the callers of changed functions with at most N instructions that call others (default: 16)"),
	CLI_FLAG("all", struct arguments, all, "Also list functions that differ only in line numbers or only in the source"),
	CLI_END
};

static const struct cli_option words[] = { CLI_ARGUMENT("OLD", struct arguments, builds[0]),
					   CLI_ARGUMENT("NEW", struct arguments, builds[1]), CLI_END };

const struct command changes_command = {
	.name = "changes",
	.summary = "find the functions that changed between two builds",
	.about =
	    "Compares two builds of a program or shared library (x86-64, with debug information) function by function: modified, added, "
	    "removed, renamed and inlined functions, and the callers that these affect. Addresses do not matter: calls are compared by "
	    "their target, constants by their content.\n\nWith a git repository, the difference between two references distinguishes "
	    "changed functions from those that were only compiled differently. OLD and NEW are files, or versions of an application as "
	    "APP@VERSION: then their programs are compared, and also their sources if both come from one git repository.",
	.examples = "  assay changes old/myapp new/myapp\n"
		    "  assay changes old/libmy.so new/libmy.so --git ~/my --refs v1.0..v1.1 --list functions.txt\n"
		    "  assay changes myapp@1.0 myapp@1.1 --object lib/libmy.so\n",
	.exit_status = "0 with or without a difference; 1 failure; 2 usage, or a file that cannot be compared.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.check = changes_check,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, changes_run),
};
