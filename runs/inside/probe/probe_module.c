/* What is loaded into this process, and which functions of the list are in it. */
#include "runs/inside/probe/probe.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS_MAX	16
#define MODULE_BYTES	256
#define PATCHES_AT_ONCE 512

struct module {
	uintptr_t base;
	char id[RECORD_BUILD_ID_BYTES]; /* or "" */
	char name[MODULE_BYTES];	/* "=" and the last component of its path */
	struct probe_range whole;
	struct probe_range code[SEGMENTS_MAX];
	size_t n_code;
};

/* ---- modules ---- */

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void segment_look(struct module *m, const ElfW(Phdr) * p)
{
	uintptr_t low = m->base + p->p_vaddr, high = low + p->p_memsz;

	if (p->p_type != PT_LOAD)
		return;
	low &= ~(uintptr_t)4095;
	high = (high + 4095) & ~(uintptr_t)4095;
	if (!m->whole.high || low < m->whole.low)
		m->whole.low = low;
	if (high > m->whole.high)
		m->whole.high = high;
	if (p->p_flags & PF_X && m->n_code < SEGMENTS_MAX)
		m->code[m->n_code++] =
		    (struct probe_range){ low, high,
					  (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | PROT_EXEC };
}

static void module_look(const struct dl_phdr_info *info, struct module *m)
{
	char self[1024];
	const char *path = info->dlpi_name;
	ssize_t n;

	memset(m, 0, sizeof(*m));
	m->base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		segment_look(m, &info->dlpi_phdr[i]);
	record_module_id(m->base, info->dlpi_phdr, info->dlpi_phnum, m->id);
	if (!path || !*path) { /* the program itself */
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[n > 0 ? n : 0] = '\0';
		path = self;
	}
	path = last_component(path);
	n = (ssize_t)strlen(path);
	if (n > 0 && n < MODULE_BYTES - 1) {
		m->name[0] = '=';
		memcpy(m->name + 1, path, (size_t)n + 1);
	}
}

/* ---- functions ---- */

static bool any_patched, any_instrumented;

static bool belongs(const struct module *m, const struct probe_entry *e)
{
	return (m->id[0] && strcmp(e->module, m->id) == 0) || (m->name[0] && strcmp(e->module, m->name) == 0);
}

static const struct probe_range *code_of(const struct module *m, uintptr_t address)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (address >= m->code[i].low && address < m->code[i].high && m->code[i].high - address >= 16)
			return &m->code[i];
	return NULL;
}

static uint64_t seed_of(uint64_t address)
{
	return (address + 1) * 0x9e3779b97f4a7c15u + probe.seed * 0xd1342543de82ef95u;
}

/* A number for the function; UINT32_MAX: none. */
static uint32_t number_of(struct probe_entry *e, uintptr_t address)
{
	if (e->number == UINT32_MAX && probe.writer.header) {
		uint32_t number = record_function(&probe.writer, e->address, e->module, e->name);

		if (number != UINT32_MAX) {
			probe.functions[number] = (struct probe_function){ seed_of(e->address), address };
			e->number = number;
		}
	}
	return e->number;
}

/* The list has more functions than can be measured; said once, for the whole list is looked at again with every library that comes. */
static void no_room_say(const struct probe_entry *e)
{
	static bool said;

	if (!said)
		probe_say("no room for more functions, select fewer: not measured are others, and ", e->name, 0);
	said = true;
}

static void module_patch(const struct module *m, const struct probe_range *code, const struct probe_patch *patches, size_t n)
{
	int failed = n ? probe_sites_patch(patches, n, m->whole, *code) : 0;

	any_patched = any_patched || (n && !failed);
	if (failed && !probe.patching_refused) {
		probe.patching_refused = failed;
		probe_say("the system refuses to let this program's code be changed (build it with -finstrument-functions instead): ",
			  m->name + 1, failed);
		record_info(&probe.writer, "patching", "refused");
	}
}

/* Functions of the list whose code lies in one segment. */
static void segment_scan(const struct module *m, const struct probe_range *code, const struct probe_list *list)
{
	struct probe_patch patches[PATCHES_AT_ONCE];
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct probe_entry *e = &list->items[i];
		uintptr_t address = m->base + e->address, site;
		enum probe_site found;

		if (!belongs(m, e) || code_of(m, address) != code)
			continue;
		found = probe_site_at(address, &site);
		if (found == PROBE_SITE_JUMP && e->number != UINT32_MAX)
			continue; /* our jump, from an earlier scan */
		if (number_of(e, address) == UINT32_MAX)
			no_room_say(e);
		else if (found == PROBE_SITE_FREE)
			patches[n++] = (struct probe_patch){ site, e->number };
		else if (probe_instrumented_add(address, e->number))
			any_instrumented = true;
		else
			no_room_say(e);
		if (n == PATCHES_AT_ONCE) {
			module_patch(m, code, patches, n);
			n = 0;
		}
	}
	module_patch(m, code, patches, n);
}

static int module_scan(struct dl_phdr_info *info, size_t size, void *list)
{
	struct module m;

	(void)size;
	module_look(info, &m);
	for (size_t i = 0; i < m.n_code; i++)
		segment_scan(&m, &m.code[i], list);
	return 0;
}

/* Is any function of the list in this module? */
static int module_has(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct probe_list *list = data;
	struct module m;

	(void)size;
	module_look(info, &m);
	for (size_t i = 0; i < list->n; i++)
		if (belongs(&m, &list->items[i]) && code_of(&m, m.base + list->items[i].address))
			return 1;
	return 0;
}

/* probe_begin() may load libraries itself, so it must not be called while the linker's list is held. */
void probe_modules_scan(const struct probe_list *list)
{
	struct probe_list copy = *list;

	if (dl_iterate_phdr(module_has, &copy) && probe_begin())
		dl_iterate_phdr(module_scan, &copy);
	if (any_patched || any_instrumented)
		probe_calibrate(!any_patched);
}
