/* The unit tests of one folder. Each suite is one file and runs in a process of its own: `runner_base test_csv`; without a name they are
 * listed. A second word chooses tests of the suite: `runner_model test_kmeans test_threads`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name;
	int (*run)(void);
} suites[] = { SUITES };

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		if (argc == 1)
			puts(suites[i].name);
		else if (argc <= 3 && strcmp(argv[1], suites[i].name) == 0) {
			if (argc == 3)
				cmocka_set_test_filter(argv[2]);
			return suites[i].run();
		}
	}
	if (argc == 1)
		return 0;
	fprintf(stderr, "usage: %s [SUITE [TEST]] (there is no suite '%s')\n", argv[0], argv[1]);
	return 2;
}
