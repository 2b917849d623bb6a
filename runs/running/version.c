#include "runs/running/version.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/program.h"

#include <unistd.h>

#define BUILD	    "/build/" /* values of placeholders, which show in which directory a command's program is */
#define FILES	    "/files/"
#define NAMES_SHOWN 12

bool version_is_selector(const char *what)
{
	return strchr(what, '@') && access(what, F_OK) != 0;
}

/* Returns the program of the version's command. If the program is deployed, its path starts with BUILD or FILES. */
static char *command_program(const struct manifest *manifest, size_t version)
{
	static const struct manifest_directories places = { .files = "/files", .build = "/build", .work = "/work" };
	struct manifest_arguments command, environment;
	char *program;

	manifest_command(manifest, false, version, 0, &places, &command, &environment);
	program = mem_string(command.n ? command.items[0] : "");
	manifest_arguments_release(&command);
	manifest_arguments_release(&environment);
	return program;
}

static const char *find_file(const struct artefact *artefact, const char *path)
{
	for (size_t i = 0; i < artefact->n; i++)
		if (!strcmp(artefact->files[i].path, path))
			return artefact->files[i].source;
	return NULL;
}

static enum assay_status fail_object(const struct version_files *version, const char *object, struct assay_error *err)
{
	const struct artefact *build = version->build, *files = version->files;
	struct buf list = BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < build->n + files->n && n < NAMES_SHOWN; i++) {
		const struct artefact_file *file = i < build->n ? &build->files[i] : &files->files[i - build->n];

		if (file->mode & 0100 || strstr(file->path, ".so"))
			buf_format(&list, "%s%s", n++ ? ", " : "", file->path);
	}
	assay_fail(err, ASSAY_E_NOTFOUND, "'%s' is not a file of '%s': name one with %s (programs and libraries: %s)",
		   TEXT_SANITIZED(object), version->what, version->remedy, n ? list.bytes : "none");
	buf_release(&list);
	return ASSAY_E_NOTFOUND;
}

enum assay_status version_find_file(const struct version_files *version, const char *object, char **path, struct assay_error *err)
{
	char *program = object ? mem_string(object) : command_program(version->manifest, version->version);
	bool in_files = !strncmp(program, FILES, strlen(FILES)), in_build = !strncmp(program, BUILD, strlen(BUILD));
	enum assay_status st = ASSAY_OK;
	const char *found = NULL;

	if (object || in_build)
		found = find_file(version->build, object ? object : program + strlen(BUILD));
	if (!found && (object || in_files))
		found = find_file(version->files, object ? object : program + strlen(FILES));
	if (found)
		*path = mem_string(found);
	else
		st = fail_object(version, program, err);
	free(program);
	return st;
}

/* Finds a file of a version. `directory` contains the version's own files; NULL if it has none. */
static enum assay_status find_object(const struct manifest *manifest, size_t version, const char *directory, const char *selector,
				     const char *object, struct version_object *out, struct assay_error *err)
{
	const char *const paths[] = { directory };
	struct artefact build = { .n = 0 }, files = { .n = 0 };
	const struct version_files all = { manifest, version, &build, &files, selector, "--object" };
	enum assay_status st;

	st = artefact_collect(manifest->directory, paths, directory ? 1 : 0, true, &build, err);
	if (!st)
		st = artefact_collect_files(manifest, &files, err);
	if (!st)
		st = version_find_file(&all, object, &out->path, err);
	artefact_release(&build);
	artefact_release(&files);
	return st;
}

static char *list_versions(const struct manifest *manifest)
{
	struct buf list = BUF_INIT;

	for (size_t i = 0; i < manifest->n_versions; i++)
		buf_format(&list, "%s%s", i ? ", " : "", manifest->versions[i].name);
	return buf_take(&list);
}

enum assay_status version_check_selector(const char *laboratory, const char *what, struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct assay_error ignored;
	enum assay_status st = ASSAY_OK;

	if (access(what, F_OK) != 0 && !strpbrk(what, "/@") && manifest_open(laboratory, what, &manifest, &ignored) == ASSAY_OK) {
		char *versions = list_versions(&manifest);

		st = assay_fail(err, ASSAY_E_USAGE, "which version of '%s'? Say it as %s@VERSION: it has %s", what, what, versions);
		free(versions);
	}
	manifest_release(&manifest);
	return st;
}

static enum assay_status find_version(struct manifest *manifest, const char *name, size_t *version, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	manifest_derive(manifest, name);
	*version = manifest_find_version(manifest, name);
	if (*version == SIZE_MAX) {
		char *versions = list_versions(manifest);

		st = assay_fail(err, ASSAY_E_NOTFOUND, "%s has no version '%s': it has %s", manifest->file, TEXT_SANITIZED(name), versions);
		free(versions);
	}
	return st;
}

enum assay_status version_find_local_files(const struct manifest *manifest, size_t version, const struct manifest_own_files **own,
					   struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	enum assay_status st = ASSAY_OK;
	char *reason;

	*own = manifest_find_own_files(v, PROGRAM_ARCHITECTURE);
	if (*own || !v->n_own_files)
		return ASSAY_OK;
	reason = manifest_explain_no_files(manifest, v, PROGRAM_ARCHITECTURE);
	st = assay_fail(err, ASSAY_E_NOTFOUND, "%s", reason);
	free(reason);
	return st;
}

enum assay_status version_find(const char *laboratory, const char *selector, const char *object, const volatile sig_atomic_t *cancelled,
			       struct version_object *out, struct assay_error *err)
{
	struct version_object found = { .path = NULL };
	const char *at = strrchr(selector, '@');
	char *application = mem_bytes(selector, (size_t)(at - selector)), *directory = NULL;
	struct variant built = { .path = NULL };
	struct manifest manifest = { .file = NULL };
	const struct manifest_own_files *own = NULL;
	enum assay_status st = manifest_open(laboratory, application, &manifest, err);
	size_t version = SIZE_MAX;

	if (!st)
		st = find_version(&manifest, at + 1, &version, err);
	if (!st)
		st = version_find_local_files(&manifest, version, &own, err);
	if (!st && manifest_is_built(&manifest.versions[version])) {
		if (manifest.versions[version].kind == MANIFEST_GIT)
			found.repository = manifest_repository(&manifest, &manifest.versions[version]);
		st = artefact_build(laboratory, &manifest, version, own, VARIANT_PLAIN, cancelled, &built, err);
		memcpy(found.commit, built.commit, sizeof(found.commit));
		directory = built.path;
		built.path = NULL;
	} else if (!st && manifest.versions[version].kind == MANIFEST_DIR) {
		directory = mem_string(own->directory);
	}
	if (!st)
		st = find_object(&manifest, version, directory, selector, object, &found, err);
	if (st)
		version_object_release(&found);
	*out = found;
	manifest_release(&manifest);
	variant_release(&built);
	mem_free(application, directory);
	return st;
}

void version_object_release(struct version_object *object)
{
	mem_free(object->path, object->repository);
	*object = (struct version_object){ .path = NULL };
}
