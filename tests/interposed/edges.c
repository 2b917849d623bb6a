/* Does unusual things under the recorder: calls on stacks of one page, threads without thread-local storage, locked memory. Prints
 * "well" if nothing went wrong. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE	   4096
#define SWITCHES   3000
#define THREADS	   4
#define CALLS	   20000
#define RESIDENT_K 65536

static ucontext_t home, other;
static int ends[2], ended;

static void call(void)
{
	char c = 'x';

	if (write(ends[1], &c, 1) != 1 || read(ends[0], &c, 1) != 1)
		_exit(9);
}

/* Returns a new stack of `bytes` bytes. The 16 pages below cannot be accessed. */
static char *stack_new(size_t bytes)
{
	char *at = mmap(NULL, 16 * PAGE + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + 16 * PAGE, bytes, PROT_READ | PROT_WRITE))
		_exit(9);
	return at + 16 * PAGE;
}

static void coroutine(void)
{
	for (;;) {
		const struct timespec pause = { 0, 1000 };

		for (int i = 0; i < 50; i++)
			call();
		nanosleep(&pause, NULL);
		swapcontext(&other, &home);
	}
}

static void coroutines(void)
{
	getcontext(&other);
	other.uc_stack.ss_sp = stack_new(PAGE);
	other.uc_stack.ss_size = PAGE;
	makecontext(&other, coroutine, 0);
	for (int i = 0; i < SWITCHES; i++)
		swapcontext(&home, &other);
}

static int bare(void *unused)
{
	(void)unused;
	for (int i = 0; i < CALLS; i++)
		call();
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void bare_threads(void)
{
	for (int i = 0; i < THREADS; i++)
		if (clone(bare, stack_new(16 * PAGE) + 16 * PAGE,
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) < 0)
			_exit(9);
	bare(NULL);
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) <= THREADS)
		usleep(1000);
}

/* Returns the resident memory of this process in KiB, or -1 if it is not known. */
static long resident(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long n = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %ld", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 2 || pipe(ends))
		return 9;
	if (strcmp(argv[1], "coroutines") == 0)
		coroutines();
	else if (strcmp(argv[1], "bare") == 0)
		bare_threads();
	else if (mlockall(MCL_CURRENT | MCL_FUTURE) || !malloc(300000) || resident() > RESIDENT_K) {
		printf("locked: %s, %ld KiB\n", strerror(errno), resident());
		return 1;
	}
	puts("well");
	return 0;
}
