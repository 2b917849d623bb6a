/* Where counts are added: graphs of which the best places are known, and that on whatever way a node is reached the sum is the same. */
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <csetjmp>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "runs/inside/features/counting/potentials.h"

typedef std::vector<potential_edge> graph;

/* What is added on each way. */
static std::vector<long> added(size_t nodes, const graph &ways)
{
	std::vector<long> potential = compute_potentials(nodes, ways), out;

	assert_int_equal(potential.size(), nodes);
	assert_int_equal(potential[0], 0);
	for (const potential_edge &way : ways)
		out.push_back(potential[way.from] + way.counted - potential[way.to]);
	return out;
}

static void expect(size_t nodes, const graph &ways, const std::vector<long> &wanted)
{
	std::vector<long> got = added(nodes, ways);

	for (size_t i = 0; i < ways.size(); i++)
		assert_int_equal(got[i], wanted[i]);
}

static void test_nothing(void **)
{
	expect(1, {}, {});
	expect(1, { { 0, 0, 5, 1 } }, { 5 });
	assert_int_equal(compute_potentials(3, { { 1, 2, 5, 1 } })[0], 0);
}

/* From the ground through two nodes and back: once, on the most seldom way. */
static void test_line(void **)
{
	expect(3, { { 0, 1, 3, 2 }, { 1, 2, 4, 1 }, { 2, 0, 0, 2 } }, { 0, 7, 0 });
}

/* Of two branches the one that is seldom adds what differs; what both have is added behind. */
static void test_diamond(void **)
{
	/* 0 -> 1, then by 2 (5 statements, often) or by 3 (8) to 4, and back */
	graph ways = { { 0, 1, 1, 100 }, { 1, 2, 5, 90 }, { 1, 3, 8, 10 }, { 2, 4, 0, 90 }, { 3, 4, 0, 10 }, { 4, 0, 0, 99 } };

	expect(5, ways, { 0, 0, 0, 6, 9, 0 });
}

/* A loop has to add on one of its ways; there the most seldom is taken. */
static void test_loop(void **)
{
	/* 0 -> 1 -> 2 -> 1, 1 -> 0: each round has 2 + 3 */
	graph ways = { { 0, 1, 0, 1 }, { 1, 2, 2, 10 }, { 2, 1, 3, 9 }, { 1, 0, 0, 1 } };

	expect(3, ways, { 0, 0, 5, 0 });
}

/* Branches of as many statements take nothing. */
static void test_balanced(void **)
{
	expect(3, { { 0, 1, 4, 1 }, { 0, 2, 4, 1 }, { 1, 0, 3, 1 }, { 2, 0, 3, 1 } }, { 0, 0, 7, 7 });
	expect(4, { { 0, 1, 4, 3 }, { 0, 2, 4, 3 }, { 1, 3, 3, 3 }, { 2, 3, 3, 2 }, { 3, 0, 0, 1 } }, { 0, 0, 0, 0, 7 });
}

/* From the ground on, whatever way is gone: what was added and what is owed are together what was counted. */
static void walk(size_t nodes, const graph &ways, std::mt19937 *dice)
{
	std::vector<long> potential = compute_potentials(nodes, ways), more = added(nodes, ways);
	size_t at = 0;
	long sum = 0, counted = 0;

	for (int steps = 0; steps < 200; steps++) {
		std::vector<size_t> out;

		for (size_t i = 0; i < ways.size(); i++)
			if (ways[i].from == at)
				out.push_back(i);
		if (out.empty())
			break;
		size_t taken = out[(*dice)() % out.size()];

		sum += more[taken];
		counted += ways[taken].counted;
		at = ways[taken].to;
		assert_int_equal(sum + potential[at], counted);
	}
}

/* As many ways as a tree has add nothing, in any graph whose nodes can all be reached. */
static void test_any_way(void **)
{
	std::mt19937 dice(7);

	for (int round = 0; round < 300; round++) {
		size_t nodes = 1 + dice() % 12;
		graph ways;
		size_t nothing = 0;

		for (size_t node = 1; node < nodes; node++) /* all can be reached */
			ways.push_back({ dice() % node, node, (long)(dice() % 9), (double)(dice() % 100) });
		for (size_t i = dice() % (2 * nodes); i > 0; i--)
			ways.push_back({ dice() % nodes, dice() % nodes, (long)(dice() % 9), (double)(dice() % 100) });
		for (long n : added(nodes, ways))
			nothing += n == 0;
		assert_true(nothing >= nodes - 1);
		for (int i = 0; i < 5; i++)
			walk(nodes, ways, &dice);
	}
}

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_line),	 cmocka_unit_test(test_diamond),
		cmocka_unit_test(test_loop),	cmocka_unit_test(test_balanced), cmocka_unit_test(test_any_way)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
