/* Tests manifests: accepted and refused texts, error messages, and the arguments of commands on a host. */
#include "runs/running/manifest.h"
#include "tests/scratch.h"

#define SMALLEST "command: [true]\nversions: {a: }\n"

static struct manifest parsed(const char *text)
{
	struct manifest m;
	struct assay_error err;

	check(manifest_parse("apps/app.yaml", text, strlen(text), &m, &err), &err);
	return m;
}

static void check_words(const struct manifest_arguments *words, const char *expected)
{
	struct buf all = BUF_INIT;

	for (size_t i = 0; i < words->n; i++)
		buf_format(&all, "%s%s", i ? "|" : "", words->items[i]);
	assert_string_equal(all.bytes ? all.bytes : "", expected);
	buf_release(&all);
}

/* Each row has one error. The message gives its line and a remedy. */
static void test_refused(void **state)
{
	static const struct {
		const char *text, *error; /* part of the message */
		size_t line;
	} rows[] = {
		{ "", "no 'versions': a map with at least one version, such as {old:", 1 },
		{ "- a\n", "a manifest must be a map", 1 },
		{ SMALLEST "comand: [true]\n", "did you mean 'command'", 3 },
		{ SMALLEST "env: {A: b}\n", "unknown key 'env'", 3 },
		{ "command: sqlite3 bench.db\nversions: {a: }\n", "write [sqlite3, bench.db]", 1 },
		{ "command: a --b={work}\nversions: {a: }\n", "write [a, '--b={work}']", 1 },
		{ "command: sort <in >out\nversions: {a: }\n", "[sh, -c, '...']", 1 },
		{ "command: ''\nversions: {a: }\n", "write [PROGRAM, ARGUMENT]", 1 },
		{ "command: []\nversions: {a: }\n", "names no program", 1 },
		{ "command: ['']\nversions: {a: }\n", "names no program", 1 },
		{ "command: ['{arguments}']\nversions: {a: }\n", "cannot be the program", 1 },
		{ "command: [A=1, make]\nversions: {a: }\n", "[env, NAME=value, PROGRAM]", 1 },
		{ "command:\n  - a\n  - {b: c}\nversions: {a: }\n", "not a map", 3 },
		{ "command:\n  - a\n  - {work}\nversions: {a: }\n", "needs quotes: '{work}'", 3 },
		{ "command: [a,\n  {work}/b]\nversions: {a: }\n", "needs quotes: '{work}/x'", 2 },
		{ "command:\n  - a\n  - [b]\nversions: {a: }\n", "not a list", 3 },
		{ "command: [a, '{wrok}']\nversions: {a: }\n", "did you mean '{work}'", 1 },
		{ "command: [a, '{']\nversions: {a: }\n", "write a brace as '{{'", 1 },
		{ "command: [a, '-x{arguments}']\nversions: {a: }\n", "a separate argument", 1 },
		{ SMALLEST "inputs: {i: {arguments: ['{arguments}']}}\n", "a separate argument", 3 },
		{ "command: ['{build}/a']\nversions:\n  x: {directory: d}\n  y:\n", "'{build}' has no value in the version 'y'", 4 },
		{ "command: ['{files}/a']\nversions: {a: }\n", "the manifest has no 'files'", 2 },
		{ "command: [a, '{input}']\nversions: {a: }\n", "the manifest has no 'inputs'", 2 },
		{ SMALLEST "environment: [A=b]\n", "a map of names and values", 3 },
		{ SMALLEST "environment:\n  1A: b\n", "cannot be the name of an environment variable", 4 },
		{ SMALLEST "environment:\n  A_TOKEN=value: b\n", "'A_TOKEN=(hidden)' cannot be the name", 4 },
		{ SMALLEST "environment:\n  A_TOKEN: '{secret'\n", "value of 'A_TOKEN' has a '{' that starts no placeholder", 4 },
		{ SMALLEST "environment:\n  A: {b: c}\n", "expected a string", 4 },
		{ SMALLEST "environment:\n  A: '{build}'\n", "'{build}' has no value", 2 },
		{ "command: [a]\nversions:\n", "'versions' has no value: a map with at least one version, such as {old:", 2 },
		{ "command: [a]\nversions:\n  b:\n    git:\n", "'git' has no value", 4 },
		{ "command: [a]\nversions:\n  b: {git: {reference: r, build: }}\n", "'build' has no value", 3 },
		{ SMALLEST "variance:\n", "'variance' has no value: set a value, or remove the key", 3 },
		{ SMALLEST "work:\n", "'work' has no value", 3 },
		{ "command: [a]\nversions: {}\n", "at least one version", 2 },
		{ "command: [a]\nversions: [b, c]\n", "a map with at least one version", 2 },
		{ "command: [a]\nversions: {b: c}\n", "a version must be a map", 2 },
		{ "versions:\n  b: {command: [x]}\n  c:\n", "neither the version 'c' nor the manifest has a command: write 'command: [",
		  3 },
		{ "command: [a]\nversions: {b/c: }\n", "cannot be the name of a version", 2 },
		{ "command: [a]\nversions: {b@c: }\n", "cannot be the name of a version", 2 },
		{ "command: [a]\nversions: {'b,c': }\n", "cannot be the name of a version", 2 },
		{ "command: [a]\nversions: {-b: }\n", "cannot be the name of a version", 2 },
		{ "command: [a]\nversions: {'': }\n", "cannot be the name of a version", 2 },
		{ "command: [a]\nversions:\n  b:\n  b:\n", "first on line 3", 4 },
		{ "command: [a]\nversions: {b: {directory: d, git: {reference: r}}}\n", "both 'directory' and 'git'", 2 },
		{ "command: [a]\nversions: {b: {sources: s, git: {reference: r}}}\n", "both 'sources' and 'git'", 2 },
		{ "command: [a]\nversions: {b: {directory: d, build: [make]}}\n", "'build' needs 'sources'", 2 },
		{ "command: [a]\nversions: {b: {sources: s, directory: ../d}}\n", "the directory of 'sources' must be inside the work tree",
		  2 },
		{ "command: [a]\nversions: {b: {directory: [d]}}\n", "must be a text", 2 },
		{ "command: [a]\nversions: {b: {directory: {}}}\n", "an item for each architecture", 2 },
		{ "command: [a]\nversions: {b: {directory: {amd64: d}}}\n", "as 'uname -m' names them: aarch64, x86_64", 2 },
		{ "command: [a]\nversions: {b: {directory: {x86_64: }}}\n", "'directory' has no value for x86_64", 2 },
		{ "command: [a]\nversions: {b: {directory: {x86_64: [d]}}}\n", "must be a text", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, directory: {x86_64: /d}}}}\n", "inside the work tree", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, build: {x86_64: [b], aarch64: [c]}, directory: {x86_64: d}}}}\n",
		  "of different architectures", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, build: {aarch64: [c]}, directory: {x86_64: d}}}}\n",
		  "'directory' has no value for aarch64", 2 },
		{ "command: [a]\nversions: {b: {directroy: d}}\n", "did you mean 'directory'", 2 },
		{ "command: [a]\nversions: {b: {git: {repository: .}}}\n", "no 'reference'", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: --upload-pack=x}}}\n", "does not start with '-'", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, repository: 'https://example.org/x.git'}}}\n", "clone it first", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, repository: 'git@example.org:x.git'}}}\n", "clone it first", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, directory: /out}}}\n", "inside the work tree", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, directory: a/../..}}}\n", "inside the work tree", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: r, build: make -j2}}}\n", "write [make, -j2]", 2 },
		{ "command: [a]\nversions: {b: {git: {reference: \"a\\nb\"}}}\n", "one line of text", 2 },
		{ SMALLEST "inputs: x\n", "'inputs' is a map", 3 },
		{ SMALLEST "inputs: {}\n", "at least one input", 3 },
		{ SMALLEST "inputs:\n  - {arguments: [x]}\n", "has no 'name'", 4 },
		{ SMALLEST "inputs:\n  - {name: x}\n  - {name: x}\n", "first on line 4", 5 },
		{ SMALLEST "inputs: {a/b: }\n", "cannot be the name of an input", 3 },
		{ SMALLEST "inputs: {b: {argument: [x]}}\n", "did you mean 'arguments'", 3 },
		{ SMALLEST "inputs: {b: {arguments: x}}\n", "write [x]", 3 },
		{ SMALLEST "application: a/b\n", "cannot be the name of an application", 3 },
		{ SMALLEST "time_limit: 0\n", "from 0.1 s to a week", 3 },
		{ SMALLEST "time_limit: 1d\n", "a number is seconds", 3 },
		{ SMALLEST "time_limit: [1m]\n", "must be a time", 3 },
		{ SMALLEST "repetitions: 0\n", "from 1 to 10000", 3 },
		{ SMALLEST "warm_ups: -1\n", "from 0 to 10000", 3 },
		{ SMALLEST "work: scratch\n", "an absolute path without '..', such as /dev/shm", 3 },
		{ SMALLEST "work: /tmp/../etc\n", "without '..'", 3 },
		{ SMALLEST "files: data\n", "write [data]", 3 },
		{ SMALLEST "files: ['']\n", "not one line of text", 3 },
		{ SMALLEST "metric: wal\n", "did you mean wall?", 3 },
		{ SMALLEST "metric: regex\n", "needs a pattern", 3 },
		{ SMALLEST "metric: [wall]\n", "must be a text", 3 },
		{ SMALLEST "metric: {direction: higher}\n", "no 'source'", 3 },
		{ SMALLEST "metric: {source: wall, direction: higher}\n", "not a key of the metric 'wall'", 3 },
		{ SMALLEST "metric: {source: wall, pattern: (a)}\n", "not a key of the metric 'wall'", 3 },
		{ SMALLEST "metric: {source: hyperfine, time: cpu}\n", "not a key of the metric 'hyperfine'", 3 },
		{ SMALLEST "metric: {source: google-benchmark, time: wall}\n", "real or cpu, not 'wall'", 3 },
		{ SMALLEST "metric: {pattern: '([0-9]+)', direction: up}\n", "lower or higher, not 'up'", 3 },
		{ SMALLEST "metric: {pattern: '[0-9]+'}\n", "put ( ) around the number", 3 },
		{ SMALLEST "metric: {pattern: '([0-9]+'}\n", "not an extended regular expression", 3 },
		{ SMALLEST "metric: {pattern: '(a)\\1'}\n", "back-references", 3 },
		{ SMALLEST "metric: {pattern: 't (\\d+)'}\n", "write [0-9]", 3 },
		{ SMALLEST "metric: {pattern: 't ([\\d.]+)'}\n", "write [0-9]", 3 },
		{ SMALLEST "metric: {pattern: 't[\\s:]([0-9]+)'}\n", "[:space:]", 3 },
		{ SMALLEST "metric: {pattern: '((a{100}){100})'}\n", "its repetitions are written out", 3 },
		{ SMALLEST "metric: {pattern: '(a)\\\\{2000}'}\n", "its repetitions are written out", 3 },
		{ SMALLEST "metric: {pattern: '(a)[]{9}]{2000}'}\n", "its repetitions are written out", 3 },
		{ SMALLEST "metric: {pattern: '(a++++++++++++)'}\n", "its repetitions are written out", 3 },
		{ SMALLEST "metric: {pattern: '((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)'}\n", "its repetitions are written out", 3 },
		{ SMALLEST "metric: {pattern: '(a)\\'}\n", "Trailing backslash", 3 },
		{ SMALLEST "metric: {pattern: '(a'}\n", "not an extended regular expression", 3 },
		{ SMALLEST "metric: {pattern: '([a)'}\n", "not an extended regular expression", 3 },
		{ SMALLEST "metric: {patern: '(a)', source: regex}\n", "did you mean 'pattern'", 3 },
		{ SMALLEST "metric: {pattern: '(a)', unit: ''}\n", "'unit' is empty", 3 },
		{ SMALLEST "probe: [work]\n", "probe must be a map", 3 },
		{ SMALLEST "probe:\n  functions: changed\n  bugdet: 0\n", "did you mean 'budget'", 5 },
		{ SMALLEST "probe:\n  back_end: papi\n", "unknown back end 'papi': use probe", 4 },
		{ SMALLEST "probe: {functions: work}\n", "'functions' is changed, or a list of names: write [work]", 3 },
		{ SMALLEST "probe: {functions: {work: 1}}\n", "must be a list", 3 },
		{ SMALLEST "probe: {functions: []}\n", "is empty", 3 },
		{ SMALLEST "probe: {functions: ['@list']}\n", "is not a valid function name", 3 },
		{ SMALLEST "probe: {functions: [\"a\\tb\"]}\n", "is not a valid function name", 3 },
		{ SMALLEST "probe:\n  functions: changed\n  counters: all\n", "'counters' is default, or a list of names: write [all]", 5 },
		{ SMALLEST "probe: {counters: ['a b']}\n", "not the name of an event", 3 },
		{ SMALLEST "probe: {counters: [A, B, A]}\n", "the event 'A' appears twice", 3 },
		{ SMALLEST "probe: {budget: 3}\n", "budget", 3 },
		{ SMALLEST "probe: {module: /usr/lib/libx.so}\n", "without leading '/'", 3 },
		{ SMALLEST "probe: {module: a/../b}\n", "and '..'", 3 },
		{ SMALLEST "probe: {full: true}\n", "'full' is only for back_end: emulated", 3 },
		{ SMALLEST "probe:\n  back_end: emulated\n  counters: default\n", "'counters' is only for back_end: probe", 5 },
		{ SMALLEST "probe:\n  back_end: emulated\n  budget: 0\n", "'budget' is only for back_end: probe", 5 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct manifest m;
		struct assay_error err;
		char where[64];

		check_fails(rows[i].text, manifest_parse("apps/app.yaml", rows[i].text, strlen(rows[i].text), &m, &err), ASSAY_E_FORMAT,
			    &err, rows[i].error);
		snprintf(where, sizeof(where), "apps/app.yaml:%zu: ", rows[i].line);
		if (strncmp(err.text, where, strlen(where)) != 0 || strchr(err.text, '\n'))
			fail_msg("'%s' does not start with '%s'", err.text, where);
		assert_null(m.versions);
	}
}

