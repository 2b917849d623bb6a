/* Whose memory it is: which thread wrote a page first, and where blocks begin and end. What was done to memory before it was freed has
 * nothing to do with what is done to it after: each granule of 16 bytes, the least that malloc() gives, has a life, a number that is
 * another one after every beginning and end of a block there. Two threads share a line only where their lives are the same (windows.c), and
 * what the directory knows of an ended life is forgotten. */
#include "runs/inside/emulate/emulation.h"

#include <string.h>
#include <sys/mman.h>

#define CHUNK_BITS     21 /* of memory, whose lives are in one piece */
#define CHUNK_PAGES    (1u << (CHUNK_BITS - PAGE_BITS))
#define CHUNK_LINES    (1u << (CHUNK_BITS - LINE_BITS))
#define GRANULE_BITS   4
#define EACH_GRANULE   0x0001000100010001u /* of a line */
#define PAGE_LINES     (1u << (PAGE_BITS - LINE_BITS))
#define RECENT_FORGETS 8u /* lines that are looked for one by one */

struct chunk {
	uint16_t pages[CHUNK_PAGES]; /* changed where blocks cover whole pages... */
	union {
		uint16_t granules[CHUNK_LINES * GRANULES]; /* ...and where they do not */
		uint64_t lines[CHUNK_LINES];
	};
};

static struct chunk **chunks; /* by address */
static __thread uint64_t n_lives;

void memory_init(void)
{
	runtime.owners = pages_map((size_t)1 << (ADDRESS_BITS - PAGE_BITS));
	chunks = pages_map(sizeof(*chunks) << (ADDRESS_BITS - CHUNK_BITS));
}

void page_written(uintptr_t page)
{
	uint8_t *owner;

	hot.written_page = page;
	if (!runtime.owners || page >> (ADDRESS_BITS - PAGE_BITS) != 0 || !hot.thread)
		return;
	owner = &runtime.owners[page];
	if (UNLIKELY(__atomic_load_n(owner, __ATOMIC_RELAXED) == 0))
		__atomic_store_n(owner, (uint8_t)(hot.thread->number % runtime.nodes + 1), __ATOMIC_RELAXED);
}

uint64_t memory_lives(uint64_t line)
{
	const struct chunk *chunk = chunks ? __atomic_load_n(&chunks[line / CHUNK_LINES], __ATOMIC_ACQUIRE) : NULL;

	return chunk ? chunk->lines[line % CHUNK_LINES] ^ chunk->pages[line / PAGE_LINES % CHUNK_PAGES] * EACH_GRANULE : 0;
}

/* NULL: there is no memory. */
static struct chunk *chunk_of(uintptr_t address)
{
	struct chunk **at = &chunks[address >> CHUNK_BITS], *there = __atomic_load_n(at, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = pages_map(sizeof(*made));
	if (made && !__atomic_compare_exchange_n(at, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(made, sizeof(*made));
		return there;
	}
	return made;
}

/* Hardly any two are the same, in all threads. */
static uint16_t life_new(void)
{
	static uint64_t n_threads;
	uint64_t x;

	if (n_lives == 0)
		n_lives = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED) << 32;
	x = ++n_lives;
	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return (uint16_t)((x ^ (x >> 32)) * 0x94d049bb133111ebu >> 48);
}

/* [from, to) in one page. */
static void part_begins(struct chunk *chunk, uintptr_t from, uintptr_t to, uint16_t life)
{
	uintptr_t last = (to - 1) >> GRANULE_BITS;

	for (uintptr_t g = from >> GRANULE_BITS; g <= last;) {
		uint64_t line = g / GRANULES;
		uint32_t granules = 0;

		for (; g <= last && g / GRANULES == line; g++) {
			chunk->granules[g % (CHUNK_LINES * GRANULES)] = life;
			granules |= 1u << g % GRANULES;
		}
		directory_forget(line, granules);
	}
}

static void page_begins(struct chunk *chunk, uintptr_t page, uint16_t life)
{
	chunk->pages[page % CHUNK_PAGES] = life;
	runtime.owners[page] = 0;
	for (uint64_t line = 0; line < PAGE_LINES; line++)
		directory_forget(page * PAGE_LINES + line, (1u << GRANULES) - 1);
}

/* What this thread has just touched there belongs to the old life. */
static void recent_forget(struct thread *t, uintptr_t from, uintptr_t to)
{
	uint64_t first = from >> LINE_BITS, last = (to - 1) >> LINE_BITS;

	t->births++;
	if (last - first >= RECENT_FORGETS)
		simulate_anew(t);
	for (uint64_t line = first; line <= last && last - first < RECENT_FORGETS; line++)
		simulate_line_anew(t, line);
}

void memory_begins(uintptr_t address, size_t bytes)
{
	const uintptr_t page_bytes = (uintptr_t)1 << PAGE_BITS;
	uintptr_t end = address + bytes;
	uint16_t life;

	if (!runtime.several || !runtime.owners || !chunks || bytes == 0 || end < address || end >> ADDRESS_BITS != 0)
		return;
	life = life_new();
	for (uintptr_t at = address, next; at < end; at = next) {
		struct chunk *chunk;

		next = (at | (page_bytes - 1)) + 1 < end ? (at | (page_bytes - 1)) + 1 : end;
		if (__atomic_load_n(&runtime.owners[at >> PAGE_BITS], __ATOMIC_RELAXED) == 0)
			continue; /* nobody has written there: there is nothing to forget */
		chunk = chunk_of(at);
		if (chunk && next - at == page_bytes)
			page_begins(chunk, at >> PAGE_BITS, life);
		else if (chunk)
			part_begins(chunk, at, next, life);
	}
	if (bytes >= page_bytes)
		hot.written_page = 0;
	if (hot.simulating)
		recent_forget(hot.thread, address, end);
}
