/* Counts its own loops, calls and branches, which a counting build must report: "loop LINE N", "call LINE N", "branch LINE TAKEN OF".
 * features MODE [ARG]: one, fork, threads, exec, kill, crash, abort, closed, jump, quiet, library FILE. Each process prints. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES	300
#define THREADS 4

static unsigned long loops[LINES], calls[LINES], tested[LINES], taken[LINES];
static jmp_buf back;

#define ADD(what) __atomic_add_fetch(&what[__LINE__], 1, __ATOMIC_RELAXED)
#define LOOP	  ADD(loops)
#define CALL	  ADD(calls)
#define TAKEN	  ADD(taken)
#define IF(x)	  if (ADD(tested), (x))

static void say(void)
{
	static char text[65536];
	int n = 0;

	for (int i = 0; i < LINES; i++) {
		if (loops[i])
			n += sprintf(text + n, "loop %d %lu\n", i, loops[i]);
		if (calls[i])
			n += sprintf(text + n, "call %d %lu\n", i, calls[i]);
		if (tested[i])
			n += sprintf(text + n, "branch %d %lu %lu\n", i, taken[i], tested[i]);
	}
	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(9);
}

static void forget(void)
{
	memset(loops, 0, sizeof(loops));
	memset(calls, 0, sizeof(calls));
	memset(tested, 0, sizeof(tested));
	memset(taken, 0, sizeof(taken));
}

static __attribute__((noinline)) unsigned hash(unsigned x) { CALL;
	return x * 2654435761u >> 7;
}

static __attribute__((noinline)) unsigned depth(unsigned x) { CALL;
	IF (x < 2) { TAKEN;
		return x;
	}
	return hash(depth(x / 2) ^ depth(x / 3));
}

/* Makes many calls inside loops. The calls never end the loops. */
static __attribute__((noinline)) unsigned work(unsigned n) { CALL;
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) { LOOP;
		IF (hash(i) % 3 == 0) { TAKEN;
			continue;
		}
		for (unsigned k = i % 5; k; k--) { LOOP;
			sum += hash(k + i);
		}
		do { LOOP;
			sum++;
		} while (sum % 7);
		IF (sum % 1009 == 3) { TAKEN;
			break;
		}
		switch (i % 4) {
		case 0:
			sum += depth(i % 30);
			break;
		case 1:
			sum ^= i;
		}
		while (sum % 5) { LOOP;
			IF (hash(sum) % 16 == 1) { TAKEN;
				break;
			}
			sum += 3;
		}
	}
	return sum;
}

/* Runs loops that call nothing and have several exits. It counts in local variables and adds them to the totals at the end. */
static __attribute__((noinline)) unsigned quiet(const unsigned char *text, unsigned n, unsigned most) { CALL;
	unsigned steps = 0, falls = 0, ends = 0, inner = 0, few = 0, sum = 0, at = 0, line = __LINE__ + 1;
	for (unsigned i = 0; i < n; i++) {
		steps++;
		if (text[i] & 1) {
			sum *= 31;
			sum += text[i];
		}
		if (sum > most) {
			falls++;
			sum -= most;
			if (text[i] == 77) {
				ends++;
				break;
			}
		}
	}
	for (; at < n; at += 1 + sum % 3) {
		few++;
		for (unsigned k = at; k < n; k += 2) {
			inner++;
			if (text[k] == 13)
				break;
			sum ^= text[k];
		}
	}
	loops[line] += steps;
	tested[line + 6] += steps;
	taken[line + 6] += falls;
	tested[line + 9] += falls;
	taken[line + 9] += ends;
	loops[line + 15] += few;
	loops[line + 17] += inner;
	return sum;
}

/* Computes a pure value. Only counting prevents the compiler from merging calls with the same argument. */
static __attribute__((noinline)) unsigned bucket(unsigned x) {
	return x > 500 ? x / 3 : x % 7 == 3 ? x << 2 : x;
}

static void quiet_all(void) { CALL;
	unsigned char text[1000];
	unsigned sum = 0, n = 0;

	for (unsigned i = 0; i < 1000; i++) { LOOP;
		text[i] = (unsigned char)(hash(i) >> 3);
	}
	for (unsigned i = 0; i < 1000; i++) { LOOP;
		quiet(text, i, 1u << (i % 31));
		if (text[i] & 1) {
			sum += bucket(i);
			n++;
		}
		sum ^= bucket(i) << 3;
	}
	calls[134] += sum ? 1000 + n : 0;
}

static void *thread(void *of) { CALL;
	unsigned n = *(unsigned *)of, sum = 0;

	for (unsigned i = 0; i < n; i++) { LOOP;
		sum += hash(i);
	}
	*(unsigned *)of = sum;
	return NULL;
}

static void threads(void) { CALL;
	for (int round = 0; round < 3; round++) { LOOP;
		pthread_t ids[THREADS];
		unsigned n[THREADS];

		for (int i = 0; i < THREADS; i++) { LOOP;
			n[i] = 100000u + (unsigned)(1000 * i);
			if (pthread_create(&ids[i], NULL, thread, &n[i]))
				_exit(8);
		}
		for (int i = 0; i < THREADS; i++) { LOOP;
			pthread_join(ids[i], NULL);
		}
	}
}

/* Forks in the middle of a function. The child prints its own numbers, and the parent prints its own. */
static void forks(void) { CALL;
	for (unsigned i = 0; i < 3; i++) { LOOP;
		pid_t child;

		work(1000 * (i + 1));
		child = fork();
		if (!child) {
			forget();
			for (unsigned k = 0; k < 5; k++) { LOOP;
				work(100 + k);
			}
			say();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

static void jumps(void) { CALL;
	volatile unsigned n = 0;

	if (setjmp(back) < 100) {
		n += work(3);
		longjmp(back, (int)++n % 101);
	}
}

static void library(const char *path) { CALL;
	void *module = dlopen(path, RTLD_NOW);
	unsigned (*count)(unsigned) = module ? (unsigned (*)(unsigned))dlsym(module, "count") : NULL;

	if (!count)
		_exit(7);
	for (unsigned i = 0; i < 10; i++) { LOOP;
		count(i);
	}
	dlclose(module);
}

int main(int argc, char **argv) { CALL;
	const char *mode = argc > 1 ? argv[1] : "one";
	volatile int *nowhere = NULL;

	work(20000);
	if (strcmp(mode, "fork") == 0)
		forks();
	else if (strcmp(mode, "threads") == 0)
		threads();
	else if (strcmp(mode, "quiet") == 0)
		quiet_all();
	else if (strcmp(mode, "jump") == 0)
		jumps();
	else if (strcmp(mode, "library") == 0)
		library(argv[2]);
	else if (strcmp(mode, "closed") == 0) {
		int out = dup(STDOUT_FILENO);

		for (int fd = 0; fd < 100; fd++) { LOOP;
			if (fd != out)
				close(fd);
		}
		threads();
		dup2(out, STDOUT_FILENO);
	}
	work(1000);
	say();
	if (strcmp(mode, "exec") == 0)
		execl(argv[0], argv[0], "one", (char *)NULL);
	if (strcmp(mode, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(mode, "abort") == 0)
		abort();
	if (strcmp(mode, "crash") == 0)
		return *nowhere;
	return 0;
}
