#include "gate/profile/code.c" /* the static classification of symbols */

#include "base/mem.h"
#include "tests/scratch.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void test_classes(void **state)
{
	static const struct {
		const char *file, *symbol;
		enum code_class class;
	} rows[] = {
		{ "libc.so.6", "memcpy", CODE_STRINGS },
		{ "libc.so.6", "__memmove_avx_unaligned_erms", CODE_STRINGS },
		{ "a", "__GI___strcasecmp_l", CODE_STRINGS },
		{ "a", "memcpy_from_disk", CODE_NONE }, /* only the start of the name is the same */
		{ "a", "strlen_cache", CODE_NONE },
		{ "libc.so.6", "memalign", CODE_ALLOCATION },
		{ "a", "_int_malloc", CODE_ALLOCATION },
		{ "a", "_Znwm", CODE_ALLOCATION },
		{ "libc.so.6", "malloc@@GLIBC_2.2.5", CODE_ALLOCATION },
		{ "libc.so.6", "qsort_r.cold", CODE_SORTING },
		{ "a", "_ZSt16__introsort_loopIPiS_EvT_S1_T0_", CODE_SORTING },
		{ "a", "regexec", CODE_PARSING },
		{ "libc.so.6", "_IO_getc", CODE_BUFFERS },
		{ "a", "puts_on_weight", CODE_NONE },
		{ "a", "main", CODE_NONE },
		{ "a", "", CODE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (code_class_of_symbol(rows[i].file, rows[i].symbol) != rows[i].class)
			fail_msg("%s in %s is %s", rows[i].symbol, rows[i].file,
				 code_class_text(code_class_of_symbol(rows[i].file, rows[i].symbol)));
	assert_int_equal(code_class_of_file("libz.so.1"), CODE_COMPRESSION);
	assert_int_equal(code_class_of_file("libzebra.so.1"), CODE_NONE);
	assert_int_equal(code_class_of_file("//anon"), CODE_GENERATED);
}

/* The place of a function of this process: its file and the offset in the file. find_segment() returns 0 if no file has it. */
struct wanted {
	uint64_t address, offset;
	const char *path;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *wanted)
{
	struct wanted *w = wanted;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && begin <= w->address && w->address - begin < segment->p_filesz) {
			w->offset = w->address - begin + segment->p_offset;
			w->path = info->dlpi_name;
			return 1;
		}
	}
	return 0;
}

static void find_address(struct code *code, const void *address, struct code_place *out)
{
	struct wanted wanted = { .address = (uint64_t)(uintptr_t)address };
	struct stat info;

	dl_iterate_phdr(find_segment, &wanted);
	assert_non_null(wanted.path);
	wanted.path = *wanted.path ? wanted.path : "/proc/self/exe";
	assert_int_equal(stat(wanted.path, &info), 0);
	code_find_place(code, wanted.path, info.st_ino, wanted.offset, out);
}

static void find_of_libc(struct code *code, const char *symbol, struct code_place *out)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	assert_non_null(libc);
	find_address(code, dlsym(libc, symbol), out);
	dlclose(libc);
}

/* Defines two calls: after one there are instructions of several bytes, after the other the code is not reached. The code never runs. */
#if defined(__aarch64__)
#define CALL  "svc #0\n"
#define STORE "str x0, [x1, #8]\n"
#define JUMP  "b"
#else
#define CALL  "syscall\n"
#define STORE "mov %rax, 0x1234(%rdi)\n"
#define JUMP  "jmp"
#endif
__asm__(".pushsection .text\n"
	"test_code_called: " CALL "test_code_first: " STORE "test_code_second: nop\n"
	"test_code_third: " CALL "test_code_jump: " JUMP " test_code_called\n"
	"test_code_other: ret\n"
	".popsection\n");
extern const char test_code_called[], test_code_first[], test_code_second[], test_code_third[], test_code_jump[], test_code_other[];

