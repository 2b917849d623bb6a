/* Works in pieces of 4 ms, each ended by a write, until a file "stop" exists. With arguments FROM TO, pieces that start FROM to TO seconds
 * after the start take 16 ms. The pieces are sleeps that the recorder does not see, so that load on the machine does not stretch them. With
 * a third argument, another process sleeps and the program waits for its messages. With one argument, the program computes instead. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sends a byte every 4 ms until the reader is gone. It calls the kernel directly, so that the recorder sees no calls in this process. */
static void messages(int to)
{
	static const struct timespec piece = { 0, 4000000 };

	while (syscall(SYS_write, to, "x", 1) == 1)
		syscall(SYS_nanosleep, &piece, NULL);
	syscall(SYS_exit_group, 0);
}

static void compute(int out)
{
	for (unsigned x = 1; access("stop", F_OK) != 0; (void)!write(out, "x", 1))
		for (int i = 0; i < 2000000; i++)
			__asm__ volatile("" : "+r"(x));
}

int main(int argc, char **argv)
{
	double began = now_s(), from = argc > 2 ? atof(argv[1]) : 0, to = argc > 2 ? atof(argv[2]) : 0;
	int out = open("/dev/null", O_WRONLY), ends[2];
	char c;

	if (argc == 2)
		compute(out);
	if (argc > 3) {
		if (pipe(ends))
			return 1;
		if (fork() == 0) {
			close(ends[0]); /* else this process would not notice that the reader is gone */
			messages(ends[1]);
		}
		while (access("stop", F_OK) != 0 && read(ends[0], &c, 1) == 1)
			;
		close(ends[0]);
		return 0;
	}
	while (access("stop", F_OK) != 0) {
		double since = now_s() - began;
		struct timespec piece = { 0, since >= from && since < to ? 16000000 : 4000000 };

		syscall(SYS_nanosleep, &piece, NULL);
		(void)!write(out, "x", 1);
	}
	return 0;
}