static void test_limits(void **state)
{
	struct buf text = BUF_INIT;
	struct assay_error err;
	struct manifest m;

	(void)state;
	buf_text(&text, "command: [true]\nversions:\n");
	for (int i = 0; i <= MANIFEST_VERSIONS_MAX; i++)
		buf_format(&text, "  v%d:\n", i);
	check_fails("versions", manifest_parse("a.yaml", text.bytes, text.size, &m, &err), ASSAY_E_LIMIT, &err, "100 versions");
	buf_clear(&text);
	buf_text(&text, SMALLEST "inputs:\n");
	for (int i = 0; i <= MANIFEST_INPUTS_MAX; i++)
		buf_format(&text, "  v%d:\n", i);
	check_fails("inputs", manifest_parse("a.yaml", text.bytes, text.size, &m, &err), ASSAY_E_LIMIT, &err, "5000 inputs");
	buf_clear(&text);
	buf_text(&text, "versions: {a: }\ncommand:\n");
	for (int i = 0; i <= MANIFEST_ARGUMENTS_MAX; i++)
		buf_text(&text, "  - x\n");
	check_fails("words", manifest_parse("a.yaml", text.bytes, text.size, &m, &err), ASSAY_E_LIMIT, &err, "1000 arguments");
	buf_clear(&text);
	buf_text(&text, "versions: {a: }\ncommand: [true, ");
	for (int i = 0; i <= 65536; i++)
		buf_char(&text, 'x');
	buf_text(&text, "]\n");
	check_fails("word", manifest_parse("a.yaml", text.bytes, text.size, &m, &err), ASSAY_E_LIMIT, &err, "65536 bytes");
	buf_clear(&text);
	buf_text(&text, SMALLEST "application: ");
	for (int i = 0; i < 150; i++)
		buf_char(&text, 'x');
	buf_text(&text, "\ninputs: {");
	for (int i = 0; i < 50; i++)
		buf_char(&text, 'y');
	buf_text(&text, ": }\n");
	check_fails("stored name", manifest_parse("a.yaml", text.bytes, text.size, &m, &err), ASSAY_E_FORMAT, &err, "together longer");
	buf_release(&text);
}

