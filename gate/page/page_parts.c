#include "gate/page/page_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/stored/fingerprint.h"

#include <math.h>
#include <string.h>

#define COLOURS	    11
#define NAMES_SHOWN 12 /* of omissions: more are folded */

/* ---- lines ---- */

void page_fact(struct document *d, const char *what, const char *value, const char *more)
{
	doc_showf(d, NULL, what, value, DOC_STRONG "%s" DOC_END DOC_ASIDE "%s" DOC_END, value, more);
	doc_style(d, "facts");
}

struct text_number page_signed(double value, int decimals)
{
	struct text_number out = text_signed(value, decimals);

	if (!strpbrk(out.text, "123456789"))
		memmove(out.text, out.text + 1, strlen(out.text));
	return out;
}

void page_colour(struct document *d, double value, double most, const char *more)
{
	doc_style(d, "h%d%s", (int)fmin(fmax(round(value / most * (COLOURS / 2)) + COLOURS / 2, 0), COLOURS - 1), more);
}

void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps)
{
	doc_object(d, NULL);
	doc_style(d, "heat-legend");
	doc_object(d, NULL);
	doc_style(d, "scale");
	doc_line(d, "%s", low);
	doc_list(d, NULL);
	for (int b = 0; b < COLOURS; b++) {
		doc_item(d, DOC_MARK("vh") "%s" DOC_END, page_signed(most * (b - COLOURS / 2) / (COLOURS / 2), 1).text);
		doc_style(d, "h h%d", b);
	}
	doc_end(d);
	doc_line(d, "%s", high);
	doc_end(d);
	doc_styled(d, "muted", "%s", note);
	if (gaps)
		doc_styled(d, "gaps", DOC_MARK("h hx") DOC_END "not measured");
	doc_end(d);
}

/* ---- what does not count on a page, and why ---- */

static struct omission *omissions_append(struct omissions *list, const char *why, char *what)
{
	list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
	list->items[list->n] = (struct omission){ .what = what, .why = mem_string(why) };
	return &list->items[list->n++];
}

static void omission_append(struct omission *omission, char *name)
{
	mem_append(omission->names, omission->n, &omission->capacity, name);
}

struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...)
{
	char *what;

	mem_formatted(what, fmt);
	return omissions_append(list, why, what);
}

void omission_name(struct omission *omission, const char *fmt, ...)
{
	char *name;

	mem_formatted(name, fmt);
	omission_append(omission, name);
}

static char *omission_count(size_t n, const char *noun, const char *rest)
{
	return mem_format("%zu %s%s%s", n, noun, text_plural(n), rest);
}

/* The one whose names are those excluded for this reason, so far; NULL when there is none yet. */
static struct omission *omissions_find(const struct omissions *list, const char *why, const char *noun, const char *rest)
{
	for (size_t i = list->n; i > 0; i--) {
		struct omission *omission = &list->items[i - 1];
		char *what = omission_count(omission->n, noun, rest);
		bool same = strcmp(omission->why, why) == 0 && strcmp(omission->what, what) == 0;

		free(what);
		if (same)
			return omission;
	}
	return NULL;
}

void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
{
	struct omission *omission = omissions_find(list, why, noun, rest);
	char *name;

	if (!omission)
		omission = omissions_append(list, why, NULL);
	mem_formatted(name, fmt);
	omission_append(omission, name);
	free(omission->what);
	omission->what = omission_count(omission->n, noun, rest);
}

void omissions_release(struct omissions *list)
{
	for (size_t i = 0; i < list->n; i++) {
		mem_free_all(list->items[i].names, list->items[i].n);
		mem_free(list->items[i].what, list->items[i].why);
	}
	free(list->items);
	*list = (struct omissions){ 0 };
}

static void omission_show(const struct omission *o, struct document *d)
{
	doc_entry(d, o->what);
	doc_style(d, "left-out");
	doc_line(d, "%s.", o->why);
	if (o->n > NAMES_SHOWN)
		doc_fold(d, "which");
	doc_list(d, NULL);
	doc_style(d, "names");
	for (size_t i = 0; i < o->n; i++)
		doc_item(d, DOC_NAME "%s" DOC_END, o->names[i]);
	doc_end(d);
	if (o->n > NAMES_SHOWN)
		doc_end(d);
	doc_end(d);
}

void omissions_section(struct document *d, const struct omissions *list)
{
	doc_section(d, "left-out", "Left out", "Left out, and why", NULL);
	for (size_t k = 0; k < list->n; k++)
		omission_show(&list->items[k], d);
	if (!list->n)
		doc_line(d, "Nothing: every machine and every result counts.");
}

/* ---- under which conditions fingerprints were taken ---- */

