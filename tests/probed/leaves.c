/* A server that changes its working directory, its root directory and its user after its start. Exit status 77: not permitted. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int step(int x)
{
	__asm__ volatile("");
	return x + 1;
}

int main(int argc, char **argv)
{
	int sum = 0;

	if (argc < 2 || chdir(argv[1]) || chroot(".") || setgid(65534) || setuid(65534))
		return 77;
	while (sum < 100000)
		sum = step(sum);
	printf("%d\n", sum);
	return 0;
}
