#include "gate/variance/sites_match.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX (4u << 20)

/* Sites [from, to) of a list. */
struct range {
	size_t from, to;
	bool taken;
};

struct ranges {
	struct range *items; /* [n] */
	size_t n;
};

static struct ranges modules_of(const struct fragments *f)
{
	struct ranges r = { .items = mem_new(f->n_sites, sizeof(*r.items)) };

	for (size_t i = 0; i < f->n_sites; i++) {
		if (!i || strcmp(f->sites[i].module, f->sites[i - 1].module) != 0)
			r.items[r.n++].from = i;
		r.items[r.n - 1].to = i + 1;
	}
	return r;
}

/* length[i * (m + 1) + k]: of the longest common subsequence of what is behind the first i of old and the first k of new; NULL: too many.
 */
static uint32_t *common_lengths(const struct fragments *old, struct range a, const struct fragments *new, struct range b)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length;

	if ((n + 1) > PAIRS_MAX / (m + 1))
		return NULL;
	length = mem_new((n + 1) * (m + 1), sizeof(*length));
	for (size_t i = n; i-- > 0;)
		for (size_t k = m; k-- > 0;) {
			uint32_t down = length[(i + 1) * (m + 1) + k], right = length[i * (m + 1) + k + 1];

			if (strcmp(old->sites[a.from + i].name, new->sites[b.from + k].name) == 0)
				length[i * (m + 1) + k] = length[(i + 1) * (m + 1) + k + 1] + 1;
			else
				length[i * (m + 1) + k] = down > right ? down : right;
		}
	return length;
}

static void range_match(const struct fragments *old, struct range a, const struct fragments *new, struct range b, uint32_t *match)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length = common_lengths(old, a, new, b);

	for (size_t i = 0, k = 0; length && i < n && k < m;) {
		if (strcmp(old->sites[a.from + i].name, new->sites[b.from + k].name) == 0)
			match[b.from + k++] = (uint32_t)(a.from + i++);
		else if (length[(i + 1) * (m + 1) + k] >= length[i * (m + 1) + k + 1])
			i++;
		else
			k++;
	}
	free(length);
}

/* Part of the longer one that both have. */
static double likeness(const struct fragments *old, struct range a, const struct fragments *new, struct range b)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length = common_lengths(old, a, new, b);
	double like = length ? (double)length[0] / (double)(n > m ? n : m) : 0;

	free(length);
	return like;
}

/* Takes out what both have, by address. */
static void same_modules(const struct fragments *old, struct ranges *a, const struct fragments *new, struct ranges *b, uint32_t *match)
{
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		struct range *x = &a->items[i], *y = &b->items[k];
		int order = strcmp(old->sites[x->from].module, new->sites[y->from].module);

		if (order) {
			order < 0 ? i++ : k++;
			continue;
		}
		for (size_t s = x->from, t = y->from; s < x->to && t < y->to;) {
			const struct fragment_site *p = &old->sites[s], *q = &new->sites[t];
			int places = p->address != q->address ? (p->address < q->address ? -1 : 1) : strcmp(p->name, q->name);

			if (!places)
				match[t] = (uint32_t)s;
			s += places <= 0;
			t += places >= 0;
		}
		x->taken = y->taken = true;
		i++;
		k++;
	}
}

uint32_t *sites_match(const struct fragments *old, const struct fragments *new)
{
	uint32_t *match = mem_new(new->n_sites, sizeof(*match));
	struct ranges a = modules_of(old), b = modules_of(new);

	for (size_t i = 0; i < new->n_sites; i++)
		match[i] = FRAGMENT_NO_SITE;
	same_modules(old, &a, new, &b, match);
	for (size_t k = 0; k < b.n; k++) {
		struct range *best = NULL;
		double most = 0;

		for (size_t i = 0; i < a.n && !b.items[k].taken; i++) {
			double like = a.items[i].taken ? 0 : likeness(old, a.items[i], new, b.items[k]);

			if (like > most) {
				most = like;
				best = &a.items[i];
			}
		}
		if (best) {
			range_match(old, *best, new, b.items[k], match);
			best->taken = true;
		}
	}
	mem_free(a.items, b.items);
	return match;
}
