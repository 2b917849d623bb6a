/* The fall-back: programs that were built with -finstrument-functions call these at both ends of every function. */
#include "runs/inside/probe/probe.h"

#define SLOTS (2 * RECORD_FUNCTIONS_MAX) /* a power of two */

/* Open addressing by the function's address; filled while one thread loads modules, read by all. */
static struct {
	uintptr_t address;
	uint32_t number;
} table[SLOTS];
static uint32_t used; /* a quarter stays free: looking ends there */

static size_t slot_of(uintptr_t address)
{
	return (size_t)((address >> 2) * 0x9e3779b97f4a7c15u >> 47) & (SLOTS - 1);
}

bool probe_instrumented_add(uintptr_t address, uint32_t number)
{
	size_t at = slot_of(address);

	while (table[at].address && table[at].address != address)
		at = (at + 1) & (SLOTS - 1);
	if (!table[at].address && used >= SLOTS / 4 * 3)
		return false;
	used += !table[at].address;
	table[at].number = number;
	__atomic_store_n(&table[at].address, address, __ATOMIC_RELEASE);
	return true;
}

static inline uint32_t find(uintptr_t address)
{
	for (size_t at = slot_of(address); table[at].address; at = (at + 1) & (SLOTS - 1))
		if (table[at].address == address)
			return table[at].number;
	return UINT32_MAX;
}

void PROBE_EXPORT __cyg_profile_func_enter(void *function, void *site);
void PROBE_EXPORT __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	uint32_t number = used ? find((uintptr_t)function) : UINT32_MAX;

	(void)site;
	if (number != UINT32_MAX)
		probe_instrumented_enter(number, __builtin_dwarf_cfa());
}

void __cyg_profile_func_exit(void *function, void *site)
{
	uint32_t number = used ? find((uintptr_t)function) : UINT32_MAX;

	(void)site;
	if (number != UINT32_MAX)
		probe_instrumented_leave(number, __builtin_dwarf_cfa());
}
