/* Loads and unloads a library three times. Only the RUNPATH of this program leads to the library. */
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
