#include "fleet/counting/exercise.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_BYTES (8u << 20) /* more than second-level caches hold */
#define PART_BYTES   (1u << 20) /* of it in a round; more than first-level caches hold */
#define CODE_BYTES   (256u << 10)
#define LINE_BYTES   64u
#define TIMES	     4000u

#ifdef __aarch64__
static const unsigned char return_code[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char return_code[] = { 0xc3 };
#endif

bool exercise_moves(const char *event)
{
	static const char *const begins[] = { "PAPI_TOT_",   "PAPI_REF_CYC", "PAPI_L1_",    "PAPI_L2_",	   "PAPI_BR_",
					      "PAPI_TLB_DM", "PAPI_TLB_IM",  "PAPI_LD_INS", "PAPI_SR_INS", "PAPI_LST_INS",
					      "PAPI_FP_",    "PAPI_DP_",     "PAPI_RES_STL" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (strncmp(event, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

static unsigned char *memory_new(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Lines in an order that nothing foresees. */
static void walk(unsigned char *part)
{
	for (uint32_t i = 0; i < PART_BYTES / LINE_BYTES; i++)
		part[i * 7919u % (PART_BYTES / LINE_BYTES) * LINE_BYTES]++;
}

/* Functions that do nothing, a line apart; none where the system does not let memory become code. */
static void run_much_code(void)
{
	unsigned char *code = memory_new(CODE_BYTES);

	for (uint32_t at = 0; code && at < CODE_BYTES; at += LINE_BYTES)
		memcpy(code + at, return_code, sizeof(return_code));
	if (code && mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) == 0) {
		__builtin___clear_cache((char *)code, (char *)code + CODE_BYTES);
		for (uint32_t at = 0; at < CODE_BYTES; at += LINE_BYTES)
			((void (*)(void))(uintptr_t)(code + at))();
	}
	if (code)
		munmap(code, CODE_BYTES);
}

static void branch_and_calculate(void)
{
	static uint64_t state = 88172645463325252u;
	volatile double sum = 0;
	volatile uint64_t taken = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state & 256)
			taken = taken + 1;
		sum = sum * 1.5 + 1;
	}
}

void exercise(unsigned round)
{
	static unsigned char *memory;

	if (!memory)
		memory = memory_new(MEMORY_BYTES);
	if (memory)
		walk(memory + round % (MEMORY_BYTES / PART_BYTES) * PART_BYTES);
	branch_and_calculate();
	run_much_code();
}
