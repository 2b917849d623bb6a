/* What the symbols of compilers say of the functions that they stand for. */
#include "runs/inside/changes/functions.h"

#include "base/mem.h"

#define DIGITS	     "0123456789"
#define HASH	     "17h"
#define HASH_DIGITS  16
#define HASH_LETTERS "0123456789abcdef"

/* Of a symbol of Rust's older kind, in which dots belong to the name: "_ZN...17h0123456789abcdefE"; 0: it is none. */
static size_t rust_stem(const char *symbol)
{
	const char *hash = !strncmp(symbol, "_ZN", 3) ? strstr(symbol, HASH) : NULL;

	for (; hash; hash = strstr(hash + 1, HASH)) {
		const char *digits = hash + sizeof(HASH) - 1, *end = digits + HASH_DIGITS;

		if (strspn(digits, HASH_LETTERS) == HASH_DIGITS && end[0] == 'E' && (!end[1] || end[1] == '.'))
			return (size_t)(end + 1 - symbol);
	}
	return 0;
}

size_t functions_stem(const char *symbol)
{
	size_t n = rust_stem(symbol);

	return n || !symbol[0] ? n : 1 + strcspn(symbol + 1, ".");
}

/* Suffixes of symbols that were moved or renamed; the code is the same. */
static bool is_renaming(const char *part, size_t n)
{
	static const char *const rows[] = { "lto_priv", "localalias", "llvm", "__uniq", "local" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i]) == n && !memcmp(rows[i], part, n))
			return true;
	return strspn(part, DIGITS) >= n;
}

const char *functions_label(struct intern *names, const char *symbol)
{
	const char *part = symbol + functions_stem(symbol), *result;
	char *label = mem_new(strlen(part) + 1, 1);
	size_t used = 0;

	while (*part) {
		size_t n = strcspn(part + 1, ".");

		if (!is_renaming(part + 1, n)) {
			memcpy(label + used, part, n + 1);
			used += n + 1;
		}
		part += n + 1;
	}
	result = intern_bytes(names, label, used);
	free(label);
	return result;
}

/* "00099_0": priority and number. */
static bool is_numbered(const char *text)
{
	return strspn(text, DIGITS) == 5 && text[5] == '_' && text[6] && !text[6 + strspn(text + 6, DIGITS)];
}

static bool begins_with(const char *symbol, const char *prefix)
{
	return !strncmp(symbol, prefix, strlen(prefix));
}

enum functions_start functions_start_of(const char *symbol)
{
	static const struct {
		const char *prefix;
		enum functions_start start;
	} rows[] = {
		{ "_GLOBAL__sub_I", FUNCTIONS_START_CALLS },	 { "_GLOBAL__sub_D", FUNCTIONS_START_CALLS },
		{ "_GLOBAL__I_", FUNCTIONS_START_CALLS },	 { "_GLOBAL__D_", FUNCTIONS_START_CALLS },
		{ "_sub_I_", FUNCTIONS_START_REGISTERS },	 { "_sub_D_", FUNCTIONS_START_REGISTERS },
		{ "__cxx_global_var_init", FUNCTIONS_START_OF }, { "__static_initialization_and_destruction_", FUNCTIONS_START_OF },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (begins_with(symbol, rows[i].prefix) && (rows[i].start != FUNCTIONS_START_REGISTERS || is_numbered(symbol + 7)))
			return rows[i].start;
	return FUNCTIONS_START_NONE;
}
