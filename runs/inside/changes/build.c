#include "runs/inside/changes/build.h"

#include "base/mem.h"

#include <Zydis/Zydis.h>

#define ALIGN_NOP "\x66\x90" /* "xchg %ax,%ax", which does nothing */

/* ---- references of an instruction ---- */

static void add_reference(struct instruction *to, enum code_reference_kind kind, uint64_t target, uint16_t width, uint8_t at, uint8_t bits)
{
	if (to->n_references < CODE_REFERENCES_MAX)
		to->references[to->n_references++] = (struct code_reference){ target, kind, width, at, (uint8_t)(bits / 8) };
}

/* Returns the size of the memory operand, bytes; 0 if the instruction only computes its address. */
static uint16_t memory_width(const ZydisDecoder *decoder, const ZydisDecoderContext *context, const ZydisDecodedInstruction *decoded)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	bool known = ZYAN_SUCCESS(ZydisDecoderDecodeOperands(decoder, context, decoded, operands, decoded->operand_count));

	for (size_t i = 0; known && i < decoded->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return operands[i].size / 8;
	return 0;
}

static bool is_relative_to_pc(const ZydisDecodedInstruction *decoded)
{
	return decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM && decoded->raw.modrm.mod == 0 && decoded->raw.modrm.rm == 5;
}

/* Reports whether the memory operand is a number without base and index, such as fs:[number]. */
static bool is_absolute(const ZydisDecodedInstruction *decoded)
{
	return decoded->attributes & ZYDIS_ATTRIB_HAS_SIB && decoded->raw.modrm.mod == 0 && decoded->raw.sib.base == 5 &&
	       decoded->raw.sib.index == 4;
}

/* Reports whether a number may be an address, which is possible only in programs with fixed addresses. */
static bool may_be_address(const struct image *image, int64_t value)
{
	return image->fixed && value > 0 && image_find_section(image, (uint64_t)value);
}

static void add_memory_reference(const struct image *image, const ZydisDecoder *decoder, const ZydisDecoderContext *context,
				 const ZydisDecodedInstruction *decoded, struct instruction *to)
{
	int64_t displacement = decoded->raw.disp.value, thread = (int64_t)image->thread_bytes + displacement;
	uint8_t at = decoded->raw.disp.offset, bits = decoded->raw.disp.size;
	uint16_t width;

	if (bits != 32)
		return;
	if (is_relative_to_pc(decoded)) {
		width = memory_width(decoder, context, decoded);
		add_reference(to, width ? CODE_MEMORY : CODE_ADDRESS, to->address + to->length + (uint64_t)displacement, width, at, bits);
	} else if (decoded->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) {
		if (is_absolute(decoded) && displacement < 0 && thread >= 0)
			add_reference(to, CODE_THREAD, (uint64_t)thread, 0, at, bits);
	} else if (may_be_address(image, displacement)) {
		width = is_absolute(decoded) ? memory_width(decoder, context, decoded) : 0;
		add_reference(to, width ? CODE_MEMORY : CODE_ADDRESS, (uint64_t)displacement, width, at, bits);
	}
}

static void add_immediate_reference(const struct image *image, const ZydisDecodedInstruction *decoded, struct instruction *to)
{
	int64_t value = decoded->raw.imm[0].value.s;

	if (decoded->raw.imm[0].is_relative)
		add_reference(to, CODE_BRANCH, to->address + to->length + (uint64_t)value, 0, decoded->raw.imm[0].offset,
			      decoded->raw.imm[0].size);
	else if (decoded->raw.imm[0].size >= 32 && may_be_address(image, value))
		add_reference(to, CODE_ADDRESS, (uint64_t)value, 0, decoded->raw.imm[0].offset, decoded->raw.imm[0].size);
}

/* ---- instructions of a body ---- */

/* Decodes an instruction. Returns false if the instruction is padding. */
static bool decode_one(const struct image *image, const ZydisDecoder *decoder, uint64_t n, struct instruction *to)
{
	ZydisDecodedInstruction decoded;
	ZydisDecoderContext context;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, &context, to->bytes, n, &decoded)))
		return true;
	to->length = decoded.length;
	if (decoded.mnemonic == ZYDIS_MNEMONIC_NOP || (decoded.length == 2 && !memcmp(to->bytes, ALIGN_NOP, 2)))
		return false;
	to->mnemonic = (uint16_t)decoded.mnemonic;
	add_memory_reference(image, decoder, &context, &decoded, to);
	add_immediate_reference(image, &decoded, to);
	return true;
}

