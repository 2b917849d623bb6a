#include "fleet/helper/accounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 512

/* A small file of /proc; "" when there is none. */
static void read_text(const char *path, char text[TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* For how long, since the host was started, something there was kept waiting for a processor; -1: the kernel does not say. */
static int64_t crowded_ns(void)
{
	char text[TEXT_BYTES];
	const char *total;

	read_text("/proc/pressure/cpu", text);
	total = strstr(text, "total=");
	return total ? 1000 * (int64_t)strtoull(total + 6, NULL, 10) : -1;
}

void accounts_begin(struct accounts *accounts)
{
	*accounts = (struct accounts){ .crowded_ns = crowded_ns() };
}

void accounts_add(struct accounts *accounts, pid_t id)
{
	static const char *const names[] = { "rchar: ", "wchar: ", "syscr: ", "syscw: " };
	char path[40], text[TEXT_BYTES], *delay;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)id);
	read_text(path, text);
	accounts->io_unknown |= !*text;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = strstr(text, names[i]);

		accounts->io[i] += at ? strtoull(at + strlen(names[i]), NULL, 10) : 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)id);
	read_text(path, text);
	delay = strchr(text, ' ');
	accounts->delay_ns += delay ? strtoull(delay, NULL, 10) : 0;
}

void accounts_end(struct accounts *accounts)
{
	if (accounts->crowded_ns >= 0)
		accounts->crowded_ns = crowded_ns() - accounts->crowded_ns;
}

void accounts_say(const struct accounts *accounts, const struct rusage *usage, char text[ACCOUNTS_BYTES])
{
	const unsigned long long *io = accounts->io;
	int n = snprintf(text, ACCOUNTS_BYTES,
			 "minor_faults %ld\nmajor_faults %ld\nvoluntary_switches %ld\ninvoluntary_switches %ld\nrun_delay_ns %llu\n",
			 usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw, usage->ru_nivcsw, accounts->delay_ns);

	if (!accounts->io_unknown)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n,
			      "read_bytes %llu\nwrite_bytes %llu\nread_calls %llu\nwrite_calls %llu\n", io[0], io[1], io[2], io[3]);
	if (accounts->crowded_ns >= 0)
		snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "crowded_ns %lld\n", (long long)accounts->crowded_ns);
}