static void test_defaults(void **state)
{
	struct manifest m = parsed(SMALLEST);

	(void)state;
	assert_string_equal(m.application, "app");
	assert_string_equal(m.directory, "apps");
	assert_string_equal(m.work, "/dev/shm");
	assert_null(m.description);
	assert_int_equal(m.time_limit_ms, 600000);
	assert_int_equal(m.repetitions, 5);
	assert_int_equal(m.warm_ups, 1);
	assert_true(m.sampling);
	assert_int_equal(m.metric.source, METRIC_WALL);
	assert_string_equal(m.metric.unit, "s");
	assert_int_equal(m.n_inputs, 1);
	assert_string_equal(m.inputs[0].name, "");
	assert_int_equal(m.versions[0].kind, MANIFEST_NO_FILES);
	assert_string_equal(m.text, SMALLEST);
	manifest_release(&m);
}

/* Checks patterns as users write them, with any number of repetitions. */
static void test_patterns(void **state)
{
	static const char *const patterns[] = {
		"^ *([A-Za-z_]+) +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +([0-9.]+)",
		"(\\.[0-9]{1,300})",
		"[[:digit:]{99999}[]([0-9]+)",
		"[]a{99999]([0-9]+)",
		"[^]a{99999]([0-9]+)",
		"((a|b{3}|c)*d?)+",
		"\\{99999(x)",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(patterns); i++) {
		char *text = mem_format(SMALLEST "metric: {pattern: '%s'}\n", patterns[i]);
		struct manifest m = parsed(text);

		manifest_release(&m);
		free(text);
	}
}

