/* Calls outside functions in difficult ways. The output must be the same whether or not the calls are recorded. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAY(...) (void)dprintf(out, __VA_ARGS__)

static int out = STDOUT_FILENO, pipes[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;
static long sum;

static void failures(void)
{
	char byte;
	struct timespec wrong = { 0, -1 };
	struct iovec *volatile nowhere = (struct iovec *)8;
	pthread_mutexattr_t attributes;
	pthread_mutex_t checking;
	long n;

	errno = 77;
	n = write(pipes[1], "x", 1);
	SAY("write %ld errno %d\n", n, errno);
	n = read(pipes[0], &byte, 1);
	SAY("read %ld errno %d\n", n, errno);
	n = read(-1, &byte, 1);
	SAY("read %ld errno %d\n", n, errno);
	n = readv(pipes[0], nowhere, 3);
	SAY("readv %ld errno %d\n", n, errno);
	n = preadv2(pipes[0], nowhere, 3, -1, 0);
	SAY("preadv2 %ld errno %d\n", n, errno);
	n = pwritev2(pipes[1], &(struct iovec){ (char[]){ "xyz" }, 3 }, 1, -1, 0);
	SAY("pwritev2 %ld errno %d\n", n, errno);
	n = read(pipes[0], (char[3]){ 0 }, 3);
	SAY("read %ld errno %d\n", n, errno);
	n = pread(pipes[0], &byte, 1, 0);
	SAY("pread %ld errno %d\n", n, errno);
	n = nanosleep(&wrong, NULL);
	SAY("nanosleep %ld errno %d\n", n, errno);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checking, &attributes);
	n = pthread_mutex_lock(&checking);
	SAY("lock %ld\n", n);
	n = pthread_mutex_lock(&checking);
	SAY("lock again %d\n", n == EDEADLK);
}

static void on_alarm(int signal)
{
	(void)signal;
	(void)!write(pipes[1], "h", 1); /* a call from the handler, maybe during another recorded call */
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct timespec long_time = { 20, 0 };
	char byte = 0;
	int n;

	sigaction(SIGALRM, &action, NULL);
	ualarm(20000, 0);
	n = nanosleep(&long_time, NULL);
	SAY("sleep %d interrupted %d\n", n, errno == EINTR);
	n = (int)read(pipes[0], &byte, 1);
	SAY("handler wrote %d %c\n", n, byte);
}

static void cleaned(void *at)
{
	*(int *)at = 1;
}

static void *cancelled(void *at)
{
	char byte;

	pthread_cleanup_push(cleaned, at);
	(void)!read(pipes[0], &byte, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *worker(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void threads(void)
{
	pthread_t all[4], one;
	void *result;
	int was_cleaned = 0;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, worker, NULL);
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	pthread_create(&one, NULL, cancelled, &was_cleaned);
	usleep(20000);
	pthread_cancel(one);
	pthread_join(one, &result);
	SAY("sum %ld cancelled %d cleaned %d\n", sum, result == PTHREAD_CANCELED, was_cleaned);
}

static void sockets(void)
{
	struct pollfd watched;
	char bytes[100];
	int both[2];
	long n;

	socketpair(AF_UNIX, SOCK_STREAM, 0, both);
	n = send(both[0], bytes, 60, 0);
	watched = (struct pollfd){ .fd = both[1], .events = POLLIN };
	SAY("sent %ld poll %d\n", n, poll(&watched, 1, 1000));
	n = recv(both[1], bytes, sizeof(bytes), 0);
	SAY("received %ld\n", n);
}

static void locks(void)
{
	struct timespec past = { 1, 0 };
	pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
	pthread_spinlock_t spin;
	sem_t semaphore;
	int n;

	sem_init(&semaphore, 0, 1);
	pthread_spin_init(&spin, 0);
	errno = 0;
	n = sem_wait(&semaphore);
	SAY("semaphore %d errno %d\n", n, errno);
	n = sem_timedwait(&semaphore, &past);
	SAY("semaphore %d errno %d\n", n, errno);
	n = pthread_rwlock_rdlock(&both);
	SAY("locks %d", n);
	pthread_rwlock_unlock(&both);
	n = pthread_rwlock_wrlock(&both);
	SAY(" %d", n);
	n = pthread_spin_lock(&spin);
	SAY(" %d\n", n);
}

/* Calls the kernel by system call number, as C++ atomics and Rust locks do. */
static void by_number(void)
{
	struct timespec soon = { 0, 20000000 };
	char bytes[16] = "";
	int word = 1;
	long n;

	n = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon, NULL, 0);
	SAY("futex %ld timed out %d\n", n, errno == ETIMEDOUT);
	errno = 77;
	n = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
	SAY("woken %ld errno %d\n", n, errno);
	n = syscall(SYS_write, pipes[1], "number", 6);
	SAY("write %ld errno %d\n", n, errno);
	n = syscall(SYS_read, pipes[0], bytes, sizeof(bytes));
	SAY("read %ld %s errno %d\n", n, bytes, errno);
	n = syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1); /* its sixth argument is invalid */
	SAY("mmap %ld errno %d\n", n, errno);
	SAY("itself %d\n", syscall(SYS_getpid) == getpid());
}

static void forks(void)
{
	int status;

	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			(void)!write(pipes[1], "fork", 4);
			_exit(i);
		}
		wait(&status);
		SAY("child %d\n", WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "forever"))
		for (struct timespec t = { 0, 1000000 };;) {
			nanosleep(&t, NULL);
			(void)!write(STDOUT_FILENO, "tick\n", 5);
		}
	if (argc > 1 && !strcmp(argv[1], "child")) {
		(void)!write(STDOUT_FILENO, "executed\n", 9);
		return 5;
	}
	(void)!pipe(pipes);
	failures();
	interrupted();
	threads();
	sockets();
	locks();
	by_number();
	forks();
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	SAY("closed: pipe %d\n", pipe(pipes));
	for (int i = 0; i < 100000; i++)
		(void)!write(pipes[1], "x", 1), (void)!read(pipes[0], &argc, 1);
	SAY("through the pipe\n");
	execl("/proc/self/exe", argv[0], "child", NULL);
	return 1;
}
