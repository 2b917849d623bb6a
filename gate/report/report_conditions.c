/* Under which conditions the fingerprints were taken: what is the same everywhere is said once, what differs is said by machine. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/stored/conditions.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

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
	double *numbers; /* [machines], NaN where it is no number */
};
struct conditions {
	struct condition *items;
	size_t n, capacity, machines;
};

static size_t rank_of(const char *key)
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
	all->items = mem_grow(all->items, all->n, &all->capacity, sizeof(*all->items));
	c = &all->items[all->n++];
	*c = (struct condition){ mem_string(key), rank_of(key), mem_new(all->machines, sizeof(char *)),
				 mem_new(all->machines, sizeof(double)) };
	for (size_t i = 0; i < all->machines; i++)
		c->numbers[i] = (double)NAN;
	return c;
}

static char *number_text(size_t rank, double value)
{
	double divisor = rank < KNOWN && known[rank].divisor > 0 ? known[rank].divisor : 1;

	return mem_format("%.3g%s", value / divisor, rank < KNOWN ? known[rank].unit : "");
}

static void take_value(struct conditions *all, size_t machine, const cJSON *item)
{
	struct condition *c;

	if (!item->string || !(cJSON_IsString(item) || cJSON_IsNumber(item) || cJSON_IsBool(item)))
		return;
	c = condition_named(all, item->string);
	if (c->values[machine])
		return; /* a key that stands twice */
	if (cJSON_IsNumber(item)) {
		c->numbers[machine] = item->valuedouble;
		c->values[machine] = number_text(c->rank, item->valuedouble);
	} else {
		c->values[machine] = mem_string(cJSON_IsString(item) ? conditions_shown(item->valuestring) : (cJSON_IsTrue(item) ? "yes" : "no"));
	}
}

static int compare_conditions(const void *a, const void *b)
{
	const struct condition *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->key, y->key);
}

static struct conditions conditions_of(const struct report_machines *machines)
{
	struct conditions all = { .machines = machines->n };

	for (size_t i = 0; i < machines->n; i++) {
		const char *text = machines->fingerprints[i]->conditions;
		cJSON *object = NULL;
		const cJSON *item;

		if (!text || json_parse("conditions", text, strlen(text), &object, NULL))
			continue;
		cJSON_ArrayForEach(item, object)
			take_value(&all, i, item);
		cJSON_Delete(object);
	}
	if (all.n)
		qsort(all.items, all.n, sizeof(*all.items), compare_conditions);
	return all;
}

static void conditions_release(struct conditions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		for (size_t k = 0; k < all->machines; k++)
			free(all->items[i].values[k]);
		free(all->items[i].values);
		free(all->items[i].numbers);
		free(all->items[i].key);
	}
	free(all->items);
}

/* ---- what is the same, what differs ---- */

static bool is_same(const struct conditions *all, const struct condition *c)
{
	for (size_t i = 0; i < all->machines; i++) {
		if (!c->values[i] || strcmp(c->values[i], c->values[0]) != 0)
			return false;
	}
	return all->machines > 0;
}

static const char *label_of(const struct condition *c)
{
	return c->rank < KNOWN ? known[c->rank].label : c->key;
}

static void same_everywhere(const struct conditions *all, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += is_same(all, &all->items[i]);
	if (!n)
		return;
	html_format(out, "<h3>%s</h3><dl class=\"same\">", all->machines == 1 ? "On the one machine" : "The same on all machines");
	for (size_t i = 0; i < all->n; i++) {
		if (is_same(all, &all->items[i]))
			html_format(out, "<div><dt>%s</dt><dd><bdi>%s</bdi></dd></div>", label_of(&all->items[i]),
				    all->items[i].values[0]);
	}
	buf_text(out, "</dl>");
}

/* Numbers by their range. */
static bool number_range(const struct conditions *all, const struct condition *c, struct buf *out)
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
	html_format(out, "%s to %s", c->values[least], c->values[most]);
	return true;
}

/* Texts by value, each with its machines, in the order in which they come. */
static void value_groups(const struct conditions *all, const struct condition *c, const struct report_machines *machines,
			 struct buf *out)
{
	buf_text(out, "<ul>");
	for (size_t i = 0; i < all->machines; i++) {
		const char *value = c->values[i] ? c->values[i] : "not known";
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = strcmp(c->values[k] ? c->values[k] : "not known", value) != 0;
		if (!first)
			continue;
		html_format(out, "<li><bdi>%s</bdi> <span class=\"muted\">", value);
		for (size_t k = i, n = 0; k < all->machines; k++) {
			if (strcmp(c->values[k] ? c->values[k] : "not known", value) == 0)
				html_format(out, "%s<bdi>%s</bdi>", n++ ? ", " : "", machines->fingerprints[k]->machine);
		}
		buf_text(out, "</span></li>");
	}
	buf_text(out, "</ul>");
}

