/* Forks a child that loads a library before it calls a measured function. The parent loads the same library afterwards. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int step(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void load(int n)
{
	int (*plugin)(int);

	*(void **)&plugin = dlsym(dlopen("libplugin.so", RTLD_NOW), "plugin");
	for (int i = 0; i < n; i++)
		plugin(i);
}

int main(void)
{
	int status = 0, sum = 0;
	pid_t child;

	while (sum < 100)
		sum = step(sum);
	child = fork();
	if (child == 0) {
		load(10);
		exit(0);
	}
	waitpid(child, &status, 0);
	load(20);
	printf("%d\n", status);
	return 0;
}
