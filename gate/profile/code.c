#include "gate/profile/code.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/pieces.h"

#include <Zydis/Zydis.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#define FILES_MAX 512 /* that are open at once */
#define ROUNDS	  20  /* of handing classes down from callers */
#define MOST(n)	  ((n) / 2 + 1)
#define UNKNOWN	  CODE_CLASSES /* of a piece without a name, for now */

struct file {
	char *path;
	struct stat info;
	bool known; /* it can be read, and is what was mapped */
	struct image image;
	struct pieces pieces;
	uint8_t *classes; /* [pieces.n], of code_class, or UNKNOWN; NULL until somebody asks for one that has no name */
};

struct code {
	struct file *files[FILES_MAX];
	size_t n;
	int64_t began_s; /* real time */
};

struct code *code_new(void)
{
	struct code *code = mem_new(1, sizeof(*code));

	code->began_s = (int64_t)time(NULL);
	return code;
}

static void file_free(struct file *file)
{
	pieces_release(&file->pieces);
	image_release(&file->image);
	mem_free(file->classes, file->path, file);
}

void code_free(struct code *code)
{
	for (size_t i = 0; code && i < code->n; i++)
		file_free(code->files[i]);
	free(code);
}

/* ---- files ---- */

/* An overlay's files have other numbers than those that are mapped: there, one that has not changed is taken for the same. */
static bool is_same(const struct code *code, const char *path, uint64_t inode, struct stat *info)
{
	struct statfs mounted;

	if (stat(path, info) || !S_ISREG(info->st_mode))
		return false;
	return info->st_ino == inode ||
	       (!statfs(path, &mounted) && mounted.f_type == OVERLAYFS_SUPER_MAGIC && info->st_ctim.tv_sec < code->began_s);
}

static struct file *file_open(const char *path, const struct stat *info)
{
	struct file *file = mem_new(1, sizeof(*file));
	struct assay_error err;

	file->path = mem_string(path);
	file->info = *info;
	file->known = !image_open(path, IMAGE_NAMELESS, &file->image, &err);
	if (file->known)
		pieces_of(&file->image, &file->pieces);
	return file;
}

/* NULL: the file is not there any more, or is another one. */
static struct file *file_of(struct code *code, const char *path, uint64_t inode)
{
	struct stat info;

