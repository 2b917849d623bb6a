// Signals go through a chain of filters, known by their base class alone. Bad: the limiter takes its block by value, which copies it.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#define FUNCTION __attribute__((noinline))

namespace
{

template <typename T> class Block
{
public:
	explicit Block(std::size_t n) : values(n)
	{
	}
	T &operator[](std::size_t i)
	{
		return values[i];
	}
	std::size_t size() const
	{
		return values.size();
	}

private:
	std::vector<T> values;
};

template <typename T> struct Filter {
	virtual ~Filter() = default;
	virtual T apply(Block<T> &block) = 0;
};

template <typename T> struct Gain : Filter<T> {
	FUNCTION T apply(Block<T> &block) override
	{
		for (std::size_t i = 0; i < block.size(); i++)
			block[i] = block[i] * 3 / 2;
		return block[0];
	}
};

template <typename T> struct Smooth : Filter<T> {
	FUNCTION T apply(Block<T> &block) override
	{
		for (std::size_t i = 1; i < block.size(); i++)
			block[i] = (block[i] + block[i - 1]) / 2;
		return block[1];
	}
};

#ifdef BAD
template <typename T> FUNCTION T loudest(Block<T> block)
#else
template <typename T> FUNCTION T loudest(Block<T> &block)
#endif
{
	T most = block[0];

	for (std::size_t i = 1; i < block.size(); i += 2)
		most = block[i] > most ? block[i] : most;
	return most;
}

template <typename T> struct Limit : Filter<T> {
	FUNCTION T apply(Block<T> &block) override
	{
		T most = loudest<T>(block);

		for (std::size_t i = 0; i < block.size(); i++)
			block[i] = block[i] > 1000 ? 1000 : block[i];
		return most;
	}
};

class Chain
{
public:
	Chain()
	{
		filters.push_back(std::make_unique<Gain<long>>());
		filters.push_back(std::make_unique<Smooth<long>>());
		filters.push_back(std::make_unique<Limit<long>>());
	}
	FUNCTION long run(Block<long> &block)
	{
		long sum = 0;

		for (auto &filter : filters)
			sum += filter->apply(block);
		return sum;
	}

private:
	std::vector<std::unique_ptr<Filter<long>>> filters;
};

FUNCTION void fill(Block<long> &block, std::uint64_t &state)
{
	for (std::size_t i = 0; i < block.size(); i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		block[i] = long(state >> 54);
	}
}

FUNCTION long work(long n, std::uint64_t state)
{
	Chain chain;
	Block<long> small(48), large(192);
	long sum = 0;

	for (long i = 0; i < n; i++) {
		Block<long> &block = i % 5 ? small : large;

		fill(block, state);
		sum += chain.run(block);
	}
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	unsigned n_threads = argc > 1 ? unsigned(std::atoi(argv[1])) : 4;
	long size = argc > 2 ? std::atol(argv[2]) : 4000;
	std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
	std::atomic<long> total{ 0 };
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < n_threads; i++)
		threads.emplace_back([&, i] { total += work(size / n_threads, seed + i); });
	for (auto &thread : threads)
		thread.join();
	std::printf("%ld\n", total.load());
	return 0;
}
