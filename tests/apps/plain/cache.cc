// A least-recently-used cache of decoded pages in front of a slow store.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

using Page = std::vector<uint16_t>;

class Store {
	std::vector<std::string> pages;

public:
	Store(size_t n, uint32_t seed)
	{
		for (size_t i = 0; i < n; i++) {
			std::string page;

			for (int k = 0; k < 60; k++) {
				seed = seed * 1664525 + 1013904223;
				page += static_cast<char>('a' + seed % 26);
				page += static_cast<char>('1' + (seed >> 8) % 9);
			}
			pages.push_back(page);
		}
	}

	Page decode(uint32_t id) const
	{
		const std::string &text = pages[id];
		Page out;

		out.reserve(600);
		for (size_t i = 0; i + 1 < text.size(); i += 2)
			for (char k = '0'; k < text[i + 1]; k++)
				out.push_back(static_cast<uint16_t>(text[i] * 3 + k));
		return out;
	}
};

class Cache {
	struct Item {
		uint32_t id;
		Page page;
	};
	std::list<Item> order;
	std::unordered_map<uint32_t, std::list<Item>::iterator> index;
	const Store &store;
	size_t room;

public:
	size_t hits = 0, misses = 0;

	Cache(const Store &s, size_t r) : store(s), room(r) {}

#if FAULT == 1
	std::list<Item>::iterator look_up(uint32_t id)
	{
		for (auto i = order.begin(); i != order.end(); ++i)
			if (i->id == id)
				return i;
		return order.end();
	}
#else
	std::list<Item>::iterator look_up(uint32_t id)
	{
		auto found = index.find(id);

		return found == index.end() ? order.end() : found->second;
	}
#endif

#if TIDY
	void evict()
	{
		index.erase(order.back().id);
		order.pop_back();
	}
#endif

#if FAULT == 2
	Page get(uint32_t id)
#else
	const Page &get(uint32_t id)
#endif
	{
		auto found = look_up(id);

		if (found != order.end()) {
			hits++;
			order.splice(order.begin(), order, found);
			return order.front().page;
		}
		misses++;
		order.push_front({ id, store.decode(id) });
		index[id] = order.begin();
		if (order.size() > room) {
#if TIDY
			evict();
#else
			index.erase(order.back().id);
			order.pop_back();
#endif
		}
		return order.front().page;
	}
};

static uint64_t digest(const Page &page, uint32_t from)
{
	uint64_t sum = 0;

	for (size_t i = from % 16; i < page.size(); i += 16)
		sum = sum * 31 + page[i];
	return sum;
}

int main(int argc, char **argv)
{
	long requests = argc > 1 ? atol(argv[1]) : 6000;
	uint32_t seed = argc > 2 ? static_cast<uint32_t>(atol(argv[2])) : 1;
	Store store(400, seed);
	Cache cache(store, 200);
	uint64_t sum = 0;

	for (long i = 0; i < requests; i++) {
		uint32_t r;

		seed = seed * 1664525 + 1013904223;
		r = (seed >> 8) % 400;
		sum += digest(cache.get(r * r / 400), seed >> 4);
	}
	std::printf("%llu %zu %zu\n", static_cast<unsigned long long>(sum), cache.hits, cache.misses);
	return 0;
}
