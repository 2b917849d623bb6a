#include "base/file.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int enter_directory(void **state)
{
	char *directory = mem_string("/tmp/assay-test-XXXXXX");

	*state = directory;
	return !mkdtemp(directory) || chdir(directory);
}

static size_t count_files(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static int leave_directory(void **state)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	int failed;

	while (dir && (entry = readdir(dir)))
		if (unlink(entry->d_name))
			rmdir(entry->d_name);
	closedir(dir);
	failed = chdir("/") || rmdir(*state);
	free(*state);
	return failed;
}

static void expect_content(const char *path, const char *expected)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;

	if (file_read(path, 1000, &bytes, &err))
		fail_msg("%s", err.text);
	assert_string_equal(bytes.bytes, expected);
	assert_int_equal(bytes.size, strlen(expected));
	buf_release(&bytes);
}

static void put(const char *path, const char *text)
{
	struct assay_error err;

	if (file_replace(path, text, strlen(text), 0644, &err))
		fail_msg("%s", err.text);
}

static void test_read(void **state)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;

	(void)state;
	put("a", "12345");
	assert_int_equal(file_read("a", 5, &bytes, &err), ASSAY_OK);
	assert_string_equal(bytes.bytes, "12345");
	assert_int_equal(file_read("a", 4, &bytes, &err), ASSAY_E_LIMIT);
	assert_string_equal(err.text, "cannot read 'a': 5 bytes; at most 4 are read");
	assert_string_equal(bytes.bytes, "12345"); /* unchanged */
	put("a", "");
	assert_int_equal(file_read("a", 0, &bytes, &err), ASSAY_OK);
	assert_string_equal(bytes.bytes, ""); /* replaced, and not NULL */
	assert_int_equal(file_read("none", 5, &bytes, &err), ASSAY_E_NOTFOUND);
	assert_string_equal(err.text, "cannot read 'none': no such file");
	assert_int_equal(file_read(".", 5, &bytes, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot read '.': it is a directory");
	assert_int_equal(file_read("/dev/zero", 5, &bytes, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot read '/dev/zero': it is not a regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(file_read("fifo", 5, &bytes, &err), ASSAY_E_IO); /* returns without waiting for a writer */
	assert_int_equal(file_read("a/b", 5, &bytes, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot read 'a/b': Not a directory");
	buf_release(&bytes);
}

/* Checks files of /proc, which report a size of 0 bytes. */
static void test_read_size_unknown(void **state)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;

	(void)state;
	assert_int_equal(file_read("/proc/self/status", 1 << 20, &bytes, &err), ASSAY_OK);
	assert_true(bytes.size > 5);
	assert_int_equal(file_read("/proc/self/status", 5, &bytes, &err), ASSAY_E_LIMIT);
	buf_release(&bytes);
}

static void test_read_standard_input(void **state)
{
	int saved = dup(STDIN_FILENO), ends[2];
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	enum assay_status first, second;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "hello", 5), 5);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	first = file_read("-", 5, &bytes, &err);
	close(STDIN_FILENO);
	close(ends[0]);
	second = file_read("-", 5, &bytes, &err);
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(first, ASSAY_OK);
	assert_string_equal(bytes.bytes, "hello");
	assert_int_equal(second, ASSAY_E_IO);
	assert_string_equal(err.text, "cannot read 'standard input': Bad file descriptor");
	buf_release(&bytes);
}

static void test_replace(void **state)
{
	struct assay_error err;

	(void)state;
	put("a", "old");
	put("a", "new");
	expect_content("a", "new");
	assert_int_equal(file_replace("./b", NULL, 0, 0600, &err), ASSAY_OK);
	expect_content("b", "");
	assert_int_equal(file_replace_unsynced("a", "later", 5, 0644, &err), ASSAY_OK);
	expect_content("a", "later");
	assert_int_equal(file_sync_all(".", &err), ASSAY_OK);
	assert_int_equal(file_sync_all("none", &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot sync 'none' to the disk: No such file or directory");
	assert_int_equal(count_files(), 2);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* Checks that replacing a file does not restore permissions that the umask or the owner of the file denies to others. */
static void test_replace_mode(void **state)
{
	mode_t old = umask(022);
	struct assay_error err;

	(void)state;
	put("a", "new");
	assert_int_equal(mode_of("a"), 0644);
	umask(077);
	put("a", "again");
	assert_int_equal(mode_of("a"), 0644); /* created under another umask */
	put("b", "new");
	assert_int_equal(mode_of("b"), 0600);
	umask(022);
	put("b", "again");
	assert_int_equal(mode_of("b"), 0600); /* as for a known_hosts file that only its owner may read */
	assert_int_equal(file_replace("a", "x", 1, 0600, &err), ASSAY_OK);
	assert_int_equal(mode_of("a"), 0600);
	umask(old);
}

static void *put_many(void *name)
{
	struct assay_error err;

	for (int i = 0; i < 200; i++) {
		unlink(name);
		if (file_replace(name, "new", 3, 0666, &err) || mode_of(name) != 0644)
			return name;
	}
	return NULL;
}

/* Checks that several threads may replace files at once: neither these files nor files created later get another mode. */
static void test_replace_mode_threads(void **state)
{
	static char names[4][2] = { "a", "b", "c", "d" };
	mode_t old = umask(022);
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, names[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(umask(old), 022);
}

static void test_replace_link(void **state)
{
	struct stat st;

	(void)state;
	put("a", "old");
	assert_int_equal(symlink("a", "link"), 0);
	put("link", "new");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_content("a", "new");
}

static void test_replace_refused(void **state)
{
	struct assay_error err;
	struct stat st;

	(void)state;
	assert_int_equal(file_replace("none/a", "x", 1, 0600, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot write 'none/a': there is no directory 'none' (mkdir -p makes it)");
	assert_int_equal(file_replace(".", "x", 1, 0600, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot write '.': it is a directory");
	assert_int_equal(file_replace("/dev/full", "x", 1, 0600, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot write '/dev/full': it is not a regular file");
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode)); /* root could have replaced the device by a file */
	assert_int_equal(file_replace("", "x", 1, 0600, &err), ASSAY_E_IO);
	assert_int_equal(count_files(), 0);
	assert_int_equal(symlink("none", "link"), 0);
	assert_int_equal(file_replace("link", "x", 1, 0600, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot use 'link': 'link' is a dangling symbolic link");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

#define LARGE_BYTES (1 << 20)

/* Checks a write that fails in the middle: the old file is unchanged, no other file is left, and the error names file and cause. */
static void check_interrupted(int expected_errno)
{
	char *large = mem_new(LARGE_BYTES, 1), *expected = mem_format("cannot write 'a': %s", strerror(expected_errno));
	struct assay_error err = { .text = "" };
	enum assay_status st = file_replace("a", large, LARGE_BYTES, 0644, &err);

	free(large);
	assert_int_equal(st, ASSAY_E_IO);
	assert_string_equal(err.text, expected);
	assert_int_equal(count_files(), 1);
	expect_content("a", "old");
	free(expected);
}

static void test_size_limit(void **state)
{
	struct rlimit old, small;

	(void)state;
	put("a", "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 4096;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	check_interrupted(EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* Mounts a file system of 64 kB that only this process sees. */
static bool mount_small_disk(void)
{
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && !mkdir("disk", 0700) &&
	       !mount("none", "disk", "tmpfs", 0, "size=64k") && !chdir("disk") && !mknod("x", S_IFREG | 0600, 0) &&
	       !unlink("x"); /* fails for every user whose ID is not mapped in the new user namespace */
}

static void test_full_disk(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		if (!mount_small_disk())
			_exit(77);
		put("a", "old");
		check_interrupted(ENOSPC); /* a failed assertion ends the child with another status */
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no file system can be mounted here\n");
		skip();
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Checks a directory without write permission. Root may write anywhere, so the child changes to another user. */
static void test_no_permission(void **state)
{
	struct assay_error err = { .text = "" };
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		if (chmod(".", 0555) || (geteuid() == 0 && (setgid(65534) || setuid(65534))))
			_exit(77);
		if (file_replace("a", "x", 1, 0644, &err) != ASSAY_E_IO)
			_exit(1);
		_exit(strcmp(err.text, "cannot write 'a': Permission denied") ? 2 : 0);
	}
	waitpid(child, &status, 0);
	chmod(".", 0700);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static size_t peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (size_t)usage.ru_maxrss;
}

/* Checks that holes of a sparse file are read as zeros and take no memory. */
static void test_hole(void **state)
{
	const size_t size = 256 << 20, at = 128 << 20;
	int file = open("sparse", O_RDWR | O_CREAT, 0600);
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	size_t before;

	(void)state;
	assert_int_equal(ftruncate(file, (off_t)size), 0);
	assert_int_equal(pwrite(file, "x", 1, (off_t)at), 1);
	before = peak_kib();
	assert_int_equal(file_read("sparse", size - 1, &bytes, &err), ASSAY_E_LIMIT);
	assert_int_equal(file_read("sparse", size, &bytes, &err), ASSAY_OK);
	if (lseek(file, 0, SEEK_DATA) > 0)
		assert_in_range(peak_kib() - before, 0, 64 << 10);
	assert_int_equal(bytes.size, size);
	assert_int_equal(bytes.bytes[at - 1], 0);
	assert_int_equal(bytes.bytes[at], 'x');
	assert_int_equal(bytes.bytes[size - 1], 0);
	close(file);
	buf_release(&bytes);
}

static void test_make_directory(void **state)
{
	struct assay_error err;
	struct stat st;

	(void)state;
	assert_int_equal(file_make_directory("d", 0700, &err), ASSAY_OK);
	assert_int_equal(file_make_directory("d", 0700, &err), ASSAY_OK);
	assert_int_equal(stat("d", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(file_make_directory("none/d", 0700, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot make the directory 'none/d': there is no directory 'none' (mkdir -p makes it)");
	put("a", "x");
	assert_int_equal(file_make_directory("a", 0700, &err), ASSAY_E_IO);
	assert_string_equal(err.text, "cannot make the directory 'a': a file of that name exists");
}

static void test_names(void **state)
{
	static const char *const made[] = { "b.x", "a.x", ".c.x", ".x", "d.xx", "B.x" };
	struct assay_error err;
	char **names;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		put(made[i], "");
	assert_int_equal(file_list_names(".", ".x", &names, &n, &err), ASSAY_OK);
	assert_int_equal(n, 3);
	assert_string_equal(names[0], "B.x"); /* sorted by bytes, not by locale */
	assert_string_equal(names[1], "a.x");
	assert_string_equal(names[2], "b.x");
	file_names_free(names, n);
	assert_int_equal(file_list_names(".", "", &names, &n, &err), ASSAY_OK);
	assert_int_equal(n, 4);
	file_names_free(names, n);
	assert_int_equal(file_list_names(".", ".none", &names, &n, &err), ASSAY_OK);
	assert_int_equal(n, 0);
	file_names_free(names, n);
	assert_int_equal(file_list_names("none", "", &names, &n, &err), ASSAY_E_NOTFOUND);
	file_names_free(names, n);
	assert_int_equal(file_list_names("a.x", "", &names, &n, &err), ASSAY_E_NOTFOUND);
	assert_string_equal(err.text, "there is no directory 'a.x'");
}

/* Checks dangling links: they are errors, not absent files. The target may be on a disk with results that is not mounted. */
static void test_links_to_nothing(void **state)
{
	static const char *const paths[] = { "link", "link/a", "link/a/b" };
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	char **names;
	size_t n;

	(void)state;
	assert_int_equal(symlink("away", "link"), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(file_read(paths[i], 5, &bytes, &err), ASSAY_E_IO);
		assert_int_equal(file_list_names(paths[i], "", &names, &n, &err), ASSAY_E_IO);
		assert_int_equal(file_check_replaceable(paths[i], &err), ASSAY_E_IO);
		assert_non_null(strstr(err.text, "': 'link' is a dangling symbolic link"));
	}
	assert_int_equal(file_make_directory("link", 0700, &err), ASSAY_E_IO);
	assert_int_equal(mkdir("away", 0700), 0);
	assert_int_equal(file_read("link", 5, &bytes, &err), ASSAY_E_IO); /* a directory */
	assert_int_equal(file_read("link/a", 5, &bytes, &err), ASSAY_E_NOTFOUND);
	assert_int_equal(file_list_names("link", "", &names, &n, &err), ASSAY_OK);
	file_names_free(names, n);
	assert_int_equal(file_check_replaceable("link/a", &err), ASSAY_OK);
	assert_int_equal(file_fail_absent("away/b", &err), ASSAY_E_NOTFOUND);
	assert_int_equal(file_fail_absent("", &err), ASSAY_E_NOTFOUND);
	assert_int_equal(file_fail_absent("/none", &err), ASSAY_E_NOTFOUND);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(rmdir("away"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_directory, leave_directory)

int suite_file(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_links_to_nothing),	 TEST(test_read),	  TEST(test_read_size_unknown),
		TEST(test_read_standard_input),	 TEST(test_replace),	  TEST(test_replace_mode),
		TEST(test_replace_mode_threads), TEST(test_replace_link), TEST(test_replace_refused),
		TEST(test_size_limit),		 TEST(test_full_disk),	  TEST(test_no_permission),
		TEST(test_make_directory),	 TEST(test_names),	  TEST(test_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
