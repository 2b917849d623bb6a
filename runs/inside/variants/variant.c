/* Builds a commit of a git repository, or a directory, with a build command.
 *
 * Sources are written to CACHE/HASH and built there, and stay there. CACHE/HASH.partial exists until the build is complete. A lock allows
 * one build at a time; the kernel releases it when its process ends. The helper holds a second lock until the last process of a build has
 * ended. So no file is removed while such a process still writes it. */
#include "runs/inside/variants/variant.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"
#include "runs/inside/instrument/compiler_command.h"
#include "runs/inside/instrument/site.h"
#include "runs/inside/variants/compiler_wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIT_MS		  (10 * 60 * 1000)
#define REMOVE_MS	  (10 * 60 * 1000)
#define BUILD_MS	  (2 * 60 * 60 * 1000)
#define LOCK_POLL_US	  100000
#define HASH_DIGITS	  32
#define RECORD_BYTES_MAX  (256u << 20)
#define PROGRAM_BYTES_MAX (1u << 30)
#define SHOWN_BYTES	  300 /* maximum number of characters of a compiler command in messages */
#define RECORD_SUFFIX	  ".commands"

const char *const variant_reason_codes[] = { "built", "no_compiler", "build_failed", "build_differs", "not_probed" };

struct build_state {
	const struct variant_request *request;
	const volatile sig_atomic_t *cancelled;
	const char *repository, *reference; /* source of the files if request->directory is NULL */
	char *folder;			    /* absolute path of the cache */
	char *running;	     /* path of the file that is locked while a process of the build lives; NULL before the lock is taken */
	char *git_directory; /* "--git-dir=..." of a temporary repository with the files of a directory; NULL if sources come from git */
	char *links;	     /* directory of links named like compilers */
	char *compilers;     /* lines with the compilers' files (compiler_wrapper_link()) */
	size_t n_compilers;
	char *whole, *partial, *log, *record;
	struct buf log_text; /* text of the log so far */
	struct variant *out;
	struct assay_error *err;
};

static bool is_cancelled(const struct build_state *b)
{
	return b->cancelled && *b->cancelled;
}

/* ---- commands ---- */

static enum assay_status run_program(struct build_state *b, const char *const *words, size_t n, int64_t timeout_ms, const char *directory,
				     struct local_report *out)
{
	const struct local_command command = { .words = words,
					       .n = n,
					       .git = true,
					       .directory = directory,
					       .lock = b->running,
					       .timeout_ms = timeout_ms,
					       .cancelled = b->cancelled };
	enum assay_status st;

	buf_char(&b->log_text, '$');
	for (size_t i = 0; i < n; i++)
		buf_format(&b->log_text, " %s", words[i]);
	st = local_command_run(&command, out, b->err);
	buf_char(&b->log_text, '\n');
	if (st)
		return st;
	buf_add(&b->log_text, out->out ? out->out : "", out->out_bytes);
	buf_add(&b->log_text, out->err ? out->err : "", out->err_bytes);
	if (!out->ok)
		buf_format(&b->log_text, "assay: %s\n", out->fault);
	if (is_cancelled(b)) {
		local_report_release(out);
		return assay_fail(b->err, ASSAY_E_IO, "cancelled");
	}
	return ASSAY_OK;
}

/* Returns "WHAT failed: ...", with the line of the output that gives the reason. The caller frees it. */
static char *failure_text(const struct build_state *b, const char *what, const struct local_report *said)
{
	char shown[LOCAL_LINE_BYTES];

	local_error_line(said->err, said->out, shown);
	return mem_format("%s failed: %s%s%s%s%s%s%s", what, said->fault, *shown ? ": '" : "", shown, *shown ? "'" : "",
			  b->log ? VARIANT_LOG_PREFIX : "", b->log ? b->log : "", b->log ? "'" : "");
}

static enum assay_status run_checked(struct build_state *b, const char *what, const char *const *words, size_t n, int64_t timeout_ms)
{
	struct local_report said = { .ok = false };
	enum assay_status st = run_program(b, words, n, timeout_ms, NULL, &said);

