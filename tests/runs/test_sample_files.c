/* Tests sample files in the laboratory. They are stored with their execution or not at all, read back unchanged, and refused if they were
 * changed. Files without a row are removed, others stay. */
#include "runs/inside/samples/sample_files.c"

#include "runs/inside/samples/sample_files.h"

#include "runs/running/stack.h"
#include "runs/running/execution.h"
#include "runs/inside/record/record_writer.h"
#include "runs/running/run.h"
#include "tests/scratch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#define TEXT "command: [run]\nversions: { a: , b: }\ninputs: { x: }\n"

struct fixture {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	struct execution_context place;
};

static char texts[][8] = { "a", "b", "x", "m1", "app", "probe" };
static char *versions[] = { texts[0], texts[1] }, *inputs[] = { texts[2] }, *machines[] = { texts[3] };

static void enter(struct fixture *f)
{
	struct assay_error err;

	f->lab = scratch_lab("lab");
	check(manifest_parse("app.yaml", TEXT, strlen(TEXT), &f->manifest, &err), &err);
	f->plan = (struct plan){ .application = texts[4],
				 .versions = versions,
				 .artefacts = versions,
				 .n_versions = 2,
				 .inputs = inputs,
				 .n_inputs = 1,
				 .machines = machines,
				 .n_machines = 1,
				 .repetitions = 9,
				 .probe = texts[5] };
	check(plan_new(&f->lab.store, &f->manifest, &f->plan, &err), &err);
	f->place = (struct execution_context){ &f->plan, "m1", NULL, "app/x", 0, "type", NULL };
}

static void leave(struct fixture *f)
{
	manifest_release(&f->manifest);
	lab_close(&f->lab);
}

/* Makes a sample file as a process writes it: `n` samples of one function. */
static void samples_make(size_t n, struct buf *out)
{
	static const char *const counters[] = { "one" };
	const struct record_options options = {
		.directory = ".", .counters = counters, .n_counters = 1, .back_end = RECORD_EMULATED, .ticks_per_s = 1000000000
	};
	struct record_thread t = { 0 };
	struct record_writer w;
	struct assay_error err;

	assert_int_equal(record_open(&w, &options), 0);
	assert_int_equal(record_add_function(&w, 0x1000, "module", "work"), 0);
	for (size_t i = 0; i < n; i++) {
		struct record_sample *s = record_begin(&w, &t);

		if (!s)
			abort();
		memset(s, 0, sizeof(*s));
		s->weight = 1;
		s->ordinal = i;
		s->counters[0] = i;
		record_commit(&w, &t);
	}
	record_close(&w);
	check(file_read(w.path, 256u << 20, out, &err), &err);
	unlink(w.path);
}

static struct sample_stored keep(struct fixture *f, size_t n, int64_t pack)
{
	struct buf bytes = BUF_INIT;
	struct sample_stored kept;
	struct assay_error err;

	samples_make(n, &bytes);
	check(sample_file_store(&f->lab, bytes.bytes, bytes.size, RECORD_EMULATED, &kept, &err), &err);
	assert_int_equal(kept.bytes, bytes.size);
	kept.pack = pack;
	buf_release(&bytes);
	return kept;
}

/* ---- many hosts at once ---- */

#define FILES 4

struct keeper {
	const struct lab *lab;
	const struct buf *files; /* [FILES] */
	pthread_t thread;
	struct sample_stored kept[FILES];
};

static void *keep_all(void *context)
{
	struct keeper *keeper = context;
	struct assay_error err;

	for (size_t i = 0; i < FILES; i++)
		if (sample_file_store(keeper->lab, keeper->files[i].bytes, keeper->files[i].size, RECORD_EMULATED, &keeper->kept[i], &err))
			abort();
	return NULL;
}

