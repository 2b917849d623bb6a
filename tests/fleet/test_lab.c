/* Tests a laboratory: its configuration, its creation and its lock for one writer. */
#include "fleet/lab/lab.h"

#include "tests/scratch.h"

static void test_config(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *part; /* a part of the error message */
	} rows[] = {
		{ "nothing", "", ASSAY_OK, "" },
		{ "comments only", "# name: x\n", ASSAY_OK, "" },
		{ "everything", "name: a\nmin_effect: 0.05\nhosts:\n - id: m1\n   type: t\n - id: m2\n", ASSAY_OK, "" },
		{ "keys without values", "name:\nmin_effect: ~\nhosts: null\n", ASSAY_OK, "" },
		{ "a number is a name too", "name: 5\n", ASSAY_OK, "" },
		{ "no hosts", "hosts: []\n", ASSAY_OK, "" },
		{ "broken", "name: [\n", ASSAY_E_FORMAT, "f.yaml:" },
		{ "a list", "- name: x\n", ASSAY_E_FORMAT, "f.yaml:1: a laboratory must be a map" },
		{ "unknown key", "a: 1\n", ASSAY_E_FORMAT, "f.yaml:1: unknown key 'a'" },
		{ "nearest key", "name: x\nmin_efect: .03\n", ASSAY_E_FORMAT,
		  "f.yaml:2: unknown key 'min_efect' in a laboratory (did you mean 'min_effect'?)" },
		{ "nearest key of a host", "hosts:\n - id: m\n   tipe: t\n", ASSAY_E_FORMAT,
		  "f.yaml:3: unknown key 'tipe' in host (did you mean 'type'?)" },
		{ "empty name", "name: ''\n", ASSAY_E_FORMAT, "f.yaml:1: name must have 1 to 200 bytes" },
		{ "name that is a map", "name: {a: 1}\n", ASSAY_E_FORMAT, "f.yaml:1: 'name' must be" },
		{ "effect that is a word", "min_effect: small\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "no number", "min_effect: .nan\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "hexadecimal", "min_effect: 0x1\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "zero effect", "min_effect: 0\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "negative effect", "min_effect: -0.1\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "huge effect", "min_effect: 1e400\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "an age", "fingerprint_max_age_days: 0.5\n", ASSAY_OK, "" },
		{ "negative age", "fingerprint_max_age_days: -1\n", ASSAY_E_FORMAT, "f.yaml:1: 'fingerprint_max_age_days' must be" },
		{ "per cent as a number", "min_effect: 3\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "percent", "min_effect: 3%\n", ASSAY_E_FORMAT, "f.yaml:1: 'min_effect' must be" },
		{ "a quota of nothing", "quota_gib: 0\n", ASSAY_E_FORMAT, "f.yaml:1: 'quota_gib' must be" },
		{ "nobody at a time", "fanout: 0\n", ASSAY_E_FORMAT, "f.yaml:1: 'fanout' must be" },
		{ "a quota with a unit", "quota_gib: 20G\n", ASSAY_E_FORMAT, "f.yaml:1: 'quota_gib' must be" },
		{ "secrets that are a word", "secrets: PIN\n", ASSAY_E_FORMAT, "f.yaml:1: 'secrets' must be a list" },
		{ "an empty secret", "secrets: [PIN, '']\n", ASSAY_E_FORMAT, "f.yaml:1: a pattern of secret variables must have 1 to 200" },
		{ "hosts out of use without a list", "hosts: [{id: m}]\nout_of_use: m\n", ASSAY_E_FORMAT,
		  "f.yaml:2: 'out_of_use' must be a list" },
		{ "out of use without hosts", "out_of_use:\n - {until: 2026-12-31}\n", ASSAY_E_FORMAT,
		  "f.yaml:2: 'out_of_use' without 'hosts'" },
		{ "an unknown host out of use", "hosts: [{id: m1}]\nout_of_use:\n - {hosts: m2}\n", ASSAY_E_FORMAT,
		  "f.yaml:3: no host 'm2' in lab.yaml (did you mean 'm1'?)" },
		{ "out of use until soon", "hosts: [{id: m}]\nout_of_use:\n - {hosts: m, until: soon}\n", ASSAY_E_FORMAT,
		  "f.yaml:3: 'soon' is no day such as 2026-11-23" },
		{ "until a day that does not exist", "hosts: [{id: m}]\nout_of_use:\n - {hosts: m, until: 2026-02-30}\n", ASSAY_E_FORMAT,
		  "f.yaml:3: '2026-02-30' is no day such as" },
		{ "nearest key of a host out of use", "hosts: [{id: m}]\nout_of_use:\n - {host: m}\n", ASSAY_E_FORMAT,
		  "f.yaml:3: unknown key 'host' in 'out_of_use' (did you mean 'hosts'?)" },
		{ "a name with !", "hosts: [{name: 'm!1'}]\n", ASSAY_E_FORMAT, "f.yaml:1: 'm!1' cannot be" },
		{ "hosts that are a map", "hosts:\n  m1: t\n", ASSAY_E_FORMAT, "f.yaml:1: 'hosts' must be a list" },
		{ "a host that is a word", "hosts:\n - m1\n", ASSAY_E_FORMAT, "f.yaml:2: a host starts with its name" },
		{ "a host without id", "hosts:\n - type: t\n", ASSAY_E_FORMAT, "f.yaml:2: this host has neither name nor id" },
		{ "an empty id", "hosts:\n - id: \"\"\n", ASSAY_E_FORMAT, "f.yaml:2: id must have 1 to 200 bytes" },
		{ "an empty type", "hosts:\n - id: m\n   type: ''\n", ASSAY_E_FORMAT, "f.yaml:3: type must have 1 to 200 bytes" },
		{ "an id twice", "hosts:\n - id: m\n - id: n\n - id: m\n", ASSAY_E_FORMAT,
		  "f.yaml:4: host 'm' is listed twice (first in line 2)" },
		{ "a key twice", "name: a\nname: b\n", ASSAY_E_FORMAT, "f.yaml:2: key 'name' is repeated" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err = { .text = "" };
		struct lab_config config;
		enum assay_status st = lab_config_parse("f.yaml", rows[i].text, strlen(rows[i].text), &config, &err);

		check_fails(rows[i].what, st, rows[i].status, &err, rows[i].part);
		lab_config_release(&config);
	}
}

static void test_config_values(void **state)
{
	static const char text[] =
	    "name: a b\nmin_effect: 0.05\nfingerprint_max_age_days: 7\nfanout: 250\nhosts:\n - id: m1\n   type: t\n - id: m2\n";
	struct lab_config config;
	struct assay_error err;

	(void)state;
	check(lab_config_parse("f", text, sizeof(text) - 1, &config, &err), &err);
	assert_string_equal(config.name, "a b");
	assert_true(config.min_effect == .05);
	assert_true(config.fingerprint_max_age_days == 7);
	assert_int_equal(config.fanout, 250);
	assert_int_equal(config.inventory.n, 2);
	assert_string_equal(config.inventory.hosts[0].id, "m1");
	assert_string_equal(config.inventory.hosts[0].type, "t");
	assert_string_equal(config.inventory.hosts[1].id, "m2");
	assert_null(config.inventory.hosts[1].type);
	lab_config_release(&config);
	check(lab_config_parse("f", "", 0, &config, &err), &err);
	assert_null(config.name);
	assert_true(config.min_effect == LAB_MIN_EFFECT);
	assert_true(config.fingerprint_max_age_days == LAB_FINGERPRINT_MAX_AGE_DAYS);
	assert_int_equal(config.inventory.n, 0);
	lab_config_release(&config);
}

/* Checks that entries of `out_of_use` whose date is over do not count, at any place in the list. */
static void test_out_of_use(void **state)
{
	static const char text[] = "out_of_use:\n"
				   " - { hosts: 'm1,m3', until: 2026-01-01, reason: long ago }\n"
				   " - { hosts: '@all!m3!m4', until: 2999-12-31, reason: its fan }\n"
				   " - { hosts: m3 }\n"
				   " - { hosts: m2, until: 2026-01-01 }\n"
				   "hosts:\n - name: m[1-4]\n";
	static const char *const why[] = { "out of use until 2999-12-31: its fan", "out of use until 2999-12-31: its fan",
					   "out of use: no reason is given", NULL };
	struct lab_config config;
	struct assay_error err;

	(void)state;
	check(lab_config_parse("f", text, sizeof(text) - 1, &config, &err), &err);
	for (size_t i = 0; i < COUNT(why); i++)
		if (why[i])
			assert_string_equal(config.inventory.hosts[i].exclusion_reason, why[i]);
		else
			assert_null(config.inventory.hosts[i].exclusion_reason);
	lab_config_release(&config);
}

static void test_too_many_hosts(void **state)
{
	struct buf text = BUF_INIT;
	struct lab_config config;
	struct assay_error err;

	(void)state;
	buf_text(&text, "hosts:\n");
	for (int i = 0; i <= 10000; i++)
		buf_format(&text, " - id: m%d\n", i);
	check_fails("10001 hosts", lab_config_parse("f", text.bytes, text.size, &config, &err), ASSAY_E_LIMIT, &err,
		    "f:1: more than 10000 hosts");
	buf_release(&text);
}

static void test_create(void **state)
{
	struct assay_error err;
	struct lab lab;

	(void)state;
	check(lab_create("lab", &err), &err);
	check_fails("again", lab_create("lab", &err), ASSAY_E_CONFLICT, &err,
		    "'lab/lab.yaml' exists: the directory is already a laboratory");
	check(lab_open("lab", STORE_READ, &lab, &err), &err);
	check_select(&lab.store, "SELECT count(*) FROM run", "0\n");
	lab_close(&lab);
	assert_int_equal(access("lab/.assay/runs.db", F_OK), -1); /* reading creates no file */
	check_fails("under a missing parent", lab_create("none/lab", &err), ASSAY_E_IO, &err, "none/lab");
	check_fails("no laboratory", lab_open("other", STORE_READ, &lab, &err), ASSAY_E_NOTFOUND, &err, "assay init other");
}

/* Checks that the commented examples are valid: without their "# " they parse, and their values are the described ones. */
static void test_example(void **state)
{
	struct buf used = BUF_INIT;
	struct lab_config config;
	const struct host *hosts;
	struct assay_error err;
	char *yaml;

	(void)state;
	check(lab_create("lab", &err), &err);
	yaml = scratch_text("lab/lab.yaml");
	for (char *line = yaml, *end; *line; line = end) {
		size_t skipped = strncmp(line, "# ", 2) == 0 ? 2 : 0;

		end = strchr(line, '\n') + 1;
		buf_add(&used, line + skipped, (size_t)(end - line) - skipped);
	}
	check(lab_config_parse("lab.yaml", used.bytes, used.size, &config, &err), &err);
	hosts = config.inventory.hosts;
	assert_non_null(config.name);
	assert_true(config.min_effect == LAB_MIN_EFFECT);
	assert_int_equal(config.inventory.n, 15);
	assert_string_equal(hosts[0].name, "node01");
	assert_string_equal(hosts[11].id, "xeon-112");
	assert_string_equal(hosts[11].address, "10.0.0.22");
	assert_int_equal(hosts[11].port, 2222);
	assert_string_equal(hosts[11].user, "bench");
	assert_string_equal(hosts[11].identity_file, "~/.ssh/id_lab");
	assert_int_equal(hosts[11].n_groups, 2);
	assert_string_equal(hosts[11].type, "xeon-2640");
	assert_string_equal(hosts[11].environment[0], "OMP_NUM_THREADS=8");
	assert_string_equal(hosts[13].box, "box1");
	assert_true(hosts[14].local);
	lab_config_release(&config);
	buf_release(&used);
	free(yaml);
}

/* Checks that lab_create() keeps existing files. */
static void test_create_keeps(void **state)
{
	struct assay_error err;
	char *ignore;

	(void)state;
	assert_int_equal(mkdir("lab", 0755), 0);
	scratch_put("lab/.gitignore", "mine\n");
	check(lab_create("lab", &err), &err);
	ignore = scratch_text("lab/.gitignore");
	assert_string_equal(ignore, "mine\n");
	free(ignore);
}

static void test_broken_config(void **state)
{
	struct assay_error err;
	struct lab lab;

	(void)state;
	check(lab_create("lab", &err), &err);
	scratch_put("lab/lab.yaml", "nmae: x\n");
	check_fails("broken", lab_open("lab", STORE_WRITE, &lab, &err), ASSAY_E_FORMAT, &err, "lab/lab.yaml:1: unknown key 'nmae'");
	assert_int_equal(lab.lock_fd, -1);
	scratch_put("lab/lab.yaml", "name: x\n");
	check(lab_open("lab", STORE_WRITE, &lab, &err), &err);
	lab_close(&lab);
}

static void test_lock(void **state)
{
	/* Entries without a holder, or whose holder is not alive. */
	static const char *const lines[] = { "",
					     "x",
					     "2147483647 0 assay run\n",
					     "1\n",
					     "1 2\n",
					     "1 2 \n",
					     "-1 2 assay\n",
					     "1 -2 assay\n",
					     "1 x assay\n",
					     "1 9999999999999999999 assay\n",
					     "99999999999 0 assay\n",
					     "1 0 \xff\n" };
	struct lab first = scratch_lab("lab"), second;
	struct buf target = BUF_INIT;
	struct assay_error err;
	char part[80];

	(void)state;
	check_fails("second", lab_open("lab", STORE_WRITE, &second, &err), ASSAY_E_BUSY, &err,
		    "another assay is writing to the laboratory 'lab' ('assay', process ");
	lab_record_command(&first, "assay host rename");
	snprintf(part, sizeof(part), "('assay host rename', process %d, since 2", (int)getpid());
	check_fails("signed", lab_open("lab", STORE_WRITE, &second, &err), ASSAY_E_BUSY, &err, part);
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_int_equal(ftruncate(first.lock_fd, 0), 0);
		assert_int_equal(pwrite(first.lock_fd, lines[i], strlen(lines[i]), 0), (ssize_t)strlen(lines[i]));
		check_fails(lines[i], lab_open("lab", STORE_WRITE, &second, &err), ASSAY_E_BUSY, &err, "the laboratory 'lab': wait");
	}
	lab_close(&first);
	check(lab_open("lab", STORE_WRITE, &second, &err), &err);
	lab_close(&second);
	assert_int_equal(unlink("lab/.assay/lock"), 0);
	check(file_replace("target", "somebody's", 10, 0600, &err), &err);
	assert_int_equal(symlink("../../target", "lab/.assay/lock"), 0);
	check_fails("a link", lab_open("lab", STORE_WRITE, &second, &err), ASSAY_E_IO, &err,
		    "'lab/.assay/lock' is not a regular file, so it is not from assay: remove it");
	assert_int_equal(unlink("lab/.assay/lock"), 0);
	assert_int_equal(mkfifo("lab/.assay/lock", 0600), 0);
	check_fails("a pipe", lab_open("lab", STORE_WRITE, &second, &err), ASSAY_E_IO, &err, "is not a regular file");
	check(file_read("target", 100, &target, &err), &err);
	assert_int_equal(target.size, 10);
	buf_release(&target);
}

