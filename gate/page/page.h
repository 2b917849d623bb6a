/* The frame of every page that assay writes: head, styles, script, and the policy that allows nothing but these two. A page is
 * one file that loads nothing, and the same data give the same bytes. */
#ifndef GATE_PAGE_PAGE_H
#define GATE_PAGE_PAGE_H

#include "base/buf.h"
#include "fingerprint/battery/stressor.h"

#include <stddef.h>

struct page_link {
	const char *id, *text;
};

/* Texts are escaped; all borrowed. */
struct page {
	const char *title;
	const char *class;	       /* of the body */
	const char *kind;	       /* "report": what stands beside the name of the program */
	const char *lab;	       /* name of the laboratory, or NULL */
	const char *skip;	       /* "Skip to the decision" */
	const struct page_link *links; /* [n_links], to sections */
	size_t n_links;
};

/* Everything up to the first section, and everything behind the last one. */
void page_begin(const struct page *page, struct buf *out);
void page_end(struct buf *out);

/* A heading that can be linked to, and the paragraph under it (or NULL). The caller closes it: "</section>\n". */
void page_section(struct buf *out, const char *id, const char *heading, const char *lead);

/* Where the page comes from, at the end of the last section. */
void page_footer(struct buf *out);

/* The name of a category with a patch of its colour. */
void page_category(enum category category, struct buf *out);

#endif