static void test_all_keys(void **state)
{
	struct manifest m = parsed("application: bench\n"
				   "description: |\n  two\n  lines\n"
				   "files: [w.sql, data/]\n"
				   "command: [run, '{files}/w.sql']\n"
				   "environment: {LANG: C}\n"
				   "inputs:\n  - {name: small, arguments: [1, 2], environment: {N: 1}}\n  - name: large\n"
				   "versions:\n"
				   "  old: {directory: out/old}\n"
				   "  new: {git: {repository: .., reference: v1.2, build: [make, '{x'], directory: bin}}\n"
				   "  tuned: {command: [run, --fast], environment: {FAST: yes}}\n"
				   "time_limit: 1.5\n"
				   "metric: {source: regex, pattern: 'Triad: +([0-9.]+)', direction: higher, unit: MB/s}\n"
				   "repetitions: 7\nwarm_ups: 0\nwork: /var/tmp\nsampling: off\n");
	char *name;

	(void)state;
	assert_string_equal(m.application, "bench");
	assert_string_equal(m.description, "two\nlines\n");
	check_words(&m.files, "w.sql|data/");
	assert_int_equal(m.n_versions, 3);
	assert_int_equal(m.versions[0].kind, MANIFEST_DIR);
	assert_string_equal(m.versions[0].own[0].directory, "out/old");
	assert_int_equal(m.versions[0].line, 12);
	assert_int_equal(m.versions[1].kind, MANIFEST_GIT);
	assert_string_equal(m.versions[1].repository, "..");
	assert_string_equal(m.versions[1].reference, "v1.2");
	assert_string_equal(m.versions[1].own[0].directory, "bin");
	check_words(&m.versions[1].own[0].build, "make|{x"); /* braces have no meaning in build commands */
	check_words(&m.versions[2].command, "run|--fast");
	assert_int_equal(m.n_inputs, 2);
	check_words(&m.inputs[0].arguments, "1|2");
	assert_int_equal(m.inputs[1].line, 10);
	assert_int_equal(m.time_limit_ms, 1500);
	assert_int_equal(m.metric.source, METRIC_REGEX);
	assert_true(m.metric.higher_is_better);
	assert_string_equal(m.metric.unit, "MB/s");
	assert_int_equal(m.repetitions, 7);
	assert_int_equal(m.warm_ups, 0);
	assert_false(m.sampling);
	assert_int_equal(manifest_find_version(&m, "tuned"), 2);
	assert_true(manifest_find_version(&m, "nothing") == SIZE_MAX);
	assert_int_equal(manifest_find_input(&m, "large"), 1);
	assert_true(manifest_find_input(&m, "") == SIZE_MAX);
	name = manifest_stored_name(&m, 1);
	assert_string_equal(name, "bench/large");
	free(name);
	manifest_release(&m);
}