static void write_and_wait(int ready)
{
	struct assay_error err;
	struct lab lab;

	if (lab_open("lab", STORE_WRITE, &lab, &err) || store_begin(&lab.store, &err))
		_exit(1);
	if (write(ready, "", 1) == 1)
		pause();
}

/* Checks that the lock does not exclude readers and ends with a killed writer. */
static void test_lock_dies(void **state)
{
	struct assay_error err;
	struct lab lab;
	pid_t writer;

	(void)state;
	check(lab_create("lab", &err), &err);
	writer = scratch_start(write_and_wait);
	check_fails("writer", lab_open("lab", STORE_WRITE, &lab, &err), ASSAY_E_BUSY, &err, "'lab'");
	check(lab_open("lab", STORE_READ, &lab, &err), &err);
	lab_close(&lab);
	scratch_kill(writer);
	check(lab_open("lab", STORE_WRITE, &lab, &err), &err);
	lab_close(&lab);
}

static size_t n_open; /* number of files and directories that other users can read or enter */

static int count_open(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)path, (void)place;
	n_open += kind != FTW_SL && (info->st_mode & 077);
	return 0;
}

static size_t open_to_others(const char *path)
{
	n_open = 0;
	assert_int_equal(nftw(path, count_open, 16, FTW_PHYS), 0);
	return n_open;
}

