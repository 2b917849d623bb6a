#include "runs/inside/instrument/emulate_build.h"

#include "tests/scratch.h"

/* Returns the arguments of all steps, separated by " ; ". Arguments that add the emulation are shown as <compile>, <wrap> and <program>. */
static char *show(const struct emulate_plan *plan)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < plan->n; i++) {
		const struct compiler_arguments *step = &plan->steps[i];
		bool wrapped = false, exported = false;

		assert_null(step->words[step->n]);
		for (size_t k = 0; k < step->n; k++) {
			const char *word = step->words[k];

			if (strncmp(word, "-Wl,--wrap=", 11) == 0) {
				buf_text(&out, wrapped ? "" : " <wrap>");
				wrapped = true;
			} else if (strncmp(word, "-Wl,--export", 12) == 0) {
				buf_text(&out, exported ? "" : " <program>");
				exported = true;
			} else if (strcmp(word, "-fsanitize=thread") == 0) {
				buf_text(&out, " <compile>");
			} else if (strncmp(word, "-fsanitize-cov", 14) != 0 && strcmp(word, "-fno-lto") != 0 && word[1] != 'U' &&
				   strncmp(word, "-fno-builtin-", 13) != 0 && strncmp(word, "-mmem", 5) != 0 && strcmp(word, "-ldl") != 0 &&
				   !(exported && (strcmp(word, "-pthread") == 0 || strcmp(word, "-lm") == 0))) {
				buf_format(&out, "%s%s", k ? " " : i ? " ; " : "", word);
			}
		}
	}
	return buf_take(&out);
}

static void test_plan(void **state)
{
	static const struct {
		const char *what, *words; /* separated by spaces */
		enum assay_status status;
		const char *expected; /* if an error is expected: a part of its text */
	} rows[] = {
		{ "compiling", "gcc -O2 -c a.c -o a.o", ASSAY_OK, "gcc -g -O2 -c a.c -o a.o <compile>" },
		{ "dependencies only", "gcc -MM a.c", ASSAY_OK, "gcc -g -MM a.c <compile>" },
		{ "linking", "gcc a.o -o a -lm", ASSAY_OK, "gcc a.o -o a -lm <wrap> D/libassay-emulate.a <program>" },
		{ "a library", "gcc -shared a.o -o a.so", ASSAY_OK, "gcc -shared a.o -o a.so <wrap>" },
		{ "objects into one", "gcc -r a.o b.o -o c.o", ASSAY_OK, "gcc -r a.o b.o -o c.o" },
		{ "both at once", "gcc -O2 -I x a.c b.o c.cc -o a -lm -Wl,-z,now", ASSAY_OK,
		  "gcc -g -O2 -I x a.c <compile> -c -o D/0.o ; gcc -g -O2 -I x c.cc <compile> -c -o D/1.o ; "
		  "gcc -O2 -I x D/0.o b.o D/1.o -o a -lm -Wl,-z,now <wrap> D/libassay-emulate.a <program>" },
		{ "output in one word", "gcc a.c -oa", ASSAY_OK,
		  "gcc -g a.c <compile> -c -o D/0.o ; gcc D/0.o -oa <wrap> D/libassay-emulate.a <program>" },
		{ "a language", "gcc -x c - -x none b.o", ASSAY_OK,
		  "gcc -g -x c - -x none <compile> -c -o D/0.o ; gcc D/0.o b.o <wrap> D/libassay-emulate.a <program>" },
		{ "an option's word that looks like a source", "gcc -include a.c -c b.c", ASSAY_OK,
		  "gcc -g -include a.c -c b.c <compile>" },
		{ "a launcher", "ccache gcc -c a.c", ASSAY_OK, "ccache gcc -g -c a.c <compile>" },
		{ "a question", "gcc --version", ASSAY_OK, "gcc --version" },
		{ "only the compiler", "gcc", ASSAY_OK, "gcc" },
		{ "static", "gcc -static a.o", ASSAY_E_USAGE, "-static: the emulation needs a program that is linked dynamically" },
		{ "another architecture", "/usr/bin/aarch64-linux-gnu-gcc-12 -c a.c", ASSAY_E_USAGE,
		  "'/usr/bin/aarch64-linux-gnu-gcc-12' compiles for aarch64: what is added to programs is of x86_64 alone" },
		{ "by clang's option", "clang --target=aarch64-linux-gnu -c a.c", ASSAY_E_USAGE, "'clang' compiles for aarch64" },
		{ "by its other option", "clang -target riscv64-linux-gnu -c a.c", ASSAY_E_USAGE, "'clang' compiles for riscv64" },
		{ "this one by its name", "x86_64-linux-gnu-gcc --target=x86_64-linux-gnu -static a.o", ASSAY_E_USAGE, "-static" },
		{ "another sanitizer", "gcc -fsanitize=undefined,address -c a.c", ASSAY_E_USAGE, "takes the place of such a sanitizer" },
		{ "a sanitizer that may stay", "gcc -fsanitize=undefined -c a.c", ASSAY_OK,
		  "gcc -g -fsanitize=undefined -c a.c <compile>" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emulate_plan plan = { 0 };
		struct assay_error err = { .text = "" };
		char *text = mem_string(rows[i].words), *shown, *rest = text;
		const char *words[32];
		enum assay_status st;
		size_t n = 0;

		while ((words[n] = strsep(&rest, " ")))
			n++;
		st = emulate_plan_make(words, n, "D", "D", &plan, &err);
		check_fails(rows[i].what, st, rows[i].status, &err, rows[i].expected);
		if (!st) {
			shown = show(&plan);
			assert_string_equal(shown, rows[i].expected);
			free(shown);
		}
		emulate_plan_release(&plan);
		free(text);
	}
}

/* Checks that flags that only gcc understands depend on the program behind the name `cc`. */
static void test_compiler(void **state)
{
	static const char *const words[] = { "./cc", "-c", "a.c" };
	static const struct {
		const char *target;
		bool is_gcc;
	} rows[] = { { "./x86_64-linux-gnu-gcc-12", true }, { "./g++", true }, { "./clang-14", false }, { "./tcc", false } };
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emulate_plan plan;
		bool found = false;

		scratch_put(rows[i].target, "");
		assert_int_equal(chmod(rows[i].target, 0700), 0); /* fails if there is no such program */
		unlink("cc");
		assert_int_equal(symlink(rows[i].target, "cc"), 0);
		check(emulate_plan_make(words, COUNT(words), "D", "D", &plan, &err), &err);
		for (size_t k = 0; k < plan.steps[0].n; k++)
			found |= strncmp(plan.steps[0].words[k], "-mmemcpy-strategy", 17) == 0;
		assert_int_equal(found, rows[i].is_gcc);
		emulate_plan_release(&plan);
	}
}

static void test_archive(void **state)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;

	(void)state;
	check(emulate_write_parts(".", &err), &err);
	check(file_read(EMULATE_ARCHIVE, 64u << 20, &bytes, &err), &err);
	assert_true(bytes.size > 10000);
	assert_memory_equal(bytes.bytes, "!<arch>\n", 8);
	buf_release(&bytes);
}

int suite_emulate_build(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		SCRATCH_TEST(test_compiler),
		SCRATCH_TEST(test_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