static void test_behind_call(void **state)
{
	const struct {
		const char *at;
		bool behind;
	} rows[] = {
		{ test_code_called, false }, { test_code_first, true },	 { test_code_first + 1, false }, /* inside an instruction */
		{ test_code_second, true },  { test_code_third, false }, { test_code_jump, true },
		{ test_code_other, false }, /* code after a jump is not executed next */
	};
	struct code *code = code_new();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct code_place place;

		find_address(code, rows[i].at, &place);
		if (place.after_system_call != rows[i].behind)
			fail_msg("row %zu: %d", i, place.after_system_call);
	}
	code_free(code);
}

/* Checks that the functions that this CPU's C library selected are found, even if its file does not name them. The selecting function's
 * x86-64 code identifies them. */
static void test_chosen_functions(void **state)
{
#ifdef __x86_64__
	static const char *const strings[] = { "memcpy",  "memmove", "memset",	"memcmp",     "memchr", "strlen", "strcmp", "strchr",
					       "strrchr", "strcpy",  "strncmp", "strcasecmp", "strstr", "wcslen", "wmemset" };
	struct code *code = code_new();
	struct code_place place;

	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		find_of_libc(code, strings[i], &place);
		if (place.class != CODE_STRINGS)
			fail_msg("%s is '%s' of %s", strings[i], place.name, code_class_text(place.class));
	}
	code_free(code);
#else
	(void)state;
	print_message("skipped: which functions a C library has chosen is looked for in code for x86-64 alone\n");
	skip();
#endif
}

static void test_other_functions(void **state)
{
	struct code *code = code_new();
	struct code_place place;

	(void)state;
	find_of_libc(code, "malloc", &place);
	assert_int_equal(place.class, CODE_ALLOCATION);
	find_of_libc(code, "qsort", &place);
	assert_int_equal(place.class, CODE_SORTING);
	find_of_libc(code, "ptsname", &place);
	assert_int_equal(place.class, CODE_C);
	assert_false(place.is_class_from_callers);
	code_free(code);
}

/* Checks that each stub through which this program calls its libraries has the name of a function there, or of the table. */
static void test_stubs(void **state)
{
	static const char path[] = "/proc/self/exe";
	struct code *code = code_new();
	struct assay_error err;
	struct image image;
	struct stat info;
	size_t named = 0;

	(void)state;
	assert_int_equal(image_open(path, IMAGE_NO_SYMBOLS, &image, &err), ASSAY_OK);
	assert_int_equal(stat(path, &info), 0);
	for (size_t i = 0; i < image.n_sections; i++) {
		const struct image_section *section = &image.sections[i];

		for (uint64_t at = 0; strncmp(section->name, ".plt", 4) == 0 && at < section->size; at++) {
			struct code_place place;
			const char *end;

			code_find_place(code, path, info.st_ino, section->offset + at, &place);
			end = strrchr(place.name, '@');
			if (place.nameless || (strcmp(place.name, section->name) != 0 && (!end || strcmp(end, "@plt") != 0)))
				fail_msg("%s+%llu is '%s'", section->name, (unsigned long long)at, place.name);
			named += strcmp(place.name, "dlsym@plt") == 0;
		}
	}
#ifdef __x86_64__
	assert_true(named >= 6); /* recognized by the bytes of "jmp *slot" */
#endif
	image_release(&image);
	code_free(code);
}

/* Checks a file that was replaced, is missing or is not a program: only its name is used. */
static void test_not_known(void **state)
{
	struct code *code = code_new();
	struct code_place place;
	struct stat info;
	char *path = mem_format("%s/libz.so.1", (const char *)*state);

	code_find_place(code, path, 1, 4096, &place);
	assert_true(place.class == CODE_COMPRESSION && !*place.name);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(stat(path, &info), 0);
	for (int other = 0; other < 2; other++) {
		code_find_place(code, path, info.st_ino + (uint64_t)other, 0, &place);
		assert_true(place.class == CODE_COMPRESSION && !*place.name && !place.after_system_call);
	}
	free(path);
	code_free(code);
}

int suite_code(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),		cmocka_unit_test(test_chosen_functions),
		cmocka_unit_test(test_other_functions), cmocka_unit_test(test_behind_call),
		cmocka_unit_test(test_stubs),		SCRATCH_TEST(test_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
