/* Tests a spool: bytes in memory, then in an unnamed file, up to a limit. */
#include "fleet/agent/spool.h"

#include "base/rng.h"
#include "tests/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Returns the expected byte at this offset. The pattern reveals a shift by any number of bytes. */
static char byte_at(uint64_t offset)
{
	return (char)((offset * 2654435761u) >> 13);
}

static void fill(char *bytes, uint64_t offset, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(offset + i);
}

static void check_range(const struct spool *spool, uint64_t offset, size_t wanted)
{
	char *bytes = mem_new(wanted + 1, 1);
	uint64_t there = offset < spool->size ? spool->size - offset : 0;
	struct assay_error err;
	size_t got;

	bytes[wanted] = 'x';
	check(spool_read(spool, offset, bytes, wanted, &got, &err), &err);
	assert_int_equal(got, wanted < there ? wanted : there);
	for (size_t i = 0; i < got; i++)
		assert_int_equal(bytes[i], byte_at(offset + i));
	assert_int_equal(bytes[wanted], 'x');
	free(bytes);
}

/* Checks pieces of all sizes around the border between memory and file. */
static void test_pieces(void **state)
{
	static const uint64_t borders[] = { 0, 1, SPOOL_MEMORY_BYTES - 1, SPOOL_MEMORY_BYTES, SPOOL_MEMORY_BYTES + 1, 150000 };
	struct assay_error err;
	struct spool spool;
	struct rng rng;
	char *bytes = mem_new(10000, 1);

	(void)state;
	rng_seed(&rng, 1);
	spool_init(&spool, 1 << 20);
	check_range(&spool, 0, 10);
	while (spool.size < 200000) {
		size_t n = rng_below(&rng, 10000), before = spool.size;

		fill(bytes, spool.size, n);
		check(spool_add(&spool, bytes, n, &err), &err);
		assert_int_equal(spool.size, before + n);
		assert_int_equal(spool.fd >= 0, spool.size > SPOOL_MEMORY_BYTES);
	}
	for (size_t i = 0; i < COUNT(borders); i++) {
		check_range(&spool, borders[i], 0);
		check_range(&spool, borders[i], 1);
		check_range(&spool, borders[i], 70000);
		check_range(&spool, borders[i], 300000);
		check_range(&spool, spool.size - borders[i], 70000);
	}
	check_range(&spool, UINT64_MAX, 5);
	free(bytes);
	spool_release(&spool);
}

static void test_one_piece(void **state)
{
	size_t n = 3 * SPOOL_MEMORY_BYTES, got;
	char *bytes = mem_new(n, 1), *text;
	struct assay_error err;
	struct spool spool;

	(void)state;
	fill(bytes, 0, n);
	spool_init(&spool, UINT64_MAX);
	check(spool_add(&spool, bytes, n, &err), &err);
	check_fails("too long", spool_text(&spool, n - 1, &text, &got, &err), ASSAY_E_LIMIT, &err,
		    "196608 bytes of output, but at most 196607");
	assert_null(text);
	check(spool_text(&spool, n, &text, &got, &err), &err);
	assert_int_equal(got, n);
	assert_memory_equal(text, bytes, n);
	assert_int_equal(text[n], '\0');
	free(text);
	free(bytes);
	spool_release(&spool);
}

static void test_empty(void **state)
{
	struct spool spool, zeroed = { 0 };
	struct assay_error err;
	size_t got = 1;
	char *text;

	(void)state;
	spool_init(&spool, 0);
	check(spool_add(&spool, "", 0, &err), &err);
	check(spool_text(&spool, 0, &text, &got, &err), &err);
	assert_int_equal(got, 0);
	assert_string_equal(text, "");
	free(text);
	check_fails("no room", spool_add(&spool, "a", 1, &err), ASSAY_E_LIMIT, &err, "more than 0 bytes");
	spool_release(&spool);
	spool_release(&spool);
	spool_release(&zeroed); /* does not close standard input */
	assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

/* Checks that bytes up to the limit are kept. */
static void test_limit(void **state)
{
	static const uint64_t limits[] = { 1, 100, SPOOL_MEMORY_BYTES, SPOOL_MEMORY_BYTES + 7 };
	char *bytes = mem_new(SPOOL_MEMORY_BYTES + 10, 1);

	(void)state;
	fill(bytes, 0, SPOOL_MEMORY_BYTES + 10);
	for (size_t i = 0; i < COUNT(limits); i++) {
		struct assay_error err;
		struct spool spool;

		spool_init(&spool, limits[i]);
		check_fails("beyond", spool_add(&spool, bytes, SPOOL_MEMORY_BYTES + 10, &err), ASSAY_E_LIMIT, &err, "more than ");
		assert_int_equal(spool.size, limits[i]);
		check_range(&spool, 0, SPOOL_MEMORY_BYTES + 10);
		check_fails("again", spool_add(&spool, "x", 1, &err), ASSAY_E_LIMIT, &err, "bytes of output");
		assert_int_equal(spool.size, limits[i]);
		spool_release(&spool);
	}
	free(bytes);
}

/* Checks that the file has no name and that its descriptor is closed on exec. */
static void test_no_trace(void **state)
{
	char *bytes = mem_new(SPOOL_MEMORY_BYTES + 1, 1);
	struct assay_error err;
	struct spool spool;
	size_t entries = 0;
	DIR *dir;

	(void)state;
	assert_int_equal(mkdir("tmp", 0700), 0);
	setenv("TMPDIR", "tmp", 1);
	spool_init(&spool, UINT64_MAX);
	check(spool_add(&spool, bytes, SPOOL_MEMORY_BYTES + 1, &err), &err);
	assert_true(spool.fd >= 0);
	assert_int_equal(fcntl(spool.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	dir = opendir("tmp");
	assert_non_null(dir);
	while (readdir(dir))
		entries++;
	assert_int_equal(entries, 2);
	closedir(dir);
	spool_release(&spool);
	assert_int_equal(spool.fd, -1);

	setenv("TMPDIR", "nowhere", 1);
	spool_init(&spool, UINT64_MAX);
	check_fails("no directory", spool_add(&spool, bytes, SPOOL_MEMORY_BYTES + 1, &err), ASSAY_E_IO, &err,
		    "cannot make a temporary file in 'nowhere' (TMPDIR)");
	assert_int_equal(spool.size, SPOOL_MEMORY_BYTES); /* bytes that fit are kept */
	spool_release(&spool);
	unsetenv("TMPDIR");
	free(bytes);
}

/* Runs in a child process, because the file size limit cannot be raised again. */
static int write_beyond(void)
{
	const struct rlimit limit = { 10, 10 };
	char *bytes = mem_new(SPOOL_MEMORY_BYTES + 100, 1);
	struct assay_error err;
	struct spool spool;
	int status = 1;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	spool_init(&spool, UINT64_MAX);
	if (spool_add(&spool, bytes, SPOOL_MEMORY_BYTES + 100, &err) == ASSAY_E_IO && strstr(err.text, "File too large") &&
	    spool.size == SPOOL_MEMORY_BYTES + 10)
		status = 0;
	spool_release(&spool);
	free(bytes);
	return status;
}

static void test_full_disk(void **state)
{
	(void)state;
	assert_int_equal(scratch_child(write_beyond), 0);
}

int suite_spool(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_one_piece), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_limit),  SCRATCH_TEST(test_no_trace),	 cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
