/* Places where counts are added, so that additions are rare: ../counting/potentials.cc. */
#ifndef RUNS_FEATURES_COUNTING_POTENTIALS_H
#define RUNS_FEATURES_COUNTING_POTENTIALS_H

#include <cstddef>
#include <vector>

/* An edge between two nodes of a graph, on which `counted` is added to the sum. */
struct potential_way {
	size_t from, to;
	long counted;
	double often; /* frequency of the edge */
};

/* Returns for each node how much of the sum is not added yet there, chosen so that the most frequent edges that form no cycle add nothing.
 * Node 0 has 0. An edge adds `counted` + that of `from` - that of `to`. Source: Knuth, The Art of Computer Programming 1, 2.3.4.1; Ball and
 * Larus, ACM TOPLAS 16(4), 1994, section 3. */
std::vector<long> potentials(size_t nodes, const std::vector<potential_way> &ways);

#endif
