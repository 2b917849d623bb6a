#include "gate/profile/code.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/pieces.h"

#include <Zydis/Zydis.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#define FILES_MAX   512 /* maximum number of files that are open at once */
#define ROUNDS	    20	/* maximum number of rounds that pass classes from callers to callees */
#define MAJORITY(n) ((n) / 2 + 1)
#define UNKNOWN	    CODE_CLASSES /* class of a function without a name, until it is determined */

/* The first matching row is used. `files` NULL matches any file. The symbols have no leading underscores. */
static const struct symbol_row {
	enum code_class class;
	const char *files, *symbols;
} symbol_rows[] = {
	{ CODE_ALLOCATION, NULL,
	  "malloc~ free~ calloc~ realloc~ reallocarray~ memalign~ aligned_alloc~ posix_memalign~ valloc~ pvalloc~ cfree libc_malloc "
	  "libc_free libc_calloc libc_realloc libc_memalign libc_valloc libc_pvalloc libc_reallocarray int_malloc int_free int_realloc "
	  "int_memalign malloc_consolidate sysmalloc systrim unlink_chunk tcache_init tcache_thread_shutdown munmap_chunk mremap_chunk "
	  "heap_trim shrink_heap arena_get2 arena_get_retry new_heap alloc_new_heap alloc_perturb malloc_trim malloc_usable_size "
	  "glibc_morecore sbrk brk obstack_newchunk Znwm* Znam* ZdlPv* ZdaPv* PyObject_Malloc PyObject_Calloc PyObject_Free "
	  "PyObject_Realloc PyMem_*" },
	{ CODE_STRINGS, NULL,
	  "memcpy~ memmove~ mempcpy~ memset~ memcmp~ memcmpeq~ memchr~ memrchr~ rawmemchr~ memmem~ memccpy~ bcopy bzero~ explicit_bzero~ "
	  "bcmp~ strlen~ strnlen~ strcpy~ strncpy~ stpcpy~ stpncpy~ strlcpy~ strlcat~ strcat~ strncat~ strcmp~ strncmp~ strcasecmp~ "
	  "strncasecmp~ strcasecmp_l~ strncasecmp_l~ strchr~ strchrnul~ strrchr~ strstr~ strcasestr~ strspn~ strcspn~ strpbrk~ strtok~ "
	  "strtok_r~ strsep~ strdup~ strndup~ strcoll~ strxfrm~ strverscmp~ index~ rindex~ swab wcslen~ wcsnlen~ wcscpy~ wcsncpy~ wcpcpy~ "
	  "wcpncpy~ wcscat~ wcsncat~ wcscmp~ wcsncmp~ wcscasecmp~ wcschr~ wcschrnul~ wcsrchr~ wcsstr~ wcsspn~ wcscspn~ wcscoll~ wcsxfrm~ "
	  "wmemcpy~ wmemmove~ wmemset~ wmemcmp~ wmemchr~ wmempcpy~" },
	{ CODE_SORTING, NULL,
	  "qsort~ qsort_r~ quicksort msort_with_tmp* introsort_r heapsort_r bsearch lfind lsearch tsearch tfind tdelete twalk twalk_r "
	  "tdestroy hsearch hsearch_r ZSt16__introsort_loop* ZSt22__final_insertion_sort* ZSt16__insertion_sort* ZSt13__adjust_heap* "
	  "ZSt25__unguarded_linear_insert* ZSt22__move_median_to_first* ZSt13__heap_select* ZSt11__push_heap* ZSt11__make_heap* "
	  "ZSt21__unguarded_partition* ZSt24__merge_sort_with_buffer* ZSt17__merge_sort_loop* ZSt16__merge_adaptive* ZSt12__move_merge* "
	  "ZSt13__lower_bound* ZSt13__upper_bound* ZSt18_Rb_tree_increment* ZSt18_Rb_tree_decrement* ZSt29_Rb_tree_insert_and_rebalance*" },
	{ CODE_SORTING, "perl* libperl*", "Perl_pp_sort Perl_sortsv* S_mergesortsv* S_sortcv*" },
	{ CODE_PARSING, "perl* libperl*", "Perl_re* Perl_pregexec Perl_pp_match Perl_pp_subst Perl_pp_split S_reg*" },
	{ CODE_PARSING, NULL,
	  "regcomp~ regexec~ regfree~ re_search* re_match* re_compile* fnmatch~ glob~ wordexp strtol~ strtoul~ strtoll~ strtoull~ strtod~ "
	  "strtof~ strtold~ strtol_internal strtoul_internal strtoll_internal strtoull_internal strtod_internal strtof_internal "
	  "strtol_l_internal strtoul_l_internal strtoll_l_internal strtoull_l_internal strtod_l_internal strtof_l_internal atoi atol atoll "
	  "atof "
	  "isoc99_sscanf isoc99_fscanf isoc99_scanf sscanf fscanf scanf vfscanf* vsscanf* isoc99_vsscanf vfscanf_internal yyparse yylex" },
	{ CODE_FORMATTING, NULL,
	  "printf~ fprintf~ sprintf~ snprintf~ dprintf~ asprintf~ vprintf~ vfprintf~ vsprintf~ vsnprintf~ vdprintf~ vasprintf~ wprintf~ "
	  "swprintf~ vfprintf_internal vsnprintf_internal vsprintf_internal vfwprintf_internal printf_fp* printf_positional printf_buffer* "
	  "itoa_word itoa fitoa group_number strfmon* strfromd strfromf" },
	{ CODE_BUFFERS, "libc.so* libc-2*",
	  "IO_* fread* fwrite* fgets* fgetc* getc* getchar* fputs* fputc* putc* puts putchar* ungetc fflush* fseek* ftell* rewind setvbuf "
	  "getdelim getline overflow uflow underflow fopen* fclose* fdopen*" },
	{ CODE_CHARACTERS, "libc.so* libc-2*",
	  "iconv* gconv* mbrtowc mbrlen mbtowc mblen mbsrtowcs* mbsnrtowcs* mbstowcs wcrtomb* wctomb wcsrtombs* wcsnrtombs* wcstombs btowc "
	  "wctob isw* tow* wctype* wctrans* wcwidth wcswidth tolower* toupper* ctype_*" },
	{ CODE_LOCKS, "libc.so* libc-2* libpthread*",
	  "pthread_mutex_* pthread_spin_* pthread_rwlock_* pthread_cond_* pthread_barrier_* pthread_once sem_* lll_* mtx_* cnd_* "
	  "call_once" },
	{ CODE_RANDOM, "libc.so* libc-2*",
	  "rand rand_r random random_r srandom* initstate* drand48* erand48* lrand48* nrand48* mrand48* jrand48* arc4random*" },
	{ CODE_DATES, "libc.so* libc-2*",
	  "clock_gettime clock time gettimeofday localtime* gmtime* mktime* timegm strftime* strptime* asctime* ctime ctime_r tz* "
	  "offtime" },
	{ CODE_COMPRESSION, NULL,
	  "deflate deflate_* deflateInit* inflate inflate_* inflateInit* longest_match BZ2_* lzma_* ZSTD_* LZ4_* FSE_* HUF_* "
	  "BrotliEncoder* BrotliDecoder*" },
	{ CODE_CRYPTOGRAPHY, NULL,
	  "EVP_* aesni_* AES_* SHA1_* SHA256_* SHA512_* sha1_block_* sha256_block_* sha512_block_* MD5_* ChaCha20_* poly1305_* "
	  "ecp_nistz256_* rsaz_* gcm_ghash_*" },
};

