/* Tests which hosts are fit for measurements: each rule at its threshold, and the rules that compare several hosts. */
#include "fingerprint/commands/cmd_host_check.c"
#include "tests/scratch.h"

static const struct catalog none;

static const struct {
	const char *name, *value;
} healthy[] = {
	{ "kernel", "6.1.0" },
	{ "machine_id", "0123" },
	{ "governor", "performance" },
	{ "virtual", "none" },
	{ "cpus_online", "8" },
	{ "load1", "4" },
	{ "memory_bytes", "8589934592" },
	{ "memory_available_bytes", "1073741824" },
	{ "memory_limit_bytes", NULL },
	{ "cpus_limit", NULL },
	{ "disk_free_bytes", "1073741824" },
	{ "shm_free_bytes", "134217728" },
	{ "perf_event_paranoid", "2" },
	{ "has_pmu", "1" },
	{ "uid", "1000" },
};

/* Returns the healthy facts with one replaced by `value`. `value` NULL: the host does not report that fact. */
static struct facts facts_with(const char *name, const char *value)
{
	struct buf text = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct facts facts;

	for (size_t i = 0; i < COUNT(healthy); i++) {
		bool changed = name && strcmp(name, healthy[i].name) == 0;
		const char *said = changed ? value : healthy[i].value;

		if (said)
			buf_format(&text, "%s %s\n", healthy[i].name, said);
	}
	assert_int_equal(facts_parse(text.bytes, text.size, &facts, &err), ASSAY_OK);
	buf_release(&text);
	return facts;
}

/* Returns the codes of a host's problems as "code,code!"; '!' marks notes. */
static char *codes_of(const struct checkup *checkup, size_t host)
{
	struct buf codes = BUF_INIT;

	for (size_t i = 0; i < checkup->n; i++) {
		const struct checkup_problem *p = &checkup->problems[i];

		assert_true(strlen(p->text) > 10);
		if (p->host == host)
			buf_format(&codes, "%s%s%s", codes.size ? "," : "", p->code, p->remark ? "!" : "");
	}
	return buf_take(&codes);
}

static void expect_codes(const char *what, const struct checkup *checkup, size_t host, const char *expected)
{
	char *codes = codes_of(checkup, host);

	if (strcmp(codes, expected) != 0)
		fail_msg("%s: host %zu: '%s' instead of '%s'", what, host, codes, expected);
	free(codes);
}

