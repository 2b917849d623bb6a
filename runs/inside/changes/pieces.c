#include "runs/inside/changes/pieces.h"

#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/map.h"

#include <stdlib.h>
#include <string.h>

/* Encodings of the table that compilers for x86-64 write: DW_EH_PE_pcrel and _datarel of 4 bytes each, and a count of 4 bytes. */
static const uint8_t table_kind[4] = { 1, 0x1b, 0x03, 0x3b };
#define TABLE_HEAD 12
#define FDE_BYTES  16 /* length, distance to the shared part, start, size */

/* ---- starts of pieces ---- */

static uint64_t target_after(uint64_t address, const uint8_t *distance)
{
	int32_t by;

	memcpy(&by, distance, sizeof(by));
	return address + (uint64_t)(int64_t)by;
}

static void piece_add(const struct image *image, uint64_t begin, uint64_t size, struct pieces *out)
{
	const struct image_section *section = image_find_section(image, begin);

	if (!section || !image_is_code(section))
		return;
	if (size > section->size - (begin - section->address))
		size = section->size - (begin - section->address);
	out->items[out->n++] = (struct piece){ .begin = begin, .end = begin + size };
}

static const struct image_section *find_unwind_table(const struct image *image, uint32_t *n)
{
	for (size_t i = 1; i < image->n_sections; i++) {
		const struct image_section *section = &image->sections[i];

		if (strcmp(section->name, ".eh_frame_hdr") != 0 || !section->bytes || section->size < TABLE_HEAD ||
		    memcmp(section->bytes, table_kind, sizeof(table_kind)) != 0)
			continue;
		memcpy(n, section->bytes + 8, sizeof(*n));
		if (*n <= (section->size - TABLE_HEAD) / 8)
			return section;
		break; /* damaged, because the table claims more rows than fit */
	}
	*n = 0;
	return NULL;
}

static void add_unwound(const struct image *image, const struct image_section *table, uint32_t n, struct pieces *out)
{
	for (uint32_t i = 0; table && i < n; i++) {
		const uint8_t *row = table->bytes + TABLE_HEAD + 8 * (size_t)i, *fde;
		uint64_t begin = target_after(table->address, row), at = target_after(table->address, row + 4), left;
		uint32_t size;

		fde = image_bytes_at(image, at, &left);
		if (!fde || left < FDE_BYTES || target_after(at + 8, fde + 8) != begin)
			continue;
		memcpy(&size, fde + 12, sizeof(size));
		piece_add(image, begin, size, out);
	}
}

/* Orders pieces by start. The longest of several pieces with the same start comes first. */
ORDER_BY(compare_pieces, struct piece, BY_ASC(begin) BY_DESC(end))

/* Keeps one piece per start, and ends it at the next start at the latest. A piece of size 0, which means unknown, ends there. */
static void pieces_separate(const struct image *image, struct pieces *pieces)
{
	size_t n = 0;

	qsort(pieces->items, pieces->n, sizeof(*pieces->items), compare_pieces);
	for (size_t i = 0; i < pieces->n; i++)
		if (n == 0 || pieces->items[n - 1].begin != pieces->items[i].begin)
			pieces->items[n++] = pieces->items[i];
	pieces->n = n;
	for (size_t i = 0; i < n; i++) {
		struct piece *piece = &pieces->items[i];
		const struct image_section *section = image_find_section(image, piece->begin);
		uint64_t limit = section->address + section->size;

		if (i + 1 < n && pieces->items[i + 1].begin < limit)
			limit = pieces->items[i + 1].begin;
		if (piece->end == piece->begin || piece->end > limit)
			piece->end = limit;
	}
}

size_t pieces_find_index(const struct pieces *pieces, uint64_t address)
{
	size_t i = map_find_last(pieces->items, pieces->n, sizeof(*pieces->items), address);

	return i != SIZE_MAX && address < pieces->items[i].end ? i : SIZE_MAX;
}

/* ---- uses of pieces ---- */

