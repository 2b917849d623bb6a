#include "runs/running/artefact.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/helper/protocol.h"
#include "runs/inside/changes/image.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* A directory that is being collected. `above` leads to its parents, so that a cycle of symbolic links is found. */
struct place {
	const struct place *above;
	dev_t device;
	ino_t inode;
};

struct walk {
	struct artefact artefact;
	size_t files_capacity, directories_capacity;
	const char *root; /* requested directory; links must not lead out of it */
	struct assay_error *err;
};

void artefact_release(struct artefact *artefact)
{
	for (size_t i = 0; i < artefact->n; i++)
		mem_free(artefact->files[i].path, artefact->files[i].source, artefact->files[i].content);
	mem_free_all(artefact->directories, artefact->n_directories);
	free(artefact->files);
	*artefact = (struct artefact){ .files = NULL };
}

static enum assay_status artefact_add_file(struct walk *w, const char *path, const char *source, const struct stat *info)
{
	struct artefact *a = &w->artefact;
	struct buf bytes = BUF_INIT;
	struct artefact_file *file;
	enum assay_status st;

	if (a->n == ARTEFACT_FILES_MAX)
		return assay_fail(w->err, ASSAY_E_LIMIT,
				  "'%s' has more than %d files: name only the needed ones, such as the directory that a build installs to",
				  w->root, ARTEFACT_FILES_MAX);
	st = file_read(source, HELPER_INPUT_BYTES_MAX, &bytes, w->err);
	if (st)
		return st;
	if (bytes.size > ARTEFACT_BYTES_MAX - a->bytes) {
		buf_release(&bytes);
		return assay_fail(w->err, ASSAY_E_LIMIT, "more than %u MiB of files, of which the last is '%s'", ARTEFACT_BYTES_MAX >> 20,
				  source);
	}
	file = mem_append_slot(a->files, a->n, &w->files_capacity);
	*file = (struct artefact_file){
		.path = mem_string(path), .source = mem_string(source), .mode = info->st_mode & S_IXUSR ? 0755 : 0644, .bytes = bytes.size
	};
	digest_sha256(bytes.bytes, bytes.size, file->hash);
	file->architecture = image_architecture(bytes.bytes, bytes.size);
	a->bytes += bytes.size;
	buf_release(&bytes);
	return ASSAY_OK;
}

static enum assay_status artefact_add_directory(struct walk *w, const char *path)
{
	struct artefact *a = &w->artefact;

	if (a->n_directories == ARTEFACT_FILES_MAX)
		return assay_fail(w->err, ASSAY_E_LIMIT, "'%s' has more than %d directories", w->root, ARTEFACT_FILES_MAX);
	mem_append(a->directories, a->n_directories, &w->directories_capacity, mem_string(path));
	return ASSAY_OK;
}

/* ---- contents of a directory ---- */

static bool artefact_is_below(const char *root, const char *path)
{
	size_t n = strlen(root);

	return strcmp(root, "/") == 0 || (strncmp(root, path, n) == 0 && (path[n] == '/' || !path[n]));
}

static enum assay_status artefact_check_link(const struct walk *w, const char *source)
{
	char *real = realpath(source, NULL);
	enum assay_status st = ASSAY_OK;

	if (!real)
		st = assay_fail_errno(w->err, errno, "cannot follow the symbolic link '%s'", source);
	else if (!artefact_is_below(w->root, real))
		st = assay_fail(w->err, ASSAY_E_FORMAT, "the symbolic link '%s' points outside of '%s': only files inside are deployed",
				source, w->root);
	free(real);
	return st;
}

static enum assay_status artefact_check_name(const struct walk *w, const char *directory, const char *name)
{
	bool ok = text_is_utf8(name, strlen(name));

	for (const char *c = name; ok && *c; c++)
		ok = (unsigned char)*c >= ' ' && *c != 0x7f;
	return ok ? ASSAY_OK
		  : assay_fail(w->err, ASSAY_E_FORMAT, "'%s' has a file whose name is not one line of text ('%s')", directory,
			       text_is_utf8(name, strlen(name)) ? TEXT_SANITIZED(name) : "not UTF-8");
}