static void decode_range(const struct image *image, const ZydisDecoder *decoder, const struct range *range, struct code *code)
{
	uint64_t room, address = range->low;
	const uint8_t *bytes = image_bytes_at(image, range->low, &room);

	ASSAY_BUG_IF(!bytes || room < range->high - range->low); /* functions_read() has checked the range */
	while (address < range->high) {
		struct instruction one = { .address = address, .bytes = bytes + (address - range->low), .length = 1 };

		if (decode_one(image, decoder, range->high - address, &one))
			mem_append(code->items, code->n, &code->capacity, one);
		address += one.length;
	}
}

void code_decode(const struct image *image, const struct functions *f, size_t body, struct code *code)
{
	const struct body *b = &f->bodies[body];
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	code->n = 0;
	for (size_t i = 0; i < b->n_ranges; i++)
		decode_range(image, &decoder, &f->ranges[b->first_range + i], code);
	for (size_t i = 0; i < code->n; i++) {
		struct instruction *one = &code->items[i];

		if (!one->n_references || one->references[one->n_references - 1].kind != CODE_BRANCH ||
		    !functions_is_in_body(f, body, one->references[one->n_references - 1].target))
			continue;
		one->local = true;
		one->local_target = code_index(code, one->references[one->n_references - 1].target);
		one->n_references--;
	}
}

size_t build_find_callee(const struct build *build, uint64_t address)
{
	size_t body = functions_find_body(&build->functions, address);
	const char *import;

	if (body != FUNCTIONS_NONE)
		return build->functions.bodies[body].function;
	import = image_import_at(&build->image, address);
	return import ? functions_find_symbol(&build->functions, import) : FUNCTIONS_NONE;
}

/* ---- all references of a build ---- */

static void add_referred(struct build *build, uint64_t address)
{
	const struct image_section *section = image_find_section(&build->image, address);

	if (!section || image_is_code(section))
		return;
	mem_append(build->referenced_addresses, build->n_referred, &build->referenced_capacity, address);
}

static void add_call(struct build *build, size_t body, uint64_t address)
{
	struct functions *f = &build->functions;
	size_t callee = build_find_callee(build, address);

	if (callee == FUNCTIONS_NONE || callee == f->bodies[body].function)
		return;
	mem_append(f->calls, f->n_calls, &f->calls_capacity, (struct call){ body, callee });
}

static void read_references(struct build *build)
{
	struct code code = { .items = NULL };

	for (size_t i = 0; i < build->functions.n_bodies; i++) {
		code_decode(&build->image, &build->functions, i, &code);
		for (size_t j = 0; j < code.n; j++)
			for (size_t k = 0; k < code.items[j].n_references; k++) {
				const struct code_reference *reference = &code.items[j].references[k];

				if (reference->kind == CODE_BRANCH)
					add_call(build, i, reference->target);
				else if (reference->kind != CODE_THREAD)
					add_referred(build, reference->target);
			}
	}
	free(code.items);
	for (size_t i = 0; i < build->image.n_relocations; i++)
		if (!build->image.relocations[i].symbol)
			add_referred(build, (uint64_t)build->image.relocations[i].addend);
	map_sort(build->referenced_addresses, build->n_referred, sizeof(*build->referenced_addresses));
}

enum assay_status build_open(const char *path, enum image_detail least, struct build *out, struct assay_error *err)
{
	struct build build = { .referenced_addresses = NULL };
	enum assay_status st = image_open(path, least, &build.image, err);

	if (!st)
		st = image_check_decodable(&build.image, err);
	if (!st)
		st = functions_read(&build.image, &build.functions, err);
	if (!st)
		read_references(&build);
	else
		build_release(&build);
	*out = build;
	return st;
}

void build_release(struct build *build)
{
	functions_release(&build->functions);
	image_release(&build->image);
	free(build->referenced_addresses);
	*build = (struct build){ .referenced_addresses = NULL };
}
