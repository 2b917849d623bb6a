/* Code that is changed: five bytes that do nothing, which the compiler left at a function's beginning, become a jump to a stub. x86-64. */
#include "runs/inside/probe/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SITE_BYTES 5u
#define STUB_BYTES 64u
#define PAGE_BYTES 4096u
#define JUMP	   0xe9u
#define NEAR_STEP  (1u << 20)
#define NEAR_LIMIT (2000u << 20) /* what a relative jump reaches, with room to spare */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* ---- sites ---- */

enum probe_site probe_site_at(uintptr_t function, uintptr_t *site)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char by_gcc[] = { 0x90, 0x90, 0x90, 0x90, 0x90 }, by_clang[] = { 0x0f, 0x1f, 0x44, 0x00, 0x08 };
	const unsigned char *at = (const unsigned char *)function;

	if (memcmp(at, endbr, sizeof(endbr)) == 0)
		at += sizeof(endbr);
	*site = (uintptr_t)at;
	if (memcmp(at, by_gcc, SITE_BYTES) == 0 || memcmp(at, by_clang, SITE_BYTES) == 0)
		return PROBE_SITE_FREE;
	return *at == JUMP ? PROBE_SITE_JUMP : PROBE_SITE_NONE;
}

/* ---- stubs ---- */

static unsigned char *stub_put(unsigned char *to, const void *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

static unsigned char *stub_put_value(unsigned char *to, int32_t value)
{
	return stub_put(to, &value, sizeof(value));
}

/* What a 32-bit displacement that is the last of its instruction has to be. */
static unsigned char *stub_put_distance(unsigned char *to, uintptr_t target)
{
	return stub_put_value(to, (int32_t)(target - ((uintptr_t)to + sizeof(int32_t))));
}

static int32_t thread_offset(const void *variable)
{
	uintptr_t here;

	__asm__("mov %%fs:0, %0" : "=r"(here));
	return (int32_t)((uintptr_t)variable - here);
}

static unsigned char *stub_put_countdown(unsigned char *at, uint32_t number)
{
	if (number < PROBE_NEAR) {
		at = stub_put(at, "\x64\xff\x0c\x25", 4); /* decl %fs:OFFSET */
		return stub_put_value(at, thread_offset(&probe_near[number]));
	}
	at = stub_put(at, "\x41\x53", 2);	      /* push %r11 */
	at = stub_put(at, "\x64\x4c\x8b\x1c\x25", 5); /* mov %fs:OFFSET, %r11 */
	at = stub_put_value(at, thread_offset(&probe_far));
	at = stub_put(at, "\x41\xff\x8b", 3); /* decl OFFSET(%r11) */
	at = stub_put_value(at, (int32_t)(number * sizeof(int32_t)));
	return stub_put(at, "\x41\x5b", 2); /* pop %r11 */
}

/* Counts down and goes back to the function, after the jump; only the sampled call goes on to probe_entry. A stub keeps all registers, but
 * not the flags. `target` holds the address of probe_entry. */
static void stub_write(unsigned char *stub, const struct probe_patch *patch, const unsigned char *target)
{
	uintptr_t place = patch->site + SITE_BYTES;
	unsigned char *at = stub_put_countdown(stub, patch->number);

	at = stub_put(at, "\x78\x05", 2);				      /* js over the jmp */
	at = stub_put_distance(stub_put(at, "\xe9", 1), place);		      /* jmp PLACE */
	at = stub_put(at, "\x48\x8d\x64\x24\xf8", 5);			      /* lea -8(%rsp), %rsp */
	at = stub_put(at, "\x57\x56", 2);				      /* push %rdi; push %rsi */
	at = stub_put_distance(stub_put(at, "\x48\x8d\x3d", 3), place);	      /* lea PLACE(%rip), %rdi */
	at = stub_put(at, "\x48\x89\x7c\x24\x10", 5);			      /* mov %rdi, 16(%rsp) */
	at = stub_put_value(stub_put(at, "\xbf", 1), (int32_t)patch->number); /* mov $NUMBER, %edi */
	stub_put_distance(stub_put(at, "\xff\x25", 2), (uintptr_t)target);    /* jmp *TARGET(%rip) */
}

static void *map_at(uintptr_t at, size_t bytes)
{
	void *got = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == (void *)at)
		return got;
	if (got != MAP_FAILED) /* the kernel treats the address as a hint */
		munmap(got, bytes);
	return NULL;
}

