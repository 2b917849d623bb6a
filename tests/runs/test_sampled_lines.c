/* Tests the source lines of sampled time. The test uses this program as if it had been deployed. */
#include "runs/running/costs.c"
#include "runs/running/sampled_lines.h"
#include "tests/scratch.h"

#include <inttypes.h>
#include <math.h>

__attribute__((noinline, used)) static int sampled_lines_here(int n)
{
	for (int i = 1; i < n; i *= 3)
		n -= i;
	return n;
}

/* Returns the offset in the file of the code at this address. */
static uint64_t offset_of(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1000];
	uint64_t found = UINT64_MAX;

	assert_non_null(maps);
	while (found == UINT64_MAX && fgets(line, sizeof(line), maps)) {
		uint64_t begin, end, offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) == 3 && address >= begin && address < end)
			found = address - begin + offset;
	}
	fclose(maps);
	assert_true(found != UINT64_MAX);
	return found;
}

static struct artefact_file this_program(void)
{
	static char path[] = "bin/runner", source[4096];
	struct artefact_file file = { .path = path, .source = source };
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	ssize_t n = readlink("/proc/self/exe", source, sizeof(source) - 1);

	assert_true(n > 0);
	check(file_read(source, ARTEFACT_BYTES_MAX, &bytes, &err), &err);
	digest_sha256(bytes.bytes, bytes.size, file.hash);
	buf_release(&bytes);
	return file;
}

static char *lines_of(const char *where, struct artefact_file file)
{
	static char directory[] = "/host/b000";
	const struct artefact files = { .files = &file, .n = 1 };
	const struct sampled_directory deployed = { directory, &files };
	struct sampled_lines lines = { .n = 0 };
	uint64_t at = offset_of((uint64_t)(uintptr_t)&sampled_lines_here);
	char *text = mem_format("1000000 period ns\n9 user %s\n4 at %" PRIx64 "\n3 at %" PRIx64 "\n1 at ffffffff\n2 kernel read\n", where,
				at, at + 1),
	     *out = sampled_lines_add(&lines, text, &deployed, 1);

	sampled_lines_release(&lines);
	free(text);
	return out;
}

static void test_lines(void **state)
{
	struct artefact_file file = this_program();
	char *text = lines_of("/host/b000/bin/runner", file), *run_usage;
	const char *rest = text;
	struct cost_source_lines places = { .items = NULL };
	struct sampled_line line;
	struct assay_error err;
	unsigned long long all = 0;

	(void)state;
	assert_true(sampled_lines_here(4) < 4);
	while (sampled_lines_next(&rest, &line)) {
		assert_int_equal(line.function_bytes, strlen("sampled_lines_here"));
		assert_memory_equal(line.function, "sampled_lines_here", line.function_bytes);
		all += line.count;
	}
	assert_int_equal(all, 7);
	assert_null(strstr(text, " at "));
	assert_non_null(strstr(text, "\n2 kernel read\n"));
	run_usage = mem_format("{\"samples\":\"1000000 period ns\\n7 line a.c:3:1 f\\n2 line a.c:9:1 f\\n1 line -:0:0 g\\n\"}");
	for (int run = 0; run < 2; run++)
		check(cost_places_add(&places, run_usage, &err), &err);
	check(cost_places_add(&places, "{\"samples\":\"0 refused because\\n\"}", &err), &err);
	check(cost_places_add(&places, "", &err), &err);
	cost_places_end(&places);
	assert_int_equal(places.runs, 2);
	assert_int_equal(places.n, 3);
	assert_string_equal(places.items[0].function, "f");
	assert_string_equal(places.items[0].file, "a.c");
	assert_int_equal(places.items[0].line, 3);
	assert_int_equal(places.items[0].function_line, 1);
	assert_true(fabs(places.items[0].seconds - 7e-3) < 1e-12);
	cost_places_release(&places);
	free(run_usage);
	free(text);
}

/* Checks that files that were not deployed, or have changed since, have no lines. */
static void test_others(void **state)
{
	struct artefact_file file = this_program();
	char *text = lines_of("/host/b001/bin/runner", file);

	(void)state;
	assert_string_equal(text, "1000000 period ns\n9 user /host/b001/bin/runner\n2 kernel read\n");
	free(text);
	file.hash[0] = file.hash[0] == '0' ? '1' : '0';
	text = lines_of("/host/b000/bin/runner", file);
	assert_string_equal(text, "1000000 period ns\n9 user /host/b000/bin/runner\n2 kernel read\n");
	free(text);
}

int suite_sampled_lines(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_others) };

	return cmocka_run_group_tests_name("sampled_lines", tests, NULL, NULL);
}
