/* What was usual in earlier windows of a run. */
#include "gate/variance/variance.h"

#include "base/mem.h"
#include "model/variance/fixed_workload.h"

#include <math.h>

#define PLACES	  (1u << 16) /* for clusters; later ones are not kept */
#define TRIES	  64u
#define FORGOTTEN 1.01 /* factor by which what was usual becomes slower in each window, until it is as slow as now */

struct variance_known {
	uint64_t windows;
	struct {
		uint64_t key; /* 0: free */
		double work, usual_s, slow_s;
	} places[PLACES];
};

struct variance_known *variance_known_new(void)
{
	return mem_new(1, sizeof(struct variance_known));
}

static uint64_t site_key(const struct fragment_site *s)
{
	uint64_t key = fragment_hash(0, s->address);

	for (const char *at = s->module; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	for (const char *at = s->name; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	return key;
}

/* Sites have different numbers in each window. */
static uint64_t cluster_key(const struct variance *v, const struct cluster *c)
{
	uint64_t key = site_key(&v->fragments.sites[c->to]);

	if (c->from != FRAGMENT_NO_SITE) /* the way there is not the way back */
		key = fragment_hash(fragment_hash(key, 1), site_key(&v->fragments.sites[c->from]));
	return fragment_hash(fragment_hash(key, c->basis), c->arguments) | 1;
}

static void cluster_apply(struct cluster *c, uint64_t key, struct variance_known *known)
{
	for (size_t i = 0, at = key % PLACES; i < TRIES; i++, at = (at + 1) % PLACES) {
		double times;

		if (!known->places[at].key) {
			known->places[at].key = key;
			known->places[at].work = c->work;
			known->places[at].usual_s = (double)INFINITY;
		} else if (known->places[at].key != key || fabs(known->places[at].work - c->work) > FIXED_WORKLOAD_DISTANCE * c->work) {
			continue;
		}
		times = fmin(FORGOTTEN, c->usual_s / known->places[at].usual_s);
		if (times <= 1) { /* as fast as ever */
			known->places[at].usual_s = c->usual_s;
			known->places[at].slow_s = c->slow_s;
		} else {
			c->usual_s = known->places[at].usual_s;
			c->slow_s = known->places[at].slow_s;
			known->places[at].usual_s *= times;
			known->places[at].slow_s *= times;
		}
		return;
	}
}

bool known_apply(struct variance *v, struct variance_known *known)
{
	bool before = known->windows++ > 0;

	for (size_t i = 0; i < v->n_clusters; i++)
		if (v->clusters[i].repeated && v->clusters[i].activity == ACTIVITY_COMPUTATION)
			cluster_apply(&v->clusters[i], cluster_key(v, &v->clusters[i]), known);
	return before;
}
