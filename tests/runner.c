/* Runs the unit tests of one folder. Each suite is one file and runs in its own process, for example `runner_base test_csv`. Without
 * arguments the program lists the suites. A second argument selects tests of the suite: `runner_model test_kmeans test_threads`. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *name;
	int (*run)(void);
} suites[] = { SUITES };

#define SHARED_MEMORY_LEFT "ASSAY_TEST_SHM"

/* Mounts a separate /dev/shm if the suite runs as root. It contains the box's lock, for which suites would wait. The program then executes
 * itself again, so that its own file is in the new mount namespace, too: in a chroot its path would differ otherwise. */
static void leave_shared_memory(char **argv)
{
	if (geteuid() != 0 || getenv(SHARED_MEMORY_LEFT) || setenv(SHARED_MEMORY_LEFT, "1", 1) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return;
	if (mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"))
		fputs("/dev/shm stays shared\n", stderr);
	execvp(argv[0], argv);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		if (argc == 1)
			puts(suites[i].name);
		else if (argc <= 3 && strcmp(argv[1], suites[i].name) == 0) {
			if (argc == 3)
				cmocka_set_test_filter(argv[2]);
			leave_shared_memory(argv);
			return suites[i].run();
		}
	}
	if (argc == 1)
		return 0;
	fprintf(stderr, "usage: %s [SUITE [TEST]] (there is no suite '%s')\n", argv[0], argv[1]);
	return 2;
}