	if (!st && !said.ok) {
		char *text = failure_text(b, what, &said);

		st = assay_fail(b->err, ASSAY_E_IO, "%s", text);
		free(text);
	}
	local_report_release(&said);
	return st;
}

/* ---- git ---- */

/* Commit of a version, and the parts of its repository that the build borrows. */
struct repository {
	char *objects, *shallow; /* absolute paths; the file `shallow` may not exist */
	char commit[VARIANT_COMMIT_BYTES];
};

/* Queries to git, and checkout of a commit.
 *
 * The tree gets its own repository, which borrows the objects of the original. Nothing is written into the original. Its work tree, index,
 * hooks and configuration have no effect, and commits that are on no branch are available, too. The original is not cloned, because git
 * 2.39.4 and later require a permission (safe.directory) to clone another user's repository, even if it is readable. */

#define WORDS(...)		      (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)
#define RUN_COMMAND(b, said, ...)     run_program(b, WORDS(__VA_ARGS__), GIT_MS, NULL, said)
#define RUN_CHECKED(b, what, ms, ...) run_checked(b, what, WORDS(__VA_ARGS__), ms)

/* Returns git's output without its last line end; NULL if git failed. The caller frees it. */
static char *copy_first_line(const struct local_report *said)
{
	size_t end = said->out_bytes;

	if (!said->ok)
		return NULL;
	if (end && said->out[end - 1] == '\n')
		end--;
	return mem_bytes(said->out, end);
}

/* Finds the directory of objects, and the list of commits without parents (shallow). A linked work tree uses those of its main one. */
static enum assay_status find_objects(struct build_state *b, struct repository *out)
{
	struct local_report said = { .ok = false };
	char shown[LOCAL_LINE_BYTES], *answer = NULL, *shallow;
	enum assay_status st = RUN_COMMAND(b, &said, "git", "-C", b->repository, "rev-parse", "--path-format=absolute", "--git-path",
					   "objects", "--git-path", "shallow");

	if (!st)
		answer = copy_first_line(&said);
	shallow = answer ? strchr(answer, '\n') : NULL;
	if (!st && !answer) {
		local_report_line(&said, LOCAL_FIRST_LINE, shown);
		st = assay_fail(b->err, ASSAY_E_NOTFOUND, "cannot use '%s' as a git repository: %s", b->repository,
				*shown ? shown : said.fault);
	} else if (!st && (!shallow || strchr(shallow + 1, '\n') || *answer != '/' || shallow[1] != '/')) {
		st = assay_fail(b->err, ASSAY_E_FORMAT, "the repository '%s' has a line break in its path", b->repository);
	} else if (!st) {
		out->objects = mem_bytes(answer, (size_t)(shallow - answer));
		out->shallow = mem_string(shallow + 1);
	}
	free(answer);
	local_report_release(&said);
	return st;
}

static enum assay_status find_commit(struct build_state *b, struct repository *out)
{
	char *name = mem_format("%s^{commit}", b->reference), *found = NULL, shown[LOCAL_LINE_BYTES];
	struct local_report said = { .ok = false };
	enum assay_status st =
	    RUN_COMMAND(b, &said, "git", "-C", b->repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name);

	if (!st)
		found = copy_first_line(&said);
	if (!st && !found) {
		local_report_line(&said, LOCAL_FIRST_LINE, shown);
		st = assay_fail(b->err, ASSAY_E_NOTFOUND, "the repository '%s' has no commit '%s'%s%s", b->repository, b->reference,
				*shown ? ": " : "", shown);
	} else if (!st && (strlen(found) != VARIANT_COMMIT_BYTES - 1 || found[strspn(found, "0123456789abcdef")])) {
		st = assay_fail(b->err, ASSAY_E_FORMAT, "the repository '%s' does not use SHA-1; only SHA-1 is supported", b->repository);
	} else if (!st) {
		memcpy(out->commit, found, VARIANT_COMMIT_BYTES);
	}
	local_report_release(&said);
	mem_free(found, name);
	return st;
}

