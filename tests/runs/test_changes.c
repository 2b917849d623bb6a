/* Tests parts of `assay changes`: names, paths, texts from git, and maps. cli_changes.sh tests its results. */
#include "runs/inside/changes/changes.h"
#include "runs/inside/changes/demangle.h"

#include "base/mem.h"

#include <elf.h>

#include "tests/growth.h"

static void test_labels(void **state)
{
	static const struct {
		const char *symbol, *stem, *label;
	} rows[] = {
		{ "f", "f", "" },
		{ "f.constprop.0", "f", ".constprop" },
		{ "f.isra.0.constprop.12", "f", ".isra.constprop" },
		{ "f.part.3", "f", ".part" },
		{ "f.cold", "f", ".cold" },
		{ "f.lto_priv.7", "f", "" },
		{ "f.llvm.1234567890", "f", "" },
		{ "f.part.0.lto_priv.1", "f", ".part" },
		{ "_ZN1a1bEv.constprop.0", "_ZN1a1bEv", ".constprop" },
		{ ".hidden.part.0", ".hidden", ".part" },
		{ "f.", "f", "" },
		{ "", "", "" },
		{ "_ZN3vec12Vec$LT$..$GT$3new17h0123456789abcdefE.llvm.77", "_ZN3vec12Vec$LT$..$GT$3new17h0123456789abcdefE", "" },
		{ "_ZN3vec12Vec$LT$..$GT$3new17h0123456789abcdefE.cold", "_ZN3vec12Vec$LT$..$GT$3new17h0123456789abcdefE", ".cold" },
	};
	struct intern names = { .texts = NULL };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(functions_stem_length(rows[i].symbol), strlen(rows[i].stem));
		assert_string_equal(functions_label(&names, rows[i].symbol), rows[i].label);
	}
	intern_release(&names);
}

static void test_paths(void **state)
{
	static const struct {
		const char *path, *clean;
	} rows[] = {
		{ "/a//b/./c.c", "/a/b/c.c" },
		{ "/a/../b.c", "/b.c" },
		{ "../a/b/../c.c", "../a/c.c" },
		{ "./a.c", "a.c" },
		{ "/../a.c", "/a.c" },
		{ "../../a.c", "../../a.c" },
		{ "a/..", "" },
		{ "/", "/" },
		{ "/a/b/../../c.c", "/c.c" },
		{ "a/../../b.c", "../b.c" },
		{ "/a/b/", "/a/b" },
		{ "", "" },
	};
	struct intern names = { .texts = NULL };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *clean = intern_path(&names, NULL, rows[i].path);

		assert_string_equal(clean, rows[i].clean);
		assert_ptr_equal(clean, intern_text(&names, rows[i].clean));
		assert_ptr_equal(clean, intern_find(&names, rows[i].clean));
	}
	assert_null(intern_find(&names, "never seen"));
	intern_release(&names);
}

static void test_map(void **state)
{
	struct map map = { .slots = NULL };
	size_t value = 77;

	(void)state;
	assert_false(map_get(&map, 5, &value));
	for (size_t i = 0; i < 10000; i++)
		map_set(&map, i << 40, i);
	map_set(&map, 0, 4711);
	map_set(&map, UINT64_MAX, 1);
	assert_int_equal(map.n, 10001);
	for (size_t i = 1; i < 10000; i++) {
		assert_true(map_get(&map, i << 40, &value));
		assert_int_equal(value, i);
	}
	assert_true(map_get(&map, 0, &value));
	assert_int_equal(value, 4711);
	assert_false(map_get(&map, 12345, &value));
	map_release(&map);
	assert_false(map_get(&map, 1, &value));
	map_release(&map);
}

/* Checks that build_release() zeroes the build and may be called again. */
static void test_build_release(void **state)
{
	struct assay_error err;
	struct build build;

	(void)state;
	if (IMAGE_NATIVE_MACHINE != EM_X86_64) {
		assert_int_equal(build_open("/proc/self/exe", IMAGE_EXPORTED, &build, &err), ASSAY_E_FORMAT);
		assert_non_null(strstr(err.text, "only x86-64 is supported"));
		return;
	}
	assert_int_equal(build_open("/proc/self/exe", IMAGE_EXPORTED, &build, &err), ASSAY_OK);
	assert_true(build.n_referred > 0);
	for (int i = 0; i < 2; i++) {
		build_release(&build);
		assert_true(!build.referenced_addresses && build.n_referred == 0);
	}
}