static enum assay_status artefact_walk_directory(struct walk *w, const char *directory, const char *path, const struct place *above,
						 const struct stat *info);

/* Collects the directory entry `source` as `path`. */
static enum assay_status artefact_walk_entry(struct walk *w, const char *source, const char *path, const struct place *above)
{
	enum assay_status st = ASSAY_OK;
	struct stat info;

	if (lstat(source, &info))
		return assay_fail_errno(w->err, errno, "cannot inspect '%s'", source);
	if (S_ISLNK(info.st_mode)) {
		st = artefact_check_link(w, source);
		if (!st && stat(source, &info))
			st = assay_fail_errno(w->err, errno, "cannot follow the symbolic link '%s'", source);
	}
	if (st)
		return st;
	if (S_ISREG(info.st_mode))
		return artefact_add_file(w, path, source, &info);
	if (!S_ISDIR(info.st_mode))
		return assay_fail(w->err, ASSAY_E_FORMAT, "'%s' is neither a file nor a directory: it cannot be deployed", source);
	st = artefact_add_directory(w, path);
	return st ? st : artefact_walk_directory(w, source, path, above, &info);
}

/* Reports whether an entry is deployed. The directories of git and assay are not, because they change all the time. */
static int artefact_is_deployed(const struct dirent *entry)
{
	static const char *const left_out[] = { ".", "..", ".git", ".assay" };

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
		if (strcmp(entry->d_name, left_out[i]) == 0)
			return 0;
	}
	return 1;
}

/* Collects the contents of `directory` below `path`, which is "" for the top. */
static enum assay_status artefact_walk_directory(struct walk *w, const char *directory, const char *path, const struct place *above,
						 const struct stat *info)
{
	const struct place here = { above, info->st_dev, info->st_ino };
	struct dirent **entries = NULL;
	enum assay_status st = ASSAY_OK;
	int n;

	for (const struct place *p = above; p; p = p->above) {
		if (p->device == here.device && p->inode == here.inode)
			return assay_fail(w->err, ASSAY_E_FORMAT, "the symbolic link '%s' points to a directory that contains it",
					  directory);
	}
	n = scandir(directory, &entries, artefact_is_deployed, alphasort);
	if (n < 0)
		return assay_fail_errno(w->err, errno, "cannot read the directory '%s'", directory);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *source = mem_format("%s%s%s", directory, strcmp(directory, "/") ? "/" : "", name);
		char *below = mem_format("%s%s%s", path, *path ? "/" : "", name);

		if (!st)
			st = artefact_check_name(w, directory, name);
		if (!st)
			st = artefact_walk_entry(w, source, below, &here);
		mem_free(below, source, entries[i]);
	}
	free(entries);
	return st;
}

/* ---- requested paths ---- */

/* Returns the name of `path` on the hosts: its last component without a trailing '/', or the real directory's name for "." and "..". */
static char *artefact_choose_name(const char *path, const char *real)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/';)
		begin--;
	if (begin == end || strncmp(path + begin, ".", end - begin) == 0 || strncmp(path + begin, "..", end - begin) == 0)
		return mem_string(strrchr(real, '/') + 1);
	return mem_bytes(path + begin, end - begin);
}

static enum assay_status artefact_collect_one(struct walk *w, const char *path, const char *real, const char *name, bool flat)
{
	enum assay_status st = ASSAY_OK;
	struct stat info;

	w->root = real;
	if (stat(real, &info))
		return assay_fail_errno(w->err, errno, "cannot inspect '%s'", path);
	if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
		return assay_fail(w->err, ASSAY_E_FORMAT, "'%s' is neither a file nor a directory: it cannot be deployed", path);
	if (S_ISDIR(info.st_mode) && flat)
		return artefact_walk_directory(w, real, "", NULL, &info);
	if (!*name)
		return assay_fail(w->err, ASSAY_E_FORMAT, "'%s' has no valid name for the hosts", path);
	st = artefact_check_name(w, path, name);
	if (!st && S_ISREG(info.st_mode))
		return artefact_add_file(w, name, real, &info);
	if (!st)
		st = artefact_add_directory(w, name);
	return st ? st : artefact_walk_directory(w, real, name, NULL, &info);
}