/* Checks that hosts store their files at the same time without waiting for each other, even equal files. */
static void test_threads(void **state)
{
	struct buf files[FILES] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT }, again = BUF_INIT;
	struct keeper keepers[8];
	struct fixture f;
	struct assay_error err;

	(void)state;
	enter(&f);
	for (size_t i = 0; i < FILES; i++)
		samples_make(1000 * i, &files[i]);
	for (size_t i = 0; i < COUNT(keepers); i++) {
		keepers[i] = (struct keeper){ .lab = &f.lab, .files = files };
		assert_int_equal(pthread_create(&keepers[i].thread, NULL, keep_all, &keepers[i]), 0);
	}
	for (size_t i = 0; i < COUNT(keepers); i++)
		pthread_join(keepers[i].thread, NULL);
	for (size_t i = 0; i < FILES; i++) {
		char *path = sample_file_path(&f.lab, keepers[0].kept[i].hash);
		struct buf packed = BUF_INIT;

		for (size_t k = 0; k < COUNT(keepers); k++)
			assert_string_equal(keepers[k].kept[i].hash, keepers[0].kept[i].hash);
		buf_clear(&again);
		check(file_read(path, 16u << 20, &packed, &err), &err);
		check(sample_decompress(path, packed.bytes, packed.size, 16u << 20, &again, &err), &err);
		assert_true(again.size == files[i].size && memcmp(again.bytes, files[i].bytes, again.size) == 0);
		buf_release(&packed);
		buf_release(&files[i]);
		free(path);
	}
	buf_release(&again);
	leave(&f);
}

static void execute(struct fixture *f, size_t version, int64_t repetition, bool ok, int64_t taken_ms, struct sample_stored *kept, size_t n)
{
	const struct execution e = { .cell = { 0, version, repetition },
				     .outcome = ok ? EXECUTION_OK : EXECUTION_KILLED,
				     .metric = ok ? 1 : (double)NAN,
				     .taken_ms = taken_ms,
				     .usage = { -1, -1, -1 },
				     .max_rss_bytes = -1,
				     .exit_status = -1,
				     .signal = -1,
				     .samples = kept,
				     .n_samples = n };
	struct assay_error err;

	check(execution_put(&f->lab.store, &f->place, &e, &err), &err);
}

static size_t list(struct fixture *f, const char *application, const char *version, struct sample_file **out)
{
	struct assay_error err;
	size_t n;

	check(sample_files_list(&f->lab.store, application, version, out, &n, &err), &err);
	return n;
}

/* ---- storing and reading ---- */

static void test_kept(void **state)
{
	struct fixture f;
	struct sample_stored first[2], second;
	struct sample_file *files;
	struct samples samples;
	struct assay_error err;
	struct stat info;
	char *path;

	(void)state;
	enter(&f);
	first[0] = keep(&f, 70000, 1); /* enough samples for several chunks */
	first[1] = keep(&f, 10, 0);
	second = keep(&f, 20, 0);
	execute(&f, 0, 2, true, 1000, first, 2);
	execute(&f, 0, 1, false, 2000, &second, 1);
	execute(&f, 1, 1, true, 3000, NULL, 0);
	assert_int_equal(list(&f, "app/x", "a", &files), 3);
	assert_string_equal(files[0].hash, second.hash);
	assert_true(files[0].repetition == 1 && !files[0].ok && files[0].taken_ms == 2000 && !files[0].pruned);
	assert_string_equal(files[1].hash, first[1].hash);
	assert_true(files[1].pack == 0 && files[2].pack == 1 && files[2].ok && files[2].bytes == first[0].bytes);
	assert_string_equal(files[2].machine, "m1");
	assert_string_equal(files[2].input, "x");
	assert_string_equal(files[2].version, "a");
	assert_string_equal(files[2].application, "app/x");
	assert_string_equal(files[2].hardware_type, "type");
	assert_string_equal(files[2].plan, f.plan.id);
	assert_int_equal(files[2].back_end, RECORD_EMULATED);
	check(sample_files_read(&f.lab, &files[2], &samples, &err), &err);
	assert_int_equal(samples.n, 70000);
	assert_true(samples.values[69999] == 69999);
	samples_release(&samples);
	path = sample_file_path(&f.lab, files[2].hash);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_true(info.st_size < files[2].bytes / 3);
	strrchr(path, '/')[0] = '\0';
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	free(path);
	sample_files_free(files, 3);
	leave(&f);
}