static uint64_t fnv_step(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3u;
}

/* Appends one byte to each text. The new difference of the FNV-1a states is the FNV prime times (old difference + `more`). */
static void add_two_bytes(uint64_t hash[2], int more, struct buf texts[2])
{
	for (unsigned a = 1; a < 256; a++) {
		uint64_t low = (hash[0] ^ a) + (hash[1] - hash[0]) + (uint64_t)(int64_t)more, b = low ^ hash[1];

		if (b == 0 || b > 255)
			continue;
		buf_char(&texts[0], (char)a);
		buf_char(&texts[1], (char)b);
		hash[0] = fnv_step(hash[0], (unsigned char)a);
		hash[1] = fnv_step(hash[1], (unsigned char)b);
		return;
	}
	fail_msg("no such bytes");
}

#define BLOCKS 14

/* Interns `n` of 2^BLOCKS texts that have the same FNV-1a hash. Weighted with powers of the FNV prime, the differences add up to 0. They
 * are small, as differences of bytes must be, and were found as a short vector of a lattice. */
static void intern_colliding(void *context, size_t n)
{
	static const int differences[] = { -3, 11, 0, -5, -2, -2, 7, 1, -12, 13, 7, -5, 11, 3 };
	struct buf blocks[BLOCKS][2] = { { BUF_INIT } };
	uint64_t hash[2] = { 0xcbf29ce484222325u, 0xcbf29ce484222325u };
	struct intern names = { .texts = NULL };

	(void)context;
	for (size_t k = 0; k < BLOCKS; k++) {
		for (size_t i = 0; i < COUNT(differences); i++)
			add_two_bytes(hash, differences[i], blocks[k]);
		assert_true(hash[0] == hash[1]);
	}
	for (size_t i = 0; i < n; i++) {
		struct buf text = BUF_INIT;

		for (size_t k = 0; k < BLOCKS; k++)
			buf_add(&text, blocks[k][i >> k & 1].bytes, COUNT(differences));
		intern_bytes(&names, text.bytes, text.size);
		buf_release(&text);
	}
	assert_int_equal(names.n, n);
	intern_release(&names);
	for (size_t k = 0; k < BLOCKS; k++)
		for (int i = 0; i < 2; i++)
			buf_release(&blocks[k][i]);
}

static void test_hostile_texts(void **state)
{
	(void)state;
	growth_check("texts with one hash by FNV-1a", intern_colliding, NULL, 1024);
}

static void test_sorted(void **state)
{
	uint64_t items[][2] = { { 7, 1 }, { 3, 9 }, { UINT64_MAX, 0 }, { 3, 2 }, { 0, 5 } }, numbers[] = { 2, 1 };

	(void)state;
	map_sort(items, COUNT(items), sizeof(items[0]));
	map_sort(numbers, COUNT(numbers), sizeof(numbers[0]));
	map_sort(NULL, 0, 8);
	assert_true(numbers[0] == 1 && numbers[1] == 2);
	assert_true(items[0][0] == 0 && items[1][1] == 2 && items[2][1] == 9 && items[4][0] == UINT64_MAX);
	assert_int_equal(map_count_below(items, COUNT(items), sizeof(items[0]), 3), 1);
	assert_int_equal(map_count_below(items, COUNT(items), sizeof(items[0]), 8), 4);
	assert_int_equal(map_find_last(items, COUNT(items), sizeof(items[0]), 3), 2);
	assert_int_equal(map_find_last(items, COUNT(items), sizeof(items[0]), UINT64_MAX), 4);
	assert_int_equal(map_find_last(items + 1, COUNT(items) - 1, sizeof(items[0]), 2), SIZE_MAX);
	assert_int_equal(map_count_below(NULL, 0, 8, 5), 0);
}

