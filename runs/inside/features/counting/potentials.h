/* Where counts are added, so that it happens seldom: ../counting/potentials.cc. */
#ifndef RUNS_FEATURES_COUNTING_POTENTIALS_H
#define RUNS_FEATURES_COUNTING_POTENTIALS_H

#include <cstddef>
#include <vector>

/* From one node of a graph to another one, `counted` more is to be in the sum. */
struct potential_way {
	size_t from, to;
	long counted;
	double often; /* is it gone */
};

/* Of each node how much is to be in the sum there that is not: so that the most frequent ways, as far as they make no circle, have nothing
 * to add. Node 0 has 0. On a way `counted` + that of `from` - that of `to` is added.
 * Source: Knuth, The Art of Computer Programming 1, 2.3.4.1; Ball and Larus, ACM TOPLAS 16(4), 1994, section 3. */
std::vector<long> potentials(size_t nodes, const std::vector<potential_way> &ways);

#endif