/* Checks the selection: the manifest's name selects all inputs, a missing version all versions. No other application is selected. */
static void test_which(void **state)
{
	static const struct {
		const char *application, *version;
		size_t n;
	} rows[] = { { "app", NULL, 2 },   { "app", "a", 1 },	 { "app/x", "b", 1 },
		     { "app/x", NULL, 2 }, { "app/y", NULL, 0 }, { "ap", NULL, 0 } };
	struct fixture f;
	struct sample_stored kept[2];
	struct sample_file *files;

	(void)state;
	enter(&f);
	kept[0] = keep(&f, 1, 0);
	kept[1] = keep(&f, 2, 0);
	execute(&f, 0, 1, true, 1, &kept[0], 1);
	execute(&f, 1, 1, true, 2, &kept[1], 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = list(&f, rows[i].application, rows[i].version, &files);

		if (n != rows[i].n)
			fail_msg("%s@%s: %zu files", rows[i].application, rows[i].version ? rows[i].version : "", n);
		sample_files_free(files, n);
	}
	leave(&f);
}

/* Checks that instrumented runs are no results, have separate estimates, and that their failures do not count for the version. */
static void test_no_result(void **state)
{
	struct fixture f;
	struct execution_rows rows;
	struct run_listing *runs;
	struct assay_error err;
	struct run_set set;
	struct plan plan, results;
	size_t n;

	(void)state;
	enter(&f);
	execute(&f, 0, 1, true, 1, NULL, 0);
	execute(&f, 1, 1, false, 2, NULL, 0);
	check_select(&f.lab.store, "SELECT count(*) FROM run", "0\n");
	check_select(&f.lab.store, "SELECT count(*) FROM execution", "2\n");
	check(run_list(&f.lab.store, &runs, &n, &err), &err);
	assert_int_equal(n, 0);
	run_list_free(runs, n);
	check(execution_load_failures(&f.lab.store, "app/x", NULL, false, &rows, &err), &err);
	assert_int_equal(rows.n, 0);
	execution_rows_release(&rows);
	check(execution_load_failures(&f.lab.store, "app/x", "b", true, &rows, &err), &err);
	assert_int_equal(rows.n, 1);
	assert_true(rows.items[0].instrumented);
	execution_rows_release(&rows);
	check_fails("no plan without a probe", plan_find(&f.lab.store, "app", false, NULL, &plan, &err), ASSAY_E_NOTFOUND, &err,
		    "nothing to resume");
	/* Adds a successful run of a plan without a probe. It is older than the instrumented runs, the last of which failed. */
	results = f.plan;
	results.probe = NULL;
	check(plan_new(&f.lab.store, &f.manifest, &results, &err), &err);
	f.place.plan = &results;
	execute(&f, 1, 1, true, 0, NULL, 0);
	check(run_load(&f.lab.store, "app/x", "b", &set, &err), &err);
	assert_true(set.n == 1 && set.n_executed == 1 && set.failed == 0);
	run_set_release(&set);
	for (int probe = 0; probe < 2; probe++) {
		check(plan_find(&f.lab.store, "app", probe, NULL, &plan, &err), &err);
		assert_string_equal(plan.id, probe ? f.plan.id : results.id);
		assert_true(probe ? strcmp(plan.probe, "probe") == 0 : !plan.probe);
		plan_release(&plan);
	}
	leave(&f);
}

#define HASH(digit) digit digit digit digit digit digit digit digit
#define H1	    HASH("11111111")
#define H2	    HASH("22222222")

/* Makes a plan per night, with its software stack and manifest. Files are excluded if they are known to be of another program or of other
 * run settings than the latest plan, or than the first plan on request. */
