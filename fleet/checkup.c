#include "fleet/checkup.h"

#include "base/mem.h"
#include "base/order.h"
#include "fleet/counting/refused.h"
#include "fleet/inventory/nodeset.h"

#include <math.h>
#include <stdarg.h>

#define MIB (1024.0 * 1024)

bool checkup_version(const char *said, char version[CHECKUP_VERSION_BYTES])
{
	static const char before[] = "stress-ng, version ",
			  allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+~-";
	const char *start;
	size_t n;

	if (strncmp(said, before, sizeof(before) - 1) != 0)
		return false;
	start = said + sizeof(before) - 1;
	n = strspn(start, allowed);
	if (n == 0 || n >= CHECKUP_VERSION_BYTES || (start[n] != ' ' && start[n] != '\n'))
		return false;
	memcpy(version, start, n);
	version[n] = '\0';
	return true;
}

static void __attribute__((format(printf, 5, 6)))
add(struct checkup *checkup, size_t host, bool remark, const char *code, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	mem_append(checkup->problems, checkup->n, &checkup->capacity, (struct checkup_problem){ host, remark, code, mem_string(text) });
}

static bool answered(const struct checkup_host *h)
{
	return h->result->outcome == FLEET_OK;
}

/* ---- one host by itself ---- */

static void find_unfit_space(struct checkup *out, size_t i, const struct facts *f)
{
	if (isnan(f->shm_free_bytes))
		add(out, i, false, "shm", "/dev/shm is not a tmpfs: stressors need one, where they cannot fill a disk");
	else if (f->shm_free_bytes < CHECKUP_SHM_BYTES_MIN)
		add(out, i, false, "shm", "%.0f MiB free in /dev/shm: stressors need 128 MiB", f->shm_free_bytes / MIB);
	if (f->disk_free_bytes < CHECKUP_DISK_BYTES_MIN)
		add(out, i, false, "disk", "%.0f MiB free on the disk of /: less than 1 GiB", f->disk_free_bytes / MIB);
	if (f->memory_available_bytes < CHECKUP_MEMORY_BYTES_MIN)
		add(out, i, false, "memory", "%.0f MiB of memory available: less than 1 GiB", f->memory_available_bytes / MIB);
}

static void find_unfit_state(struct checkup *out, size_t i, const struct checkup_host *h)
{
	const struct facts *f = &h->facts;

	if (f->governor && strcmp(f->governor, "performance") != 0)
		add(out, i, false, "governor", "the governor of its processors is '%.40s': 'cpupower frequency-set -g performance' as root",
		    f->governor);
	if (fabs(h->clock_offset_ms) > CHECKUP_CLOCK_MS_MAX + h->round_trip_ms / 2)
		add(out, i, false, "clock", "its clock is %.1f s %s: let NTP set it", fabs(h->clock_offset_ms) / 1000,
		    h->clock_offset_ms > 0 ? "ahead of ours" : "behind ours");
	if (f->load1 > f->cpus_online / 2)
		add(out, i, false, "load", "its load is %.2f on %.0f processors: other work is running there", f->load1, f->cpus_online);
}

static void find_remarks(struct checkup *out, size_t i, const struct facts *f)
{
	bool forbidden = f->uid > 0 && f->perf_event_paranoid > REFUSED_USER;

	forbidden = forbidden || (f->perf_event_paranoid == REFUSED_BY_PAPI && f->has_pmu != 0);

	if (f->virtual_machine && strcmp(f->virtual_machine, "none") != 0)
		add(out, i, true, "virtual_machine", "it is a virtual machine (%.40s): others may share its processors",
		    f->virtual_machine);
	if (forbidden)
		add(out, i, true, "perf_event_paranoid",
		    "no hardware counters for %s: kernel.perf_event_paranoid is %.0f, and they need at most %d ('sysctl "
		    "kernel.perf_event_paranoid=%d' as root)",
		    f->perf_event_paranoid == REFUSED_BY_PAPI ? "anybody, for PAPI refuses" : "this user", f->perf_event_paranoid,
		    REFUSED_USER, REFUSED_USER);
	else if (f->has_pmu == 0)
		add(out, i, true, "no_pmu", "it has no hardware counters that count");
}

/* ---- one among others ---- */

/* What most of the others have. */
static void find_version(struct checkup *out, const struct checkup_host *hosts, size_t n)
{
	size_t best = n, best_count = 0, with = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		if (!answered(&hosts[i]) || !*hosts[i].stress_ng)
			continue;
		with++;
		for (size_t k = 0; k < n; k++)
			count += answered(&hosts[k]) && strcmp(hosts[i].stress_ng, hosts[k].stress_ng) == 0;
		if (count > best_count) {
			best = i;
			best_count = count;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!answered(&hosts[i]) || !*hosts[i].stress_ng || strcmp(hosts[i].stress_ng, hosts[best].stress_ng) == 0)
			continue;
		add(out, i, false, "stress_ng_version",
		    "its stress-ng is %s, but %zu of %zu hosts have %s: fingerprints of different versions cannot be compared",
		    hosts[i].stress_ng, best_count, with, hosts[best].stress_ng);
	}
}

static bool same_machine(const struct checkup_host *a, const struct checkup_host *b)
{
	/* Emulated hosts are on one machine, and so are those of one box, as lab.yaml says. */
	if (!answered(a) || !answered(b) || a->host->profile || b->host->profile || strcmp(a->host->box, b->host->box) == 0)
		return false;
	return a->facts.machine_id && b->facts.machine_id && strcmp(a->facts.machine_id, b->facts.machine_id) == 0;
}

static void find_clones(struct checkup *out, const struct checkup_host *hosts, size_t n)
{
	const char **others = mem_new(n, sizeof(*others));

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		char *folded;

		for (size_t k = 0; k < n; k++) {
			if (k != i && same_machine(&hosts[i], &hosts[k]))
				others[same++] = hosts[k].host->name;
		}
		if (same == 0)
			continue;
		folded = nodeset_fold(others, same);
		add(out, i, false, "clone",
		    "it has the machine-id of %.300s: a clone (give it an /etc/machine-id of its own), or one machine under two names",
		    folded);
		free(folded);
	}
	free(others);
}

ORDER_BY(by_host, struct checkup_problem, BY_UP(host) BY_UP(remark) BY_TEXT(code))

void checkup_find(const struct checkup_host *hosts, size_t n, struct checkup *out)
{
	*out = (struct checkup){ .problems = NULL };
	for (size_t i = 0; i < n; i++) {
		const struct checkup_host *h = &hosts[i];

		if (!answered(h)) {
			add(out, i, false, fleet_outcome_text(h->result->outcome), "%s: %s", fleet_outcome_text(h->result->outcome),
			    h->result->message);
			continue;
		}
		if (!*h->stress_ng)
			add(out, i, false, "stress_ng_missing", "%s", h->stress_ng_fault);
		find_unfit_space(out, i, &h->facts);
		find_unfit_state(out, i, h);
		find_remarks(out, i, &h->facts);
	}
	find_version(out, hosts, n);
	find_clones(out, hosts, n);
	order_sort(out->problems, out->n, by_host);
}

size_t checkup_problems(const struct checkup *checkup, size_t host)
{
	size_t n = 0;

	for (size_t i = 0; i < checkup->n; i++)
		n += checkup->problems[i].host == host && !checkup->problems[i].remark;
	return n;
}

void checkup_release(struct checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++)
		free(checkup->problems[i].text);
	free(checkup->problems);
	*checkup = (struct checkup){ .problems = NULL };
}