static const struct file_row {
	enum code_class class;
	const char *files;
} file_rows[] = {
	{ CODE_C, "libc.so* libc-2* ld-musl-*" },
	{ CODE_LOADING, "ld-linux* ld-2* ld.so*" },
	{ CODE_MATHEMATICS, "libm.so* libm-2* libmvec* libgmp.* libgmp-* libmpfr* libmpc.* libquadmath* libgsl.*" },
	{ CODE_CXX, "libstdc++* libc++* libgcc_s*" },
	{ CODE_COMPRESSION,
	  "libz.so* libzstd* liblzma* libbz2* liblz4* liblzo* libsnappy* libbrotli* libdeflate* libz-ng* gzip pigz bzip2 pbzip2 "
	  "lbzip2 xz zstd lz4 lzop brotli 7z 7za 7zr" },
	{ CODE_CRYPTOGRAPHY,
	  "libcrypto* libssl* libgcrypt* libgnutls* libnettle* libhogweed* libsodium* libcrypt.so* libb2* openssl sha1sum "
	  "sha224sum sha256sum sha384sum sha512sum md5sum b2sum" },
	{ CODE_LINEAR, "libopenblas* libblas* liblapack* libmkl* libcublas* libatlas* libblis*" },
	{ CODE_ALLOCATION, "libjemalloc* libtcmalloc* libmimalloc* knobs_malloc.so*" },
	{ CODE_STRINGS, "knobs_string.so*" }, /* libraries of emulated hosts that slow these functions down */
	{ CODE_SORTING, "knobs_compare.so*" },
	{ CODE_LOCKS, "libpthread* libgomp* libomp* libtbb.*" },
	{ CODE_PARSING,
	  "libpcre* libre2* libonig* libxml2* libexpat* libyaml* libcjson* libjson-c* libjansson* libyajl* grep egrep fgrep rg sed" },
	{ CODE_INTERPRETER,
	  "python2* python3* libpython* perl perl5* libperl* ruby* libruby* lua lua5* luajit* liblua5* libluajit* node nodejs "
	  "libnode* libv8* php* libphp* gawk mawk awk bash dash sh zsh ksh* mksh busybox tclsh* libtcl* guile* libguile* qjs mujs "
	  "java libjvm* libR.so bc dc" },
	{ CODE_COMPILING,
	  "cc1 cc1plus cc1obj f951 lto1 lto-wrapper collect2 as ld ld.bfd ld.gold ld.lld x86_64-linux-gnu-* libLLVM* libclang* "
	  "clang clang-* libbfd* libopcodes* rustc librustc_driver* tcc" },
	{ CODE_DATABASE, "libsqlite3* sqlite3 mysqld mariadbd postgres libdb-* liblmdb* librocksdb* libleveldb*" },
	{ CODE_MEDIA,
	  "libjpeg* libturbojpeg* libpng* libwebp* libtiff* libavcodec* libavfilter* libswscale* libx264* libx265* libaom* libdav1d* "
	  "libvpx* libopus* libmp3lame* libvorbis* libFLAC*" },
	{ CODE_DATES, "[vdso]" },
	{ CODE_GENERATED, "//anon anon_inode* memfd:*" },
};

