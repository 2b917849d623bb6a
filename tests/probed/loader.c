/* A library that comes late, from where only this program's RUNPATH says; loaded, unloaded, loaded again. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	int sum = 0;

	for (int round = 0; round < 3; round++) {
		void *library = dlopen("libplugin.so", RTLD_NOW);
		int (*plugin)(int);

		if (!library) {
			puts(dlerror());
			return 1;
		}
		*(void **)&plugin = dlsym(library, "plugin");
		for (int i = 0; i < 10; i++)
			sum += plugin(i);
		dlclose(library);
	}
	printf("%d\n", sum);
	return 0;
}
