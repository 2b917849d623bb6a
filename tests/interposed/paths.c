/* Writes from one place that two callers reach. One of them computes twice as long before the write. */
#include <fcntl.h>
#include <unistd.h>

static int out;

__attribute__((noinline)) static void say(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(i));
	(void)!write(out, "x", 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void shortly(void)
{
	say(300000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void at_length(void)
{
	say(600000);
	__asm__ volatile("");
}

int main(void)
{
	out = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 300; i++) {
		shortly();
		at_length();
	}
	return 3;
}
