/* Renders documents as HTML: one file that loads nothing, safe by construction. The same data give the same bytes. */
#ifndef GATE_PAGE_DOCUMENT_HTML_H
#define GATE_PAGE_DOCUMENT_HTML_H

#include "base/document.h"

/* A link to another file of the same folder. */
struct html_link {
	const char *file, *text;
};

/* Description of a page. Its texts will be escaped; all are borrowed. */
struct html_page {
	const char *title;
	const char *kind;	       /* text beside the name of the program: "report" */
	const char *lab;	       /* name of the laboratory, or NULL */
	const char *class;	       /* class of the body, or NULL */
	const char *first;	       /* id of the first section, before all headings: "decision" */
	const char *about;	       /* name of the first section: "Decision" */
	const struct html_link *above; /* pages that lead here, up to one without file; or NULL */
};

/* Appends the page. */
void html_page(const struct html_page *page, const struct document *d, struct buf *out);

/* Renders the answer of the current command. */
doc_renderer document_html;

#endif