/* Returns the target of an instruction at bytes[n] that is relative to its own address: a call, jump or address. 0 if there is none. */
static uint64_t decode_target(const struct image *image, const uint8_t *bytes, uint64_t n, uint64_t address)
{
	if (image->machine != EM_X86_64)
		return 0;
	if (n >= 5 && (bytes[0] == 0xe8 || bytes[0] == 0xe9))
		return target_after(address + 5, bytes + 1);
	if (n >= 6 && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80)
		return target_after(address + 6, bytes + 2);
	if (n >= 7 && (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x05)
		return target_after(address + 7, bytes + 3);
	return 0;
}

/* Returns the piece that starts at the address; SIZE_MAX if none does. */
static size_t find_piece_start(const struct pieces *pieces, uint64_t address)
{
	size_t i = address ? pieces_find_index(pieces, address) : SIZE_MAX;

	return i != SIZE_MAX && pieces->items[i].begin == address ? i : SIZE_MAX;
}

/* Finds variants. An IFUNC takes the addresses of all variants and selects one of them for the CPU. */
static void find_variants(const struct image *image, struct pieces *pieces)
{
	for (size_t i = 0; i < image->n_symbols; i++) {
		const struct image_symbol *symbol = &image->symbols[i];
		uint64_t n = 0;
		const uint8_t *bytes = symbol->is_ifunc ? image_bytes_at(image, symbol->address, &n) : NULL;

		n = n < symbol->size ? n : symbol->size;
		for (uint64_t k = 0; bytes && k < n; k++) {
			uint64_t target =
			    bytes[k] == 0xe8 || bytes[k] == 0xe9 ? 0 : decode_target(image, bytes + k, n - k, symbol->address + k);
			size_t piece = find_piece_start(pieces, target);

			if (piece != SIZE_MAX && !pieces->items[piece].ifunc_name)
				pieces->items[piece].ifunc_name = symbol->name;
		}
	}
}

static void find_names(const struct image *image, struct pieces *pieces)
{
	for (size_t i = 0; i < image->n_symbols; i++) {
		size_t at = image->symbols[i].kind == IMAGE_CODE ? find_piece_start(pieces, image->symbols[i].address) : SIZE_MAX;
		struct piece *piece = at == SIZE_MAX ? NULL : &pieces->items[at];

		if (piece && piece->n_symbols == 0)
			piece->first_symbol = i;
		if (piece)
			piece->n_symbols = i + 1 - piece->first_symbol;
	}
}

void pieces_find(const struct image *image, struct pieces *out)
{
	uint32_t n;
	const struct image_section *table = find_unwind_table(image, &n);

	*out = (struct pieces){ .items = mem_new(image->n_symbols + n, sizeof(*out->items)) };
	add_unwound(image, table, n, out);
	for (size_t i = 0; i < image->n_symbols; i++)
		if (image->symbols[i].kind == IMAGE_CODE)
			piece_add(image, image->symbols[i].address, image->symbols[i].size, out);
	pieces_separate(image, out);
	find_names(image, out);
	find_variants(image, out);
}

size_t pieces_find_uses(const struct image *image, const struct pieces *pieces, struct piece_use **out)
{
	size_t n = 0, capacity = 0;

	*out = NULL;
	for (size_t from = 0; from < pieces->n; from++) {
		const struct piece *piece = &pieces->items[from];
		uint64_t left = 0;
		const uint8_t *bytes = image_bytes_at(image, piece->begin, &left);

		left = left < piece->end - piece->begin ? left : piece->end - piece->begin;
		for (uint64_t k = 0; bytes && k < left; k++) {
			size_t to = find_piece_start(pieces, decode_target(image, bytes + k, left - k, piece->begin + k));

			if (to == SIZE_MAX || to == from || pieces->items[to].n_symbols || pieces->items[to].ifunc_name)
				continue;
			mem_append(*out, n, &capacity, (struct piece_use){ to, from });
		}
	}
	return n;
}

void pieces_release(struct pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct pieces){ .items = NULL };
}