static enum assay_status find_objects_and_commit(struct build_state *b, struct repository *out)
{
	enum assay_status st = find_objects(b, out);

	return st ? st : find_commit(b, out);
}

static void repository_release(struct repository *repository)
{
	mem_free(repository->objects, repository->shallow);
	*repository = (struct repository){ .objects = NULL };
}

/* ---- sources ---- */

static enum assay_status write_git_file(struct build_state *b, const char *name, const char *bytes, size_t n)
{
	char *path = mem_format("%s/.git/%s", b->whole, name);
	enum assay_status st = file_replace(path, bytes, n, 0600, b->err);

	free(path);
	return st;
}

static enum assay_status share_objects(struct build_state *b, const struct repository *repository)
{
	char *line = mem_format("%s\n", repository->objects);
	struct buf commits = BUF_INIT;
	struct assay_error missing;
	enum assay_status st = write_git_file(b, "objects/info/alternates", line, strlen(line));

	if (!st && !file_read(repository->shallow, LOCAL_OUTPUT_BYTES_MAX, &commits, &missing))
		st = write_git_file(b, "shallow", commits.bytes, commits.size);
	buf_release(&commits);
	free(line);
	return st;
}

/* Copies the tags, for builds that call `git describe`. */
static enum assay_status copy_tags(struct build_state *b)
{
	struct local_report said = { .ok = false };
	enum assay_status st =
	    RUN_COMMAND(b, &said, "git", "-C", b->repository, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags");

	if (!st && said.ok && said.out_bytes)
		st = write_git_file(b, "packed-refs", said.out, said.out_bytes);
	local_report_release(&said);
	return st;
}

static enum assay_status git_init(struct build_state *b, const char *directory)
{
	return RUN_CHECKED(b, "git init", GIT_MS, "git", "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=none",
			   "--", directory);
}

static enum assay_status remove_tree(struct build_state *b, const char *path)
{
	return RUN_CHECKED(b, "removing an earlier build", REMOVE_MS, "rm", "-rf", "--", path);
}

/* Adds the files of the directory to a temporary repository, and sets the commit to their hash, as git computes it. Excludes files that
 * .gitignore excludes, because they may be objects of another build. */
static enum assay_status import_directory(struct build_state *b)
{
	char *sources = mem_format("%s/sources", b->folder), *real = realpath(b->request->directory, NULL), *tree = NULL;
	struct local_report said = { .ok = false };
	enum assay_status st =
	    real ? remove_tree(b, sources) : assay_fail_errno(b->err, errno, "cannot read the directory '%s'", b->request->directory);

	b->git_directory = mem_format("--git-dir=%s/.git", sources);
	if (!st)
		st = git_init(b, sources);
	if (!st) {
		char *work = mem_format("--work-tree=%s", real);

		st = RUN_CHECKED(b, "git add", GIT_MS, "git", "-C", real, b->git_directory, work, "-c", "core.looseCompression=0", "-c",
				 "core.autocrlf=false", "add", "--all", "--", ".", ":(exclude,top).assay");
		free(work);
	}
	if (!st)
		st = RUN_COMMAND(b, &said, "git", b->git_directory, "write-tree");
	if (!st && !(tree = copy_first_line(&said)))
		st = assay_fail(b->err, ASSAY_E_IO, "git write-tree failed: %s", said.fault);
	else if (!st)
		snprintf(b->out->commit, sizeof(b->out->commit), "%s", tree);
	local_report_release(&said);
	mem_free(sources, real, tree);
	return st;
}

/* Writes the sources to b->whole, which must not exist. */
static enum assay_status check_out_sources(struct build_state *b, const struct repository *repository)
{
	char *work = mem_format("--work-tree=%s", b->whole);
	enum assay_status st;