static void test_builds(void **state)
{
	static const struct {
		const char *what, *first, *second;
		size_t kept;
		const char *manifest; /* manifest of the second night if it differs */
	} rows[] = {
		{ "the same, at another place among the versions", H1 "  {session}/b000/app\n" H1 "  {session}/files/x\n",
		  H1 "  {session}/b001/app\n" H1 "  {session}/files/x\n", 4, NULL },
		{ "built anew", H1 "  {session}/b000/app\n", H2 "  {session}/b000/app\n", 2, NULL },
		{ "another library of the machine", H1 "  /lib/libc.so.6\n" H1 "  {session}/b000/app\n",
		  H2 "  /lib/libc.so.6\n" H1 "  {session}/b000/app\n", 4, NULL },
		{ "a file more", H1 "  {session}/b000/app\n", H1 "  {session}/b000/app\n" H1 "  {session}/b000/app2\n", 2, NULL },
		{ "another command", H1 "  {session}/b000/app\n", H1 "  {session}/b000/app\n", 2,
		  "command: [run, faster]\nversions: { a: , b: }\ninputs: { x: }\n" },
		{ "another environment", NULL, NULL, 2, TEXT "environment: { FAST: 1 }\n" },
		{ "another metric", NULL, NULL, 4, TEXT "metric: { source: regex, pattern: '([0-9]+)' }\n" },
		{ "the first is not known", NULL, H1 "  {session}/b000/app\n", 4, NULL },
		{ "the second is not known", H1 "  {session}/b000/app\n", NULL, 4, NULL },
		{ "nothing was deployed", H1 "  /usr/bin/sort\n", H1 "  {session}/b000/app\n", 4, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *texts_of[2] = { rows[i].first, rows[i].second };
		char plans[2][DIGEST_ID_BYTES];
		struct sample_file *files;
		struct sample_stored kept;
		struct assay_error err;
		struct fixture f;
		size_t all;

		enter(&f);
		kept = keep(&f, 1, 0);
		for (int night = 0; night < 2; night++) {
			if (night && rows[i].manifest) {
				manifest_release(&f.manifest);
				check(manifest_parse("app.yaml", rows[i].manifest, strlen(rows[i].manifest), &f.manifest, &err), &err);
			}
			if (night)
				check(plan_new(&f.lab.store, &f.manifest, &f.plan, &err), &err);
			memcpy(plans[night], f.plan.id, DIGEST_ID_BYTES);
			if (texts_of[night])
				check(stack_put(&f.lab.store, &f.plan, "m1", "a", texts_of[night], &err), &err);
			execute(&f, 0, 1, true, 1000 * night, &kept, 1);
			execute(&f, 0, 2, true, 1000 * night + 1, &kept, 1);
		}
		for (int wanted = 0; wanted < 2; wanted++) {
			size_t n = all = list(&f, "app/x", "a", &files);

			assert_int_equal(all, 4);
			check(run_build_keep_samples(&f.lab.store, wanted ? plans[0] : NULL, files, &n, &err), &err);
			if (n != rows[i].kept)
				fail_msg("%s: %zu of %zu stay", rows[i].what, n, all);
			for (size_t k = 0; k < n && n < all; k++)
				assert_string_equal(files[k].plan, plans[!wanted]);
			sample_files_free(files, all);
		}
		leave(&f);
		assert_int_equal(nftw("lab", scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

/* Checks that a refused execution removes the rows of its files, and that a sweep removes these files and keeps others. */
static void test_all_or_nothing(void **state)
{
	struct fixture f;
	struct sample_stored kept[2];
	struct assay_error err;
	struct execution e = { .cell = { 0, 0, 1 }, .outcome = EXECUTION_OK, .metric = 1, .n_samples = 1 };
	char *paths[2];
	size_t n;

	(void)state;
	enter(&f);
	kept[0] = keep(&f, 1, 0);
	kept[1] = keep(&f, 2, 0);
	execute(&f, 0, 1, true, 1, &kept[0], 1);
	e.samples = &kept[1];
	check_fails("twice", execution_put(&f.lab.store, &f.place, &e, &err), ASSAY_E_CONFLICT, &err, "stored already");
	check_select(&f.lab.store, "SELECT count(*) FROM sample_file", "1\n");
	for (int i = 0; i < 2; i++)
		paths[i] = sample_file_path(&f.lab, kept[i].hash);
	assert_int_equal(access(paths[1], F_OK), 0);
	scratch_put("lab/.assay/samples/README", "not ours");
	assert_int_equal(mkdir("lab/.assay/samples/00", 0700) && errno != EEXIST, 0);
	scratch_put("lab/.assay/samples/00/.assay-killed", "half a file");
	scratch_put("lab/.assay/samples/00/other", "not ours");
	check(sample_file_remove_orphans(&f.lab, &n, &err), &err);
	assert_int_equal(n, 1);
	assert_int_equal(access(paths[0], F_OK), 0);
	assert_int_equal(access(paths[1], F_OK), -1);
	assert_int_equal(access("lab/.assay/samples/00/.assay-killed", F_OK), -1);
	assert_int_equal(access("lab/.assay/samples/00/other", F_OK), 0);
	for (int i = 0; i < 2; i++)
		free(paths[i]);
	leave(&f);
}

static void test_nothing_there(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct assay_error err;
	size_t n;

	(void)state;
	check(sample_file_remove_orphans(&lab, &n, &err), &err);
	assert_int_equal(n, 0);
	lab_close(&lab);
}

static void test_prune(void **state)
{
	struct fixture f;
	struct sample_stored kept[3];
	struct sample_pruned pruned;
	struct sample_file *files;
	struct samples samples;
	struct assay_error err;

	(void)state;
	enter(&f);
	for (int i = 0; i < 3; i++)
		kept[i] = keep(&f, (size_t)i + 1, 0);
	execute(&f, 0, 1, true, 100, &kept[0], 1);
	execute(&f, 0, 2, true, 200, &kept[1], 1);
	execute(&f, 0, 3, true, 300, &kept[2], 1);
	execute(&f, 1, 1, true, 300, &kept[0], 1);   /* the same content, needed for longer */
	for (int really = 0; really < 2; really++) { /* a dry run counts the same files, but removes none */
		check(sample_file_prune(&f.lab, 250, !really, &pruned, &err), &err);
		assert_int_equal(pruned.files, 2);
		assert_int_equal(list(&f, "app", "a", &files), 3);
		assert_int_equal(files[0].pruned, really);
		sample_files_free(files, 3);
	}
	assert_int_equal(pruned.bytes, kept[0].bytes + kept[1].bytes);
	assert_int_equal(list(&f, "app", "a", &files), 3);
	assert_true(files[0].pruned && files[1].pruned && !files[2].pruned);
	for (int i = 0; i < 3; i++) {
		char *path = sample_file_path(&f.lab, kept[i].hash);

		assert_int_equal(access(path, F_OK), i == 1 ? -1 : 0);
		free(path);
	}
	check_fails("pruned", sample_files_read(&f.lab, &files[1], &samples, &err), ASSAY_E_NODATA, &err, "was removed by");
	check(sample_files_read(&f.lab, &files[2], &samples, &err), &err);
	samples_release(&samples);
	sample_files_free(files, 3);
	assert_int_equal(list(&f, "app", "b", &files), 1);
	check(sample_files_read(&f.lab, &files[0], &samples, &err), &err);
	samples_release(&samples);
	sample_files_free(files, 1);
	check(sample_file_prune(&f.lab, 250, false, &pruned, &err), &err);
	assert_int_equal(pruned.files, 0);
	leave(&f);
}

/* ---- damaged files ---- */

static void expect_corrupt(struct fixture *f, const struct sample_file *file, const char *what, const char *part)
{
	struct samples samples;
	struct assay_error err;

	check_fails(what, sample_files_read(&f->lab, file, &samples, &err), ASSAY_E_CORRUPT, &err, part);
	assert_non_null(strstr(err.text, file->hash));
	samples_release(&samples);
}

static void replace(const char *path, const char *bytes, size_t n)
{
	struct assay_error err;

	check(file_replace(path, bytes, n, 0600, &err), &err);
}

static void test_damaged(void **state)
{
	struct buf bytes = BUF_INIT, other = BUF_INIT, packed = BUF_INIT;
	struct fixture f;
	struct sample_stored kept;
	struct sample_file *files;
	struct assay_error err;
	char *path;

	(void)state;
	enter(&f);
	kept = keep(&f, 5, 0);
	execute(&f, 0, 1, true, 1, &kept, 1);
	assert_int_equal(list(&f, "app", "a", &files), 1);
	path = sample_file_path(&f.lab, kept.hash);
	check(file_read(path, 1 << 20, &bytes, &err), &err);

	replace(path, bytes.bytes, bytes.size / 2);
	expect_corrupt(&f, files, "cut off", "is truncated");
	replace(path, bytes.bytes, 0);
	expect_corrupt(&f, files, "empty", "is truncated");
	replace(path, "nothing", 7);
	expect_corrupt(&f, files, "another file", "is damaged: ");
	bytes.bytes[bytes.size / 2] ^= 0x10;
	replace(path, bytes.bytes, bytes.size);
	expect_corrupt(&f, files, "a bit", "is damaged: ");
	bytes.bytes[bytes.size / 2] ^= 0x10;
	buf_char(&bytes, 'x');
	replace(path, bytes.bytes, bytes.size);
	expect_corrupt(&f, files, "after its end", "bytes follow its end");
	bytes.size--;

	buf_text(&other, "quite another content");
	check(sample_compress(other.bytes, other.size, &packed, &err), &err);
	replace(path, packed.bytes, packed.size);
	expect_corrupt(&f, files, "another content", "is not the hash in its name");

	files[0].bytes--;
	replace(path, bytes.bytes, bytes.size);
	expect_corrupt(&f, files, "larger than its row says", "more than");
	files[0].bytes++;
	unlink(path);
	expect_corrupt(&f, files, "missing", "is missing");

	free(path);
	sample_files_free(files, 1);
	buf_release(&bytes);
	buf_release(&other);
	buf_release(&packed);
	leave(&f);
}

/* Checks rows that assay never writes. */
static void test_damaged_rows(void **state)
{
	static const char *const changes[] = { "hash = '../../../etc/passwd'", "bytes = -1", "bytes = 1 << 40", "back_end = 'guess'" };
	struct fixture f;
	struct sample_stored kept;
	struct assay_error err;

	(void)state;
	enter(&f);
	kept = keep(&f, 5, 0);
	execute(&f, 0, 1, true, 1, &kept, 1);
	for (size_t i = 0; i < COUNT(changes); i++) {
		char *sql = mem_format("UPDATE sample_file SET %s", changes[i]);
		struct sample_file *files;
		size_t n;

		check(store_begin(&f.lab.store, &err), &err);
		check_select(&f.lab.store, sql, "");
		check_fails(changes[i], sample_files_list(&f.lab.store, "app", NULL, &files, &n, &err), ASSAY_E_CORRUPT, &err,
			    "an invalid row");
		store_rollback(&f.lab.store);
		free(sql);
	}
	leave(&f);
}

/* Checks a frame that announces little memory and needs much, and a frame with a large window. */
static void test_bounded(void **state)
{
	static const unsigned char window[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x78, 0x01, 0x00, 0x00 }; /* 32 MiB, and no content */
	struct buf zeros = BUF_INIT, packed = BUF_INIT, out = BUF_INIT;
	struct assay_error err;

	(void)state;
	zeros.bytes = mem_new(32u << 20, 1);
	zeros.size = 32u << 20;
	check(sample_compress(zeros.bytes, zeros.size, &packed, &err), &err);
	assert_true(packed.size < 8192);
	check_fails("one less", sample_decompress("bomb", packed.bytes, packed.size, zeros.size - 1, &out, &err), ASSAY_E_CORRUPT, &err,
		    "more than 33554431");
	buf_release(&out);
	check_fails("much less", sample_decompress("bomb", packed.bytes, packed.size, 1000, &out, &err), ASSAY_E_CORRUPT, &err,
		    "more than 1000");
	assert_true(out.capacity < 8192);
	check(sample_decompress("all", packed.bytes, packed.size, zeros.size, &out, &err), &err);
	assert_true(out.size == zeros.size && out.bytes[out.size - 1] == '\0');
	check_fails("window", sample_decompress("window", window, sizeof(window), 1000, &out, &err), ASSAY_E_CORRUPT, &err, "memory");
	buf_release(&zeros);
	buf_release(&packed);
	buf_release(&out);
}

int suite_sample_files(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_kept),	   SCRATCH_TEST(test_which),	     SCRATCH_TEST(test_no_result),
		SCRATCH_TEST(test_all_or_nothing), SCRATCH_TEST(test_nothing_there), SCRATCH_TEST(test_prune),
		SCRATCH_TEST(test_damaged),	   SCRATCH_TEST(test_damaged_rows),  SCRATCH_TEST(test_builds),
		SCRATCH_TEST(test_threads),	   cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