/* Writable memory within a jump of all of the module; NULL: none. Below it if possible, for above the program its heap grows; and side by
 * side, for what is free may be little: large mappings lie around a module, where chance puts them. */
static void *map_near(struct probe_range module, size_t bytes)
{
	static uintptr_t last;
	uintptr_t reach = NEAR_LIMIT > module.high - module.low + bytes ? NEAR_LIMIT - (module.high - module.low) - bytes : 0;
	uintptr_t next = last - bytes;
	void *got = next + reach > module.low && next < module.high + reach ? map_at(next, bytes) : NULL;

	for (uintptr_t away = 0; !got && away < reach && module.low > away + bytes; away += NEAR_STEP)
		got = map_at(module.low - away - bytes, bytes);
	for (uintptr_t away = NEAR_STEP; !got && away < reach; away += NEAR_STEP)
		got = map_at(module.high + away, bytes);
	last = got ? (uintptr_t)got : last;
	return got;
}

/* ---- the jumps ---- */

/* In one store if it lies in one word, for another thread may be about to run it. */
static void jump_write(uintptr_t site, uintptr_t to)
{
	int32_t offset = (int32_t)(to - site - SITE_BYTES);
	uintptr_t word = site & ~(uintptr_t)7;
	unsigned char bytes[8];
	uint64_t value;

	if (site - word <= 8 - SITE_BYTES) {
		memcpy(bytes, (const void *)word, 8);
		bytes[site - word] = JUMP;
		memcpy(bytes + (site - word) + 1, &offset, 4);
		memcpy(&value, bytes, 8);
		__atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
		return;
	}
	memcpy((void *)(site + 1), &offset, 4);
	__atomic_store_n((unsigned char *)site, JUMP, __ATOMIC_RELEASE);
}

/* Other threads may run what is on the same pages, so they stay executable if the system allows it. */
static int make_writable(struct probe_range code)
{
	if (mprotect((void *)code.low, code.high - code.low, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		return 0;
	return mprotect((void *)code.low, code.high - code.low, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

static unsigned char *stub_at(unsigned char *memory, size_t i)
{
	return memory + STUB_BYTES * (i + 1);
}

/* Stubs near `module`, executable: *memory of *bytes. 0 or an errno. */
static int stubs_make(const struct probe_patch *patches, size_t n, struct probe_range module, unsigned char **memory, size_t *bytes)
{
	const uintptr_t entry = (uintptr_t)probe_entry;
	int failed;

	*bytes = (STUB_BYTES * (n + 1) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	*memory = map_near(module, *bytes);
	if (!*memory)
		return ENOMEM;
	memcpy(*memory, &entry, sizeof(entry));
	for (size_t i = 0; i < n; i++)
		stub_write(stub_at(*memory, i), &patches[i], *memory);
	failed = mprotect(*memory, *bytes, PROT_READ | PROT_EXEC) ? errno : 0;
	if (failed)
		munmap(*memory, *bytes);
	return failed;
}

bool probe_stubs_make(const uintptr_t places[PROBE_STUBS], struct probe_stubs *out)
{
	struct probe_range module = { places[0] & ~(uintptr_t)(PAGE_BYTES - 1), (places[0] | (PAGE_BYTES - 1)) + 1, 0 };
	struct probe_patch patches[PROBE_STUBS];

	for (uint32_t i = 0; i < PROBE_STUBS; i++)
		patches[i] = (struct probe_patch){ places[i] - SITE_BYTES, i };
	if (stubs_make(patches, PROBE_STUBS, module, &out->memory, &out->bytes))
		return false;
	for (uint32_t i = 0; i < PROBE_STUBS; i++)
		out->at[i] = (void (*)(void))(uintptr_t)stub_at(out->memory, i);
	return true;
}

int probe_sites_patch(const struct probe_patch *patches, size_t n, struct probe_range module, struct probe_range code)
{
	unsigned char *memory;
	size_t bytes;
	int failed = stubs_make(patches, n, module, &memory, &bytes);

	if (failed)
		return failed;
	failed = make_writable(code);
	if (failed) {
		munmap(memory, bytes);
		return failed;
	}
	for (size_t i = 0; i < n; i++)
		jump_write(patches[i].site, (uintptr_t)stub_at(memory, i));
	mprotect((void *)code.low, code.high - code.low, code.protection);
	return 0;
}
