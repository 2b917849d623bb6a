/* A static program that a controller puts on a host when counters are asked for (see counting.h for its words). It is apart from the
 * helper because of PAPI's tables, which are ten times its size; it runs below the helper, which sees to the end of everything.
 *
 *	counting check    does nothing: can this machine execute it? */
#include "fleet/counting/command.h"
#include "fleet/counting/count.h"
#include "fleet/counting/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(PACK_EVENTS_MAX == COUNTING_EVENTS_MAX, "as many can be packed as can be asked for");

/* The events of one family that can be counted. */
struct found {
	const char *names[COUNTING_EVENTS_MAX];
	int handles[COUNTING_EVENTS_MAX];
	size_t n;
};

/* ---- plan ---- */

struct found_table {
	struct pack_table table; /* first member */
	const struct count_way *way;
	const struct found *found;
};

static bool found_fits(const struct pack_table *table, const size_t *events, size_t n)
{
	const struct found_table *t = (const struct found_table *)table;
	int handles[COUNTING_EVENTS_MAX];

	for (size_t i = 0; i < n; i++)
		handles[i] = t->found->handles[events[i]];
	return t->way->fits(handles, n);
}

static bool is_asked_for(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static void find_all(const struct count_way *way, char *const *names, size_t n, const char *refused, struct found *out)
{
	char why[COUNTING_REASON_BYTES];

	out->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!way->knows(names[i]) || is_asked_for(names, i, names[i]))
			continue;
		if (refused)
			printf("absent %s %s\n", names[i], refused);
		else if (!way->find(names[i], &out->handles[out->n], why))
			printf("absent %s %s\n", names[i], why);
		else
			out->names[out->n++] = names[i];
	}
}

static size_t index_of(const struct found *found, const char *name)
{
	for (size_t i = 0; i < found->n; i++) {
		if (strcmp(found->names[i], name) == 0)
			return i;
	}
	return PACK_NONE;
}

/* Returns the number of runs so far. */
static size_t say_runs(const struct count_way *way, const struct found *found, size_t before)
{
	const struct found_table table = { { found_fits }, way, found };
	size_t base = index_of(found, COUNTING_INSTRUCTIONS);
	struct pack pack;

	pack_events(&table.table, found->n, base, &pack);
	for (size_t run = 1; run <= pack.runs; run++) {
		printf("run %zu %s %s", before + run, way->family, way->domain());
		if (base != PACK_NONE)
			printf(" %s", found->names[base]);
		for (size_t i = 0; i < found->n; i++) {
			if (i != base && pack.run[i] == run)
				printf(" %s", found->names[i]);
		}
		printf("\n");
	}
	for (size_t i = 0; i < found->n; i++) {
		if (pack.run[i] == 0)
			printf("absent %s it cannot be counted beside " COUNTING_INSTRUCTIONS "\n", found->names[i]);
	}
	return before + pack.runs;
}

static int plan(char *const *names, size_t n)
{
	static const struct count_way *const ways[] = { &count_hardware, &count_software };
	struct found found;
	size_t runs = 0;

	printf(COUNTING_MAGIC "\n");
	for (size_t w = 0; w < 2; w++) {
		char why[COUNTING_REASON_BYTES] = "";
		bool wanted = false, refused;

		for (size_t i = 0; i < n; i++)
			wanted = wanted || ways[w]->knows(names[i]);
		refused = wanted && !ways[w]->init(why);
		if (refused && ways[w] == &count_hardware)
			printf("none %s\n", why);
		find_all(ways[w], names, n, refused ? why : NULL, &found);
		if (found.n > 0)
			runs = say_runs(ways[w], &found, runs);
	}
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* ---- run ---- */

static void report_failed(int file, const char *why)
{
	dprintf(file, COUNTING_MAGIC "\nfailed %s\n", why);
}

static bool prepare(const struct count_way *way, char *const *names, size_t n, struct found *out, char *why)
{
	if (!way->init(why))
		return false;
	for (out->n = 0; out->n < n; out->n++) {
		out->names[out->n] = names[out->n];
		if (!way->knows(names[out->n]) || !way->find(names[out->n], &out->handles[out->n], why))
			return false;
	}
	return true;
}

static int run(const struct count_way *way, int file, char *const *names, size_t n, char *const *words)
{
	char why[COUNTING_REASON_BYTES] = "no such event";
	long long values[COUNTING_EVENTS_MAX];
	struct command command;
	struct found found;
	int status;

	if (!prepare(way, names, n, &found, why)) {
		report_failed(file, why);
		return COUNTING_NOT_COUNTED;
	}
	if (!command_prepare(words, &command)) {
		report_failed(file, strerror(errno));
		return COUNTING_NOT_COUNTED;
	}
	if (!way->start(found.handles, n, command.id, why)) {
		command_forget(&command);
		report_failed(file, why);
		return COUNTING_NOT_COUNTED;
	}
	status = command_run(&command);
	if (way->stop(values, n, why)) {
		dprintf(file, COUNTING_MAGIC "\n");
		for (size_t i = 0; i < n; i++)
			dprintf(file, "count %s %lld\n", names[i], values[i]);
	} else {
		report_failed(file, why);
	}
	close(file);
	command_end_like(status);
}

static const struct count_way *way_of(const char *family)
{
	return strcmp(family, COUNTING_HARDWARE) == 0 ? &count_hardware : strcmp(family, COUNTING_SOFTWARE) == 0 ? &count_software : NULL;
}

static int usage(void)
{
	fprintf(stderr, "usage: counting plan EVENT... | counting run FILE hardware|software EVENT... -- COMMAND...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct count_way *way;
	int dashes = 4, file;

	if (argc == 2 && strcmp(argv[1], "check") == 0)
		return 0;
	if (argc > 2 && argc - 2 <= COUNTING_EVENTS_MAX && strcmp(argv[1], "plan") == 0)
		return plan(argv + 2, (size_t)argc - 2);
	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	if (argc < 7 || strcmp(argv[1], "run") != 0 || !(way = way_of(argv[3])) || dashes == 4 || dashes >= argc - 1 ||
	    dashes - 4 > COUNTING_EVENTS_MAX)
		return usage();
	file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0) {
		fprintf(stderr, "cannot write '%s': %s\n", argv[2], strerror(errno));
		return COUNTING_NOT_COUNTED;
	}
	return run(way, file, argv + 4, (size_t)(dashes - 4), argv + dashes + 1);
}