static void test_demangle(void **state)
{
	static const struct {
		const char *symbol, *name;
	} rows[] = {
		{ "main", "main" },
		{ "_Z3maxii", "max(int, int)" },
		{ "_ZN1aC4Ev", "a::a()" },
		{ "_ZN12_GLOBAL__N_13oneEv", "(anonymous namespace)::one()" },
		{ "_Zx", "_Zx" },
		{ "tab\there", "tab?here" },
		{ "", "" },
		{ "_RNvMNtCsaENSZCjIpM2_1m4shopINtB2_4ItemhE5totalB4_", "<m::shop::Item<u8>>::total" },
		{ "_RINvCsaENSZCjIpM2_1m4eachNCNvB2_4main0EB2_", "m::each::<m::main::{closure#0}>" },
		{ "_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
				       "del" },
		{ "_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>" },
		{ "_ZN1m4shop13Item$LT$T$GT$5total17h1a0c8b4bed187cffE", "m::shop::Item<T>::total" },
		{ "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
		  "core::ptr::drop_in_place<alloc::string::String>" },
		{ "_RNvC1a", "_RNvC1a" },
		{ "_R", "_R" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *name = demangle(rows[i].symbol);

		assert_string_equal(name, rows[i].name);
		free(name);
	}
}

/* Appends `n` levels of A<A<...>, A<...>>. Each level refers twice to the level before. */
static void add_levels(struct buf *symbol, size_t n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_text(symbol, "1AIiiE");
	for (size_t i = 0; i < n; i++) {
		char number[3] = { digits[i / 36], digits[i % 36], '\0' };
		const char *shown = number + (i < 36);

		buf_format(symbol, "S_IS%s_S%s_E", shown, shown);
	}
}

/* Checks that demangling ends although the names double with each level, up to 2^60 bytes. Kinds 2 and 3 print nothing at first. */
static void test_demangle_hostile(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 60; n++) {
		struct buf symbols[3] = { BUF_INIT, BUF_INIT, BUF_INIT };

		buf_text(&symbols[0], "_Z1f");
		add_levels(&symbols[0], n);
		buf_text(&symbols[1], "_Z1fDpFv");
		add_levels(&symbols[1], n);
		buf_text(&symbols[1], "E");
		for (size_t i = 0; i < n; i++)
			buf_text(&symbols[2], i ? "L_ZN1AcvT_I" : "_ZN1AcvT_I");
		buf_text(&symbols[2], "i");
		for (size_t i = 0; i < n; i++)
			buf_text(&symbols[2], i + 1 < n ? "EEvE" : "EEvv");
		for (size_t i = 0; i < COUNT(symbols); i++) {
			char *name = demangle(symbols[i].bytes);

			assert_true(strlen(name) <= 65536);
			/* A short name is demangled. A symbol with a too long name stays as it is. */
			if (n <= 4 || n >= 30)
				assert_true((strcmp(name, symbols[i].bytes) == 0) == (n >= 30));
			free(name);
			buf_release(&symbols[i]);
		}
	}
}

static void add_number(struct buf *symbol, size_t number) /* in base 62, minus one */
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (number > 62)
		buf_char(symbol, digits[(number - 1) / 62]);
	if (number)
		buf_char(symbol, digits[(number - 1) % 62]);
	buf_char(symbol, '_');
}

/* Appends ((u64, u64), (u64, u64)) and so on, `n` levels. `wide`: with a non-ASCII name, for which libiberty allocates memory. */
static void add_doubled(struct buf *symbol, size_t n, bool wide)
{
	size_t last;

	buf_text(symbol, "_RINvC1a1f");
	last = symbol->size - 2;
	buf_text(symbol, wide ? "TNvC1au8gdel_5qayE" : "TyyE");
	for (size_t i = 0; i < n; i++) {
		size_t now = symbol->size - 2;

		buf_text(symbol, "TB");
		add_number(symbol, last);
		buf_char(symbol, 'B');
		add_number(symbol, last);
		buf_char(symbol, 'E');
		last = now;
	}
	buf_char(symbol, 'E');
}

static void test_demangle_hostile_rust(void **state)
{
	/* lifetimes that are counted, in parts that print nothing and in parts that print */
	static const char *const symbols[] = { "_RMINvC1a1fFG9999999999_EuEyEu", "_RMINvC1a1fDG9999999999_EL_Ey",
					       "_RINvC1a1fFG9999999999_EuE", "_RINvC1a1fFGzz_EuE", "_RINvC1a1fFGzz_FGzz_FGzz_EuEuEuE" };

	(void)state;
	for (size_t i = 0; i < COUNT(symbols); i++) {
		char *name = demangle(symbols[i]);

		assert_true(strlen(name) <= 65536);
		free(name);
	}
	for (size_t n = 1; n <= 120; n++)
		for (int wide = 0; wide < 2; wide++) {
			struct buf symbol = BUF_INIT;
			char *name;

			add_doubled(&symbol, n, wide);
			name = demangle(symbol.bytes);
			assert_true(strlen(name) <= 65536);
			if (n <= 4 || n >= 30)
				assert_true((strcmp(name, symbol.bytes) == 0) == (n >= 30));
			free(name);
			buf_release(&symbol);
		}
}

