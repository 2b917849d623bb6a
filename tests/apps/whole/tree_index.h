/* A node of the index. With BAD, it has space for a name and occupies its own cache lines. */
#ifndef TESTS_APPS_WHOLE_TREE_INDEX_H
#define TESTS_APPS_WHOLE_TREE_INDEX_H
#include <stdint.h>

struct index_node {
	uint32_t key, left, right, seen;
#ifdef BAD
	char name[240];
#endif
};

#endif
