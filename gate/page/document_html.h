/* Documents as HTML: one file that loads nothing, safe by construction, and the same data give the same bytes. */
#ifndef GATE_PAGE_DOCUMENT_HTML_H
#define GATE_PAGE_DOCUMENT_HTML_H

#include "base/document.h"

/* To another file of the same folder. */
struct html_link {
	const char *file, *text;
};

/* Texts are escaped; all borrowed. */
struct html_page {
	const char *title;
	const char *kind;	       /* what stands beside the name of the program: "report" */
	const char *lab;	       /* name of the laboratory, or NULL */
	const char *class;	       /* of the body, or NULL */
	const char *first;	       /* id of the first section, which is what comes before all headings: "decision" */
	const char *about;	       /* what it is called: "Decision" */
	const struct html_link *above; /* pages that lead here, up to one without file; or NULL */
};

/* Appends the page. */
void html_page(const struct html_page *page, const struct document *d, struct buf *out);

/* The answer of the command at work. */
doc_renderer document_html;

#endif
