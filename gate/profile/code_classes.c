#include "gate/profile/code_classes.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

/* The first row that fits counts. files NULL: in whatever file. Symbols stand without leading underscores. */
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
	{ CODE_STRINGS, "knobs_string.so*" }, /* of emulated hosts: what they make slower */
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

/* ---- looking up ---- */

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

bool code_is_named(const char *names, const char *name)
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

/* Without what compilers and linkers append to it: ".cold", "@GLIBC_2.2.5". */
static enum code_class class_of_stem(const char *file, const char *symbol)
{
	symbol += strspn(symbol, "_");
	if (strncmp(symbol, "GI_", 3) == 0) /* glibc's own name for its own use */
		symbol += 3 + strspn(symbol + 3, "_");
	for (size_t i = 0; i < sizeof(symbol_rows) / sizeof(symbol_rows[0]); i++)
		if ((!symbol_rows[i].files || code_is_named(symbol_rows[i].files, file)) && code_is_named(symbol_rows[i].symbols, symbol))
			return symbol_rows[i].class;
	return CODE_NONE;
}

enum code_class code_class_of_symbol(const char *file, const char *symbol)
{
	char *stem = mem_bytes(symbol, strcspn(symbol, ".@"));
	enum code_class class = class_of_stem(file, stem);

	free(stem);
	return class;
}

enum code_class code_class_of_file(const char *file)
{
	for (size_t i = 0; i < sizeof(file_rows) / sizeof(file_rows[0]); i++)
		if (code_is_named(file_rows[i].files, file))
			return file_rows[i].class;
	return CODE_NONE;
}