	if (b->git_directory) {
		st = file_make_directory(b->whole, 0755, b->err);
		if (!st)
			st = RUN_CHECKED(b, "git checkout-index", GIT_MS, "git", "-C", b->whole, b->git_directory, work, "checkout-index",
					 "--all", "--force", "--quiet");
	} else {
		st = git_init(b, b->whole);
		if (!st)
			st = share_objects(b, repository);
		if (!st)
			st = copy_tags(b);
		if (!st)
			st = RUN_CHECKED(b, "git checkout", GIT_MS, "git", "-C", b->whole, "-c", "core.hooksPath=/dev/null", "-c",
					 "advice.detachedHead=false", "checkout", "--quiet", "--detach", repository->commit);
	}
	free(work);
	return st;
}

/* ---- file names of a build ---- */

static void release_paths(struct build_state *b)
{
	mem_free(b->whole, b->partial, b->log, b->record);
	b->whole = b->partial = b->log = b->record = NULL;
}

/* Appends the identity of all that a variant adds to a build: this program, the options, and the content of files that the options name. */
static void add_additions(const struct variant_request *r, struct buf *text)
{
	char *lines = mem_string(r->options ? r->options : ""), *rest = lines, *line;
	struct stat self = { 0 };

	stat("/proc/self/exe", &self);
	buf_format(text, "%lld %lld\n", (long long)self.st_size, (long long)self.st_mtime);
	while ((line = strsep(&rest, "\n"))) {
		const char *file = strstr(line, "=/");
		struct buf bytes = BUF_INIT;
		struct assay_error ignored;

		buf_format(text, "%s\n", line);
		if (file && !file_read(file + 1, RECORD_BYTES_MAX, &bytes, &ignored))
			buf_add(text, bytes.bytes ? bytes.bytes : "", bytes.size);
		buf_release(&bytes);
	}
	free(lines);
}

/* Sets the file names of a build, which contain a hash. Arguments are hashed with their lengths, so that different commands differ. */
static void set_paths(struct build_state *b, enum variant_kind kind)
{
	const struct variant_request *r = b->request;
	struct buf text = BUF_INIT;
	char hex[DIGEST_HEX_BYTES];

	release_paths(b);
	buf_format(&text, "build 1\n%s\n%s\n%s\n", b->out->commit, variant_kind_names[kind], b->compilers);
	for (size_t i = 0; i < r->n_build; i++)
		buf_format(&text, "%zu:%s\n", strlen(r->build[i]), r->build[i]);
	if (kind != VARIANT_PLAIN)
		add_additions(r, &text);
	digest_sha256(text.bytes, text.size, hex);
	buf_release(&text);
	b->whole = mem_format("%s/%.*s", b->folder, HASH_DIGITS, hex);
	b->partial = mem_format("%s.partial", b->whole);
	b->log = mem_format("%s.log", b->whole);
	b->record = mem_format("%s" RECORD_SUFFIX, b->whole);
}

static enum assay_status wait_for_lock(struct build_state *b, int *fd)
{
	char *path = mem_format("%s/lock", b->folder);
	enum assay_status st = ASSAY_OK;

	*fd = file_open_nofollow(path, O_RDWR | O_CREAT, 0644);
	if (*fd < 0)
		st = assay_fail_errno(b->err, errno, "cannot write '%s'", path);
	while (!st && flock(*fd, LOCK_EX | LOCK_NB)) {
		if (is_cancelled(b))
			st = assay_fail(b->err, ASSAY_E_IO, "cancelled while waiting for the build of another assay");
		else if (errno != EWOULDBLOCK && errno != EINTR)
			st = assay_fail_errno(b->err, errno, "cannot lock '%s'", path);
		else
			usleep(LOCK_POLL_US);
	}
	if (!st)
		b->running = mem_format("%s/running", b->folder);
	free(path);
	return st;
}

static bool is_complete(const struct build_state *b)
{
	struct stat info;

	return lstat(b->whole, &info) == 0 && S_ISDIR(info.st_mode) && access(b->partial, F_OK) != 0;
}

/* Removes the remains of builds that failed or were killed. The caller holds the lock, so no other process builds. */
static enum assay_status remove_leftovers(struct build_state *b)
{
	char **names;
	size_t n;
	enum assay_status st = file_list_names(b->folder, ".partial", &names, &n, b->err);

