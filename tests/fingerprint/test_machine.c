/* Tests the file of a machine: which files are refused with which errors, and that nothing is lost between text and memory. */
#include "fingerprint/catalog/machine.h"

#include "tests/scratch.h"

#include <math.h>

/* A file with `rates` as its rates, `more` after the fingerprint's other members, and `top` after the machine's other members. */
#define HEAD "{\"format\":\"assay machine\",\"version\":1,\"id\":\"m1\""
#define FINGERPRINT(id, ms, more, rates)                                                                                                   \
	"{\"id\":\"" id "\",\"taken_ms\":" ms ",\"battery\":\"b\",\"battery_hash\":\"h\",\"stress_ng\":\"unknown\","                       \
	"\"architecture\":\"unknown\",\"origin\":\"imported\",\"passes\":3" more ",\"rates\":{" rates "}}"
#define FILE_OF(list) HEAD ",\"fingerprints\":[" list "]}"
#define RATES(rates)  FILE_OF(FINGERPRINT("f1", "1000", "", rates))
#define MORE(more)    FILE_OF(FINGERPRINT("f1", "1000", more, ""))
#define TOP(top)      HEAD "," top ",\"fingerprints\":[]}"

static void test_parse(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *part; /* part of the error */
	} rows[] = {
		{ "smallest", HEAD ",\"fingerprints\":[]}", ASSAY_OK, "" },
		{ "a rate", RATES("\"cpu\":{\"median\":1.5,\"mad\":0,\"n\":3}"), ASSAY_OK, "" },
		{ "recorded 0", RATES("\"cpu\":{\"not_measured\":\"recorded 0\",\"n\":3}"), ASSAY_OK, "" },
		{ "a type", MORE(",\"type\":\"t\",\"type_given_by\":\"types.csv\""), ASSAY_OK, "" },
		{ "its date", MORE(",\"taken\":\"1970-01-01T00:00:01Z\""), ASSAY_OK, "" },
		{ "two of one time", FILE_OF(FINGERPRINT("a", "5", "", "") "," FINGERPRINT("b", "5", "", "")), ASSAY_OK, "" },
		{ "null is absent", TOP("\"notes\":null,\"identity\":null"), ASSAY_OK, "" },

		{ "empty", "", ASSAY_E_FORMAT, "f:1: " },
		{ "cut in half", HEAD ",\"fingerpr", ASSAY_E_FORMAT, "f:1: " },
		{ "a list", "[]", ASSAY_E_FORMAT, "f: not a JSON object" },
		{ "something behind", HEAD ",\"fingerprints\":[]} x", ASSAY_E_FORMAT, "f:1: " },
		{ "no format", "{\"version\":1}", ASSAY_E_FORMAT, "f: 'format' is missing" },
		{ "other format", "{\"format\":\"other\",\"version\":1}", ASSAY_E_FORMAT, "f: format is 'other'" },
		{ "a format with a line end", "{\"format\":\"a\\nb\",\"version\":1}", ASSAY_E_FORMAT, "f: format is 'a?b'" },
		{ "no version", "{\"format\":\"assay machine\"}", ASSAY_E_FORMAT, "f: 'version' is missing" },
		{ "version 0", "{\"format\":\"assay machine\",\"version\":0}", ASSAY_E_FORMAT, "f: 'version' must be an integer from 1" },
		{ "version text", "{\"format\":\"assay machine\",\"version\":\"1\"}", ASSAY_E_FORMAT, "'version' must be an integer" },
		{ "newer, with keys that we do not know", "{\"format\":\"assay machine\",\"version\":2,\"new\":1}", ASSAY_E_VERSION,
		  "f: version 2 of the format, this assay supports up to 1: use a newer assay" },

		{ "unknown key", TOP("\"note\":\"x\""), ASSAY_E_FORMAT, "f: unknown key 'note' in a machine (did you mean 'notes'?)" },
		{ "unknown evidence", TOP("\"identity\":{\"cpu_modell\":\"x\"}"), ASSAY_E_FORMAT, "(did you mean 'cpu_model'?)" },
		{ "unknown in a fingerprint", MORE(",\"pases\":1"), ASSAY_E_FORMAT, "'pases' in a fingerprint (did you mean 'passes'?)" },
		{ "unknown in a rate", RATES("\"cpu\":{\"medain\":1,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT,
		  "f: rate of 'cpu': unknown key 'medain' in a rate (did you mean 'median'?)" },
		{ "a key twice", TOP("\"notes\":\"a\",\"notes\":\"b\""), ASSAY_E_FORMAT, "f:1: " },

		{ "no id", "{\"format\":\"assay machine\",\"version\":1,\"fingerprints\":[]}", ASSAY_E_FORMAT, "f: 'id' is missing" },
		{ "empty id", "{\"format\":\"assay machine\",\"version\":1,\"id\":\"\",\"fingerprints\":[]}", ASSAY_E_FORMAT,
		  "f: a machine's name must have 1 to 200 bytes" },
		{ "id with a line end", "{\"format\":\"assay machine\",\"version\":1,\"id\":\" a\\n\",\"fingerprints\":[]}", ASSAY_E_FORMAT,
		  "f: a machine's name must not have control characters" },
		{ "id that is a number", "{\"format\":\"assay machine\",\"version\":1,\"id\":5,\"fingerprints\":[]}", ASSAY_E_FORMAT,
		  "f: 'id' must be a string, not a number" },
		{ "no fingerprints", HEAD "}", ASSAY_E_FORMAT, "f: 'fingerprints' is missing" },
		{ "fingerprints by name", HEAD ",\"fingerprints\":{}}", ASSAY_E_FORMAT,
		  "f: 'fingerprints' must be an array, not an object" },
		{ "a fingerprint that is a number", FILE_OF("7"), ASSAY_E_FORMAT, "f: a fingerprint must be an object, not a number" },
		{ "identity that is a list", TOP("\"identity\":[]"), ASSAY_E_FORMAT, "f: 'identity' must be an object, not an array" },
		{ "notes that are a number", TOP("\"notes\":1"), ASSAY_E_FORMAT, "f: 'notes' must be a string" },
		{ "fractions of sockets", TOP("\"identity\":{\"sockets\":1.5}"), ASSAY_E_FORMAT, "f: 'sockets' must be an integer" },
		{ "negative memory", TOP("\"identity\":{\"memory_bytes\":-1}"), ASSAY_E_FORMAT, "f: 'memory_bytes' must be an integer" },
		{ "huge memory", TOP("\"identity\":{\"memory_bytes\":1e300}"), ASSAY_E_FORMAT, "f: 'memory_bytes' must be an integer" },

		{ "half a type", MORE(",\"type\":\"t\""), ASSAY_E_FORMAT, "f: type and type_given_by go together" },
		{ "another date", MORE(",\"taken\":\"1970-01-01T00:00:02Z\""), ASSAY_E_FORMAT,
		  "f: taken is '1970-01-01T00:00:02Z', but taken_ms is 1970-01-01T00:00:01Z" },
		{ "year 10000", FILE_OF(FINGERPRINT("f1", "253402300800000", "", "")), ASSAY_E_FORMAT, "f: 'taken_ms' must be an integer" },
		{ "negative time", FILE_OF(FINGERPRINT("f1", "-1", "", "")), ASSAY_E_FORMAT, "f: 'taken_ms' must be an integer" },
		{ "not in order", FILE_OF(FINGERPRINT("a", "6", "", "") "," FINGERPRINT("b", "5", "", "")), ASSAY_E_FORMAT,
		  "f: fingerprints are not in the order of their time (at 'b')" },
		{ "the same twice", FILE_OF(FINGERPRINT("a", "5", "", "") "," FINGERPRINT("a", "5", "", "")), ASSAY_E_FORMAT,
		  "or one stands twice" },
		{ "the same at two times", FILE_OF(FINGERPRINT("a", "5", "", "") "," FINGERPRINT("a", "6", "", "")), ASSAY_E_FORMAT,
		  "f: fingerprint 'a' is listed twice" },

		{ "rates that are a list",
		  HEAD ",\"fingerprints\":[{\"id\":\"f\",\"taken_ms\":1,\"battery\":\"b\",\"battery_hash\":\"h\","
		       "\"stress_ng\":\"u\",\"architecture\":\"u\",\"origin\":\"imported\",\"passes\":1,\"rates\":[]}]}",
		  ASSAY_E_FORMAT, "f: 'rates' must be an object, not an array" },
		{ "a rate that is a number", RATES("\"cpu\":1"), ASSAY_E_FORMAT,
		  "f: rate of 'cpu': a rate must be an object, not a number" },
		{ "no median", RATES("\"cpu\":{\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "f: rate of 'cpu': 'median' is missing" },
		{ "no passes", RATES("\"cpu\":{\"median\":1,\"mad\":0}"), ASSAY_E_FORMAT, "f: rate of 'cpu': 'n' is missing" },
		{ "zero is not a rate", RATES("\"cpu\":{\"median\":0,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT,
		  "f: rate of 'cpu': a median that is not above 0" },
		{ "negative", RATES("\"cpu\":{\"median\":-1,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "a median that is not above 0" },
		{ "negative dispersion", RATES("\"cpu\":{\"median\":1,\"mad\":-1,\"n\":1}"), ASSAY_E_FORMAT, "a negative dispersion" },
		{ "NaN", RATES("\"cpu\":{\"median\":NaN,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "f:1: " },
		{ "NaN as text", RATES("\"cpu\":{\"median\":\"nan\",\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "'median' must be a number" },
		{ "null for NaN", RATES("\"cpu\":{\"median\":null,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "'median' is missing" },
		{ "infinite", RATES("\"cpu\":{\"median\":1e999,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT, "f:1: " },
		{ "too many passes", RATES("\"cpu\":{\"median\":1,\"mad\":0,\"n\":1e12}"), ASSAY_E_FORMAT,
		  "'n' must be an integer from 1" },
		{ "no pass", RATES("\"cpu\":{\"median\":1,\"mad\":0,\"n\":0}"), ASSAY_E_FORMAT, "'n' must be an integer from 1" },
		{ "measured and not", RATES("\"cpu\":{\"median\":1,\"not_measured\":\"recorded 0\",\"n\":1}"), ASSAY_E_FORMAT,
		  "f: rate of 'cpu': both measured and not measured" },
		{ "any reason", RATES("\"cpu\":{\"not_measured\":\"rain\",\"n\":1}"), ASSAY_OK, "" },
		{ "empty reason", RATES("\"cpu\":{\"not_measured\":\"\",\"n\":1}"), ASSAY_E_FORMAT, "a reason of no" },
		{ "real rate of what was not measured", RATES("\"cpu\":{\"not_measured\":\"rain\",\"real_median\":1,\"n\":1}"),
		  ASSAY_E_FORMAT, "both measured and not measured" },
		{ "real rate of 0", RATES("\"cpu\":{\"median\":1,\"mad\":0,\"real_median\":0,\"n\":1}"), ASSAY_E_FORMAT, "not above 0" },
		{ "stressor without name", RATES("\"\":{\"median\":1,\"mad\":0,\"n\":1}"), ASSAY_E_FORMAT,
		  "f: a stressor's name must have" },
		{ "stressors out of order", RATES("\"b\":{\"median\":1,\"mad\":0,\"n\":1},\"a\":{\"median\":1,\"mad\":0,\"n\":1}"),
		  ASSAY_E_FORMAT, "f: stressors are not in the order of their names at 'a'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err = { .text = "" };
		struct machine machine;
		enum assay_status st = machine_parse("f", rows[i].text, strlen(rows[i].text), &machine, &err);

		check_fails(rows[i].what, st, rows[i].status, &err, rows[i].part);
		if (st && (strncmp(err.text, "f:", 2) != 0 || strchr(err.text, '\n')))
			fail_msg("%s: '%s'", rows[i].what, err.text);
		machine_release(&machine);
	}
}

/* A file with all members, in the form in which it is written. */
static const char whole[] =
    "{\n"
    "  \"format\": \"assay machine\",\n  \"version\": 1,\n  \"id\": \"m \\\"\xc3\xa4\\\"/1\",\n  \"notes\": \"rack 3\\nslot 4\",\n"
    "  \"identity\": {\n    \"machine_id\": \"abc\",\n    \"board_name\": \"X\",\n    \"board_serial\": \"1\",\n"
    "    \"board_uuid\": \"2\",\n    \"cpu_vendor\": \"V\",\n    \"cpu_model\": \"M\",\n    \"sockets\": 2,\n"
    "    \"cores_per_socket\": 8,\n    \"threads_per_core\": 2,\n    \"memory_bytes\": 4503599627370496\n  },\n"
    "  \"fingerprints\": [\n    {\n      \"id\": \"0123456789abcdef\",\n      \"taken\": \"2017-06-21T03:12:18.001Z\",\n"
    "      \"taken_ms\": 1498014738001,\n      \"battery\": \"b\",\n      \"battery_hash\": \"h\",\n      \"stress_ng\": \"0.15.06\",\n"
    "      \"architecture\": \"x86_64\",\n      \"origin\": \"measured\",\n      \"type\": \"t\",\n      \"type_given_by\": \"f.csv\",\n"
    "      \"passes\": 3,\n      \"rates\": {\n"
    "        \"a\": {\n          \"median\": 0.1,\n          \"mad\": 1e-300,\n          \"n\": 3\n        },\n"
    "        \"b\": {\n          \"not_measured\": \"recorded 0\",\n          \"n\": 1000000000\n        },\n"
    "        \"c\": {\n          \"median\": 1.7976931348623157e308,\n          \"mad\": 0.30000000000000004,\n          \"n\": 2\n        "
    "}\n"
    "      }\n    }\n  ]\n}\n";

/* Returns the text without spaces and line ends outside of strings. */
static char *squeeze(const char *json)
{
	struct buf out = BUF_INIT;
	bool quoted = false;

	for (const char *c = json; *c; c++) {
		quoted ^= *c == '"' && (c == json || c[-1] != '\\');
		if (quoted || (*c != ' ' && *c != '\t' && *c != '\n'))
			buf_char(&out, *c);
	}
	return buf_take(&out);
}

static void test_identity_of_text(void **state)
{
	struct machine machine;
	struct assay_error err;
	char *text, *again, *a, *b;

	(void)state;
	check(machine_parse("f", whole, sizeof(whole) - 1, &machine, &err), &err);
	assert_string_equal(machine.id, "m \"\xc3\xa4\"/1");
	assert_string_equal(machine.notes, "rack 3\nslot 4");
	assert_true(machine.identity.memory_bytes == INT64_C(1) << 52);
	assert_int_equal(machine.n_fingerprints, 1);
	assert_int_equal(machine.fingerprints[0].n_rates, 3);
	assert_true(isnan(machine.fingerprints[0].rates[1].median));
	assert_true(machine.fingerprints[0].rates[2].mad == .1 + .2);
	text = machine_to_json(&machine);
	machine_release(&machine);
	a = squeeze(whole);
	b = squeeze(text);
	assert_string_equal(a, b);
	check(machine_parse("f", text, strlen(text), &machine, &err), &err);
	again = machine_to_json(&machine);
	assert_string_equal(text, again);
	machine_release(&machine);
	free(again);
	free(text);
	free(a);
	free(b);
}

static void test_file_names(void **state)
{
	char longest[MACHINE_ID_BYTES_MAX + 1], other[MACHINE_ID_BYTES_MAX + 1], umlauts[MACHINE_ID_BYTES_MAX + 1];
	const char *const ids[] = {
		"node01",	    "Node01", "a b",	  "a_b",  "a/b", "a%2Fb", "a%b", ".",	 "..",	  ".hidden", "a.json", "a",
		"../../etc/passwd", "-rf",    "\xc3\xa4", "a\\b", "x:y", "*",	  "~",	 "a%-b", longest, other,     umlauts
	};
	char *names[COUNT(ids)];

	(void)state;
	memset(longest, '/', sizeof(longest));
	longest[MACHINE_ID_BYTES_MAX] = '\0';
	memcpy(other, longest, sizeof(other));
	other[MACHINE_ID_BYTES_MAX - 1] = '+'; /* differs only in the last byte */
	for (int i = 0; i < MACHINE_ID_BYTES_MAX; i += 2)
		memcpy(umlauts + i, "\xc3\xa4", 2);
	umlauts[MACHINE_ID_BYTES_MAX] = '\0';
	for (size_t i = 0; i < COUNT(ids); i++) {
		assert_int_equal(machine_check_id(ids[i], NULL), ASSAY_OK);
		names[i] = machine_file_name(ids[i]);
		assert_null(strchr(names[i], '/'));
		assert_true(names[i][0] != '.');
		assert_true(strlen(names[i]) > 5 && strlen(names[i]) <= 255);
		assert_string_equal(names[i] + strlen(names[i]) - 5, ".json");
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
	}
	assert_string_equal(names[0], "node01.json");
	assert_string_equal(names[4], "a%2Fb.json");
	assert_string_equal(names[9], "%2Ehidden.json");
	for (size_t i = 0; i < COUNT(ids); i++)
		free(names[i]);
}

static void test_ids(void **state)
{
	static const struct {
		const char *id, *part;
	} rows[] = {
		{ "", "1 to 200 bytes" },
		{ " a", "must not start or end with a blank: ' a'" },
		{ "a ", "must not start or end" },
		{ "a\tb", "control characters" },
		{ "a\x7f", "control characters" },
		{ "\n", "control characters" },
		{ "a\xff", "UTF-8" },
		{ "\xc3", "UTF-8" },
	};
	char long_id[MACHINE_ID_BYTES_MAX + 2];
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_fails(rows[i].part, machine_check_id(rows[i].id, &err), ASSAY_E_FORMAT, &err, rows[i].part);
	memset(long_id, 'x', sizeof(long_id));
	long_id[sizeof(long_id) - 1] = '\0';
	check_fails("long", machine_check_id(long_id, &err), ASSAY_E_FORMAT, &err, "1 to 200 bytes");
	long_id[MACHINE_ID_BYTES_MAX] = '\0';
	assert_int_equal(machine_check_id(long_id, &err), ASSAY_OK);
}

int suite_machine(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_identity_of_text),
		cmocka_unit_test(test_file_names),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
