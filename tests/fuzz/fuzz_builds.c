/* Compares two different builds. The input is a length of four bytes, an ELF file of that length, and another ELF file. Checks that each
 * function is paired at most once, that each change is a pair, that repeated comparisons give equal results, and that the probe's list
 * names function bodies of the build. */
#include "base/mem.h"
#include "runs/inside/changes/changes.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD_BYTES 4
#define BYTES_MAX  (1u << 17)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *data, size_t size, char path[64])
{
	int file = memfd_create("fuzz", MFD_CLOEXEC);

	ASSAY_BUG_IF(file < 0 || write(file, data, size) != (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", file);
	return file;
}

static void check_pairs(const struct changes *c)
{
	for (size_t i = 0; i < c->old.functions.n; i++)
		ASSAY_BUG_IF(c->old_to_new[i] != FUNCTIONS_NONE &&
			     (c->old_to_new[i] >= c->new.functions.n || c->new_to_old[c->old_to_new[i]] != i));
	for (size_t i = 0; i < c->new.functions.n; i++)
		ASSAY_BUG_IF(c->new_to_old[i] != FUNCTIONS_NONE &&
			     (c->new_to_old[i] >= c->old.functions.n || c->old_to_new[c->new_to_old[i]] != i));
}

static void check_changes(const struct changes *c)
{
	size_t counted = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];

		ASSAY_BUG_IF(change->kind == CHANGE_NONE || change->kind >= CHANGE_KINDS ||
			     change->key >= c->new.functions.n + c->old.functions.n);
		ASSAY_BUG_IF(change->kind == CHANGE_ADDED && (change->old != FUNCTIONS_NONE || change->new == FUNCTIONS_NONE));
		ASSAY_BUG_IF(change->kind == CHANGE_REMOVED && (change->new != FUNCTIONS_NONE || change->old == FUNCTIONS_NONE));
		ASSAY_BUG_IF(change->old == FUNCTIONS_NONE && change->new == FUNCTIONS_NONE);
		ASSAY_BUG_IF(i && c->items[i - 1].kind > change->kind);
		for (size_t j = 0; j < change->n_causes; j++)
			ASSAY_BUG_IF(change->causes[j].key >= c->new.functions.n + c->old.functions.n);
	}
	for (size_t i = CHANGE_NONE + 1; i < CHANGE_KINDS; i++)
		counted += c->count[i];
	ASSAY_BUG_IF(counted != c->n || c->compared > c->n_old || c->compared > c->n_new);
}

static void add_answer(const struct changes *c, struct buf *out)
{
	const struct doc_style style = { .columns = 80 };
	struct document d;

	document_init(&d);
	changes_describe(c, true, &d);
	document_human(&d, &style, out);
	document_release(&d);
	changes_list_entries(c, true, out);
	changes_list_entries(c, false, out);
}

/* Compares the two builds and appends the result to `out`. Returns false if one of the files is not a build. */
static bool answer_of(const char *old_path, const char *new_path, struct buf *out)
{
	static const struct changes_options options = { .wrapper = CHANGES_WRAPPER_MAX };
	struct assay_error err = { .text = "" };
	struct build old = { .referenced_addresses = NULL }, new = { .referenced_addresses = NULL };
	struct changes changes;
	bool both = !build_open(old_path, IMAGE_EXPORTED, &old, &err) && !build_open(new_path, IMAGE_EXPORTED, &new, &err);

	if (both) {
		ASSAY_BUG_IF(changes_find(&old, &new, &options, &changes, &err));
		check_pairs(&changes);
		check_changes(&changes);
		add_answer(&changes, out);
		changes_release(&changes);
	}
	build_release(&old);
	build_release(&new);
	return both;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	char old_path[64], new_path[64];
	uint32_t first;
	int old, new;

	if (size < HEAD_BYTES || size > BYTES_MAX)
		return 0;
	memcpy(&first, data, HEAD_BYTES);
	if (first > size - HEAD_BYTES)
		return 0;
	old = file_of(data + HEAD_BYTES, first, old_path);
	new = file_of(data + HEAD_BYTES + first, size - HEAD_BYTES - first, new_path);
	if (answer_of(old_path, new_path, &once) && size % 4 == 0) {
		answer_of(old_path, new_path, &twice);
		ASSAY_BUG_IF(once.size != twice.size || memcmp(once.bytes, twice.bytes, once.size) != 0);
	}
	buf_release(&once);
	buf_release(&twice);
	close(old);
	close(new);
	return 0;
}

#ifndef LLVMFuzzerTestOneInput /* the tests replay inputs without a fuzzer */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Returns a section of an ELF file, chosen by `seed`, or the whole file if its headers are damaged. */
static uint8_t *some_section(uint8_t *elf, size_t size, unsigned seed, size_t *n)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	size_t at;

	*n = size;
	if (size < sizeof(header))
		return elf;
	memcpy(&header, elf, sizeof(header));
	if (!header.e_shnum || header.e_shoff > size || seed % 16 == 0)
		return elf;
	at = header.e_shoff + seed / 16 % header.e_shnum * sizeof(section);
	if (at > size || size - at < sizeof(section))
		return elf;
	memcpy(&section, elf + at, sizeof(section));
	if (section.sh_type == SHT_NOBITS || !section.sh_size || section.sh_offset > size || section.sh_size > size - section.sh_offset)
		return elf;
	*n = section.sh_size;
	return elf + section.sh_offset;
}

/* Mutates some bytes in a section of one of the files. Files keep their sizes, since their headers contain offsets. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint8_t piece[64], *section;
	size_t n, at, length;
	uint32_t first = 0;

	if (size > HEAD_BYTES)
		memcpy(&first, data, HEAD_BYTES);
	if (size <= HEAD_BYTES || first >= size - HEAD_BYTES || !first || seed % 64 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	section = seed % 2 ? some_section(data + HEAD_BYTES, first, seed / 64, &n)
			   : some_section(data + HEAD_BYTES + first, size - HEAD_BYTES - first, seed / 64, &n);
	at = seed / 7 % n;
	length = 1 + seed / 11 % sizeof(piece);
	length = length < n - at ? length : n - at;
	memcpy(piece, section + at, length);
	LLVMFuzzerMutate(piece, length, length);
	memcpy(section + at, piece, length);
	return size;
}
#endif