ORDER_BY(artefact_compare_files, struct artefact_file, BY_TEXT(path))

/* Sorts the entries and computes the hash. Each path has its length before it, so that different artefacts have different hash inputs. */
static void artefact_finish(struct artefact *a)
{
	struct buf text = BUF_INIT;

	order_sort(a->files, a->n, artefact_compare_files);
	order_sort(a->directories, a->n_directories, text_compare);
	buf_text(&text, "artefact 1\n");
	for (size_t i = 0; i < a->n_directories; i++)
		buf_format(&text, "d %zu:%s\n", strlen(a->directories[i]), a->directories[i]);
	for (size_t i = 0; i < a->n; i++)
		buf_format(&text, "%o %zu:%s %s\n", (unsigned)a->files[i].mode, strlen(a->files[i].path), a->files[i].path,
			   a->files[i].hash);
	if (a->n)
		digest_sha256(text.bytes, text.size, a->hash);
	buf_release(&text);
}

/* Collects all paths into *out. Sets *at to the index of the last path tried. */
static enum assay_status collect_all(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out, size_t *at,
				     struct assay_error *err)
{
	char **names = mem_new(n, sizeof(char *));
	struct walk w = { .err = err };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		char *full = *paths[i] == '/' ? mem_string(paths[i]) : mem_format("%s/%s", base, paths[i]), *real = realpath(full, NULL);

		*at = i;
		if (!real && (errno == ENOENT || errno == ENOTDIR))
			st = assay_fail(err, ASSAY_E_NOTFOUND, "cannot deploy '%s': no such file or directory", full);
		else if (!real)
			st = assay_fail_errno(err, errno, "cannot deploy '%s'", full);
		else
			names[i] = artefact_choose_name(paths[i], real);
		for (size_t k = 0; !st && k < i; k++) {
			if (strcmp(names[k], names[i]) == 0)
				st = assay_fail(err, ASSAY_E_FORMAT, "'%s' and '%s' would both be '%s' on the hosts: rename one of them",
						paths[k], paths[i], names[i]);
		}
		if (!st)
			st = artefact_collect_one(&w, full, real, names[i], flat && n == 1);
		mem_free(real, full);
	}
	mem_free_all(names, n);
	if (!st)
		artefact_finish(&w.artefact);
	*out = w.artefact;
	if (st)
		artefact_release(out);
	return st;
}

enum assay_status artefact_collect(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out,
				   struct assay_error *err)
{
	size_t at;

	return collect_all(base, paths, n, flat, out, &at, err);
}

enum assay_status artefact_collect_files(const struct manifest *manifest, struct artefact *out, struct assay_error *err)
{
	const struct manifest_arguments *files = &manifest->files;
	size_t at = 0;
	enum assay_status st = collect_all(manifest->directory, (const char *const *)files->items, files->n, false, out, &at, err);

	return st && files->n ? assay_add_context(err, "%s:%zu", manifest->file, manifest->files_lines[at]) : st;
}

/* Reports whether `path` is "DIRECTORY/NAME", or below this, for a NAME in names[0..n). */
static bool is_input_file(const char *path, char *const *names, size_t n)
{
	const char *below = strchr(path, '/');

	for (size_t i = 0; below && i < n; i++) {
		size_t length = strlen(names[i]);

		if (strncmp(below + 1, names[i], length) == 0 && (!below[1 + length] || below[1 + length] == '/'))
			return true;
	}
	return false;
}

static enum assay_status inputs_check(const struct artefact *files, const char *directory, struct assay_error *err)
{
	size_t n = strlen(directory);

	for (size_t i = 0; i < files->n; i++) {
		if (strncmp(files->files[i].path, directory, n) == 0 && (!files->files[i].path[n] || files->files[i].path[n] == '/'))
			return assay_fail(
			    err, ASSAY_E_FORMAT,
			    "'files' and 'inputs_of' would both be '%s' on the hosts: the files of 'inputs_of' are deployed anyway",
			    directory);
	}
	return ASSAY_OK;
}

