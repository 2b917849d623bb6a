/* Tests the writer without room: size limit, full disk, no descriptor, or an unreachable file. It drops and counts samples and never
 * stops the program. */
#include "tests/runs/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

static void test_full(void **state)
{
	struct record_options small = options;
	struct record_writer w;
	struct record_thread t = { 0 }, final = { .final = true };
	struct samples s;
	size_t written = 0;

	(void)state;
	small.chunk_bytes = 4096;
	small.names_bytes_max = 4096;
	small.file_bytes_max = 5 * 4096;
	assert_int_equal(record_open(&w, &small), 0);
	record_add_function(&w, 1, "m", "f");
	for (uint64_t i = 0; i < 1000; i++)
		written += put(&w, &t, 0, i, i);
	assert_int_equal(written, 3 * ((4096 - sizeof(struct record_chunk)) / (sizeof(struct record_sample) + 16)));
	assert_true(put(&w, &final, 0, 1000, 1)); /* samples at the end still have room */
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, written + 1);
	assert_int_equal(s.dropped, 1000 - written);
	assert_string_equal(samples_info(&s, "dropped"), "the sample file reached its size limit");
	samples_release(&s);
}

/* Checks that calls after the end of the library are not counted as dropped, whether they are recorded or not. */
static void test_closed(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;
	size_t later = 0;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "m", "f");
	assert_true(put(&w, &t, 0, 0, 1));
	record_close(&w);
	for (uint64_t i = 1; i < 10000; i++)
		later += put(&w, &t, 0, i, i);
	read_file(w.path, &s);
	assert_int_equal(s.n, 1 + later);
	assert_in_range(later, 1, 9000);
	assert_int_equal(s.dropped, 0);
	samples_release(&s);
}

/* Checks that a file of the default size has room for thousands of threads with few samples, beside one thread with many. */
static void test_many_threads(void **state)
{
	struct record_thread much = { 0 };
	struct record_writer w;
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "m", "f");
	for (uint64_t i = 0; i < 3000; i++)
		assert_true(put(&w, &much, 0, i, i));
	for (uint64_t i = 0; i < 4000; i++) {
		struct record_thread t = { 0 };

		assert_true(put(&w, &t, 0, 0, i));
	}
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, 7000);
	assert_int_equal(s.items[6999].thread, 4000);
	assert_int_equal(s.unreadable, 0);
	assert_false(s.truncated);
	samples_release(&s);
}

static void test_names_full(void **state)
{
	struct record_options small = options;
	struct record_writer w;
	struct record_thread t = { 0 };
	uint32_t functions = 0;
	struct samples s;

	(void)state;
	small.names_bytes_max = 4096;
	assert_int_equal(record_open(&w, &small), 0);
	while (record_add_function(&w, functions, "m", "a name of some length") != UINT32_MAX)
		functions++;
	assert_in_range(functions, 100, 200);
	put(&w, &t, functions - 1, 0, 1);
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n_functions, functions);
	assert_int_equal(s.n, 1);
	samples_release(&s);
}

/* Checks that a full disk loses samples, but does not stop the program. */
static void test_full_disk(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct rlimit limit = { 2u << 20, 2u << 20 };
		struct record_writer w;
		struct record_thread t = { 0 };
		size_t written = 0;

		setrlimit(RLIMIT_FSIZE, &limit); /* as on a full disk, the file cannot grow; a write would end the process */
		if (record_open(&w, &options))
			_exit(1);
		record_add_function(&w, 1, "m", "f");
		for (uint64_t i = 0; i < 100000; i++)
			written += put(&w, &t, 0, i, i);
		_exit(written > 1000 && written < 100000 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* Checks a program that closes every descriptor and changes its directory. */
static void test_descriptors_closed(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "m", "f");
	for (int i = 3; i < 100; i++)
		close(i);
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	assert_int_equal(chdir("elsewhere"), 0);
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(put(&w, &t, 0, i, i));
	record_close(&w);
	assert_int_equal(chdir(".."), 0);
	read_file(w.path, &s);
	assert_int_equal(s.n, 10000);
	samples_release(&s);
}

/* Opens all descriptors that the process may have. *last is the last one. */
static void descriptors_take(struct rlimit *before, int *last)
{
	struct rlimit few = { 40, 40 };
	int file;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
	few.rlim_max = before->rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((file = dup(2)) >= 0)
		*last = file;
}

static void descriptors_give(const struct rlimit *before, int last)
{
	for (; last > 2; last--)
		close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, before), 0);
}

