/* Command 'assay check'. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/engine/host_choice.h"
#include "fleet/lab/lab.h"

#include <math.h>

static void __attribute__((format(printf, 2, 3))) problem_add(struct catalog_problems *problems, const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	mem_append(problems->texts, problems->n, &problems->capacity, text);
}

static void check_equal(const struct machine *a, const struct machine *b, const char *what, const char *x, const char *y,
			struct catalog_problems *problems)
{
	if (x && y && *x && strcmp(x, y) == 0)
		problem_add(problems,
			    "'%s' and '%s' have the same %s '%s': one machine under two names, or a clone; use one name, or remove the "
			    "wrong evidence",
			    a->id, b->id, what, x);
}

static void check_identity(const struct catalog *catalog, struct catalog_problems *problems)
{
	for (size_t i = 0; i < catalog->n; i++) {
		for (size_t j = i + 1; j < catalog->n; j++) {
			const struct machine *a = &catalog->machines[i], *b = &catalog->machines[j];

			if (!a->n_fingerprints || !b->n_fingerprints)
				continue;
			check_equal(a, b, "machine-id", a->identity.machine_id, b->identity.machine_id, problems);
			check_equal(a, b, "board serial number", a->identity.board_serial, b->identity.board_serial, problems);
			check_equal(a, b, "board UUID", a->identity.board_uuid, b->identity.board_uuid, problems);
		}
	}
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_conditions(const struct machine_fingerprint *a, const struct machine_fingerprint *b)
{
	return a->taken_ms == b->taken_ms && strcmp(a->battery, b->battery) == 0 && strcmp(a->battery_hash, b->battery_hash) == 0 &&
	       strcmp(a->stress_ng, b->stress_ng) == 0 && strcmp(a->architecture, b->architecture) == 0 &&
	       strcmp(a->origin, b->origin) == 0 && is_same_text(a->profile, b->profile) && is_same_text(a->conditions, b->conditions);
}

/* Reports whether two summaries have identical numbers, bit by bit. */
static bool is_same_rates(const struct machine_fingerprint *a, const struct machine_fingerprint *b)
{
	if (a->n_rates != b->n_rates || a->passes != b->passes)
		return false;
	for (size_t i = 0; i < a->n_rates; i++) {
		const struct machine_rate *x = &a->rates[i], *y = &b->rates[i];

		if (strcmp(x->stressor, y->stressor) != 0 || x->n != y->n || isnan(x->median) != isnan(y->median))
			return false;
		if (!isnan(x->median) && (x->median != y->median || x->mad != y->mad))
			return false;
		if (isnan(x->real_median) != isnan(y->real_median) || (!isnan(x->real_median) && x->real_median != y->real_median))
			return false;
		if (isnan(x->median) && strcmp(x->reason, y->reason) != 0)
			return false;
	}
	return true;
}

static void check_summary(const struct machine *machine, const struct machine_fingerprint *f, const struct fingerprint_set *set,
			  struct catalog_problems *problems)
{
	const struct fingerprint *raw = fingerprint_find(set, f->id);
	struct machine from_raw = { 0 };

	if (!raw)
		return;
	if (strcmp(raw->machine, machine->id) != 0) {
		char *command = identity_rename_command(machine->id, raw->machine);

		problem_add(problems,
			    "'%s': fingerprint %s belongs to the machine '%s' in the store: to complete an interrupted rename: %s",
			    machine->id, f->id, raw->machine, command);
		free(command);
	}
	machine_put_fingerprint(&from_raw, set, raw);
	if (!is_same_conditions(f, &from_raw.fingerprints[0]) || !is_same_rates(f, &from_raw.fingerprints[0]))
		problem_add(problems, "'%s': the summary of fingerprint %s does not match the raw record: it was changed by hand",
			    machine->id, f->id);
	machine_release(&from_raw);
}

/* Adds one problem for all fingerprints without a raw record. In a clone of the catalog's repository, all raw records are missing. */
static void check_raw(const struct catalog *catalog, const struct fingerprint_set *set, struct catalog_problems *problems)
{
	const char *machine = NULL, *id = NULL;
	size_t missing = 0, n = 0;

	for (size_t i = 0; i < catalog->n; i++) {
		for (size_t k = 0; k < catalog->machines[i].n_fingerprints; k++, n++) {
			if (fingerprint_find(set, catalog->machines[i].fingerprints[k].id))
				continue;
			if (missing++ == 0) {
				machine = catalog->machines[i].id;
				id = catalog->machines[i].fingerprints[k].id;
			}
		}
	}
	if (missing)
		problem_add(problems,
			    "'%s': the raw record of fingerprint %s is not in the store (of %zu of %zu fingerprints): it cannot be used "
			    "with runs; measurements are in .assay/, which is not in git: work in the laboratory itself, not in a clone of "
			    "its catalog, or restore .assay/ from a backup",
			    machine, id, missing, n);
}

static void check_accepted(const struct machine *machine, struct catalog_problems *problems)
{
	for (size_t i = 0; i < machine->n_accepted; i++) {
		if (!machine_find_fingerprint(machine, machine->accepted[i].fingerprint))
			problem_add(problems, "'%s': fingerprint %s was accepted but is missing", machine->id,
				    machine->accepted[i].fingerprint);
	}
}