ROWS_FUNCTION(code_class_text, enum code_class, CODE_ROWS, ROWS_WORD)

static bool is_variant(const char *rest)
{
	static const char *const suffixes[] = { "_avx",	    "_evex", "_sse", "_ssse3", "_erms",	  "_unaligned", "_chk",
						"_generic", "_l",    "_fma", "_power", "_finite", "_ifunc",	"_nonascii" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strncmp(rest, suffixes[i], strlen(suffixes[i])) == 0 && (suffixes[i][1] != 'l' || !rest[2]))
			return true;
	return !*rest;
}

bool code_name_matches(const char *names, const char *name)
{
	size_t length = strlen(name);

	while (*names) {
		size_t n = strcspn(names, " "), stem = n - (names[n - 1] == '*' || names[n - 1] == '~');

		if (length >= stem && strncmp(names, name, stem) == 0 &&
		    (names[n - 1] == '*' || (names[n - 1] == '~' ? is_variant(name + stem) : length == stem)))
			return true;
		names += n + (names[n] == ' ');
	}
	return false;
}

/* Returns the class of a symbol. The caller has removed the suffixes of compilers and linkers, such as ".cold" and "@GLIBC_2.2.5". */
static enum code_class find_class_of_stem(const char *file, const char *symbol)
{
	symbol += strspn(symbol, "_");
	if (strncmp(symbol, "GI_", 3) == 0) /* prefix of names that glibc uses internally */
		symbol += 3 + strspn(symbol + 3, "_");
	for (size_t i = 0; i < sizeof(symbol_rows) / sizeof(symbol_rows[0]); i++)
		if ((!symbol_rows[i].files || code_name_matches(symbol_rows[i].files, file)) &&
		    code_name_matches(symbol_rows[i].symbols, symbol))
			return symbol_rows[i].class;
	return CODE_NONE;
}