static void *append_item(void *array, size_t at, const void *item, size_t size)
{
	char *all = mem_resize(array, at + 1, size);

	memcpy(all + at * size, item, size);
	return all;
}

enum assay_status artefact_add_inputs(const struct manifest *manifest, char *const *names, size_t n, struct artefact *files,
				      struct assay_error *err)
{
	struct artefact inputs = { .files = NULL };
	const char *path = manifest->inputs_directory;
	enum assay_status st = path ? artefact_collect(manifest->directory, &path, 1, false, &inputs, err) : ASSAY_OK;

	if (!st && path)
		st = inputs_check(files, inputs.directories[0], err);
	for (size_t i = 0; !st && i < inputs.n_directories; i++) {
		if (i && !is_input_file(inputs.directories[i], names, n))
			continue;
		files->directories = append_item(files->directories, files->n_directories++, &inputs.directories[i], sizeof(char *));
		inputs.directories[i] = NULL;
	}
	for (size_t i = 0; !st && i < inputs.n; i++) {
		if (!is_input_file(inputs.files[i].path, names, n))
			continue;
		files->bytes += inputs.files[i].bytes;
		inputs.files[i].architecture = NULL; /* an input is only read, so its architecture does not matter */
		files->files = append_item(files->files, files->n++, &inputs.files[i], sizeof(inputs.files[i]));
		inputs.files[i] = (struct artefact_file){ .path = NULL };
	}
	artefact_release(&inputs);
	return st ? assay_add_context(err, "%s:%zu", manifest->file, manifest->inputs[0].line) : ASSAY_OK;
}

enum assay_status artefact_add_copy(struct artefact *artefact, const char *path, const char *source, struct assay_error *err)
{
	struct buf bytes = BUF_INIT;
	struct artefact_file *file;
	enum assay_status st = file_read(source, HELPER_INPUT_BYTES_MAX, &bytes, err);

	if (st)
		return st;
	artefact->files = mem_resize(artefact->files, artefact->n + 1, sizeof(*artefact->files));
	file = &artefact->files[artefact->n++];
	*file = (struct artefact_file){ .path = mem_string(path), .source = mem_string(source), .mode = 0644, .bytes = bytes.size };
	digest_sha256(bytes.bytes, bytes.size, file->hash);
	artefact->bytes += bytes.size;
	buf_release(&bytes);
	return ASSAY_OK;
}

/* ---- versions built from git ---- */

enum assay_status artefact_resolve_commit(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
					  char commit[VARIANT_COMMIT_BYTES], struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	char *repository = manifest_repository(manifest, v);
	enum assay_status st;

	ASSAY_BUG_IF(v->kind != MANIFEST_GIT);
	st = variant_resolve_commit(repository, v->reference, cancelled, commit, err);
	free(repository);
	return st ? assay_add_context(err, "%s:%zu: version '%s'", manifest->file, v->line, v->name) : ASSAY_OK;
}

enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version,
				 const struct manifest_own_files *own, enum variant_kind kind, const volatile sig_atomic_t *cancelled,
				 struct variant *out, struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	char *repository = manifest_repository(manifest, v), *private = mem_format("%s/.assay", laboratory);
	char *builds = mem_format("%s/builds", private);
	const struct variant_request request = { .kind = kind,
						 .directory = v->reference ? NULL : repository,
						 .repository = repository,
						 .reference = v->reference,
						 .build = (const char *const *)own->build.items,
						 .n_build = own->build.n,
						 .path = own->directory,
						 .cache = builds,
						 .cancelled = cancelled };
	enum assay_status st = file_make_directory(private, 0700, err);

	*out = (struct variant){ .path = NULL };
	ASSAY_BUG_IF(!manifest_is_built(v));
	if (!st)
		st = variant_build(&request, out, err);
	if (!st && out->reason && kind == VARIANT_PLAIN)
		st = assay_fail(err, ASSAY_E_IO, "%s", out->text);
	if (!v->reference)
		*out->commit = '\0';
	mem_free(repository, private, builds);
	return st ? assay_add_context(err, "%s:%zu: version '%s'", manifest->file, v->line, v->name) : ASSAY_OK;
}