static void test_one_host(void **state)
{
	static const struct {
		const char *what, *name, *value, *codes;
	} rows[] = {
		{ "all at the border", NULL, NULL, "" },
		{ "shm", "shm_free_bytes", "134217727", "shm" },
		{ "no shm", "shm_free_bytes", NULL, "shm" },
		{ "disk", "disk_free_bytes", "1073741823", "disk" },
		{ "disk not known", "disk_free_bytes", NULL, "" },
		{ "memory", "memory_available_bytes", "0", "memory" },
		{ "limited by its group", "memory_limit_bytes", "1073741823", "memory,limits!" },
		{ "limited enough", "memory_limit_bytes", "1073741824", "limits!" },
		{ "limited to more than its box has", "memory_limit_bytes", "8589934593", "" },
		{ "limited processors", "cpus_limit", "0.5", "limits!" },
		{ "all processors", "cpus_limit", "8", "" },
		{ "governor", "governor", "powersave", "governor" },
		{ "no governor", "governor", NULL, "" },
		{ "load", "load1", "4.01", "load" },
		{ "load not known", "load1", NULL, "" },
		{ "virtual", "virtual", "kvm", "virtual_machine!" },
		{ "virtual not known", "virtual", NULL, "" },
		{ "no counters", "has_pmu", "0", "no_pmu!" },
		{ "counters not allowed", "perf_event_paranoid", "3", "perf_event_paranoid!" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct host host = { .name = (char[]){ "a" } };
		const struct fleet_result result = { .outcome = FLEET_OK };
		struct checkup_host h = { .host = &host, .result = &result, .stress_ng = "0.15.06" };
		struct checkup checkup;

		h.facts = facts_with(rows[i].name, rows[i].value);
		checkup_find(&h, 1, &none, &checkup);
		expect_codes(rows[i].what, &checkup, 0, rows[i].codes);
		assert_int_equal(checkup_count_problems(&checkup, 0),
				 *rows[i].codes && rows[i].codes[strcspn(rows[i].codes, ",!")] != '!'); /* problems come before notes */
		checkup_release(&checkup);
		facts_release(&h.facts);
	}
}

/* Checks perf_event_paranoid for root: at 3, Debian's default, PAPI refuses counters if there is a PMU; Ubuntu's 4 does not matter. */
static void test_paranoid_for_root(void **state)
{
	static const struct {
		const char *paranoid;
		double has_pmu;
		const char *codes, *text;
	} rows[] = {
		{ "2", 1, "", NULL },
		{ "3", 1, "perf_event_paranoid!", "'sysctl kernel.perf_event_paranoid=2' as root" },
		{ "3", 0, "no_pmu!", NULL },
		{ "4", 1, "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct host host = { .name = (char[]){ "a" } };
		const struct fleet_result result = { .outcome = FLEET_OK };
		struct checkup_host h = { .host = &host, .result = &result, .stress_ng = "0.15.06" };
		struct checkup checkup;

		h.facts = facts_with("perf_event_paranoid", rows[i].paranoid);
		h.facts.uid = 0;
		h.facts.has_pmu = rows[i].has_pmu;
		checkup_find(&h, 1, &none, &checkup);
		expect_codes(rows[i].paranoid, &checkup, 0, rows[i].codes);
		if (rows[i].text)
			assert_non_null(strstr(checkup.problems[0].text, rows[i].text));
		checkup_release(&checkup);
		facts_release(&h.facts);
	}
}

static void test_clock(void **state)
{
	static const struct {
		double offset_ms, round_trip_ms;
		const char *codes, *text;
	} rows[] = {
		{ 2000, 0, "", NULL },
		{ 2001, 0, "clock", "ahead" },
		{ -2001, 0, "clock", "behind" },
		{ -2400, 1000, "", NULL },
		{ -2501, 1000, "clock", "2.5 s behind" },
		{ (double)NAN, (double)NAN, "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct host host = { .name = (char[]){ "a" } };
		const struct fleet_result result = { .outcome = FLEET_OK };
		struct checkup_host h = { .host = &host,
					  .result = &result,
					  .stress_ng = "1",
					  .clock_offset_ms = rows[i].offset_ms,
					  .round_trip_ms = rows[i].round_trip_ms };
		struct checkup checkup;

		h.facts = facts_with(NULL, NULL);
		checkup_find(&h, 1, &none, &checkup);
		expect_codes("clock", &checkup, 0, rows[i].codes);
		if (rows[i].text)
			assert_non_null(strstr(checkup.problems[0].text, rows[i].text));
		checkup_release(&checkup);
		facts_release(&h.facts);
	}
}

/* Checks that hosts that do not answer are ignored. Emulated hosts, and hosts of one box, share a machine. */
static void test_many_hosts(void **state)
{
	struct host hosts[] = {
		{ .name = (char[]){ "n1" }, .box = (char[]){ "n1" } },
		{ .name = (char[]){ "n2" }, .box = (char[]){ "n2" } },
		{ .name = (char[]){ "n3" }, .box = (char[]){ "n3" } },
		{ .name = (char[]){ "n4" }, .box = (char[]){ "n4" } },
		{ .name = (char[]){ "e1" }, .box = (char[]){ "e1" }, .profile = (char[]){ "base" } },
		{ .name = (char[]){ "l1" }, .box = (char[]){ "b" } },
		{ .name = (char[]){ "l2" }, .box = (char[]){ "b" } },
	};
	static const struct {
		enum fleet_outcome outcome;
		const char *stress_ng, *machine_id, *codes;
	} rows[COUNT(hosts)] = {
		{ FLEET_OK, "0.15.06", "a", "clone" },	    { FLEET_OK, "0.17.08", "a", "clone,stress_ng_version" },
		{ FLEET_OK, "", "b", "stress_ng_missing" }, { FLEET_AUTH, "", "a", "auth" },
		{ FLEET_OK, "0.15.06", "a", "" },	    { FLEET_OK, "0.15.06", "c", "" },
		{ FLEET_OK, "0.15.06", "c", "" },
	};
	static char missing[] = "not installed";
	struct fleet_result results[COUNT(hosts)];
	struct checkup_host h[COUNT(hosts)];
	struct checkup checkup;

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		results[i] = (struct fleet_result){ .outcome = rows[i].outcome, .message = "why it is not" };
		h[i] = (struct checkup_host){ .host = &hosts[i], .result = &results[i], .stress_ng_fault = missing };
		memcpy(h[i].stress_ng, rows[i].stress_ng, strlen(rows[i].stress_ng));
		h[i].facts = facts_with("machine_id", rows[i].machine_id);
	}
	checkup_find(h, COUNT(hosts), &none, &checkup);
	for (size_t i = 0; i < COUNT(hosts); i++)
		expect_codes("many", &checkup, i, rows[i].codes);
	assert_string_equal(checkup.problems[0].text,
			    "it has the machine-id of n2: a clone (give it its own /etc/machine-id), or one machine under two names");
	assert_non_null(strstr(checkup.problems[2].text, "is 0.17.08, but 4 of 5 hosts have 0.15.06"));
	assert_string_equal(checkup.problems[4].text, "auth: why it is not");
	checkup_release(&checkup);
	for (size_t i = 0; i < COUNT(hosts); i++)
		facts_release(&h[i].facts);
}

/* Checks that a replaced or reinstalled host is reported as another machine than the catalog's. A host that is not in the catalog is not
 * reported. */
static void test_other_machine(void **state)
{
	const struct host hosts[] = {
		{ .name = (char[]){ "n1" }, .id = (char[]){ "n1" }, .box = (char[]){ "n1" } },
		{ .name = (char[]){ "n2" }, .id = (char[]){ "n2" }, .box = (char[]){ "n2" } },
		{ .name = (char[]){ "new" }, .id = (char[]){ "new" }, .box = (char[]){ "new" } },
		{ .name = (char[]){ "e1" }, .id = (char[]){ "n2" }, .box = (char[]){ "e1" }, .profile = (char[]){ "base" } }
	};
	static const char *const machine_ids[COUNT(hosts)] = { "a", "c", "d", "e" };
	static const char *const codes[COUNT(hosts)] = { "", "identity", "", "" };
	struct machine machines[] = { { .id = (char[]){ "n1" }, .identity.machine_id = (char[]){ "a" } },
				      { .id = (char[]){ "n2" }, .identity.machine_id = (char[]){ "b" } } };
	const struct catalog catalog = { .machines = machines, .n = COUNT(machines) };
	const struct fleet_result ok = { .outcome = FLEET_OK };
	struct checkup_host h[COUNT(hosts)];
	struct checkup checkup;

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		h[i] = (struct checkup_host){ .host = &hosts[i], .result = &ok, .stress_ng = "0.15.06" };
		h[i].facts = facts_with("machine_id", machine_ids[i]);
	}
	checkup_find(h, COUNT(hosts), &catalog, &checkup);
	for (size_t i = 0; i < COUNT(hosts); i++)
		expect_codes("identity", &checkup, i, codes[i]);
	assert_non_null(strstr(checkup.problems[0].text, "its machine-id was 'b' and is 'c'"));
	assert_non_null(strstr(checkup.problems[0].text, "--reinstalled"));
	checkup_release(&checkup);
	for (size_t i = 0; i < COUNT(hosts); i++)
		facts_release(&h[i].facts);
}

/* Checks two equally frequent versions: the first one counts. A host that failed later does not count, and root needs no permission. */
static void test_version_tie(void **state)
{
	static const struct {
		enum fleet_outcome outcome;
		const char *stress_ng, *codes;
	} rows[] = {
		{ FLEET_OK, "0.15.06", "" },
		{ FLEET_OK, "0.17.08", "stress_ng_version" },
		{ FLEET_FAILED, "0.17.08", "failed" },
	};
	const struct host host = { .name = (char[]){ "a" }, .profile = (char[]){ "base" } };
	struct fleet_result results[COUNT(rows)];
	struct checkup_host h[COUNT(rows)];
	struct checkup checkup;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		results[i] = (struct fleet_result){ .outcome = rows[i].outcome, .message = "its facts are rubbish" };
		h[i] = (struct checkup_host){ .host = &host, .result = &results[i] };
		memcpy(h[i].stress_ng, rows[i].stress_ng, strlen(rows[i].stress_ng));
		h[i].facts = facts_with("perf_event_paranoid", "4");
		h[i].facts.uid = 0;
	}
	checkup_find(h, COUNT(rows), &none, &checkup);
	for (size_t i = 0; i < COUNT(rows); i++)
		expect_codes("tie", &checkup, i, rows[i].codes);
	assert_non_null(strstr(checkup.problems[0].text, "but 1 of 2 hosts have 0.15.06"));
	checkup_release(&checkup);
	for (size_t i = 0; i < COUNT(rows); i++)
		facts_release(&h[i].facts);
}

static void test_version(void **state)
{
	static const struct {
		const char *said, *version;
	} rows[] = {
		{ "stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux)\n", "0.15.06" },
		{ "stress-ng, version 0.18.12-dev\n", "0.18.12-dev" },
		{ "stress-ng, version \n", NULL },
		{ "stress-ng, version 0.15", NULL }, /* truncated */
		{ "stress-ng, version 0.15\033[31m (x)\n", NULL },
		{ "stress-ng, version 01234567890123456789012345678901 (x)\n", NULL },
		{ "stress, version 1.0 (x)\n", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char version[FACTS_VERSION_BYTES] = "";

		assert_int_equal(facts_parse_stress_ng(rows[i].said, version), rows[i].version != NULL);
		assert_string_equal(version, rows[i].version ? rows[i].version : "");
	}
}

int suite_checkup(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_host),	  cmocka_unit_test(test_clock),	      cmocka_unit_test(test_many_hosts),
		cmocka_unit_test(test_other_machine),	  cmocka_unit_test(test_version_tie), cmocka_unit_test(test_version),
		cmocka_unit_test(test_paranoid_for_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