/* Returns the class of a function by its symbol and its file's name without directory; CODE_NONE if it is not in the table. */
static enum code_class code_class_of_symbol(const char *file, const char *symbol)
{
	char *stem = mem_bytes(symbol, strcspn(symbol, ".@"));
	enum code_class class = find_class_of_stem(file, stem);

	free(stem);
	return class;
}

enum code_class code_class_of_file(const char *file)
{
	for (size_t i = 0; i < sizeof(file_rows) / sizeof(file_rows[0]); i++)
		if (code_name_matches(file_rows[i].files, file))
			return file_rows[i].class;
	return CODE_NONE;
}

struct parsed_file {
	char *path;
	struct stat info;
	bool known; /* the file could be read as a program or library */
	struct image image;
	struct pieces pieces;
	uint8_t *classes; /* [pieces.n] code_class or UNKNOWN; NULL until a piece without a name is looked up */
};

struct code {
	struct parsed_file *files[FILES_MAX];
	size_t n;
	int64_t start_s; /* time when the lookups started, seconds since 1970 */
};

struct code *code_new(void)
{
	struct code *code = mem_new(1, sizeof(*code));

	code->start_s = (int64_t)time(NULL);
	return code;
}

static void file_free(struct parsed_file *file)
{
	pieces_release(&file->pieces);
	image_release(&file->image);
	mem_free(file->classes, file->path, file);
}

void code_free(struct code *code)
{
	for (size_t i = 0; code && i < code->n; i++)
		file_free(code->files[i]);
	free(code);
}

/* Reports whether the file at `path` is the one that was mapped. In an overlay the inode numbers differ; there, a file counts as the same
 * if it was not changed since start_s. */
static bool is_same_file(const struct code *code, const char *path, uint64_t inode, struct stat *info)
{
	struct statfs mounted;

	if (stat(path, info) || !S_ISREG(info->st_mode))
		return false;
	return info->st_ino == inode ||
	       (!statfs(path, &mounted) && mounted.f_type == OVERLAYFS_SUPER_MAGIC && info->st_ctim.tv_sec < code->start_s);
}

static struct parsed_file *file_open(const char *path, const struct stat *info)
{
	struct parsed_file *file = mem_new(1, sizeof(*file));
	struct assay_error err;

	file->path = mem_string(path);
	file->info = *info;
	file->known = !image_open(path, IMAGE_NO_SYMBOLS, &file->image, &err);
	if (file->known)
		pieces_find(&file->image, &file->pieces);
	return file;
}

/* Returns the file and reads it if necessary. Returns NULL if it no longer exists, or if another file has this path now. */
static struct parsed_file *file_find(struct code *code, const char *path, uint64_t inode)
{
	struct stat info;

	if (!is_same_file(code, path, inode, &info))
		return NULL;
	for (size_t i = 0; i < code->n; i++) {
		const struct stat *then = &code->files[i]->info;

		if (strcmp(code->files[i]->path, path) == 0 && then->st_ino == info.st_ino && then->st_size == info.st_size &&
		    then->st_ctim.tv_sec == info.st_ctim.tv_sec && then->st_ctim.tv_nsec == info.st_ctim.tv_nsec)
			return code->files[i];
	}
	if (code->n == FILES_MAX)
		file_free(code->files[--code->n]);
	code->files[code->n] = file_open(path, &info);
	return code->files[code->n++];
}