	for (size_t i = 0; i < n && !st; i++) {
		char *path = mem_format("%s/%.*s", b->folder, (int)(strlen(names[i]) - strlen(".partial")), names[i]);
		char *partial = mem_format("%s/%s", b->folder, names[i]);

		st = remove_tree(b, path);
		if (!st)
			st = remove_tree(b, partial);
		mem_free(path, partial);
	}
	file_names_free(names, n);
	return st;
}

/* ---- build ---- */

/* Syncs the build before removing its marker. So a build without a marker is complete even after a power failure. */
static enum assay_status mark_complete(struct build_state *b)
{
	int folder = open(b->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum assay_status st = ASSAY_OK;

	if (folder < 0 || syncfs(folder) || unlink(b->partial) || (fsync(folder) && errno != EINVAL))
		st = assay_fail_errno(b->err, errno, "cannot keep the build '%s'", b->whole);
	if (folder >= 0)
		close(folder);
	return st;
}

/* Finds request->path in a new or existing build. Refuses a symbolic link that leads out of the build. */
static enum assay_status find_path(struct build_state *b, char **out)
{
	const char *name = b->request->path;
	char *path = name ? mem_format("%s/%s", b->whole, name) : mem_string(b->whole), *real = realpath(path, NULL);
	size_t n = strlen(b->whole);
	enum assay_status st = ASSAY_OK;

	if (!real)
		st = assay_fail(b->err, ASSAY_E_NOTFOUND, "the build has no '%s'%s" VARIANT_LOG_PREFIX "%s'", name,
				b->request->n_build ? "" : ": no build command was given", b->log);
	else if (strncmp(real, b->whole, n) != 0 || (real[n] && real[n] != '/'))
		st = assay_fail(b->err, ASSAY_E_FORMAT, "'%s' is outside the build's tree", name);
	if (st)
		free(real);
	else
		*out = real;
	free(path);
	return st;
}

static enum assay_status refuse(struct build_state *b, enum variant_reason reason, char *text)
{
	free(b->out->text);
	b->out->reason = reason;
	b->out->text = text;
	return ASSAY_OK;
}

static enum assay_status run_command(struct build_state *b, enum variant_kind kind)
{
	const struct variant_request *r = b->request;
	const struct compiler_wrapper wrapper = {
		.kind = kind, .options = r->options, .links = b->links, .record = b->record, .tree = b->whole
	};
	struct local_report said = { .ok = false };
	struct buf what = BUF_INIT;
	size_t n, n_variables;
	char **words = compiler_wrapper_arguments(&wrapper, r->build, r->n_build, &n, &n_variables);
	const char **all = mem_new(n + 1, sizeof(*all));
	enum assay_status st;

	for (size_t i = 0; i < r->n_build; i++) {
		buf_text(&what, i ? " " : "");
		text_add_shell_argument(&what, r->build[i]);
	}
	all[0] = "env";
	memcpy(all + 1, words, n * sizeof(*words));
	st = run_program(b, all, n + 1, r->timeout_ms ? r->timeout_ms : BUILD_MS, b->whole, &said);
	if (!st && !said.ok) {
		char *name = mem_format("%sthe build command %s", b->n_compilers ? "" : "there is no C or C++ compiler in PATH; ",
					TEXT_SANITIZED(what.bytes));

		st = refuse(b, b->n_compilers ? VARIANT_BUILD_FAILED : VARIANT_NO_COMPILER, failure_text(b, name, &said));
		free(name);
	}
	local_report_release(&said);
	buf_release(&what);
	free(all);
	mem_free_all(words, n);
	return st;
}

static enum assay_status build_kind(struct build_state *b, enum variant_kind kind, const struct repository *repository)
{
	struct buf ignored = BUF_INIT;
	size_t n;
	char *path = NULL;
	enum assay_status st = remove_leftovers(b);