/* What people call the conditions; others are shown under their own names. In the order of the page. */
static const struct {
	const char *key, *label;
	double divisor; /* of a number, to its unit; 0: 1 */
	const char *unit;
} known[] = {
	{ "cpu_model", "Processor", 0, "" },
	{ "cpu_vendor", "Vendor", 0, "" },
	{ "sockets", "Sockets", 0, "" },
	{ "cores_per_socket", "Cores a socket", 0, "" },
	{ "threads_per_core", "Threads a core", 0, "" },
	{ "cpus_online", "Processors online", 0, "" },
	{ "memory_bytes", "Memory", 1 << 30, " GiB" },
	{ "kernel", "Kernel", 0, "" },
	{ "libc", "C library", 0, "" },
	{ "architecture", "Architecture", 0, "" },
	{ "microcode", "Microcode", 0, "" },
	{ "governor", "Frequency governor", 0, "" },
	{ "turbo", "Turbo", 0, "" },
	{ "smt", "Simultaneous multithreading", 0, "" },
	{ "thp", "Transparent huge pages", 0, "" },
	{ "virtual_machine", "Virtual machine", 0, "" },
	{ "cgroup", "Control groups", 0, "" },
	{ "tmp_filesystem", "File system of /tmp", 0, "" },
	{ "load1", "Load before", 0, "" },
	{ "load1_after", "Load after", 0, "" },
	{ "steal_percent", "Stolen by the hypervisor", 0, " %" },
	{ "crowded_percent", "Time in which anything waited for a CPU", 0, " %" },
	{ "temperature_c", "Temperature before", 0, " \u00b0C" },
	{ "temperature_c_after", "Temperature after", 0, " \u00b0C" },
	{ "memory_available_bytes", "Memory available", 1 << 30, " GiB" },
	{ "disk_free_bytes", "Free on /", 1 << 30, " GiB" },
	{ "tmp_free_bytes", "Free in /tmp", 1 << 30, " GiB" },
	{ "shm_free_bytes", "Free in /dev/shm", 1 << 30, " GiB" },
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

/* One condition on all machines. */
struct condition {
	char *key;
	size_t rank;	 /* row of known[], or KNOWN */
	char **values;	 /* [machines], for people; NULL where it is not known */
	double *numbers; /* [machines], NaN where it is not a number */
};
struct conditions {
	struct condition *items;
	size_t n, capacity, machines;
};

static size_t condition_rank(const char *key)
{
	size_t i = 0;

	while (i < KNOWN && strcmp(known[i].key, key) != 0)
		i++;
	return i;
}

static struct condition *condition_named(struct conditions *all, const char *key)
{
	struct condition *c;

	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->items[i].key, key) == 0)
			return &all->items[i];
	}
	c = mem_next(all->items, all->n, &all->capacity);
	*c = (struct condition){ mem_string(key), condition_rank(key), mem_new(all->machines, sizeof(char *)),
				 mem_new(all->machines, sizeof(double)) };
	for (size_t i = 0; i < all->machines; i++)
		c->numbers[i] = (double)NAN;
	return c;
}

static char *condition_number(size_t rank, double value)
{
	double divisor = rank < KNOWN && known[rank].divisor > 0 ? known[rank].divisor : 1;

	return mem_format("%.3g%s", value / divisor, rank < KNOWN ? known[rank].unit : "");
}

static void condition_add(struct conditions *all, size_t machine, const cJSON *item)
{
	struct condition *c;

	if (!item->string || !(cJSON_IsString(item) || cJSON_IsNumber(item) || cJSON_IsBool(item)))
		return;
	c = condition_named(all, item->string);
	if (c->values[machine])
		return; /* a key that is there twice */
	if (cJSON_IsNumber(item)) {
		c->numbers[machine] = item->valuedouble;
		c->values[machine] = condition_number(c->rank, item->valuedouble);
	} else {
		c->values[machine] =
		    mem_string(cJSON_IsString(item) ? conditions_shown(item->valuestring) : (cJSON_IsTrue(item) ? "yes" : "no"));
	}
}

ORDER_BY(compare_conditions, struct condition, BY_UP(rank) BY_TEXT(key))

static struct conditions conditions_of(const struct page_machines *machines)
{
	struct conditions all = { .machines = machines->n };

	for (size_t i = 0; i < machines->n; i++) {
		const char *text = machines->fingerprints[i]->conditions;
		cJSON *object = NULL;
		const cJSON *item;

		if (!text || json_parse("conditions", text, strlen(text), &object, NULL))
			continue;
		cJSON_ArrayForEach(item, object) condition_add(&all, i, item);
		cJSON_Delete(object);
	}
	order_sort(all.items, all.n, compare_conditions);
	return all;
}

static void conditions_release(struct conditions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		mem_free_all(all->items[i].values, all->machines);
		mem_free(all->items[i].numbers, all->items[i].key);
	}
	free(all->items);
}

/* ---- what is the same, what differs ---- */

static bool condition_is_same(const struct conditions *all, const struct condition *c)
{
	for (size_t i = 0; i < all->machines; i++) {
		if (!c->values[i] || strcmp(c->values[i], c->values[0]) != 0)
			return false;
	}
	return all->machines > 0;
}

static const char *condition_label(const struct condition *c)
{
	return c->rank < KNOWN ? known[c->rank].label : c->key;
}