	if (!is_same(code, path, inode, &info))
		return NULL;
	for (size_t i = 0; i < code->n; i++) {
		const struct stat *then = &code->files[i]->info;

		if (strcmp(code->files[i]->path, path) == 0 && then->st_ino == info.st_ino && then->st_size == info.st_size &&
		    then->st_ctim.tv_sec == info.st_ctim.tv_sec && then->st_ctim.tv_nsec == info.st_ctim.tv_nsec)
			return code->files[i];
	}
	if (code->n == FILES_MAX)
		file_free(code->files[--code->n]);
	code->files[code->n] = file_open(path, &info);
	return code->files[code->n++];
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- pieces ---- */

/* A piece may have several names: the first that has a class, else the last, which is the one that other files see. */
static const char *piece_name(const struct file *file, const struct piece *piece, enum code_class *class)
{
	const char *name = piece->variant_of;

	*class = CODE_NONE;
	for (size_t i = piece->n_symbols; i > 0 && *class == CODE_NONE; i--) {
		const struct image_symbol *symbol = &file->image.symbols[piece->first_symbol + i - 1];

		if (symbol->kind != IMAGE_CODE || (symbol->chooses && piece->n_symbols > 1))
			continue;
		*class = code_class_of_symbol(file_name(file->path), symbol->name);
		name = *class != CODE_NONE || !name ? symbol->name : name;
	}
	if (piece->n_symbols == 0 && name)
		*class = code_class_of_symbol(file_name(file->path), name);
	return name;
}

ORDER_BY(compare_uses, struct piece_use, BY_UP(to) BY_UP(from))

/* Most of uses[n], which are of one piece, as far as their class is known; UNKNOWN: of none it is. */
static uint8_t class_of_uses(const uint8_t *classes, const struct piece_use *uses, size_t n)
{
	size_t counts[CODE_CLASSES] = { 0 }, all = 0;

	for (size_t i = 0; i < n; i++) {
		if (classes[uses[i].from] == UNKNOWN)
			continue;
		counts[classes[uses[i].from]]++;
		all++;
	}
	for (uint8_t class = 0; class < CODE_CLASSES; class ++)
		if (all > 0 && counts[class] >= MOST(all))
			return class;
	return all > 0 ? CODE_NONE : UNKNOWN;
}

/* What has no name is of the class of nearly all that use it: the inner functions of an allocator are called by malloc() and free(). */
static void file_classify(struct file *file)
{
	const struct pieces *pieces = &file->pieces;
	struct piece_use *uses;
	size_t n = pieces_uses(&file->image, pieces, &uses);
	bool changed = true;

	file->classes = mem_new(pieces->n, sizeof(*file->classes));
	for (size_t i = 0; i < pieces->n; i++) {
		enum code_class class;

		file->classes[i] = piece_name(file, &pieces->items[i], &class) ? (uint8_t) class : UNKNOWN;
	}
	order_sort(uses, n, compare_uses);
	for (int round = 0; changed && round < ROUNDS; round++) {
		changed = false;
		for (size_t i = 0, end; i < n; i = end) {
			uint8_t class;

			for (end = i; end < n && uses[end].to == uses[i].to; end++)
				;
			class = class_of_uses(file->classes, uses + i, end - i);
			changed |= file->classes[uses[i].to] != class;
			file->classes[uses[i].to] = class;
		}
	}
	free(uses);
}

static void name_show(const char *symbol, char out[CODE_NAME_BYTES])
{
	char *stem = mem_bytes(symbol, strcspn(symbol, ".@")), *name = demangle(stem), shown[TEXT_SHOWN_BYTES];

	snprintf(out, CODE_NAME_BYTES, "%s", text_shown(name, shown));
	mem_free(name, stem);
}

/* "syscall", or the older "int 0x80"; "svc". */
static bool is_call_before(const struct image *image, uint64_t address)
{
	uint64_t n, size = image->machine == EM_X86_64 ? 2 : 4;
	const uint8_t *bytes = address > size ? image_at(image, address - size, &n) : NULL;

	if (image->machine != EM_X86_64)
		return bytes && n > size && memcmp(bytes, "\x01\x00\x00\xd4", 4) == 0;
	return bytes && n > 2 && (memcmp(bytes, "\x0f\x05", 2) == 0 || memcmp(bytes, "\xcd\x80", 2) == 0);
}

/* Of A64: not b, bl, br, blr, ret or eret. */
static bool goes_on(const uint8_t *bytes)
{
	uint32_t word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;

	return (word & 0x7c000000) != 0x14000000 && (word & 0xfe000000) != 0xd6000000;
}

/* Whether the instruction at `from` is as long as `length`, and goes on behind itself. */
static bool is_passed(const struct image *image, uint64_t from, uint64_t length)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction one;
	uint64_t n;
	const uint8_t *bytes = image_at(image, from, &n);

	if (image->machine != EM_X86_64)
		return bytes && n >= 4 && length == 4 && goes_on(bytes);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return bytes && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &one)) && one.length == length &&
	       one.meta.category != ZYDIS_CATEGORY_RET && one.meta.category != ZYDIS_CATEGORY_CALL &&
	       one.meta.category != ZYDIS_CATEGORY_UNCOND_BR;
}

/* The clock, which waited while the kernel let nothing interrupt it, meets the first instruction behind the call, or, where the return to
 * the program finishes that one first, the second. */
static bool is_behind_call(const struct image *image, uint64_t address)
{
	if (is_call_before(image, address))
		return true;
	for (uint64_t length = 1; length <= ZYDIS_MAX_INSTRUCTION_LENGTH && length < address; length++)
		if (is_call_before(image, address - length) && is_passed(image, address - length, length))
			return true;
	return false;
}

void code_at(struct code *code, const char *path, uint64_t inode, uint64_t offset, struct code_place *out)
{
	struct file *file = file_of(code, path, inode);
	const char *name;
	uint64_t address;
	size_t at;

	*out = (struct code_place){ .class = code_class_of_file(file_name(path)) };
	if (!file || !file->known || !image_address_of(&file->image, offset, &address))
		return;
	out->behind_call = is_behind_call(&file->image, address);
	at = pieces_at(&file->pieces, address);
	if (at == SIZE_MAX)
		return;
	name = piece_name(file, &file->pieces.items[at], &out->class);
	if (name) {
		name_show(name, out->name);
	} else {
		if (!file->classes)
			file_classify(file);
		out->class = file->classes[at] == UNKNOWN ? CODE_NONE : (enum code_class)file->classes[at];
		out->nameless = true;
		out->by_callers = out->class != CODE_NONE;
		snprintf(out->name, sizeof(out->name), "%s+0x%llx", TEXT_SHOWN(file_name(path)),
			 (unsigned long long)file->pieces.items[at].begin);
	}
	if (out->class == CODE_NONE)
		out->class = code_class_of_file(file_name(path));
}
