/* The levels of an inferred profile: how much of the time it says is computing and how much the kernel's, and of which categories; as deep
 * as these machines can tell. Stressors are divided by what they are made of (fingerprint/battery/made_of.h), whatever group they are in.
 * Waiting is in none of it: a stressor's rate is one of the processor's time. */
#ifndef GATE_PROFILE_INFERRED_H
#define GATE_PROFILE_INFERRED_H

#include "base/document.h"
#include "fingerprint/battery/made_of.h"
#include "gate/profile/levels.h"
#include "model/profile/shares.h"

#define INFERRED_LEVELS 2 /* time, category */

struct inferred_part {
	size_t depth;	 /* 0: time, 1: category */
	enum level of;	 /* LEVELS: of what is not known */
	char *name;	 /* of a category: of all that these machines cannot tell apart */
	size_t together; /* how many those are */
	struct shares_part share;
};

struct inferred {
	struct shares_parts parts;
	struct inferred_part *items; /* [n], in the order of the parts */
	size_t n;
	bool sound; /* nothing speaks against the fit as a whole */
	bool trusted[INFERRED_LEVELS];
};

/* What the columns are made of; features [f->p] are their names, made_of [f->p] what is known of each. Shares are not filled yet. */
void inferred_parts_of(const struct features *f, const char *const *features, const struct made_of *made_of, struct inferred *out);
/* Fills them. sound: nothing speaks against the fit as a whole. */
void inferred_shares(const struct shares *shares, bool sound, struct inferred *inferred);
void inferred_release(struct inferred *inferred); /* accepts zeroed */

/* The part of a level that leads; NULL when there is none. */
const struct inferred_part *inferred_lead(const struct inferred *inferred, size_t depth);

/* Rows of the open table `levels`, with the mark "inferred"; none of NULL. */
void inferred_rows(const struct inferred *inferred, struct document *d);
/* For people: the tree, and how deep it can be trusted. */
void inferred_shown(const struct inferred *inferred, struct document *d);

#endif