/* Checks the versions that hosts of one architecture get, with names in any order. */
static void test_architectures(void **state)
{
	struct manifest m = parsed("command: ['{build}/x']\n"
				   "versions:\n"
				   "  dirs: {directory: {x86_64: x, aarch64: a}}\n"
				   "  build: {git: {reference: v1, build: {x86_64: [make], aarch64: [make, arm]}, directory: out}}\n"
				   "  both: {git: {reference: v1, build: {aarch64: [b]}, directory: {aarch64: c}}}\n"
				   "  all: {directory: d}\n"
				   "  none: {command: [y]}\n"),
			same = parsed("command: ['{build}/x']\n"
				      "versions:\n"
				      "  dirs: {directory: {aarch64: a, x86_64: x}}\n"
				      "  build: {git: {reference: v1, build: {aarch64: [make, arm], x86_64: [make]}, directory: out}}\n"
				      "  both: {git: {reference: v1, build: {aarch64: [b]}, directory: {aarch64: c}}}\n"
				      "  all: {directory: d}\n"
				      "  none: {command: [y]}\n");
	const struct manifest_own_files *own;
	char *reason;

	(void)state;
	assert_string_equal(m.hash, same.hash);
	assert_string_equal(manifest_find_own_files(&m.versions[0], "x86_64")->directory, "x");
	assert_string_equal(manifest_find_own_files(&m.versions[0], "aarch64")->directory, "a");
	own = manifest_find_own_files(&m.versions[1], "aarch64");
	check_words(&own->build, "make|arm");
	assert_string_equal(own->directory, "out");
	assert_null(manifest_find_own_files(&m.versions[2], "x86_64"));
	reason = manifest_explain_no_files(&m, &m.versions[2], "x86_64");
	assert_non_null(strstr(reason, "version 'both' is for aarch64 only, not for x86_64: add it to its 'build' ("));
	free(reason);
	assert_string_equal(manifest_find_own_files(&m.versions[3], "riscv64")->directory, "d");
	assert_null(manifest_find_own_files(&m.versions[4], "x86_64"));
	assert_int_equal(m.versions[4].n_own_files, 0);
	manifest_derive(&m, "build-0123456789ab");
	assert_int_equal(m.versions[5].n_own_files, 2);
	own = manifest_find_own_files(&m.versions[5], "x86_64");
	check_words(&own->build, "make");
	manifest_release(&m);
	manifest_release(&same);
}

