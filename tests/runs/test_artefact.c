/* Tests artefacts: the deployed files and their hash, and the tree that git builds. */
#include "runs/running/artefact.h"

#include "runs/inside/changes/image.h"
#include "tests/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/un.h>
#include <sys/socket.h>

/* Returns the artefact as text: "MODE PATH BYTES" per file and "PATH/" per directory. */
static char *list_of(const struct artefact *a)
{
	struct buf list = BUF_INIT;

	for (size_t i = 0; i < a->n_directories; i++)
		buf_format(&list, "%s/ ", a->directories[i]);
	for (size_t i = 0; i < a->n; i++)
		buf_format(&list, "%o:%s:%zu ", (unsigned)a->files[i].mode, a->files[i].path, a->files[i].bytes);
	return buf_take(&list);
}

static void check_list(const struct artefact *a, const char *expected)
{
	char *list = list_of(a);

	assert_string_equal(list, expected);
	free(list);
}

static struct artefact collected(const char *base, const char *path, bool flat)
{
	struct artefact a;
	struct assay_error err;

	check(artefact_collect(base, &path, 1, flat, &a, &err), &err);
	return a;
}

static void make_tree(void)
{
	assert_int_equal(mkdir("t", 0755) | mkdir("t/sub", 0755) | mkdir("t/sub/empty", 0755) | mkdir("t/.git", 0755), 0);
	scratch_put("t/b", "bb");
	scratch_put("t/sub/a", "");
	scratch_put("t/.git/config", "not deployed");
	scratch_put("t/sub/.git", "not deployed");
	assert_int_equal(mkdir("t/sub/.assay", 0755), 0);
	scratch_put("t/sub/.assay/runs.db", "not deployed");
	scratch_put("t/.hidden", "h");
	assert_int_equal(chmod("t/b", 0700), 0);
}

static void test_collect(void **state)
{
	const char *several[] = { "t/", "t/sub/./", "./u.sql" };
	struct artefact a;
	struct assay_error err;

	make_tree();
	scratch_put("u.sql", "select");
	a = collected(".", "t", false);
	check_list(&a, "t/ t/sub/ t/sub/empty/ 644:t/.hidden:1 755:t/b:2 644:t/sub/a:0 ");
	assert_int_equal(a.bytes, 3);
	assert_true(a.files[0].source[0] == '/');
	artefact_release(&a);
	a = collected("t", ".", true);
	check_list(&a, "sub/ sub/empty/ 644:.hidden:1 755:b:2 644:sub/a:0 ");
	artefact_release(&a);
	a = collected("t", ".", false); /* the directory's own name */
	check_list(&a, "t/ t/sub/ t/sub/empty/ 644:t/.hidden:1 755:t/b:2 644:t/sub/a:0 ");
	artefact_release(&a);
	a = collected("nowhere", *state, true); /* the path is absolute */
	check_list(&a, "t/ t/sub/ t/sub/empty/ 644:t/.hidden:1 755:t/b:2 644:t/sub/a:0 644:u.sql:6 ");
	artefact_release(&a);
	a = collected(".", "u.sql", true);
	check_list(&a, "644:u.sql:6 ");
	assert_string_equal(a.files[0].hash, "b1a36d25d9633ed2ac04939fcb614ccb2b513243c148f18694592ae037f9d35f");
	artefact_release(&a);
	check(artefact_collect(".", several, 3, true, &a, &err), &err); /* several paths, each under its own name */
	check_list(&a, "sub/ sub/empty/ t/ t/sub/ t/sub/empty/ 644:sub/a:0 644:t/.hidden:1 755:t/b:2 644:t/sub/a:0 644:u.sql:6 ");
	artefact_release(&a);
	check(artefact_collect(".", NULL, 0, false, &a, &err), &err);
	assert_string_equal(a.hash, "");
	artefact_release(&a);
	a = collected("t/sub", "empty", false); /* only a directory */
	check_list(&a, "empty/ ");
	assert_string_equal(a.hash, "");
	artefact_release(&a);
}

