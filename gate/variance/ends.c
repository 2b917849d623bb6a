#include "gate/variance/ends.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/variance/stretches.h"

#include <stdlib.h>
#include <string.h>

#define MOST .5 /* of what calls took longer than usual */

/* Of this host alone: what has the same name on another one is something else. */
static bool is_local(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strncmp(address, "[0:0:0:0:0:0:0:1]:", 18) == 0;
}

/* The same for both ends of a connection: its addresses, the lower one first. */
static char *connection_key(const char *local, const char *peer, const struct fragment_process *p)
{
	bool up = strcmp(local, peer) < 0;

	return mem_format("%u %s %s %s", p->run, up ? local : peer, up ? peer : local, is_local(local) ? p->host : "");
}

/* "PID pipe DEVICE:INODE", "PID inet LOCAL PEER". False: of another process, which is the parent, or neither of these. */
static bool end_read(const char *value, const struct fragment_process *p, struct fragment_end *out)
{
	char *words = mem_string(value), *rest, *pid = strtok_r(words, " ", &rest), *kind = strtok_r(NULL, " ", &rest);
	char *one = strtok_r(NULL, " ", &rest), *two = strtok_r(NULL, " ", &rest);
	int64_t number;
	bool is = one && text_int64(pid, &number) && number >= 0 && (uint64_t)number == p->pid, found = true;

	if (is && strcmp(kind, "pipe") == 0 && !two)
		*out = (struct fragment_end){ .key = mem_format("%u pipe %s %s", p->run, one, p->host), .peer = mem_string("") };
	else if (is && strcmp(kind, "inet") == 0 && two)
		*out = (struct fragment_end){ .key = connection_key(one, two, p), .peer = mem_string(two) };
	else
		found = false;
	free(words);
	return found;
}

void ends_add(struct fragments *f, const struct samples *s, const struct fragment_process *p, uint32_t map[ENDS_NUMBERS])
{
	memset(map, 0, ENDS_NUMBERS * sizeof(*map));
	for (size_t i = 0; i < s->n_infos; i++) {
		struct fragment_end end;
		int64_t number;

		if (strncmp(s->infos[i].key, "end:", 4) != 0 || !text_int64(s->infos[i].key + 4, &number) || number < 1 ||
		    number >= (int64_t)ENDS_NUMBERS || map[number] || !end_read(s->infos[i].value, p, &end))
			continue;
		end.process = (uint32_t)f->n_processes;
		mem_append(f->ends, f->n_ends, &f->ends_capacity, end);
		map[number] = (uint32_t)f->n_ends;
	}
}

ORDER_POINTERS_BY(ends_order, struct fragment_end, BY_TEXT(key) BY_UP(process))

/* ends[n] of one pipe or connection: of two processes each is the other's partner. Who else is at the end of a pipe is not known: it may be
 * another thread, or a process that has not called yet. */
static void partners_tell(struct fragment_end **ends, size_t n)
{
	size_t processes = 1;

	for (size_t i = 1; i < n; i++)
		processes += ends[i]->process != ends[i - 1]->process;
	for (size_t i = 0; i < n; i++)
		ends[i]->partner = processes == 2	      ? ends[ends[i]->process == ends[0]->process ? n - 1 : 0]->process
				   : n == 1 && *ends[i]->peer ? END_NOBODY
							      : END_UNKNOWN;
}

void ends_match(struct fragments *f)
{
	struct fragment_end **at = mem_new(f->n_ends, sizeof(struct fragment_end *));

	for (size_t i = 0; i < f->n_ends; i++)
		at[i] = &f->ends[i];
	order_sort(at, f->n_ends, ends_order);
	for (size_t i = 0, n; i < f->n_ends; i += n) {
		for (n = 1; i + n < f->n_ends && strcmp(at[i]->key, at[i + n]->key) == 0;)
			n++;
		partners_tell(at + i, n);
	}
	free(at);
}

const char *ends_peer(const struct variance *v, const struct region *r)
{
	double *longer = mem_new(v->fragments.n_ends + 1, sizeof(*longer)), all = 0;
	size_t e = 1;

	for (size_t k = 0; k < r->n; k++) {
		const struct region_member *m = &r->members[k];
		const struct fragment_process *p = &v->fragments.processes[m->process];

		for (size_t i = p->first; i < p->first + p->n; i++) {
			const struct fragment *f = &v->fragments.items[i];
			double more = (f->time_s - v->clusters[f->cluster].usual_s) * f->weight * stretch_part(f, m->from_s, m->to_s);

			if (f->activity != ACTIVITY_COMMUNICATION || !(more > 0))
				continue;
			all += more;
			longer[f->end] += more;
		}
	}
	while (e <= v->fragments.n_ends && longer[e] <= MOST * all)
		e++;
	free(longer);
	return e <= v->fragments.n_ends && *v->fragments.ends[e - 1].peer ? v->fragments.ends[e - 1].peer : NULL;
}

void ends_release(struct fragments *f)
{
	for (size_t i = 0; i < f->n_ends; i++)
		mem_free(f->ends[i].key, f->ends[i].peer);
	free(f->ends);
}
