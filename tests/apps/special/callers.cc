/* What the C++ library does differs between those who call it: short strings and vectors with room take no memory. */
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

__attribute__((noinline)) static size_t hash(const std::string &s)
{
	size_t h = 1;

	for (char c : s)
		h = h * 31 + (unsigned char)c;
	return h;
}

__attribute__((noinline)) size_t short_copy(const std::string &s)
{
	std::string copy = s;

	return hash(copy);
}

__attribute__((noinline)) size_t long_copy(const std::string &s)
{
	std::string copy = s;

	copy[0] = 'y';
	return hash(copy);
}

__attribute__((noinline)) size_t in_reserve(std::vector<size_t> &v)
{
	v.clear();
	for (size_t i = 0; i < 64; i++)
		v.push_back(i);
	return v.back();
}

__attribute__((noinline)) size_t step_by_step(size_t n)
{
	std::vector<size_t> v;

	for (size_t i = 0; i < n; i++)
		v.push_back(i);
	return v.back();
}

__attribute__((noinline)) static void work(const std::vector<std::string> *texts, size_t *sum)
{
	std::vector<size_t> room;

	room.reserve(64);
	for (size_t i = 0; i < 1000; i++)
		*sum += short_copy((*texts)[0]) + long_copy((*texts)[1]) + in_reserve(room) + step_by_step(64);
}

int main()
{
	std::vector<std::string> texts{ "eight123", std::string(200, 'x') };
	size_t sum = 0;

	std::thread(work, &texts, &sum).join();
	printf("%zu\n", sum);
	return 0;
}