static void test_words_on_a_host(void **state)
{
	static const struct manifest_directories places = { "/shm/files", "/shm/build", "/shm/work" };
	struct manifest m = parsed("files: [f]\n"
				   "command: ['{build}/prog', '{{work}', 'x{work}/{version}', '}', '{arguments}', last]\n"
				   "environment: {A: common, B: '{files}'}\n"
				   "versions:\n"
				   "  v1: {directory: d, environment: {A: 'of {version}', C: c}}\n"
				   "  v2: {directory: d, command: [other, '{input}']}\n"
				   "inputs:\n"
				   "  one: {arguments: ['{input}', ''], environment: {C: '{input}'}}\n"
				   "  two:\n");
	struct manifest_arguments command, environment;

	(void)state;
	manifest_command(&m, false, 0, 0, &places, &command, &environment);
	check_words(&command, "/shm/build/prog|{work}|x/shm/work/v1|}|one||last");
	check_words(&environment, "A=of v1|B=/shm/files|C=one");
	manifest_arguments_release(&command);
	manifest_arguments_release(&environment);
	manifest_command(&m, false, 0, 1, &places, &command, &environment);
	check_words(&command, "/shm/build/prog|{work}|x/shm/work/v1|}|last");
	check_words(&environment, "A=of v1|B=/shm/files|C=c");
	manifest_arguments_release(&command);
	manifest_arguments_release(&environment);
	manifest_command(&m, false, 1, 0, &places, &command, &environment); /* without {arguments}, arguments are appended */
	check_words(&command, "other|one|one|");
	manifest_arguments_release(&command);
	manifest_arguments_release(&environment);
	manifest_release(&m);
}