/* Checks that the first 20 bytes of a file give the CPU architecture that it is for. */
static void test_architectures(void **state)
{
	const struct {
		const char *what, *expected;
		unsigned char class, order, type, machine;
		size_t n;
	} rows[] = {
		{ "program", "x86_64", 2, 1, 2, 62, 64 },
		{ "library, or a program that can lie anywhere", "aarch64", 2, 1, 3, 183, 64 },
		{ "32 bits", "i686", 1, 1, 2, 3, 52 },
		{ "its head alone", "aarch64", 2, 1, 2, 183, 20 },
		{ "the other order of bytes", "s390x", 2, 2, 2, 22, 64 },
		{ "an object file", NULL, 2, 1, 1, 183, 64 },
		{ "no host's processor", NULL, 2, 1, 3, 224, 64 },
		{ "cut off", NULL, 2, 1, 2, 62, 19 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned char bytes[64] = { 0x7f, 'E', 'L', 'F', rows[i].class, rows[i].order, 1 };
		bool big = rows[i].order == 2;
		const char *name;

		bytes[big ? 17 : 16] = rows[i].type;
		bytes[big ? 19 : 18] = rows[i].machine;
		name = image_architecture(bytes, rows[i].n);
		if ((name == NULL) != (rows[i].expected == NULL) || (name && strcmp(name, rows[i].expected) != 0))
			fail_msg("%s: %s", rows[i].what, name ? name : "none");
	}
	assert_null(image_architecture("#!/bin/sh\necho it is long enough\n", 32));
}

static void test_hash(void **state)
{
	char first[DIGEST_HEX_BYTES];
	struct artefact a;

	(void)state;
	make_tree();
	a = collected(".", "t", true);
	memcpy(first, a.hash, sizeof(first));
	artefact_release(&a);
	assert_int_equal(chmod("t/b", 0755) | rename("t", "u"), 0); /* other mode bits and the place do not change the hash */
	a = collected(".", "u", true);
	assert_string_equal(a.hash, first);
	artefact_release(&a);
	for (int i = 0; i < 5; i++) {
		switch (i) {
		case 0:
			scratch_put("u/b", "bc");
			break; /* its content, and its mode */
		case 1:
			scratch_put("u/b", "bb");
			break; /* only its mode */
		case 2:
			assert_int_equal(chmod("u/b", 0755) | rename("u/b", "u/c"), 0);
			break; /* its name */
		case 3:
			assert_int_equal(rename("u/c", "u/b") | mkdir("u/more", 0755), 0);
			break; /* an empty directory */
		default:
			assert_int_equal(rmdir("u/more") | rename("u/sub/a", "u/a"), 0); /* the same name in another directory */
		}
		a = collected(".", "u", true);
		assert_string_not_equal(a.hash, first);
		artefact_release(&a);
	}
	assert_int_equal(rename("u/a", "u/sub/a"), 0);
	a = collected(".", "u", true);
	assert_string_equal(a.hash, first);
	artefact_release(&a);
}

static void check_refused(const char *what, const char *path, enum assay_status status, const char *part)
{
	struct artefact a;
	struct assay_error err;

	check_fails(what, artefact_collect(".", &path, 1, true, &a, &err), status, &err, part);
	assert_null(a.files);
}

static void test_links(void **state)
{
	struct artefact a;

	(void)state;
	make_tree();
	scratch_put("outside", "secret");
	assert_int_equal(symlink("b", "t/l1") | symlink("../t/sub", "t/l2") | symlink("t", "link"), 0);
	a = collected(".", "link", true); /* the named path may itself be a link */
	check_list(&a, "l2/ l2/empty/ sub/ sub/empty/ 644:.hidden:1 755:b:2 755:l1:2 644:l2/a:0 644:sub/a:0 ");
	artefact_release(&a);
	assert_int_equal(symlink("../outside", "t/out"), 0);
	check_refused("out", "t", ASSAY_E_FORMAT, "t/out' points outside of");
	assert_int_equal(unlink("t/out") | symlink("/etc", "t/out"), 0);
	check_refused("etc", "t", ASSAY_E_FORMAT, "points outside of");
	assert_int_equal(unlink("t/out") | mkdir("tt", 0755) | symlink("../tt", "t/out"), 0); /* "t" is a prefix of "tt" */
	check_refused("beside", "t", ASSAY_E_FORMAT, "points outside of");
	assert_int_equal(unlink("t/out") | symlink("nothing", "t/out"), 0);
	check_refused("dangling", "t", ASSAY_E_IO, "cannot follow the symbolic link");
	assert_int_equal(unlink("t/out") | symlink("..", "t/sub/up"), 0);
	check_refused("up", "t", ASSAY_E_FORMAT, "points to a directory that contains it");
	assert_int_equal(unlink("t/sub/up") | unlink("t/l2") | mkdir("t/x", 0755) | symlink("../sub", "t/x/y") | symlink("../x", "t/sub/z"),
			 0);
	check_refused("two links in a circle", "t", ASSAY_E_FORMAT, "points to a directory that contains it");
}

static void test_refused(void **state)
{
	const char *same[] = { "a/data", "b/data/" };
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "t/socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct artefact a;
	struct assay_error err;

	(void)state;
	assert_int_equal(mkdir("t", 0755) | mkdir("a", 0755) | mkdir("b", 0755) | mkdir("b/data", 0755), 0);
	scratch_put("a/data", "x");
	check_fails("same", artefact_collect(".", same, 2, false, &a, &err), ASSAY_E_FORMAT, &err,
		    "'a/data' and 'b/data/' would both be 'data'");
	check_refused("missing", "nowhere", ASSAY_E_NOTFOUND, "cannot deploy './nowhere'");
	check_refused("a device", "/dev/null", ASSAY_E_FORMAT, "neither a file nor a directory");
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	check_refused("a socket", "t", ASSAY_E_FORMAT, "t/socket' is neither a file nor a directory");
	assert_int_equal(unlink("t/socket") | mkfifo("t/pipe", 0600), 0);
	check_refused("a pipe", "t", ASSAY_E_FORMAT, "t/pipe' is neither a file nor a directory");
	assert_int_equal(unlink("t/pipe"), 0);
	scratch_put("t/two\nlines", "x");
	check_refused("a name of two lines", "t", ASSAY_E_FORMAT, "'two?lines'");
	assert_int_equal(unlink("t/two\nlines"), 0);
	scratch_put("t/\xff", "x");
	check_refused("no text", "t", ASSAY_E_FORMAT, "not UTF-8");
	close(fd);
}

static void test_limits(void **state)
{
	struct artefact a;
	int fd;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	for (int i = 0; i < ARTEFACT_FILES_MAX; i++) {
		char path[32];

		snprintf(path, sizeof(path), "t/%d", i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	a = collected(".", "t", true);
	assert_int_equal(a.n, ARTEFACT_FILES_MAX);
	artefact_release(&a);
	scratch_put("t/more", "");
	check_refused("files", "t", ASSAY_E_LIMIT, "more than 4096 files");
	scratch_put("big", "");
	assert_int_equal(truncate("big", (64 << 20) + 1), 0);
	check_refused("bytes", "big", ASSAY_E_LIMIT, "67108865 bytes; at most 67108864");
}

int suite_artefact(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_collect), cmocka_unit_test(test_architectures), SCRATCH_TEST(test_hash),
		SCRATCH_TEST(test_links),   SCRATCH_TEST(test_refused),		  SCRATCH_TEST(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