/* Checks that .assay and its content are private whatever the umask. A writer tightens older files, but none outside .assay. */
static void test_private(void **state)
{
	struct assay_error err;
	struct stat info;
	struct lab lab;

	(void)state;
	umask(0);
	lab = scratch_lab("lab");
	assert_int_equal(open_to_others("lab/.assay"), 0);
	assert_false(lab.permissions_tightened);
	lab_close(&lab);
	scratch_put("outside", "x");
	assert_int_equal(chmod("outside", 0666) || chmod("lab/.assay", 0755) || chmod("lab/.assay/runs.db", 0644), 0);
	assert_int_equal(mkdir("lab/.assay/samples", 0755) || symlink("../../outside", "lab/.assay/link"), 0);
	scratch_put("lab/.assay/samples/a", "x");
	assert_int_equal(chmod("lab/.assay/samples/a", 0754), 0);
	assert_int_equal(open_to_others("lab/.assay"), 4);
	check(lab_open("lab", STORE_READ, &lab, &err), &err);
	lab_close(&lab);
	assert_true(open_to_others("lab/.assay") >= 4); /* a reader changes no modes */
	check(lab_open("lab", STORE_WRITE, &lab, &err), &err);
	assert_true(lab.permissions_tightened);
	lab_close(&lab);
	assert_int_equal(open_to_others("lab/.assay"), 0);
	assert_int_equal(stat("lab/.assay/samples/a", &info) || (info.st_mode & 07777) != 0700, 0);
	assert_int_equal(stat("outside", &info) || (info.st_mode & 07777) != 0666, 0);
	check(lab_open("lab", STORE_WRITE, &lab, &err), &err);
	assert_false(lab.permissions_tightened);
	lab_close(&lab);
}

