/* Tests builds of a git reference: they are complete or absent, and leave no other files. */
#include "runs/running/artefact.h"
#include "tests/scratch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#define KILL_WAIT_MS 20000

/* Runs a program and checks that it succeeds. */
#define RUN(...) run_words((const char *const[]){ __VA_ARGS__, NULL })
static void run_words(const char *const *words)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("%s %s %s: status %d", words[0], words[1], words[2] ? words[2] : "", status);
}

/* Creates a laboratory with a manifest, and a repository with two tagged commits and uncommitted changes. */
static int enter(void **state)
{
	char *home;

	if (scratch_enter(state))
		return 1;
	home = mem_format("%s/home", (const char *)*state);
	setenv("HOME", home, 1);
	unsetenv("XDG_CACHE_HOME");
	free(home);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
	setenv("GIT_AUTHOR_NAME", "a", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "a", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	if (mkdir("home", 0755) || mkdir("lab", 0755) || mkdir("lab/apps", 0755) || mkdir("repo", 0755))
		return 1;
	RUN("git", "-C", "repo", "init", "--quiet", "--initial-branch=main");
	scratch_put("repo/text", "one");
	RUN("git", "-C", "repo", "add", "text");
	RUN("git", "-C", "repo", "commit", "--quiet", "-m", "one");
	RUN("git", "-C", "repo", "tag", "v1");
	scratch_put("repo/text", "two");
	RUN("git", "-C", "repo", "commit", "--quiet", "-a", "-m", "two");
	RUN("git", "-C", "repo", "tag", "v2");
	scratch_put("repo/text", "not committed");
	scratch_put("repo/untracked", "not committed");
	return 0;
}

#define BUILD_TEST(name) cmocka_unit_test_setup_teardown(name, enter, scratch_leave)

/* Returns a manifest whose version 0 is {git: {...}} with the content `git`. */
static struct manifest manifest_with(const char *git)
{
	char *text = mem_format("command: ['{build}/x']\nversions:\n  new: {git: {%s}}\n", git);
	struct manifest m;
	struct assay_error err;

	check(manifest_parse("lab/apps/app.yaml", text, strlen(text), &m, &err), &err);
	free(text);
	return m;
}

static enum assay_status build_with(const char *git, const volatile sig_atomic_t *cancelled, char **directory, char commit[41],
				    struct assay_error *err)
{
	struct manifest m = manifest_with(git);
	struct variant built;
	enum assay_status st = artefact_build("lab", &m, 0, m.versions[0].own, VARIANT_PLAIN, cancelled, &built, err);

	memcpy(commit, built.commit, sizeof(built.commit));
	*directory = built.path;
	built.path = NULL;
	variant_release(&built);
	manifest_release(&m);
	return st;
}

static char *built(const char *git)
{
	char *directory, commit[41];
	struct assay_error err;

	check(build_with(git, NULL, &directory, commit, &err), &err);
	assert_int_equal(strlen(commit), 40);
	return directory;
}

static void check_text(const char *directory, const char *name, const char *expected)
{
	char *path = mem_format("%s/%s", directory, name), *text = scratch_text(path);

	assert_string_equal(text, expected);
	free(text);
	free(path);
}

static void check_built(const char *git, const char *name, const char *expected)
{
	char *directory = built(git);

	assert_true(*directory == '/');
	check_text(directory, name, expected);
	free(directory);
}

static void test_references(void **state)
{
	char *first, *again, commit[41];
	struct assay_error err;

	(void)state;
	check_built("repository: ../../repo, reference: v1", "text", "one");
	check_built("repository: ../../repo, reference: HEAD", "text", "two");
	check_built("repository: ../../repo, reference: main~1", "text", "one");
	check_built("repository: ../../repo/.git, reference: v2", "text", "two");
	setenv("GIT_DIR", "/nowhere", 1); /* as git sets them in a hook */
	setenv("GIT_INDEX_FILE", "/nowhere/index", 1);
	check_built("repository: ../../repo, reference: v1, build: [sh, -c, 'git describe --tags >out']", "out", "v1\n");
	unsetenv("GIT_DIR");
	unsetenv("GIT_INDEX_FILE");
	check(build_with("repository: ../../repo, reference: v1", NULL, &first, commit, &err), &err);
	assert_int_equal(strspn(commit, "0123456789abcdef"), 40);
	again = built("repository: ../../repo, reference: main^");
	assert_string_equal(first, again); /* the same commit gives the same build */
	free(again);
	again = built("repository: ../../repo, reference: v1, build: ['true']");
	assert_string_not_equal(first, again);
	free(again);
	free(first);
}

/* Checks repositories whose objects are not all below .git. */
static void test_repositories(void **state)
{
	char *url = mem_format("file://%s/repo", (const char *)*state);

	RUN("git", "-C", "repo", "worktree", "add", "--quiet", "--detach", "../linked", "v1");
	check_built("repository: ../../linked, reference: HEAD", "text", "one"); /* the HEAD of the linked work tree */
	check_built("repository: ../../linked, reference: v2", "text", "two");
	RUN("git", "clone", "--quiet", "--bare", "repo", "bare");
	check_built("repository: ../../bare, reference: v1, directory: .", "text", "one");
	RUN("git", "clone", "--quiet", "--depth=1", url, "shallow");
	check_built("repository: ../../shallow, reference: HEAD, build: [sh, -c, 'git log --format=%s >out']", "out", "two\n");
	RUN("git", "clone", "--quiet", "--shared", "repo", "borrower");
	check_built("repository: ../../borrower, reference: origin/main~1, build: [sh, -c, 'cp text out']", "out", "one");
	RUN("git", "-C", "repo", "checkout", "--quiet", "-f", "--detach", "v1");
	RUN("git", "-C", "repo", "commit", "--quiet", "--allow-empty", "-m", "on no branch");
	check_built("repository: ../../repo, reference: HEAD, build: [sh, -c, 'git log -1 --format=%s >out']", "out", "on no branch\n");
	free(url);
}

/* Checks that a repository of another user works as soon as git's safe.directory permits it. */
static void test_another_user(void **state)
{
	char *directory, commit[41], *config, *permission = mem_format("[safe]\n\tdirectory = %s/repo\n", (const char *)*state);
	struct assay_error err;

	if (geteuid() != 0) {
		free(permission);
		skip();
	}
	RUN("chown", "-R", "nobody", "repo");
	check_fails("not allowed", build_with("repository: ../../repo, reference: v1", NULL, &directory, commit, &err), ASSAY_E_NOTFOUND,
		    &err, "as a git repository: fatal: detected dubious ownership");
	scratch_put("permission", permission);
	config = mem_format("%s/permission", (const char *)*state);
	setenv("GIT_CONFIG_GLOBAL", config, 1);
	free(config);
	check_built("repository: ../../repo, reference: v1", "text", "one");
	free(permission);
}

/* Returns the state of the repository as text, except for the index, which reading may change. */
static char *state_of_repository(void)
{
	RUN("sh", "-c",
	    "cd repo && { git status --porcelain; git worktree list; git for-each-ref; git config --list --local; cat text; "
	    "find . -path ./.git/index -prune -o -type f -printf '%p %s %T@\\n' | sort; } >../state");
	return scratch_text("state");
}

static void test_repository_stays(void **state)
{
	char *before, *after;

	(void)state;
	RUN("git", "-C", "repo", "config", "core.hooksPath", "../hooks");
	assert_int_equal(mkdir("hooks", 0755), 0);
	scratch_put("hooks/post-checkout", "#!/bin/sh\ntouch hook-was-run\n");
	assert_int_equal(chmod("hooks/post-checkout", 0755), 0);
	before = state_of_repository();
	check_built("repository: ../../repo, reference: v1, build: [sh, -c, 'echo x >text; ls >out']", "out", "out\ntext\n");
	after = state_of_repository();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_built_once(void **state)
{
	static const char git[] =
	    "repository: ../../repo, reference: v1, build: [sh, -c, 'echo x >>../../../../count; mkdir out; echo y >out/z'], "
	    "directory: out";
	char *first = built(git), *second = built(git);

	(void)state;
	assert_string_equal(first, second);
	assert_true(strstr(first, "/lab/.assay/builds/") && !strcmp(first + strlen(first) - 4, "/out"));
	check_text(first, "z", "y\n");
	check_text(".", "count", "x\n");
	free(first);
	free(second);
}

static void test_failures(void **state)
{
	static const struct {
		const char *git;
		enum assay_status status;
		const char *error;
	} rows[] = {
		{ "repository: ../../repo, reference: v3", ASSAY_E_NOTFOUND,
		  "lab/apps/app.yaml:3: version 'new': the repository 'lab/apps/../../repo' has no commit 'v3'" },
		{ "repository: ../../repo, reference: 'HEAD:text'", ASSAY_E_NOTFOUND, "has no commit 'HEAD:text'" },
		{ "repository: ../../nowhere, reference: v1", ASSAY_E_NOTFOUND, "as a git repository: fatal: cannot change to" },
		{ "repository: ../../home, reference: v1", ASSAY_E_NOTFOUND, "as a git repository: fatal: not a git repository" },
		{ "repository: ../../repo, reference: v1, directory: out", ASSAY_E_NOTFOUND, "the build has no 'out'" },
		{ "repository: ../../repo, reference: v1, directory: l, build: [ln, -s, /etc, l]", ASSAY_E_FORMAT,
		  "'l' is outside the build" },
		{ "repository: ../../repo, reference: v1, build: [sh, -c, 'echo first; echo the reason >&2; exit 3']", ASSAY_E_IO,
		  "failed: exit status 3: 'the reason'; see '" },
		{ "repository: ../../repo, reference: v1, build: [sh, -c, 'echo said; kill -9 $$']", ASSAY_E_IO,
		  "the build command sh -c 'echo said; kill -9 $$' failed: ended by SIGKILL: 'said'" },
		{ "repository: ../../repo, reference: v1, build: [no-such-program]", ASSAY_E_IO, "no-such-program" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *directory, commit[41];
		struct assay_error err;

		for (int k = 0; k < 2; k++) { /* a failed build is not reused the second time */
			check_fails(rows[i].git, build_with(rows[i].git, NULL, &directory, commit, &err), rows[i].status, &err,
				    rows[i].error);
			assert_null(directory);
			assert_null(strchr(err.text, '\n'));
		}
	}
	RUN("sh", "-c",
	    "grep -q '^the reason$' lab/.assay/builds/*.log && grep -q '^assay: exit status 3$' lab/.assay/builds/*.log && "
	    "grep -q '^\\$ git .* checkout ' lab/.assay/builds/*.log");
	check_built("repository: ../../repo, reference: v2", "text", "two"); /* the next build removes the partial one */
	RUN("sh", "-c", "! ls lab/.assay/builds/*.partial 2>/dev/null");
}

/* ---- builds that are ended ---- */

static bool wait_for_file(const char *path)
{
	for (int i = 0; i < KILL_WAIT_MS / 10; i++) {
		if (access(path, F_OK) == 0)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

/* Checks that the processes listed in ./pids are gone. */
static void check_gone(void)
{
	char *text = scratch_text("pids");
	size_t n = 0;

	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		int i = 0;

		if (end == at)
			break;
		n++;
		while (kill(pid, 0) == 0 && i++ < KILL_WAIT_MS / 10)
			poll(NULL, 0, 10);
		assert_true(kill(pid, 0) < 0 && errno == ESRCH);
	}
	assert_int_equal(n, 3);
	free(text);
}

/* A build that runs until it is killed, with processes that ignore signals. If ./go exists, it ends at once. */
static const char endless[] =
    "repository: ../../repo, reference: v1, directory: out, build: [sh, -c, 'top=../../../..; mkdir out; if [ -e $top/go ]; then echo x "
    ">out/y; exit; fi; "
    "trap \"\" TERM HUP; sleep 1000 & a=$!; setsid sleep 1000 & echo $$ $a $! >$top/pids.new; mv $top/pids.new $top/pids; wait']";

static volatile sig_atomic_t cancelled;

static void *cancel_later(void *argument)
{
	(void)argument;
	wait_for_file("pids");
	cancelled = 1;
	return NULL;
}

static void check_recovers(void)
{
	char *directory;

	scratch_put("go", "");
	directory = built(endless);
	check_text(directory, "y", "x\n");
	free(directory);
}

static void test_cancel(void **state)
{
	char *directory, commit[41];
	struct assay_error err;
	pthread_t thread;

	(void)state;
	cancelled = 0;
	assert_int_equal(pthread_create(&thread, NULL, cancel_later, NULL), 0);
	check_fails("cancelled", build_with(endless, &cancelled, &directory, commit, &err), ASSAY_E_IO, &err, "cancelled");
	assert_int_equal(pthread_join(thread, NULL), 0);
	check_gone();
	check_recovers();
}

static void build_endless(void)
{
	char *directory, commit[41];

	if (!build_with(endless, NULL, &directory, commit, NULL))
		free(directory);
}

static void test_kill(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child) {
		build_endless();
		_exit(0);
	}
	assert_true(wait_for_file("pids"));
	scratch_kill(child);
	check_recovers(); /* waits until the first build is completely gone */
	check_gone();
}

static void test_two_at_once(void **state)
{
	static const char git[] =
	    "repository: ../../repo, reference: v1, build: [sh, -c, 'echo x >>../../../../count; sleep 0.3; echo y >out']";
	pid_t children[3];
	int status;

	(void)state;
	for (int i = 0; i < 3; i++) {
		children[i] = fork();
		if (!children[i]) {
			char *directory = NULL, commit[41];
			enum assay_status st = build_with(git, NULL, &directory, commit, NULL);

			free(directory);
			_exit(st ? 1 : 0);
		}
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	check_text(".", "count", "x\n");
	check_built(git, "out", "y\n");
}

int suite_artefact_build(void)
{
	const struct CMUnitTest tests[] = {
		BUILD_TEST(test_references),	   BUILD_TEST(test_repositories), BUILD_TEST(test_another_user),
		BUILD_TEST(test_repository_stays), BUILD_TEST(test_built_once),	  BUILD_TEST(test_failures),
		BUILD_TEST(test_cancel),	   BUILD_TEST(test_kill),	  BUILD_TEST(test_two_at_once),
	};

	if (access("/usr/bin/git", X_OK)) {
		printf("skipped: no git here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