/* Adds a note for each fingerprint with a time in the future: a clock was wrong, at the measurement or now. No command can correct this. */
static void check_times(const struct machine *machine, int64_t now_ms, struct catalog_problems *remarks)
{
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		if (machine->fingerprints[i].taken_ms > now_ms)
			problem_add(remarks, "'%s': fingerprint %s has a time in the future, %s: it is not used for drift or runs",
				    machine->id, machine->fingerprints[i].id, TEXT_DATE(machine->fingerprints[i].taken_ms));
	}
}

/* Adds a note with the names of used hosts of lab.yaml that the catalog lacks. */
static void check_hosts(const struct catalog *catalog, const struct inventory *inventory, struct catalog_problems *notes)
{
	const struct host **missing = mem_new(inventory->n, sizeof(*missing));
	size_t n = 0;

	for (size_t i = 0; i < inventory->n; i++)
		if (!inventory->hosts[i].exclusion_reason && !catalog_find(catalog, inventory->hosts[i].id))
			missing[n++] = &inventory->hosts[i];
	if (n) {
		char *names = host_choice_fold(missing, n);

		problem_add(notes, "%zu host%s of lab.yaml %s not in the catalog: %s ('assay host measure' adds %s)", n, text_plural(n),
			    n == 1 ? "is" : "are", names, n == 1 ? "it" : "them");
		free(names);
	}
	free(missing);
}

/* Finds contradictions: two machines with one identity, summaries that differ from the raw records in the store, records without a summary,
 * and summaries without a record. Adds a note for faults that no command can correct, such as a time after `now_ms`. */
static void catalog_check(const struct catalog *catalog, const struct fingerprint_set *set, int64_t now_ms,
			  struct catalog_problems *problems, struct catalog_problems *remarks)
{
	const bool unread = problems->n > 0; /* a machine that seems to be missing may be in an invalid file */

	check_identity(catalog, problems);
	check_raw(catalog, set, problems);
	for (size_t i = 0; i < catalog->n; i++) {
		check_accepted(&catalog->machines[i], problems);
		check_times(&catalog->machines[i], now_ms, remarks);
		for (size_t k = 0; k < catalog->machines[i].n_fingerprints; k++)
			check_summary(&catalog->machines[i], &catalog->machines[i].fingerprints[k], set, problems);
	}
	for (size_t i = 0; i < set->n; i++) {
		const struct machine *machine = catalog_find(catalog, set->items[i].machine);

		if (machine ? !machine_find_fingerprint(machine, set->items[i].id) : !unread)
			problem_add(
			    problems,
			    "'%s': fingerprint %s is in the store but not in the catalog: the next 'assay host measure' or import adds it",
			    set->items[i].machine, set->items[i].id);
	}
}

static void add_answer(const struct catalog *catalog, const struct fingerprint_set *set, const struct catalog_problems *problems,
		       const struct catalog_problems *remarks, struct document *d)
{
	if (problems->n)
		doc_line(d, "%zu problem%s; %zu machine%s and %zu raw fingerprint%s were checked\n", problems->n, text_plural(problems->n),
			 catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
	else
		doc_line(d, "No problems: %zu machine%s, %zu fingerprint%s, all equal to their raw records; the database is intact.",
			 catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
	for (size_t i = 0; i < problems->n; i++)
		doc_line(d, "%s", problems->texts[i]);
	for (size_t i = 0; i < remarks->n; i++)
		doc_line(d, "note: %s", remarks->texts[i]);
	doc_set(d, "machines", catalog->n);
	doc_set(d, "fingerprints", set->n);
	doc_texts(d, "problems", problems->texts, problems->n);
	doc_texts(d, "remarks", remarks->texts, remarks->n);
	d->exit_status = problems->n ? assay_status_exit_code(ASSAY_E_FORMAT) : 0;
}

static enum assay_status check_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct catalog_problems problems = { 0 }, remarks = { 0 };
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	enum assay_status st = store_check(&lab->store, err);

	(void)arguments;
	if (!st)
		st = fingerprint_load(&lab->store, &set, err);
	if (!st)
		st = catalog_load(lab->machines, &problems, &catalog, err);
	if (!st) {
		catalog_check(&catalog, &set, clock_real_ms(), &problems, &remarks);
		check_hosts(&catalog, &lab->config.inventory, &remarks);
		add_answer(&catalog, &set, &problems, &remarks, d);
	}
	catalog_problems_release(&problems);
	catalog_problems_release(&remarks);
	fingerprint_set_release(&set);
	catalog_release(&catalog);
	return st;
}

const struct command check_command = {
	.name = "check",
	.summary = "check the catalog and the database",
	.about = "Checks that every file of the catalog is valid, no identity is used twice, every summary matches its raw record, and the "
		 "database is intact. Names the hosts of lab.yaml that the catalog lacks. Prints one line per problem or note.",
	.examples = "  assay check && git -C machines commit -a\n",
	.exit_status = "0 no problem, 2 problems in the catalog, 1 the database is damaged.",
	.lab = CLI_LAB_READ,
	.run = check_run,
};
