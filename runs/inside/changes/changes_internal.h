/* Shared by changes*.c. */
#ifndef RUNS_CHANGES_CHANGES_INTERNAL_H
#define RUNS_CHANGES_CHANGES_INTERNAL_H

#include "runs/inside/changes/changes.h"

/* What is found out about a function on the way to its change; by key. */
struct finding {
	struct change change;
	enum match_result result; /* of the bodies, when `compared` */
	bool compared;
	bool other_clones;
	bool renamed;
	bool touched;        /* by the difference of the sources */
	bool own_differs;    /* also what is not inlined from elsewhere */
	bool same_somewhere; /* inlined in a host, and the same there */
	size_t hosts, hosts_differ,
	    hosts_alone; /* that inline it in both builds; where it differs; where the host's own code does not */
};

struct search {
	struct changes *changes;
	struct match match;
	struct finding *findings; /* [n], by key */
	size_t n;
	const struct changes_options *options;
};

size_t changes_key_of_old(const struct changes *changes, size_t old);

/* Compares the pairs, and looks where in differing hosts the difference is. */
void changes_compare(struct search *search);
void changes_blame(struct search *search, size_t old_body, size_t new_body);

/* From findings to kinds and reasons. */
void changes_judge(struct search *search);
/* Callers of what calls for them. */
void changes_reach(struct search *search);

void changes_add_cause(struct finding *finding, enum change_reason reason, size_t key);

const char *changes_file(const struct changes *changes, bool of_old, const struct function *function);

#endif