/* Checks the writer after the program has closed the file's descriptor and taken all others. Samples are dropped with few attempts to open
 * the file. Recording resumes after at most as many calls as were dropped. */
static void test_no_descriptors(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	uint64_t kept = 0, n = 0;
	struct rlimit before;
	struct samples s;
	int last = -1;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	assert_int_equal(record_add_function(&w, 1, "m", "f"), 0);
	close(w.kept_fd);
	while (kept < 100)
		kept += put(&w, &t, 0, kept, kept);
	descriptors_take(&before, &last);
	for (; n < 20000; n++)
		kept += put(&w, &t, 0, 100 + n, n);
	assert_in_range(t.last_skip, 8191, 32767); /* about 13 attempts */
	descriptors_give(&before, last);
	for (; n < 60000; n++)
		kept += put(&w, &t, 0, 100 + n, n);
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, kept);
	assert_int_equal(s.n + s.dropped, 60100);
	assert_in_range(s.n, 20000, 40500);
	assert_int_equal(s.items[s.n - 1].ordinal, 60099);
	assert_string_equal(samples_info(&s, "dropped"), "Too many open files");
	samples_release(&s);
}

/* Checks that the file grows through the kept descriptor if no descriptor is free or the name leads nowhere (another root directory,
 * another user). If the program has replaced that descriptor, its file is not touched. */
static void test_cannot_be_opened(void **state)
{
	struct record_options there = options;
	struct record_writer w;
	struct rlimit before;
	struct samples s;

	(void)state;
	there.directory = "there";
	for (int closed = 0; closed < 2; closed++) {
		struct record_thread t = { 0 };
		uint64_t kept = 0;
		int last = -1, own;

		assert_int_equal(mkdir("there", 0700), 0);
		assert_int_equal(record_open(&w, &there), 0);
		assert_int_equal(record_add_function(&w, 1, "m", "f"), 0);
		own = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_true(!closed || dup2(own, w.kept_fd) == w.kept_fd);
		if (!closed)
			descriptors_take(&before, &last);
		assert_int_equal(rename("there", closed ? "two" : "one"), 0);
		for (uint64_t i = 0; i < 20000; i++)
			kept += put(&w, &t, 0, i, i);
		if (!closed)
			descriptors_give(&before, last);
		record_close(&w);
		assert_int_equal(kept, closed ? 0 : 20000);
		assert_int_equal(fcntl(w.kept_fd, F_GETFD), -1);
		assert_true(!closed || lseek(own, 0, SEEK_END) == 0);
		assert_int_equal(rename(closed ? "two" : "one", "there"), 0);
		read_file(w.path, &s);
		assert_int_equal(s.n, kept);
		assert_int_equal(s.dropped, 20000 - kept);
		if (closed)
			assert_string_equal(samples_info(&s, "dropped"), strerror(ENOENT));
		assert_int_equal(unlink(w.path), 0);
		assert_int_equal(rmdir("there"), 0);
		samples_release(&s);
		close(own);
	}
}

int suite_record_room(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_full),	   SCRATCH_TEST(test_closed),		SCRATCH_TEST(test_many_threads),
		SCRATCH_TEST(test_names_full),	   SCRATCH_TEST(test_full_disk),	SCRATCH_TEST(test_descriptors_closed),
		SCRATCH_TEST(test_no_descriptors), SCRATCH_TEST(test_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
