/* Does known work: variance_works WORK ROUNDS TRUTH does one of nine works, chosen at random, ROUNDS times, each between two writes.
 * Writes the index of each work to the file TRUTH. WORK is "own" (loops that partly depend on data). Built with WORKS_BZIP2, WORKS_LZ4
 * or WORKS_SQLITE3, it can be bzip2 or lz4 (texts of three lengths and three kinds), or sqlite3 (three kinds of queries on three parts
 * of a table). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WORKS_BZIP2
#include <bzlib.h>
#endif
#ifdef WORKS_LZ4
#include <lz4hc.h>
#endif
#ifdef WORKS_SQLITE3
#include <sqlite3.h>
#endif

#define WORKS 9
#define MOST  200000

static uint64_t random_state = 88172645463325252u;
static unsigned kept;

/* Returns a random number by Xorshift (Marsaglia, 2003). */
static uint32_t chance(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32);
}

static void own(int which)
{
	static const unsigned rounds[] = { 20000, 26000, 34000, 80000 }, pairs[] = { 4000, 6000, 9000 }, texts[] = { 130000, 260000 };
	uint32_t x = 27;

	if (which < 4)
		for (unsigned i = 0; i < rounds[which]; i++)
			x = x & 1 ? x * 3 + 1 : x / 2 + i;
	else if (which < 7) /* Euclid's algorithm */
		for (unsigned i = 0; i < pairs[which - 4]; i++)
			for (uint32_t a = chance(), b = chance(); b; x += b) {
				uint32_t rest = a % b;

				a = b;
				b = rest;
			}
	else
		for (unsigned i = 0; i < texts[which - 7]; i++)
			if (chance() % 8 == 0)
				x += i;
	kept ^= x;
}

#if defined(WORKS_BZIP2) || defined(WORKS_LZ4)
static char texts[3][MOST], packed[2 * MOST];

static void fill(void)
{
	static const char *const words[] = { "alpha ", "beta ", "gamma ", "delta\n" };
	size_t at = 0;

	for (size_t i = 0; i < MOST; i++) {
		texts[0][i] = (char)('0' + chance() % 10);
		texts[2][i] = (char)('a' + i / 1000 % 20);
	}
	while (at < MOST) {
		const char *word = words[chance() % 4];
		size_t n = strlen(word) < MOST - at ? strlen(word) : MOST - at;

		memcpy(texts[1] + at, word, n);
		at += n;
	}
}

static const int lengths[] = { 60000, 90000, 140000 };
#endif

#ifdef WORKS_BZIP2
static void bzip2(int which)
{
	unsigned n = sizeof(packed);

	if (BZ2_bzBuffToBuffCompress(packed, &n, texts[which / 3], (unsigned)lengths[which % 3], 9, 0, 0) != BZ_OK)
		abort();
	kept ^= n;
}
#endif

#ifdef WORKS_LZ4
static void lz4(int which)
{
	kept ^= (unsigned)LZ4_compress_HC(texts[which / 3], packed, lengths[which % 3], sizeof(packed), 9);
}
#endif

#ifdef WORKS_SQLITE3
static sqlite3 *base;

static void sqlite(int which)
{
	static const char *const queries[] = { "SELECT sum(length(b)) FROM t WHERE a < ?", "SELECT count(DISTINCT b) FROM t WHERE a < ?",
					       "SELECT b FROM t WHERE a < ? ORDER BY b LIMIT 1" };
	static const int parts[] = { 3000, 4500, 7000 };
	sqlite3_stmt *query;

	if (sqlite3_prepare_v2(base, queries[which / 3], -1, &query, NULL) || sqlite3_bind_int(query, 1, parts[which % 3]) ||
	    sqlite3_step(query) != SQLITE_ROW)
		abort();
	kept ^= (unsigned)sqlite3_column_int(query, 0);
	sqlite3_finalize(query);
}

static void sqlite_begin(void)
{
	if (sqlite3_open(":memory:", &base) || sqlite3_exec(base,
							    "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(i) AS (SELECT "
							    "1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) "
							    "INSERT INTO t SELECT i, hex(i * 7919 % 5003) FROM n",
							    NULL, NULL, NULL))
		abort();
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*begin)(void), (*work)(int);
	} works[] = {
		{ "own", NULL, own },
#ifdef WORKS_BZIP2
		{ "bzip2", fill, bzip2 },
#endif
#ifdef WORKS_LZ4
		{ "lz4", fill, lz4 },
#endif
#ifdef WORKS_SQLITE3
		{ "sqlite3", sqlite_begin, sqlite },
#endif
	};
	int rounds = argc == 4 ? atoi(argv[2]) : 0, null = open("/dev/null", O_WRONLY), *truth = calloc((size_t)rounds + 1, sizeof(int));
	size_t k = 0;
	FILE *out;

	while (argc == 4 && k < sizeof(works) / sizeof(works[0]) && strcmp(works[k].name, argv[1]) != 0)
		k++;
	if (rounds < 1 || null < 0 || !truth || k == sizeof(works) / sizeof(works[0]))
		return 2;
	if (works[k].begin)
		works[k].begin();
	for (int i = 0; i <= rounds; i++) {
		truth[i] = (int)(chance() % WORKS);
		if (write(null, "x", 1) != 1)
			return 1;
		if (i < rounds)
			works[k].work(truth[i]);
	}
	out = fopen(argv[3], "w");
	for (int i = 0; out && i < rounds; i++)
		fprintf(out, "%d\n", truth[i]);
	return !out || fclose(out) != 0 || kept == 1;
}
