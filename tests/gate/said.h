/* Renders the answer of an analysis as text. */
#ifndef TESTS_SAID_H
#define TESTS_SAID_H

#include "gate/variance/answer.h"

/* Returns the answer as human-readable text. The caller frees it. */
static inline char *said(const struct variance *v)
{
	struct document d;
	struct buf text = BUF_INIT;

	document_init(&d);
	variance_describe(v, &d);
	document_human(&d, &(struct doc_style){ .columns = 400 }, &text);
	document_release(&d);
	return buf_take(&text);
}

#endif