/* Checks the parsed values of `probe`, and that the kept text parses to the same values. */
static void test_probe(void **state)
{
	static const struct {
		const char *text, *kept;
	} rows[] = {
		{ "{}", "{\"back_end\":\"probe\",\"functions\":\"changed\",\"counters\":\"default\",\"budget\":0.03}" },
		{ "{functions: [f, 'ns::g(int, long)'], counters: [], budget: 0, module: lib/libx.so}",
		  "{\"back_end\":\"probe\",\"functions\":[\"f\",\"ns::g(int,long)\"],\"module\":\"lib/"
		  "libx.so\",\"counters\":[],\"budget\":0}" },
		{ "{counters: [PAPI_TOT_INS, 'perf::PAGE-FAULTS'], functions: changed}",
		  "{\"back_end\":\"probe\",\"functions\":\"changed\",\"counters\":[\"PAPI_TOT_INS\",\"perf::PAGE-FAULTS\"],\"budget\":0."
		  "03}" },
		{ "{back_end: emulated}", "{\"back_end\":\"emulated\",\"functions\":\"changed\",\"full\":false}" },
		{ "{back_end: emulated, full: true, functions: [f]}", "{\"back_end\":\"emulated\",\"functions\":[\"f\"],\"full\":true}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_format(SMALLEST "probe: %s\n", rows[i].text), *kept, *again, *from, *to;
		struct manifest m = parsed(text);

		kept = manifest_probe_text(&m.probe);
		manifest_release(&m);
		free(text);
		text = mem_format(SMALLEST "probe: %s\n", kept);
		m = parsed(text);
		again = manifest_probe_text(&m.probe);
		assert_string_equal(again, kept);
		for (from = to = kept; *from; from++)
			if (!strchr(" \n", *from))
				*to++ = *from;
		*to = '\0';
		assert_string_equal(kept, rows[i].kept);
		manifest_release(&m);
		free(text);
		free(kept);
		free(again);
	}
	struct manifest without = parsed(SMALLEST);

	assert_true(without.probe.changed && without.probe.default_counters && without.probe.back_end == MANIFEST_PROBED);
	manifest_release(&without);
}

static void test_hash(void **state)
{
	static const struct {
		const char *text;
		bool same;
	} rows[] = {
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\n", true },
		{ "# a comment\n\nversions:\n  y:\n    directory: d\n  x:\nenvironment: {B: 2, A: 1}\ncommand: [a, b]\ninputs:\n  - name: "
		  "j\n  - name: i\n",
		  true },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\nrepetitions: "
		  "9\nwarm_ups: 4\n"
		  "sampling: off\ndescription: other\nmetric: wall\napplication: app\nwork: /dev/shm\ntime_limit: 10m\n",
		  true },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\nprobe: {budget: "
		  ".5}\n",
		  true },
		{ "command: [b, a]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\n", false },
		{ "command: [a b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\n", false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 3}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\n", false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: e}}\ninputs: {i: , j: }\n", false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {git: {reference: d}}}\ninputs: {i: , j: }\n", false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d, environment: {}}}\ninputs: {i: , j: }\n",
		  true },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d, command: [a]}}\ninputs: {i: , j: }\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d, environment: {C: 1}}}\ninputs: {i: , j: "
		  "}\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: {arguments: [x]}}\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\nmetric: cpu\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\nfiles: [f]\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\nwork: /tmp\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\ntime_limit: 3\n",
		  false },
		{ "command: [a, b]\nenvironment: {A: 1, B: 2}\nversions: {x: , y: {directory: d}}\ninputs: {i: , j: }\napplication: z\n",
		  false },
	};
	char first[DIGEST_HEX_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct manifest m = parsed(rows[i].text);

		if (i == 0)
			memcpy(first, m.hash, sizeof(first));
		if ((strcmp(first, m.hash) == 0) != rows[i].same)
			fail_msg("%s hash: %s", rows[i].same ? "another" : "the same", rows[i].text);
		manifest_release(&m);
	}
}