static void add_same(const struct conditions *all, struct document *d)
{
	bool begun = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct condition *c = &all->items[i];

		if (!condition_is_same(all, c))
			continue;
		if (!begun)
			doc_subheading(d, all->machines == 1 ? "On the one machine" : "The same on all machines");
		begun = true;
		doc_show(d, NULL, condition_label(c), c->values[0]);
		doc_style(d, "same");
	}
}

/* Numbers by their range; false where some value is not a number. */
static bool add_range(const struct conditions *all, const struct condition *c, struct document *d)
{
	size_t least = SIZE_MAX, most = SIZE_MAX;

	for (size_t i = 0; i < all->machines; i++) {
		if (c->values[i] && isnan(c->numbers[i]))
			return false;
		if (!c->values[i])
			continue;
		least = least == SIZE_MAX || c->numbers[i] < c->numbers[least] ? i : least;
		most = most == SIZE_MAX || c->numbers[i] > c->numbers[most] ? i : most;
	}
	doc_line(d, "%s to %s", c->values[least], c->values[most]);
	return true;
}

static const char *condition_value(const struct condition *c, size_t machine)
{
	return c->values[machine] ? c->values[machine] : "not known";
}

/* Texts by value, each with its machines, in the order in which they come. */
static void add_values(const struct conditions *all, const struct condition *c, const struct page_machines *machines, struct document *d)
{
	for (size_t i = 0; i < all->machines; i++) {
		const char *value = condition_value(c, i);
		struct buf names = BUF_INIT;
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = strcmp(condition_value(c, k), value) != 0;
		for (size_t k = i; k < all->machines && first; k++) {
			if (strcmp(condition_value(c, k), value) == 0)
				buf_format(&names, "%s" DOC_NAME "%s" DOC_END, names.size ? DOC_ASIDE ", " DOC_END : "",
					   machines->fingerprints[k]->machine);
		}
		if (first)
			doc_item(d, DOC_NAME "%s" DOC_END " %s", value, names.bytes);
		buf_release(&names);
	}
}

static void add_different(const struct conditions *all, const struct page_machines *machines, struct document *d)
{
	bool begun = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct condition *c = &all->items[i];

		if (condition_is_same(all, c))
			continue;
		if (!begun)
			doc_subheading(d, "Different between machines");
		begun = true;
		doc_entry(d, condition_label(c));
		doc_style(d, "differ");
		if (!add_range(all, c, d))
			add_values(all, c, machines, d);
		doc_end(d);
	}
}

/* ---- machines ---- */

static void add_machine(const struct evidence *evidence, const struct fingerprint *f, bool used, struct document *d)
{
	size_t type = types_find(&evidence->types, f->id);

	doc_row(d);
	doc_style(d, used ? "used" : "unused");
	doc_show(d, NULL, "Machine", f->machine);
	doc_show(d, NULL, "Hardware type", type == SIZE_MAX ? "not known" : evidence->types.types[type].name);
	if (f->profile)
		doc_showf(d, NULL, "Origin", f->profile, "emulated, profile " DOC_NAME "%s" DOC_END, f->profile);
	else
		doc_show(d, NULL, "Origin", f->origin);
	doc_showf(d, NULL, "Taken", f->taken_ms, "%.10s", TEXT_MS(f->taken_ms));
	doc_data(d, "v", "%lld", (long long)f->taken_ms);
	doc_show(d, NULL, "Passes", f->n_passes);
	doc_show(d, NULL, "Battery", f->battery);
	doc_show(d, NULL, "stress-ng", f->stress_ng);
}

void page_conditions(struct document *d, const struct evidence *evidence, const struct page_machines *machines)
{
	struct conditions all = conditions_of(machines);
	size_t emulated = 0;

	for (size_t i = 0; i < machines->n; i++)
		emulated += machines->fingerprints[i]->profile != NULL;
	doc_section(
	    d, "conditions", "Conditions", "Conditions",
	    "What the machines reported about themselves when their fingerprints were taken. A difference that goes with the result may "
	    "explain it.");
	if (emulated)
		doc_styled(d, "note",
			   "%zu of %zu machines are emulated hosts: programs on one computer, so that all its conditions are shared.",
			   emulated, machines->n);
	if (machines->n && !all.n)
		doc_styled(d, "empty",
			   "These fingerprints were recorded elsewhere, without conditions: kernel, governor and the like are not known.");
	add_same(&all, d);
	add_different(&all, machines, d);
	doc_section(d, "fingerprints", "Fingerprints", "The machines' fingerprints",
		    "'assay explore' shows how the machines differ, 'assay fingerprint show' the rates of one.");
	doc_table(d, NULL);
	doc_style(d, "sortable wide");
	doc_caption(d, "Fingerprints");
	for (size_t i = 0; i < machines->n; i++)
		add_machine(evidence, machines->fingerprints[i], !machines->used || machines->used[i], d);
	doc_end(d);
	if (!machines->n)
		doc_styled(d, "empty",
			   "None of these results belongs to a fingerprint, so nothing is known of the machines. " DOC_CODE
			   "assay host measure" DOC_END " takes fingerprints.");
	conditions_release(&all);
}
