#include "fleet/helper/pulse.h"

#include "base/clock.h"

#include <string.h>
#include <sys/mman.h>

#define TRIES	     5
#define MULTIPLIED   100000
#define COPIED_BYTES ((size_t)2 << 20)

static int64_t compute_ns(void)
{
	int64_t began_ns = clock_monotonic_ns();
	uint64_t x = 1;

	for (int i = 0; i < MULTIPLIED; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		__asm__ volatile("" : "+r"(x)); /* as often as it is written here */
	}
	return clock_monotonic_ns() - began_ns;
}

static int64_t memory_ns(char *bytes)
{
	int64_t began_ns = clock_monotonic_ns();

	memcpy(bytes + COPIED_BYTES, bytes, COPIED_BYTES);
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return clock_monotonic_ns() - began_ns;
}

void pulse_take(struct pulse *pulse)
{
	char *bytes = mmap(NULL, 2 * COPIED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct pulse least = { INT64_MAX, INT64_MAX };

	if (bytes == MAP_FAILED)
		return;
	memset(bytes, 1, 2 * COPIED_BYTES);
	for (int i = 0; i < TRIES; i++) {
		int64_t compute = compute_ns(), memory = memory_ns(bytes);

		least.compute_ns = compute < least.compute_ns ? compute : least.compute_ns;
		least.memory_ns = memory < least.memory_ns ? memory : least.memory_ns;
	}
	munmap(bytes, 2 * COPIED_BYTES);
	pulse->compute_ns = least.compute_ns > pulse->compute_ns ? least.compute_ns : pulse->compute_ns;
	pulse->memory_ns = least.memory_ns > pulse->memory_ns ? least.memory_ns : pulse->memory_ns;
}
