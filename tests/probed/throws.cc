// A child of fork() that ends by an exception before it calls anything that is measured: its parent's samples stay what they are.
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

struct done {};

extern "C" __attribute__((noinline)) int leaf(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

extern "C" __attribute__((noinline)) int run()
{
	int status = 0, sum = 0, go[2];
	char byte = 0;
	pid_t child;

	if (pipe(go))
		return -1;
	child = fork();
	if (child == 0) {
		if (read(go[0], &byte, 1) == 1)
			throw done();
		_exit(1);
	}
	for (int i = 0; i < 100; i++)
		sum = leaf(sum);
	if (write(go[1], &byte, 1) != 1) // now the parent has samples in its file
		return -1;
	waitpid(child, &status, 0);
	for (int i = 0; i < 200; i++)
		sum = leaf(sum);
	return sum;
}

int main()
{
	try {
		std::printf("%d\n", run());
	} catch (done &) {
		_exit(0);
	}
	return 0;
}