static void differences(const struct conditions *all, const struct report_machines *machines, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += !is_same(all, &all->items[i]);
	if (!n)
		return;
	buf_text(out, "<h3>Different between machines</h3><dl class=\"differ\">");
	for (size_t i = 0; i < all->n; i++) {
		const struct condition *c = &all->items[i];

		if (is_same(all, c))
			continue;
		html_format(out, "<div><dt>%s</dt><dd>", label_of(c));
		if (!number_range(all, c, out))
			value_groups(all, c, machines, out);
		buf_text(out, "</dd></div>");
	}
	buf_text(out, "</dl>");
}

/* What one would want to know, and no machine says. */
static void not_said(const struct conditions *all, struct buf *out)
{
	static const char *const wanted[] = { "cpu_model", "kernel", "libc", "microcode", "governor", "turbo", "smt" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && all->n; i++) {
		bool said = false;

		for (size_t k = 0; k < all->n && !said; k++)
			said = strcmp(all->items[k].key, wanted[i]) == 0;
		if (said)
			continue;
		buf_text(out, n++ ? ", " : "<p class=\"muted not-said\">Not said by any of them: ");
		html_text(out, known[rank_of(wanted[i])].label);
	}
	if (n)
		buf_text(out, ".</p>");
}

/* ---- machines ---- */

static void cell_origin(const struct fingerprint *f, struct buf *out)
{
	if (f->profile)
		html_format(out, "<td>emulated, profile <bdi>%s</bdi></td>", f->profile);
	else
		html_format(out, "<td>%s</td>", f->origin);
}

static void machine_row(const struct evidence *evidence, const struct fingerprint *f, bool used, struct buf *out)
{
	size_t type = types_find(&evidence->types, f->id);
	char date[TEXT_DATE_BYTES];

	html_format(out, "<tr class=\"%s\"><th scope=\"row\"><bdi>%s</bdi></th><td><bdi>%s</bdi></td>", used ? "used" : "unused",
		    f->machine, type == SIZE_MAX ? "not known" : evidence->types.types[type].name);
	cell_origin(f, out);
	text_from_ms(f->taken_ms, date);
	html_format(out, "<td class=\"num\" data-v=\"%ld\"><time datetime=\"%s\">", (long)f->taken_ms, date);
	date[10] = '\0';
	html_format(out, "%s</time></td><td class=\"num\">%zu</td><td>%s</td><td>%s</td></tr>\n", date, f->n_passes, f->battery,
		    f->stress_ng);
}

static void machine_table(const struct evidence *evidence, const struct report_machines *machines, struct buf *out)
{
	buf_text(out, "<h3>Fingerprints</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Fingerprints, scrolls "
		      "sideways\"><table class=\"sortable\"><thead><tr><th scope=\"col\">Machine</th><th scope=\"col\">Hardware "
		      "type</th><th scope=\"col\">Origin</th><th scope=\"col\" class=\"num\">Taken</th><th scope=\"col\" "
		      "class=\"num\">Passes</th><th scope=\"col\">Battery</th><th "
		      "scope=\"col\">stress-ng</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < machines->n; i++)
		machine_row(evidence, machines->fingerprints[i], machines->used[i], out);
	buf_text(out, "</tbody></table></div>");
}

void report_conditions(const struct evidence *evidence, const struct report_machines *machines, struct buf *out)
{
	struct conditions all = conditions_of(machines);

	page_section(out, "conditions", "Conditions",
		       "What the machines said of themselves when their fingerprints were taken. A difference that goes with the "
		       "result may explain it.");
	if (machines->emulated)
		html_format(out,
			    "<p class=\"note\">%zu of %zu machines are emulated hosts: programs on one computer, so that all its "
			    "conditions are shared.</p>",
			    machines->emulated, machines->n);
	if (!machines->n)
		buf_text(out, "<p class=\"empty\">No fingerprint belongs to these results, so nothing is known of the machines.</p>");
	else if (!all.n)
		buf_text(out, "<p class=\"empty\">These fingerprints were recorded elsewhere, without conditions: kernel, governor "
			      "and the like are not known.</p>");
	same_everywhere(&all, out);
	differences(&all, machines, out);
	not_said(&all, out);
	if (machines->n)
		machine_table(evidence, machines, out);
	buf_text(out, "</section>\n");
	conditions_release(&all);
}