const char *code_find_path(const struct code *code, const char *file, const char *directory)
{
	size_t n = strlen(directory);

	for (size_t i = 0; i < code->n; i++) {
		const char *path = code->files[i]->path;

		if (strncmp(path, directory, n) == 0 && path[n] == '/' && strcmp(text_file_name(path), file) == 0)
			return path;
	}
	return NULL;
}

/* Returns a name of the piece and sets *class. Prefers a name with a known class, then the last name, which is visible to other files. */
static const char *piece_name(const struct parsed_file *file, const struct piece *piece, enum code_class *class)
{
	const char *name = piece->ifunc_name;

	*class = CODE_NONE;
	for (size_t i = piece->n_symbols; i > 0 && *class == CODE_NONE; i--) {
		const struct image_symbol *symbol = &file->image.symbols[piece->first_symbol + i - 1];

		if (symbol->kind != IMAGE_CODE || (symbol->is_ifunc && piece->n_symbols > 1))
			continue;
		*class = code_class_of_symbol(text_file_name(file->path), symbol->name);
		name = *class != CODE_NONE || !name ? symbol->name : name;
	}
	if (piece->n_symbols == 0 && name)
		*class = code_class_of_symbol(text_file_name(file->path), name);
	return name;
}

ORDER_BY(compare_uses, struct piece_use, BY_ASC(to) BY_ASC(from))

/* Returns the class of more than half of those callers in uses[n] whose class is known; CODE_NONE if there is no majority. Returns UNKNOWN
 * if no caller's class is known. */
static uint8_t class_of_uses(const uint8_t *classes, const struct piece_use *uses, size_t n)
{
	size_t counts[CODE_CLASSES] = { 0 }, all = 0;

	for (size_t i = 0; i < n; i++) {
		if (classes[uses[i].from] == UNKNOWN)
			continue;
		counts[classes[uses[i].from]]++;
		all++;
	}
	for (uint8_t class = 0; class < CODE_CLASSES; class ++)
		if (all > 0 && counts[class] >= MAJORITY(all))
			return class;
	return all > 0 ? CODE_NONE : UNKNOWN;
}

/* Gives each piece without a name the class of most of its callers; malloc(), for example, calls the inner functions of the allocator. */
static void file_classify(struct parsed_file *file)
{
	const struct pieces *pieces = &file->pieces;
	struct piece_use *uses;
	size_t n = pieces_find_uses(&file->image, pieces, &uses);
	bool changed = true;

	file->classes = mem_new(pieces->n, sizeof(*file->classes));
	for (size_t i = 0; i < pieces->n; i++) {
		enum code_class class;

		file->classes[i] = piece_name(file, &pieces->items[i], &class) ? (uint8_t) class : UNKNOWN;
	}
	order_sort(uses, n, compare_uses);
	for (int round = 0; changed && round < ROUNDS; round++) {
		changed = false;
		for (size_t i = 0, end; i < n; i = end) {
			uint8_t class;

			for (end = i; end < n && uses[end].to == uses[i].to; end++)
				;
			class = class_of_uses(file->classes, uses + i, end - i);
			changed |= file->classes[uses[i].to] != class;
			file->classes[uses[i].to] = class;
		}
	}
	free(uses);
}

void code_function_name(const char *symbol, char out[CODE_NAME_BYTES])
{
	char *stem = mem_bytes(symbol, strcspn(symbol, ".@")), *name = demangle(stem), shown[TEXT_SANITIZED_BYTES];

	snprintf(out, CODE_NAME_BYTES, "%s", text_sanitize(name, shown));
	mem_free(name, stem);
}

#define STUB_BYTES 16 /* maximum size of an entry in a procedure linkage table */

/* If the address is in a procedure linkage table, sets out[] to the function that this entry calls plus "@plt", or to the table's name.
 * Otherwise returns false. */
