/* Self-check of assay's programs for hosts. A file that is truncated, empty or changed, for example after a power loss, is damaged. The
 * controller passes the expected checksum as first argument, "whole=SUM". The check takes 0.5 ms per megabyte. */
#ifndef FLEET_COUNTING_WHOLE_H
#define FLEET_COUNTING_WHOLE_H

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SELF_CHECK_ARGUMENT "whole="
#define SELF_CHECK_DAMAGED  125 /* exit status of a program whose file is damaged */

/* Adds `n` bytes to the checksum `sum`, initially 0. `n` is a multiple of 8 except for the last piece. Detects accidents, not attacks. */
static inline uint64_t self_check_sum(uint64_t sum, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, n - i < 8 ? n - i : 8);
		sum = (sum ^ word ^ (n - i < 8 ? n << 56 : 0)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
		sum ^= sum >> 32;
	}
	return sum;
}

/* Computes the checksum of this program's file. Returns false if the file cannot be read. */
static inline bool self_check_read_sum(uint64_t *sum)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_Alignas(8) char piece[65536];
	ssize_t n = -1;

	*sum = 0;
	while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
		*sum = self_check_sum(*sum, piece, (size_t)n);
	if (fd >= 0)
		close(fd);
	return n == 0;
}

/* Syncs a file to the disk, renames it and syncs the directory. Returns an exit status. Prints the reason of a failure. */
static inline int self_check_install(char *from, char *to)
{
	int file = open(from, O_RDONLY | O_CLOEXEC), directory;
	bool ok = file >= 0 && fsync(file) == 0 && rename(from, to) == 0;

	directory = ok ? open(dirname(to), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory >= 0)
		fsync(directory); /* ignore errors: not all file systems support this */
	if (!ok)
		fprintf(stderr, "assay: %s: cannot keep '%s'\n", strerror(errno), to);
	return ok ? 0 : 1;
}

/* Removes the first argument if it is "whole=SUM". Returns true if the program must end with *status. Reasons: the file is damaged; the
 * argument is "check", a test run; the arguments are "install PATH", which renames the program's file. */
static inline bool self_check_arguments(int *argc, char **argv, int *status)
{
	uint64_t sum;
	char text[sizeof(SELF_CHECK_ARGUMENT) + 16];

	*status = SELF_CHECK_DAMAGED;
	if (*argc >= 2 && strncmp(argv[1], SELF_CHECK_ARGUMENT, strlen(SELF_CHECK_ARGUMENT)) == 0) {
		if (self_check_read_sum(&sum)) {
			snprintf(text, sizeof(text), SELF_CHECK_ARGUMENT "%016llx", (unsigned long long)sum);
			if (strcmp(text, argv[1]) != 0)
				return true;
		}
		memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof(*argv));
		--*argc;
	}
	*status = 0;
	if (*argc == 3 && strcmp(argv[1], "install") == 0)
		*status = self_check_install(argv[0], argv[2]);
	else
		return *argc == 2 && strcmp(argv[1], "check") == 0;
	return true;
}

#endif