static void check_differ(const char *const *endings, size_t n)
{
	char(*hashes)[DIGEST_HEX_BYTES] = mem_new(n, DIGEST_HEX_BYTES);

	for (size_t i = 0; i < n; i++) {
		char *text = mem_format("command: [true]\n%s\n", endings[i]);
		struct manifest m = parsed(text);

		memcpy(hashes[i], m.hash, sizeof(hashes[i]));
		for (size_t k = 0; k < i; k++) {
			if (strcmp(hashes[k], hashes[i]) == 0)
				fail_msg("the same hash: %s, %s", endings[k], endings[i]);
		}
		manifest_release(&m);
		free(text);
	}
	free(hashes);
}

static void test_hash_of_versions(void **state)
{
	static const char *const endings[] = {
		"versions: {a: {git: {reference: r}}}",
		"versions: {a: {git: {reference: r2}}}",
		"versions: {a: {git: {reference: r, repository: r}}}",
		"versions: {a: {git: {reference: r, directory: d}}}",
		"versions: {a: {git: {reference: r, build: [d]}}}",
		"versions: {a: {git: {reference: r, build: [d, d]}}}",
		"versions: {a: {directory: r}}",
		"versions: {a: }",
		"versions: {b: }",
		"versions: {a: , b: }",
	};

	(void)state;
	check_differ(endings, COUNT(endings));
}

static void test_hash_of_metrics(void **state)
{
	static const char *const endings[] = {
		"versions: {a: }\nmetric: wall",
		"versions: {a: }\nmetric: cpu",
		"versions: {a: }\nmetric: {pattern: '(a)'}",
		"versions: {a: }\nmetric: {pattern: '(b)'}",
		"versions: {a: }\nmetric: {pattern: '(a)', direction: higher}",
		"versions: {a: }\nmetric: google-benchmark",
		"versions: {a: }\nmetric: {source: google-benchmark, time: cpu}",
		"versions: {a: }\nmetric: {source: google-benchmark, name: x}",
		"versions: {a: }\nmetric: {source: hyperfine, name: x}",
		"versions: {a: }\nmetric: hyperfine",
	};

	(void)state;
	check_differ(endings, COUNT(endings));
}

static void test_open(void **state)
{
	struct assay_error err;
	struct manifest m;

	(void)state;
	check(lab_create("lab", &err), &err);
	scratch_put("lab/apps/one.yaml", SMALLEST);
	scratch_put("lab/apps/two.yaml", SMALLEST "oops: 1\n");
	check(manifest_open("lab", "one", &m, &err), &err);
	assert_string_equal(m.file, "lab/apps/one.yaml");
	assert_string_equal(m.directory, "lab/apps");
	assert_string_equal(m.application, "one");
	manifest_release(&m);
	check(manifest_open("elsewhere", "lab/apps/one.yaml", &m, &err), &err);
	manifest_release(&m);
	check_fails("unknown", manifest_open("lab", "three", &m, &err), ASSAY_E_NOTFOUND, &err, "'lab/apps' has example, one, two");
	check_fails("broken", manifest_open("lab", "two", &m, &err), ASSAY_E_FORMAT, &err, "lab/apps/two.yaml:3: unknown key 'oops'");
	check_fails("no file", manifest_open("lab", "./three.yaml", &m, &err), ASSAY_E_NOTFOUND, &err, "./three.yaml");
	check_fails("nothing", manifest_open("nowhere", "x", &m, &err), ASSAY_E_NOTFOUND, &err, "no manifest");
}

/* Checks that the manifest of `assay init` is valid without changes. */
static void test_example(void **state)
{
	static const struct manifest_directories places = { "/f", NULL, "/w" };
	struct manifest_arguments command, environment;
	struct assay_error err;
	struct manifest m;

	(void)state;
	check(lab_create("lab", &err), &err);
	check(manifest_open("lab", "example", &m, &err), &err);
	assert_int_equal(m.n_versions, 2);
	for (size_t i = 0; i < 2; i++) {
		manifest_command(&m, false, i, 0, &places, &command, &environment);
		assert_true(command.n > 0);
		manifest_arguments_release(&command);
		manifest_arguments_release(&environment);
	}
	manifest_release(&m);
}

int suite_manifest(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_architectures),
		cmocka_unit_test(test_words_on_a_host),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_hash_of_metrics),
		cmocka_unit_test(test_hash_of_versions),
		SCRATCH_TEST(test_open),
		SCRATCH_TEST(test_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
