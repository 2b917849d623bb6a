#include "runs/inside/features/counting/potentials.h"

#include <algorithm>
#include <numeric>

namespace
{

/* Trees of nodes. `more`: the node's potential minus that of the node above it. */
struct forest {
	std::vector<size_t> above;
	std::vector<long> more;
};

/* Returns the root of the node's tree, and puts the node directly below the root. */
size_t root_of(forest *trees, size_t node)
{
	size_t up = trees->above[node], root;

	if (up == node)
		return node;
	root = root_of(trees, up);
	if (root != up) {
		trees->more[node] += trees->more[up];
		trees->above[node] = root;
	}
	return root;
}

/* Joins the trees of both ends of an edge. Does nothing if both ends are in the same tree. */
void join(forest *trees, const potential_edge &way)
{
	size_t from = root_of(trees, way.from), to = root_of(trees, way.to);

	if (from == to)
		return;
	trees->above[to] = from;
	trees->more[to] = trees->more[way.from] + way.counted - trees->more[way.to];
}

} // namespace

std::vector<long> compute_potentials(size_t nodes, const std::vector<potential_edge> &ways)
{
	forest trees = { std::vector<size_t>(nodes), std::vector<long>(nodes, 0) };
	std::vector<size_t> order(ways.size());
	std::vector<long> out(nodes);

	std::iota(trees.above.begin(), trees.above.end(), 0);
	std::iota(order.begin(), order.end(), 0);
	std::stable_sort(order.begin(), order.end(), [&ways](size_t a, size_t b) { return ways[a].often > ways[b].often; });
	for (size_t i : order)
		join(&trees, ways[i]);
	for (size_t node = 0; node < nodes; node++) {
		bool with_first = root_of(&trees, node) == root_of(&trees, 0);

		out[node] = trees.more[node] - (with_first ? trees.more[0] : 0);
	}
	return out;
}
