/* Chooses the places where counts are added, so that additions happen rarely (potentials.cc). */
#ifndef RUNS_FEATURES_COUNTING_POTENTIALS_H
#define RUNS_FEATURES_COUNTING_POTENTIALS_H

#include <cstddef>
#include <vector>

/* An edge of a graph. Passing it adds `counted` to the sum. */
struct potential_edge {
	size_t from, to;
	long counted;
	double often; /* frequency of the edge */
};

/* Returns for each node the part of the sum that has not been added there yet; 0 for node 0. An edge adds `counted`, plus that part for
 * `from`, minus that part for `to`. The most frequent edges that form no cycle add nothing. Sources: Knuth, The Art of Computer Programming
 * 1, 2.3.4.1; Ball and Larus, ACM TOPLAS 16(4), 1994, section 3. */
std::vector<long> compute_potentials(size_t nodes, const std::vector<potential_edge> &ways);

#endif
