#include "gate/here/trees.h"

#include "base/cancel.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/text.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_BYTES_MAX	 (64u << 20)
#define WALK_DESCRIPTORS 16

static volatile sig_atomic_t trees_cancelled;

/* Sets *out to the cache directory for builds and creates its parent directories. The caller frees *out. */
static enum assay_status find_cache(char **out, struct assay_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *above = cache && *cache == '/' ? mem_string(cache)
		      : home && *home == '/' ? mem_format("%s/.cache", home)
					     : NULL,
	     *own = mem_format("%s/assay", above ? above : "");
	enum assay_status st = above ? file_make_directory(above, 0700, err)
				     : assay_fail(err, ASSAY_E_NOTFOUND, "no directory for builds: set HOME or XDG_CACHE_HOME");

	if (!st)
		st = file_make_directory(own, 0700, err);
	*out = mem_format("%s/trees", own);
	mem_free(above, own);
	return st;
}

/* Appends the build command to *out, preceded by `env` and those environment variables that affect builds. */
static void copy_build_command(const struct manifest_arguments *build, struct manifest_arguments *out)
{
	static const char *const variables[] = { "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS" };

	for (size_t i = 0; build->n && i < sizeof(variables) / sizeof(variables[0]); i++) {
		char *text = getenv(variables[i]) ? mem_format("%s=%s", variables[i], getenv(variables[i])) : NULL;

		if (text && !out->n)
			manifest_arguments_add(out, "env");
		if (text)
			manifest_arguments_add(out, text);
		free(text);
	}
	for (size_t i = 0; i < build->n; i++)
		manifest_arguments_add(out, build->items[i]);
}

static enum assay_status build_tree(const struct trees_request *asked, int side, const char *cache, struct trees *out,
				    struct assay_error *err)
{
	struct manifest_arguments command = { .items = NULL };
	struct variant_request request = { .kind = asked->kind,
					   .directory = asked->repository ? NULL : asked->names[side],
					   .repository = asked->repository,
					   .reference = asked->names[side],
					   .path = asked->program,
					   .cache = cache,
					   .cancelled = &trees_cancelled };
	struct variant built;
	struct assay_error ignored;
	enum assay_status st;

	copy_build_command(&asked->build, &command);
	request.build = (const char *const *)command.items;
	request.n_build = command.n;
	st = variant_build(&request, &built, err);
	if (!st && built.reason) {
		st = assay_fail(err, ASSAY_E_IO, "%s: %s", asked->names[side], built.text);
		out->reason = built.reason;
		(void)file_read(built.log, LOG_BYTES_MAX, &out->build_output, &ignored);
	} else if (!st) {
		memcpy(out->commits[side], built.commit, sizeof(built.commit));
		out->directories[side] = mem_string(built.tree);
		out->programs[side] = asked->program ? mem_string(built.path) : NULL;
	}
	variant_release(&built);
	manifest_arguments_release(&command);
	return st;
}

static int drop_file_cache(const char *path, const struct stat *info, int type, struct FTW *place)
{
	int fd = type == FTW_F && info->st_mode & S_IXUSR ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

	(void)place;
	if (fd < 0)
		return 0;
	if (!fsync(fd))
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return 0;
}

enum assay_status trees_build(const struct trees_request *asked, struct trees *out, struct assay_error *err)
{
	struct progress shown = progress_begin(stderr, progress_now());
	char commit[VARIANT_COMMIT_BYTES], *cache;
	enum assay_status st;

	*out = (struct trees){ .build_output = BUF_INIT };
	cancel_on_signals(&trees_cancelled);
	st = find_cache(&cache, err);
	for (int side = 0; !st && side < 2; side++) { /* check both trees before building one */
		struct stat info;

		if (asked->repository)
			st = variant_resolve_commit(asked->repository, asked->names[side], &trees_cancelled, commit, err);
		else if (stat(asked->names[side], &info) || !S_ISDIR(info.st_mode))
			st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' is not a directory", asked->names[side]);
		if (st)
			assay_add_context(err, side ? "NEW" : "OLD");
	}
	if (!st && asked->program && (*asked->program == '/' || !strchr(asked->program, '/')))
		st = assay_fail(err, ASSAY_E_USAGE,
				"'%s' is not in the trees: give the path of the program in each tree, such as './%s', or run the command "
				"inside the trees (--in-tree)",
				asked->program, text_file_name(asked->program));
	for (int side = 0; !st && side < 2; side++) {
		if (asked->progress)
			progress_show(&shown, progress_now(), false, "building %s (%s)", asked->names[side],
				      variant_kind_names[asked->kind]);
		st = build_tree(asked, side, cache, out, err);
	}
	out->cancelled = trees_cancelled;
	/* Evicts the built programs from the page cache, so that runs read them from disk. Code in pages that the linker wrote can be 1.6
	 * times slower. */
	for (int side = 0; !st && side < 2; side++)
		(void)nftw(out->directories[side], drop_file_cache, WALK_DESCRIPTORS, FTW_PHYS);
	progress_end(&shown);
	free(cache);
	return st;
}

void trees_release(struct trees *trees)
{
	mem_free(trees->directories[0], trees->directories[1], trees->programs[0], trees->programs[1]);
	buf_release(&trees->build_output);
}