static int open_as_other(void)
{
	static const enum store_access all[] = { STORE_READ, STORE_WRITE };
	struct assay_error err;
	struct lab lab;

	if (setgid(65534) || setuid(65534))
		return 1;
	for (size_t i = 0; i < COUNT(all); i++) {
		if (lab_open("lab", all[i], &lab, &err) != ASSAY_E_IO ||
		    !strstr(err.text, "'lab/.assay' belongs to user 'root': run this as that user, or work in a copy of the laboratory "
				      "('assay backup DIR'"))
			return 2;
	}
	return 0;
}

/* Checks that another user gets a message that names the owner. The laboratory must not look empty. */
static void test_other_user(void **state)
{
	struct lab lab;

	(void)state;
	if (geteuid() != 0)
		skip();
	lab = scratch_lab("lab");
	lab_close(&lab);
	assert_int_equal(scratch_child(open_as_other), 0);
}

int suite_lab(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),	   cmocka_unit_test(test_config_values),
		cmocka_unit_test(test_out_of_use), cmocka_unit_test(test_too_many_hosts),
		SCRATCH_TEST(test_create),	   SCRATCH_TEST(test_create_keeps),
		SCRATCH_TEST(test_broken_config),  SCRATCH_TEST(test_example),
		SCRATCH_TEST(test_lock),	   SCRATCH_TEST(test_lock_dies),
		SCRATCH_TEST(test_private),	   SCRATCH_TEST(test_other_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
