/* What shapes make dearer, done alone, so that their doses can be measured. */
#include "fleet/shape/calls.h"
#include "fleet/helper/surroundings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE_BYTES    4096u
#define LINE_BYTES    64u
#define FAR_BYTES     (64u << 20) /* more than most caches, and than what any processor finds without a walk */
#define CACHE_BYTES   (8u << 20)  /* of the last cache, where that does not say how large it is */
#define PIECE_BYTES   (64u << 10)
#define STEPS_A_TIME  2u   /* of a chase */
#define TIMES_A_PIECE 600u /* so many count for one piece of storage or network */
#define LINES_A_TIME  160u /* of a stream */
#define FRAME_BYTES   1400u
#define PORT	      47113 /* of a network that is its own */

static void compute(unsigned long times)
{
	for (volatile unsigned long left = times * 1000; left; left--)
		;
}

/* On as many processors as there are, whether or not it may run on all of them. */
static int compute_everywhere(unsigned long times)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	for (long i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0) {
			compute(times);
			_exit(0);
		}
		if (child < 0)
			return 1;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static unsigned char *memory_new(size_t bytes)
{
	unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	return memory;
}

/* One place after another, each known only by the one before: as many as `apart` bytes leave room for (a power of two), in an order that no
 * processor foresees. */
static int chase(size_t bytes, size_t apart, unsigned long times)
{
	unsigned char *memory = memory_new(bytes);
	size_t places = bytes / apart, at = 0;
	volatile size_t sink;

	if (!memory)
		return 1;
	for (unsigned long i = 0; i < times * STEPS_A_TIME; i++)
		at = (at * 1664525 + 1013904223 + memory[at * apart + at % (apart / LINE_BYTES) * LINE_BYTES] - 1) & (places - 1);
	sink = at;
	(void)sink;
	return 0;
}

static int stream(unsigned long times)
{
	unsigned char *memory = memory_new(FAR_BYTES);
	size_t at = 0;

	for (unsigned long i = 0; memory && i < times * LINES_A_TIME; i++, at = (at + LINE_BYTES) % FAR_BYTES)
		((volatile unsigned char *)memory)[at]++;
	return !memory;
}

/* Half of the last cache, as a power of two. */
static size_t cache_bytes(void)
{
	long known = sysconf(_SC_LEVEL3_CACHE_SIZE);
	size_t bytes = PAGE_BYTES, most = known > 0 ? (size_t)known : CACHE_BYTES;

	while (bytes * 2 < most)
		bytes *= 2;
	return bytes;
}

/* Past the page cache, in a file of the working directory that has no name. */
static int store(unsigned long pieces)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600), failed = fd < 0;
	void *piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	failed |= piece == MAP_FAILED;
	for (unsigned long i = 0; !failed && i < pieces; i++)
		failed = pwrite(fd, piece, PIECE_BYTES, (off_t)(i * PIECE_BYTES)) != (ssize_t)PIECE_BYTES;
	for (unsigned long i = 0; !failed && i < pieces; i++)
		failed = pread(fd, piece, PIECE_BYTES, (off_t)(i * PIECE_BYTES)) != (ssize_t)PIECE_BYTES;
	return failed;
}

static char piece[PIECE_BYTES]; /* not const: zeros that are would be bytes of the helper */

static _Noreturn void send_pieces(const struct sockaddr_in *to, unsigned long pieces)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed = fd < 0 || connect(fd, (const void *)to, sizeof(*to));

	for (size_t left = pieces * PIECE_BYTES; !failed && left > 0;) {
		ssize_t n = write(fd, piece, left < PIECE_BYTES ? left : PIECE_BYTES);

		failed = n <= 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	_exit(failed);
}

/* From one process to another. */
static int transmit(unsigned long pieces)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 1;
	pid_t child;

	if (fd < 0 || bind(fd, (const void *)&here, sizeof(here)) || listen(fd, 1))
		return 1;
	child = fork();
	if (child == 0)
		send_pieces(&here, pieces);
	fd = child < 0 ? -1 : accept(fd, NULL, NULL);
	while (fd >= 0 && read(fd, piece, sizeof(piece)) > 0)
		;
	return fd < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* Frames that nobody takes: of a kind that is for experiments (IEEE 802), from the interface to itself. They wait until it has sent them.
 */
static int emit(unsigned long pieces)
{
	const char *interface = getenv(SHAPE_INTERFACE_VARIABLE);
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_802_EX1), .sll_halen = ETH_ALEN };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed = fd < 0 || !interface, waiting = 1;
	struct ifreq own = { .ifr_ifindex = 0 };

	if (!failed) {
		snprintf(own.ifr_name, sizeof(own.ifr_name), "%s", interface);
		to.sll_ifindex = (int)if_nametoindex(interface);
		failed = ioctl(fd, SIOCGIFHWADDR, &own);
		memcpy(to.sll_addr, own.ifr_hwaddr.sa_data, ETH_ALEN);
	}
	for (size_t sent = 0; !failed && sent < pieces * PIECE_BYTES; sent += FRAME_BYTES)
		failed = sendto(fd, piece, FRAME_BYTES, 0, (const void *)&to, sizeof(to)) < 0;
	while (!failed && ioctl(fd, SIOCOUTQ, &waiting) == 0 && waiting > 0)
		usleep(100);
	return failed;
}

/* A library does it, in any dynamic program. */
static int exercise_library(unsigned shape, const char *times)
{
	setenv(shape_variable(shape, true), times, 1);
	return execl("/bin/sh", "sh", "-c", ":", (char *)NULL);
}

int shape_exercise(const char *name, const char *times)
{
	unsigned long n = strtoul(times, NULL, 10);
	struct shaped shaped;
	char text[SHAPE_NAME_BYTES];

	snprintf(text, sizeof(text), "%s=0", name);
	if (!shape_read(text, &shaped))
		return 2;
	switch (shapes[shaped.shape].means) {
	case SHAPE_FILTER:
		calls_exercise(shaped.shape, n);
		return 0;
	case SHAPE_LIBRARY:
		return exercise_library(shaped.shape, times);
	case SHAPE_FORGETTING:
	case SHAPE_NODES:
		return chase(FAR_BYTES, PAGE_BYTES, n);
	case SHAPE_RESCTRL_L3:
		return chase(cache_bytes(), LINE_BYTES, n);
	case SHAPE_RESCTRL_MB:
		return stream(n);
	case SHAPE_AFFINITY:
		return compute_everywhere(n);
	case SHAPE_GROUP_IO:
		return store(n / TIMES_A_PIECE);
	case SHAPE_NAMESPACE:
		return transmit(n / TIMES_A_PIECE);
	case SHAPE_QDISC:
		return emit(n / TIMES_A_PIECE);
	default:
		compute(n);
		return 0;
	}
}