	if (!st)
		st = file_replace(b->partial, "", 0, 0600, b->err);
	if (!st)
		st = check_out_sources(b, repository);
	if (!st)
		st = compiler_wrapper_link(b->links, kind, &ignored, &n, b->err);
	if (!st)
		st = file_replace(b->record, "", 0, 0600, b->err);
	if (!st && b->request->n_build)
		st = run_command(b, kind);
	if (!st && !b->out->reason)
		st = find_path(b, &path);
	if (!st && !b->out->reason)
		st = mark_complete(b);
	buf_release(&ignored);
	free(path);
	return st;
}

/* Writes the log, which users read. Ignores a failure, because its message would replace a more important one. */
static void keep_log(struct build_state *b)
{
	struct assay_error ignored;

	if (b->log)
		file_replace(b->log, b->log_text.bytes ? b->log_text.bytes : "", b->log_text.size, 0600, &ignored);
	buf_clear(&b->log_text);
}

/* Finds the build of this kind, or makes it. *lock: descriptor of the lock, or -1; takes the lock if it is needed. */
static enum assay_status find_or_make(struct build_state *b, enum variant_kind kind, const struct repository *repository, int *lock)
{
	enum assay_status st = ASSAY_OK;

	set_paths(b, kind);
	if (!is_complete(b) && *lock < 0)
		st = wait_for_lock(b, lock);
	if (!st && !is_complete(b)) { /* another process may have made it while this one waited */
		st = build_kind(b, kind, repository);
		keep_log(b);
	}
	return st;
}

/* ---- comparison with the plain build ---- */

struct commands {
	const char *tree;    /* directory of the build */
	char *text, **lines; /* [n] distinct commands, sorted; pointers into `text` */
	size_t n;
	const char *refused; /* reason for the first refused command; NULL if there is none */
};

static enum assay_status commands_read(const char *tree, struct commands *out, struct assay_error *err)
{
	char *path = mem_format("%s" RECORD_SUFFIX, tree);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, RECORD_BYTES_MAX, &text, err);
	char *rest, *line;
	size_t n = 0, capacity = 0;

	free(path);
	*out = (struct commands){ .tree = tree, .text = buf_take(&text) };
	for (rest = out->text; (line = strsep(&rest, "\n"));) {
		if (*line == COMPILER_WRAPPER_REFUSED)
			out->refused = out->refused ? out->refused : line + 1;
		else if (*line)
			mem_append(out->lines, n, &capacity, line);
	}
	order_sort(out->lines, n, text_compare);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(out->lines[out->n - 1], out->lines[i]) != 0)
			out->lines[out->n++] = out->lines[i];
	return st;
}

static void commands_release(struct commands *commands)
{
	mem_free(commands->text, commands->lines);
}

/* Reports whether all input files of a command have been removed. Scripts that examine a compiler run such commands. The names of their
 * files contain a process id, so they differ from build to build. */
static bool is_for_removed_files(const char *tree, const char *line)
{
	struct buf text = BUF_INIT;
	struct compiler_command c = { .n = 0 };
	const char **words = NULL, *next;
	size_t n = 0, capacity = 0, there = 0;
	char *rest, *word;
	int directory;

	for (; (next = strstr(line, COMPILER_WRAPPER_TREE)); line = next + strlen(COMPILER_WRAPPER_TREE))
		buf_format(&text, "%.*s%s", (int)(next - line), line, tree);
	buf_text(&text, line);
	for (rest = text.bytes; (word = strsep(&rest, "\t"));)
		mem_append(words, n, &capacity, word);
	if (n > COMPILER_WRAPPER_FIELDS)
		compiler_command_parse(words + COMPILER_WRAPPER_FIELDS, n - COMPILER_WRAPPER_FIELDS, &c);
	directory = c.n ? open(words[COMPILER_WRAPPER_FIELDS - 1], O_PATH | O_CLOEXEC) : -1;
	for (size_t i = 0; i < c.n; i++) {
		const char *file = *c.words[i].words;
		bool is_input = c.words[i].kind == COMPILER_ARGUMENT_SOURCE || c.words[i].kind == COMPILER_ARGUMENT_OBJECT;

		there += is_input && (strcmp(file, "-") == 0 || faccessat(directory, file, F_OK, 0) == 0);
	}
	if (directory >= 0)
		close(directory);
	compiler_command_release(&c);
	buf_release(&text);
	free(words);
	return !there;
}

