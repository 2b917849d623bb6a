/* Reads ELF files with debug information by libelf and libdw. Checks that a build equals itself, that function bodies are in machine code,
 * and that errors name the file. */
#include "base/mem.h"
#include "runs/inside/changes/changes.h"
#include "runs/inside/changes/pieces.h"

#include <sys/mman.h>
#include <unistd.h>

#define BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bodies(const struct build *build)
{
	const struct functions *f = &build->functions;

	for (size_t i = 0; i < f->n_bodies; i++) {
		const struct body *body = &f->bodies[i];

		ASSAY_BUG_IF(body->function >= f->n || !body->n_ranges);
		for (size_t j = 0; j < body->n_ranges; j++) {
			const struct range *range = &f->ranges[body->first_range + j];
			const struct image_section *section = image_find_section(&build->image, range->low);

			ASSAY_BUG_IF(!section || !image_is_code(section) || range->high <= range->low);
			ASSAY_BUG_IF(range->high - section->address > section->size);
			ASSAY_BUG_IF(j && range->low <= range[-1].high);
		}
	}
	for (size_t i = 0; i < f->n_inlines; i++)
		ASSAY_BUG_IF(f->inlines[i].function >= f->n || f->inlines[i].body >= f->n_bodies);
	for (size_t i = 0; i < f->n_calls; i++)
		ASSAY_BUG_IF(f->calls[i].callee >= f->n || f->calls[i].body >= f->n_bodies);
}

/* Checks that the pieces of a file, with or without functions, are in its code and do not overlap. */
static void check_pieces(const char *path)
{
	struct image image;
	struct pieces pieces;
	struct piece_use *uses;
	struct assay_error err;
	uint64_t address;
	size_t n;

	if (image_open(path, IMAGE_NO_SYMBOLS, &image, &err))
		return;
	image_find_address(&image, 64, &address);
	pieces_find(&image, &pieces);
	for (size_t i = 0; i < pieces.n; i++) {
		const struct piece *piece = &pieces.items[i];

		ASSAY_BUG_IF(piece->end <= piece->begin || (i && piece->begin < piece[-1].end));
		ASSAY_BUG_IF(piece->first_symbol + piece->n_symbols > image.n_symbols || pieces_find_index(&pieces, piece->begin) != i);
	}
	n = pieces_find_uses(&image, &pieces, &uses);
	for (size_t i = 0; i < n; i++)
		ASSAY_BUG_IF(uses[i].to >= pieces.n || uses[i].from >= pieces.n || uses[i].to == uses[i].from);
	free(uses);
	pieces_release(&pieces);
	image_release(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct changes_options options = { .wrapper = CHANGES_WRAPPER_MAX };
	struct build old, new;
	struct changes changes;
	const struct doc_style style = { .columns = 80 };
	struct buf out = BUF_INIT;
	struct document d;
	struct assay_error err = { .text = "" };
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	ASSAY_BUG_IF(file < 0);
	if (size > BYTES_MAX || write(file, data, size) != (ssize_t)size) {
		close(file);
		return 0;
	}
	(void)image_architecture(data, size); /* accepts any bytes */
	check_pieces(path);
	if (build_open(path, IMAGE_EXPORTED, &old, &err)) {
		ASSAY_BUG_IF(!strstr(err.text, path));
	} else {
		ASSAY_BUG_IF(build_open(path, IMAGE_EXPORTED, &new, &err));
		ASSAY_BUG_IF(strcmp(image_architecture(data, size), "x86_64") != 0);
		check_bodies(&old);
		functions_set_last_lines(&old.image, &old.functions);
		for (size_t i = 0; i < old.functions.n; i++)
			ASSAY_BUG_IF(old.functions.items[i].last_line < old.functions.items[i].line);
		ASSAY_BUG_IF(changes_find(&old, &new, &options, &changes, &err));
		document_init(&d);
		changes_describe(&changes, true, &d);
		document_human(&d, &style, &out);
		document_release(&d);
		if (changes.n)
			fprintf(stderr, "%s\n", out.bytes);
		ASSAY_BUG_IF(changes.n);
		changes_release(&changes);
	}
	buf_release(&out);
	close(file);
	return 0;
}
