/* Installs a seccomp filter for read, write and exit by its own system call instruction, then continues. Argument: the call that installs
 * it (seccomp, prctl), or tsync: for all threads; thread: in a thread; child: after fork(). With WRAPPER, calls are functions. x86-64. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WRAPPER
#define INLINE __attribute__((noinline))
#else
#define INLINE inline __attribute__((always_inline))
#endif
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const char *how;
static int ends[2], running;

static INLINE long ask(long number, long a, long b, long c)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return result;
}

static INLINE long ask_prctl(long option, long a, long b)
{
	return ask(SYS_prctl, option, a, b);
}

static void go_on(int n)
{
	char word[4];

	for (int i = 0; i < n; i++)
		if (write(ends[1], "abcd", 4) != 4 || read(ends[0], word, 4) != 4)
			_exit(8);
}

static void *restricted(void *unused)
{
	struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(SYS_read),
				       ALLOW(SYS_write), ALLOW(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	const struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };
	long failed = ask_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);

	(void)unused;
	if (!failed && strcmp(how, "prctl") == 0)
		failed = ask_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program);
	else if (!failed)
		failed =
		    ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, strcmp(how, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, (long)&program);
	if (failed)
		_exit(9);
	go_on(100000);
	(void)!write(STDOUT_FILENO, "survived\n", 9);
	_exit(4);
}

static void *others(void *unused)
{
	(void)unused;
	__atomic_store_n(&running, 1, __ATOMIC_RELEASE); /* the filter forbids the calls by which a thread starts */
	for (;;)
		go_on(1000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;

	if (argc < 2 || pipe(ends))
		return 2;
	how = argv[1];
	(void)!write(STDOUT_FILENO, "before\n", 7);
	go_on(1000);
	if (strcmp(how, "tsync") == 0)
		pthread_create(&thread, NULL, others, NULL);
	while (strcmp(how, "tsync") == 0 && !__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		sched_yield();
	if (strcmp(how, "thread") == 0) {
		pthread_create(&thread, NULL, restricted, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "child") == 0 && fork()) {
		wait(&status);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
	}
	restricted(NULL);
	return 0;
}
