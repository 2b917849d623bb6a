/* Runs a program that may not change its own code: memory-deny-write-execute, Linux 6.3. Status 77: this system has no such thing. */
#include <sys/prctl.h>
#include <unistd.h>

#define SET_MDWE 65 /* PR_SET_MDWE */

int main(int argc, char **argv)
{
	if (argc < 2 || prctl(SET_MDWE, 1L, 0L, 0L, 0L))
		return 77;
	execvp(argv[1], argv + 1);
	return 1;
}