static bool name_stub(const struct image *image, uint64_t address, char out[CODE_NAME_BYTES])
{
	const struct image_section *section = image_find_section(image, address);
	const char *function = NULL;
	size_t n;

	if (!section || strncmp(section->name, ".plt", 4) != 0)
		return false;
	for (uint64_t back = 0; !function && back < STUB_BYTES && back <= address - section->address; back++)
		function = image_import_at(image, address - back);
	code_function_name(function ? function : "", out);
	n = strlen(out);
	snprintf(out + n, CODE_NAME_BYTES - n, "%s", function ? "@plt" : section->name);
	return true;
}

/* Reports whether the instruction that ends at the address is a system call: "syscall" or the older "int 0x80"; "svc" on aarch64. */
static bool is_call_before(const struct image *image, uint64_t address)
{
	uint64_t n, size = image->machine == EM_X86_64 ? 2 : 4;
	const uint8_t *bytes = address > size ? image_bytes_at(image, address - size, &n) : NULL;

	if (image->machine != EM_X86_64)
		return bytes && n > size && memcmp(bytes, "\x01\x00\x00\xd4", 4) == 0;
	return bytes && n > 2 && (memcmp(bytes, "\x0f\x05", 2) == 0 || memcmp(bytes, "\xcd\x80", 2) == 0);
}

/* Reports whether an A64 instruction is not a branch, call or return (b, bl, br, blr, ret, eret). */
static bool is_same_loop(const uint8_t *bytes)
{
	uint32_t word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;

	return (word & 0x7c000000) != 0x14000000 && (word & 0xfe000000) != 0xd6000000;
}

/* Reports whether the instruction at `from` has `length` bytes and continues with the next instruction in memory. */
static bool is_passed_as_argument(const struct image *image, uint64_t from, uint64_t length)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction one;
	uint64_t n;
	const uint8_t *bytes = image_bytes_at(image, from, &n);

	if (image->machine != EM_X86_64)
		return bytes && n >= 4 && length == 4 && is_same_loop(bytes);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return bytes && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &one)) && one.length == length &&
	       one.meta.category != ZYDIS_CATEGORY_RET && one.meta.category != ZYDIS_CATEGORY_CALL &&
	       one.meta.category != ZYDIS_CATEGORY_UNCOND_BR;
}

/* Reports whether a system call is one or two instructions before the address. The sampling clock is delayed during a call and hits one of
 * these two instructions. */
static bool is_after_call(const struct image *image, uint64_t address)
{
	if (is_call_before(image, address))
		return true;
	for (uint64_t length = 1; length <= ZYDIS_MAX_INSTRUCTION_LENGTH && length < address; length++)
		if (is_call_before(image, address - length) && is_passed_as_argument(image, address - length, length))
			return true;
	return false;
}

void code_find_place(struct code *code, const char *path, uint64_t inode, uint64_t offset, struct code_place *out)
{
	struct parsed_file *file = file_find(code, path, inode);
	const char *name;
	uint64_t address;
	size_t at;

	*out = (struct code_place){ .class = code_class_of_file(text_file_name(path)) };
	if (!file || !file->known || !image_find_address(&file->image, offset, &address))
		return;
	out->after_system_call = is_after_call(&file->image, address);
	at = name_stub(&file->image, address, out->name) ? SIZE_MAX : pieces_find_index(&file->pieces, address);
	if (at == SIZE_MAX)
		return;
	name = piece_name(file, &file->pieces.items[at], &out->class);
	if (name) {
		code_function_name(name, out->name);
	} else {
		if (!file->classes)
			file_classify(file);
		out->class = file->classes[at] == UNKNOWN ? CODE_NONE : (enum code_class)file->classes[at];
		out->nameless = true;
		out->is_class_from_callers = out->class != CODE_NONE;
		snprintf(out->name, sizeof(out->name), "%s+0x%llx", TEXT_SANITIZED(text_file_name(path)),
			 (unsigned long long)file->pieces.items[at].begin);
	}
	if (out->class == CODE_NONE)
		out->class = code_class_of_file(text_file_name(path));
}
