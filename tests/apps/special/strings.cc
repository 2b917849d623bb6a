/* 1000 strings of 40 letters, which libstdc++ allocates by itself; -DOWN: by an operator new of the program's. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#ifdef OWN
void *operator new(size_t n)
{
	return malloc(n);
}

void operator delete(void *at) noexcept
{
	free(at);
}

void operator delete(void *at, size_t) noexcept
{
	free(at);
}
#endif

__attribute__((noinline)) size_t piece(const std::string &text, size_t from)
{
	return text.substr(from, 40).size();
}

int main()
{
	std::string text(200, 'x');
	size_t sum = 0;

	for (size_t i = 0; i < 1000; i++)
		sum += piece(text, i % 100);
	printf("%zu\n", sum);
	return 0;
}