/* Demangles `n` types, side by side or nested. The work must be in proportion to `n`. */
static void demangle_long(void *context, size_t n)
{
	const char *kind = context;
	struct buf symbol = BUF_INIT;
	char *name;

	buf_text(&symbol, *kind == 'T' ? "_RINvC1a1fT" : "_RINvC1a1f");
	for (size_t i = 0; i < n; i++)
		buf_text(&symbol, kind);
	buf_text(&symbol, *kind == 'T' ? "EE" : "yE");
	name = demangle(symbol.bytes);
	free(name);
	buf_release(&symbol);
}

static void test_demangle_growth(void **state)
{
	(void)state;
	growth_check("types of a tuple", demangle_long, (char[]){ "TyE" }, 150);
	growth_check("references to references", demangle_long, (char[]){ "R" }, 60);
}

static void test_starts(void **state)
{
	static const struct {
		const char *symbol;
		enum functions_init_kind start;
	} rows[] = {
		{ "_GLOBAL__sub_I_one", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__sub_I.00150_one", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__sub_D_one", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__I_000150", FUNCTIONS_INIT_CALLS },
		{ "_sub_I_00099_0", FUNCTIONS_INIT_REGISTERS },
		{ "_sub_D_00099_12", FUNCTIONS_INIT_REGISTERS },
		{ "_sub_I_rt_number", FUNCTIONS_INIT_NONE },
		{ "_sub_I_00099", FUNCTIONS_INIT_NONE },
		{ "_sub_I_00099_", FUNCTIONS_INIT_NONE },
		{ "__cxx_global_var_init.1", FUNCTIONS_INIT_VARIABLES },
		{ "__static_initialization_and_destruction_0", FUNCTIONS_INIT_VARIABLES },
		{ "main", FUNCTIONS_INIT_NONE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(functions_classify_init(rows[i].symbol), rows[i].start);
}

#define HEAD "diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n"

static void test_difference(void **state)
{
	static const char text[] =
	    HEAD "@@ -3 +3,2 @@ int f(void)\n-a\n+b\n+@@ -9 +9 @@\n@@ -7,2 +8,0 @@\n---- a/never\n-+++ b/never\n"
		 "\\ No newline at end of file\n"
		 "diff --git a/y b/z\nsimilarity index 90%\nrename from y\nrename to z\n--- a/y\n+++ b/z\n@@ -1 +1 @@\n-1\n+2\n"
		 "diff --git \"a/t\\tab\" \"b/t\\tab\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/t\\tab\\303\\244\"\n@@ -0,0 "
		 "+1 @@\n+x\n";
	static const struct hunk expected[] = {
		{ { "x.c", 3, 1 }, { "x.c", 3, 2 } },
		{ { "x.c", 7, 2 }, { "x.c", 8, 0 } },
		{ { "y", 1, 1 }, { "z", 1, 1 } },
		{ { NULL, 0, 0 }, { "t\tab\xc3\xa4", 1, 1 } },
	};
	struct source source = { .hunks = NULL };
	struct assay_error err;

	(void)state;
	check(source_parse(text, sizeof(text) - 1, &source, &err), &err);
	assert_int_equal(source.n_hunks, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct hunk_side *sides[] = { &source.hunks[i].old, &source.hunks[i].new };
		const struct hunk_side *others[] = { &expected[i].old, &expected[i].new };

		for (int k = 0; k < 2; k++) {
			assert_true(!sides[k]->file == !others[k]->file && (!sides[k]->file || !strcmp(sides[k]->file, others[k]->file)));
			assert_true(sides[k]->line == others[k]->line && sides[k]->lines == others[k]->lines);
		}
	}
	source_release(&source);
}

static void test_damaged_difference(void **state)
{
	static const struct {
		const char *what, *text, *part;
	} rows[] = {
		{ "cut off", HEAD "@@ -3,4 +3 @@\n-a\n", "incomplete hunk" },
		{ "no signs", HEAD "@@ -3 +3 @@\na\n+b\n", "line 6: incomplete hunk" },
		{ "no numbers", HEAD "@@ -x +3 @@\n", "line 5 is not a hunk header" },
		{ "huge numbers", HEAD "@@ -99999999999999999999 +3 @@\n", "line 5 is not a hunk header" },
		{ "no end", HEAD "@@ -1 +1\n", "line 5 is not a hunk header" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct source source = { .hunks = NULL };
		struct assay_error err;

		check_fails(rows[i].what, source_parse(rows[i].text, strlen(rows[i].text), &source, &err), ASSAY_E_FORMAT, &err,
			    rows[i].part);
		source_release(&source);
	}
}

static void test_files_of_a_tree(void **state)
{
	static const char *const files[] = { "a.c", "src/a.c", "deep/src/a.c", "src/b.c" };
	static const struct {
		const char *path, *file;
	} rows[] = {
		{ "/home/x/src/a.c", "src/a.c" }, { "/home/x/deep/src/a.c", "deep/src/a.c" }, { "/home/x/a.c", "a.c" }, { "a.c", "a.c" },
		{ "/home/xsrc/b.c", NULL },	  { "/usr/include/stdio.h", NULL },
	};
	struct source_tree tree = { .commit = "" };

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		intern_text(&tree.files, files[i]);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *file = source_find_file(&tree, rows[i].path);

		assert_true(!file == !rows[i].file);
		if (file)
			assert_string_equal(file, rows[i].file);
	}
	intern_release(&tree.files);
}

/* Checks false values in the ELF header of a file that consists only of a header. */
static void test_headers(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
		const char *part;
	} rows[] = {
		{ "no sections", 0, 0x7f, "no sections" },
		{ "class", 4, 1, "x32" },
		{ "byte order", 5, 2, "machine 15872" },
		{ "object file", 16, 1, "object file" },
		{ "core dump", 16, 4, "neither a program" },
		{ "machine", 18, 243, "riscv64" },
		{ "section headers past the end", 40, 200, "truncated" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t bytes[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 3, [18] = 62, [20] = 1, [52] = 64, [58] = 64 };
		struct assay_error err;
		struct image image;

		bytes[rows[i].at] = rows[i].byte;
		check(file_replace("x", (const char *)bytes, sizeof(bytes), 0644, &err), &err);
		check_fails(rows[i].what, image_open("x", IMAGE_DEBUG_INFO, &image, &err), ASSAY_E_FORMAT, &err, rows[i].part);
	}
}

/* Opens a file with `n` overlapping relocation sections that claim `each` relocations each, perhaps more than the file can contain. */
static enum assay_status open_relocations(size_t n, size_t each, struct assay_error *err)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[8];
	} file = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
			       .e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_version = 1,
			       .e_shoff = sizeof(Elf64_Ehdr),
			       .e_ehsize = sizeof(Elf64_Ehdr),
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = (uint16_t)(n + 2),
			       .e_shstrndx = 1 } };
	struct image image;
	enum assay_status st;

	file.sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = 1, .sh_offset = sizeof(file) - 1 };
	for (size_t i = 2; i < n + 2; i++)
		file.sections[i] = (Elf64_Shdr){
			.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_size = each * sizeof(Elf64_Rela), .sh_entsize = sizeof(Elf64_Rela)
		};
	check(file_replace("x", (const char *)&file, sizeof(file), 0644, err), err);
	st = image_open("x", IMAGE_DEBUG_INFO, &image, err);
	image_release(&image);
	return st;
}

static void test_relocations(void **state)
{
	const size_t room = (sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Shdr)) / sizeof(Elf64_Rela);
	struct assay_error err;

	(void)state;
	check_fails("as many as it has room for", open_relocations(2, room / 2, &err), ASSAY_E_FORMAT, &err, "stripped");
	check_fails("too many", open_relocations(3, room / 2, &err), ASSAY_E_FORMAT, &err, "more relocations");
	check_fails("too large", open_relocations(1, room + 1, &err), ASSAY_E_FORMAT, &err, "truncated");
}

int suite_changes(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_build_release),
		cmocka_unit_test(test_hostile_texts),
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_hostile),
		cmocka_unit_test(test_demangle_hostile_rust),
		cmocka_unit_test(test_demangle_growth),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_damaged_difference),
		cmocka_unit_test(test_files_of_a_tree),
		SCRATCH_TEST(test_headers),
		SCRATCH_TEST(test_relocations),
	};

	return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