/* Returns the first command of `a` that `b` does not have; NULL if there is none. */
static const char *find_missing_command(const struct commands *a, const struct commands *b)
{
	for (size_t i = 0; i < a->n; i++)
		if ((!b->n || !bsearch(&a->lines[i], b->lines, b->n, sizeof(*b->lines), text_compare)) &&
		    !is_for_removed_files(a->tree, a->lines[i]))
			return a->lines[i];
	return NULL;
}

/* Returns a command for a message. Shows the compiler's file only if it differs from the one in `other`. The caller frees the text. */
static char *format_command(const char *line, const char *other)
{
	size_t n = line ? strcspn(line, "\t") : 0;
	bool same_file = other && strncmp(line ? line : "", other, n + 1) == 0;
	char *text = mem_format("%.*s", SHOWN_BYTES, !line ? "nothing" : same_file ? line + n + 1 : line);

	for (char *at = text; *at; at++)
		if (*at == '\t')
			*at = ' ';
	return text;
}

static void compare_commands(struct build_state *b, const struct commands *plain, const struct commands *now)
{
	const char *before = find_missing_command(plain, now), *after = find_missing_command(now, plain);
	char *texts[] = { format_command(before, after), format_command(after, before) };

	if (before || after)
		refuse(b, VARIANT_BUILD_DIFFERS,
		       mem_format("the plain build and this build differ: the plain build executes '%s', this build '%s'", texts[0],
				  texts[1]));
	mem_free(texts[0], texts[1]);
}

/* Checks whether the program can be measured. Accepts directories, and scripts made by libtool. */
static enum assay_status check_program(struct build_state *b, const char *path)
{
	enum variant_kind kind = b->request->kind;
	struct site_module module = { .n = 0 };
	struct assay_error why;
	enum assay_status st;

	if (b->out->reason || !*b->out->digest || (kind != VARIANT_FUNCTIONS && kind != VARIANT_COUNTERS))
		return ASSAY_OK;
	st = site_module_open(path, &module, &why);
	if (!st)
		st = (kind == VARIANT_FUNCTIONS ? site_module_check : site_module_check_emulated)(&module, &why);
	site_module_release(&module);
	return st ? refuse(b, VARIANT_NOT_PROBED, mem_string(why.text)) : ASSAY_OK;
}

static enum assay_status check_result(struct build_state *b, const char *plain_tree)
{
	struct commands plain = { .n = 0 }, now = { .n = 0 };
	enum assay_status st = commands_read(plain_tree, &plain, b->err);

	if (!st)
		st = commands_read(b->whole, &now, b->err);
	if (!st && now.refused)
		st = refuse(b, VARIANT_NOT_PROBED, mem_string(now.refused));
	else if (!st && !b->out->reason && !now.n)
		st = refuse(b, VARIANT_NOT_PROBED,
			    mem_string("the build called no compiler of PATH: it uses an absolute path, or everything was built before"));
	else if (!st && !b->out->reason)
		compare_commands(b, &plain, &now);
	commands_release(&plain);
	commands_release(&now);
	return st;
}

/* ---- plain build and variant ---- */

static enum assay_status make_folder(struct build_state *b)
{
	struct buf compilers = BUF_INIT;
	enum assay_status st = file_make_directory(b->request->cache, 0700, b->err);

