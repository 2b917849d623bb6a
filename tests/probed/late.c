/* Starts threads before it loads the library whose function they call. With an argument ("worker"), another thread loads the library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*plugin)(int);
static pthread_barrier_t there;

static void ten(void)
{
	for (int i = 0; i < 10; i++)
		plugin(i);
}

static void *early(void *unused)
{
	pthread_barrier_wait(&there);
	pthread_barrier_wait(&there);
	ten();
	return unused;
}

static void *load(void *unused)
{
	*(void **)&plugin = dlsym(dlopen("libplugin.so", RTLD_NOW), "plugin");
	ten();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3], loader;

	(void)argv;
	pthread_barrier_init(&there, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, early, NULL);
	pthread_barrier_wait(&there);
	if (argc > 1) {
		pthread_create(&loader, NULL, load, NULL);
		pthread_join(loader, NULL);
	} else {
		load(NULL);
	}
	pthread_barrier_wait(&there);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ten();
	puts("done");
	return 0;
}
