/* Shared by image*.c. */
#ifndef RUNS_CHANGES_IMAGE_INTERNAL_H
#define RUNS_CHANGES_IMAGE_INTERNAL_H

#include "runs/inside/changes/image.h"

/* Checks the headers of image->bytes and fills in the sections. `debug`: of a file that has debug information alone. */
enum assay_status image_headers(struct image *image, bool debug, struct assay_error *err);

/* Symbols from `from` (image itself, or its debug file), relocations; sections must be there. */
enum assay_status image_symbols(struct image *image, const struct image *from, struct assay_error *err);
enum assay_status image_relocations(struct image *image, struct assay_error *err);

const struct image_section *image_section_named(const struct image *image, const char *name);

/* text[0..n) as a text that ends inside, or NULL. */
const char *image_text(const struct image_section *strings, uint64_t at);

#endif