	if (!st && !(b->folder = realpath(b->request->cache, NULL)))
		st = assay_fail_errno(b->err, errno, "cannot use '%s'", b->request->cache);
	if (!st)
		st = compiler_wrapper_link(NULL, VARIANT_PLAIN, &compilers, &b->n_compilers, b->err);
	b->compilers = buf_take(&compilers);
	b->links = mem_format("%s/compilers", b->folder ? b->folder : "");
	return st;
}

/* Makes the plain build, then the variant. */
static enum assay_status build_both(struct build_state *b, const struct repository *repository, int *lock)
{
	enum variant_kind kind = b->request->kind;
	char *plain = NULL;
	enum assay_status st = find_or_make(b, VARIANT_PLAIN, repository, lock);

	if (st || kind == VARIANT_PLAIN || b->out->reason)
		return st;
	if (!b->n_compilers)
		return refuse(b, VARIANT_NO_COMPILER, mem_string("there is no C or C++ compiler in PATH: install gcc or clang"));
	plain = mem_string(b->whole);
	st = find_or_make(b, kind, repository, lock);
	if (!st)
		st = check_result(b, plain);
	free(plain);
	return st;
}

static enum assay_status find_result(struct build_state *b)
{
	struct variant *out = b->out;
	struct buf program = BUF_INIT;
	struct stat info;
	char *path = NULL;
	enum assay_status st = find_path(b, &path);

	if (!st && !stat(path, &info) && S_ISREG(info.st_mode)) {
		st = file_read(path, PROGRAM_BYTES_MAX, &program, b->err);
		digest_sha256(program.bytes ? program.bytes : "", program.size, out->digest);
	}
	if (!st)
		st = check_program(b, path);
	if (!st && !out->reason) {
		out->path = path;
		out->tree = mem_string(b->whole);
		path = NULL;
	}
	buf_release(&program);
	free(path);
	return st;
}

enum assay_status variant_build(const struct variant_request *request, struct variant *out, struct assay_error *err)
{
	struct build_state b = { .request = request,
				 .cancelled = request->cancelled,
				 .repository = request->repository,
				 .reference = request->reference,
				 .out = out,
				 .err = err };
	struct repository repository = { .objects = NULL };
	enum assay_status st;
	int lock = -1;

	*out = (struct variant){ .reason = VARIANT_BUILT };
	st = make_folder(&b);
	if (!st && request->directory)
		st = wait_for_lock(&b, &lock);
	if (!st)
		st = request->directory ? import_directory(&b) : find_objects_and_commit(&b, &repository);
	if (!st && !request->directory)
		memcpy(out->commit, repository.commit, sizeof(out->commit));
	if (!st)
		st = build_both(&b, &repository, &lock);
	if (!st && !out->reason)
		st = find_result(&b);
	if (b.log)
		out->log = mem_string(b.log);
	if (b.git_directory) {
		char *sources = mem_format("%s/sources", b.folder);
		struct assay_error ignored;

		b.err = &ignored;
		remove_tree(&b, sources);
		free(sources);
	}
	if (lock >= 0)
		close(lock);
	repository_release(&repository);
	release_paths(&b);
	mem_free(b.folder, b.running, b.links, b.compilers, b.git_directory);
	buf_release(&b.log_text);
	return st;
}

void variant_release(struct variant *variant)
{
	mem_free(variant->text, variant->tree, variant->path, variant->log);
	*variant = (struct variant){ .reason = VARIANT_BUILT };
}

enum assay_status variant_resolve_commit(const char *repository, const char *reference, const volatile sig_atomic_t *cancelled,
					 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err)
{
	struct build_state b = { .cancelled = cancelled, .repository = repository, .reference = reference, .err = err };
	struct repository found = { .objects = NULL };
	enum assay_status st = find_objects_and_commit(&b, &found);

	memcpy(commit, found.commit, sizeof(found.commit));
	repository_release(&found);
	buf_release(&b.log_text);
	return st;
}
