// Events to those who asked for them: std::function by topic, filters as templates, a journal.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

struct Event {
	unsigned topic;
	long value;
	long stamps[6];
};

using Handler = std::function<void(const Event &)>;

template <typename Test> class Filtered
{
	Test test;
	Handler next;

      public:
	Filtered(Test t, Handler n) : test(t), next(n)
	{
	}
	void operator()(const Event &e) const
	{
		if (test(e))
			next(e);
	}
};

struct Least {
	long least;
	bool operator()(const Event &e) const
	{
		return e.value >= least;
	}
};

class Journal
{
	std::deque<Event> last;
	long sum = 0;

      public:
#if FAULT == 2
	void keep(std::deque<Event> events, const Event &e)
	{
		events.push_back(e);
		if (events.size() > 32)
			events.pop_front();
		last = events;
		sum += e.value;
	}
	void add(const Event &e)
	{
		keep(last, e);
	}
#else
	void add(const Event &e)
	{
		last.push_back(e);
		if (last.size() > 32)
			last.pop_front();
		sum += e.value;
	}
#endif
	long total() const
	{
		return sum;
	}
};

class Bus
{
	std::unordered_map<unsigned, std::vector<Handler>> handlers;

#if TIDY
	static void call(const std::vector<Handler> &all, const Event &e)
	{
		for (const Handler &h : all)
			h(e);
	}
#endif

      public:
	void subscribe(unsigned topic, Handler h)
	{
		handlers[topic].push_back(h);
	}
	void publish(const Event &e)
	{
		auto found = handlers.find(e.topic);

		if (found == handlers.end())
			return;
#if FAULT == 1
		std::vector<Handler> all = found->second;

		for (const Handler &h : all)
			h(e);
#elif TIDY
		call(found->second, e);
#else
		for (const Handler &h : found->second)
			h(e);
#endif
	}
};

static uint64_t state;

static uint32_t rnd()
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return uint32_t(state >> 33);
}

static long smooth(const Event &e, long before)
{
	long now = before;

	for (long stamp : e.stamps)
		now = (3 * now + stamp + e.value) / 4;
	return now;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? std::atol(argv[1]) : 4000, levels[16] = {};
	Journal journal;
	Bus bus;

	state = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
	for (unsigned topic = 0; topic < 16; topic++) {
		for (int k = 0; k < 4; k++)
			bus.subscribe(topic, Filtered<Least>(Least{ 200 * k }, [&levels, topic](const Event &e) {
					      levels[topic] = smooth(e, levels[topic]);
				      }));
		bus.subscribe(topic, [&journal](const Event &e) { journal.add(e); });
	}
	for (long i = 0; i < n; i++) {
		Event e = { rnd() % 18, long(rnd() % 1000), {} };

		for (long &stamp : e.stamps)
			stamp = long(rnd() % 100);
		bus.publish(e);
	}
	for (long level : levels)
		std::printf("%ld ", level);
	std::printf("%ld\n", journal.total());
	return 0;
}
