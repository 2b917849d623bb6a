/* A program in C++ that does one thing after another: throws and catches, sorts, formats numbers, and computes in two threads at once.
 * Each stage says how much of the processor's time it had: a line a stage, STAGE,SECONDS, appended to the file that is its argument; `wall`
 * and `cpu` are those of all of it, `delay` is what its first thread waited for a processor. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

uint64_t state = 88172645463325252ULL;

uint64_t next(uint64_t &s)
{
	s ^= s << 13;
	s ^= s >> 7;
	return s ^= s << 17;
}

__attribute__((noinline)) void deep(int n)
{
	if (n == 0)
		throw std::runtime_error("thrown");
	deep(n - 1);
	__asm__ volatile("");
}

size_t throwing()
{
	size_t caught = 0;

	for (int i = 0; i < 60000; i++) {
		try {
			deep(i % 8);
		} catch (const std::exception &) {
			caught++;
		}
	}
	return caught;
}

size_t sorting()
{
	std::vector<uint64_t> values(1 << 16);
	size_t sum = 0;

	for (int i = 0; i < 40; i++) {
		for (auto &v : values)
			v = next(state);
		std::sort(values.begin(), values.end());
		sum += values[0] & 1;
	}
	return sum;
}

size_t formatting()
{
	size_t sum = 0;

	for (int i = 0; i < 150; i++) {
		std::ostringstream out;

		for (int k = 0; k < 1000; k++)
			out << static_cast<double>(next(state)) / 3.0 << ' ';
		sum += out.str().size();
	}
	return sum;
}

__attribute__((noinline)) uint64_t own(uint64_t s)
{
	for (int i = 0; i < 60000000; i++)
		next(s);
	return s;
}

size_t threads()
{
	uint64_t one = 0, two = 0;
	std::thread other([&] { one = own(1); });

	two = own(2);
	other.join();
	return (one ^ two) & 1;
}
} // namespace

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t (*run)();
	} stages[] = { { "throwing", throwing }, { "sorting", sorting }, { "formatting", formatting }, { "threads", threads } };
	double began = seconds(CLOCK_MONOTONIC);
	std::string said;
	unsigned long long delay = 0;
	size_t sum = 0;

	for (const auto &stage : stages) {
		double from = seconds(CLOCK_PROCESS_CPUTIME_ID);

		sum += stage.run();
		said += std::string(stage.name) + "," + std::to_string(seconds(CLOCK_PROCESS_CPUTIME_ID) - from) + "\n";
	}
	said += "wall," + std::to_string(seconds(CLOCK_MONOTONIC) - began) + "\n";
	said += "cpu," + std::to_string(seconds(CLOCK_PROCESS_CPUTIME_ID)) + "\n";
	if (FILE *accounts = fopen("/proc/self/schedstat", "r")) { /* of the first thread */
		if (fscanf(accounts, "%*u %llu", &delay) == 1)
			said += "delay," + std::to_string(static_cast<double>(delay) / 1e9) + "\n";
		fclose(accounts);
	}
	if (FILE *out = argc > 1 ? fopen(argv[1], "a") : nullptr) {
		fputs(said.c_str(), out);
		fclose(out);
	}
	return sum == 0;
}
