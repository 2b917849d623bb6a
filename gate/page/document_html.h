/* Renders documents as HTML: one file that loads nothing and escapes all text. The same data give the same bytes. */
#ifndef GATE_PAGE_DOCUMENT_HTML_H
#define GATE_PAGE_DOCUMENT_HTML_H

#include "base/document.h"

/* A link to another file in the same directory. */
struct html_link {
	const char *file, *text;
};

/* Description of a page. The caller owns all texts; html_page() escapes them. */
struct html_page {
	const char *title;
	const char *kind;	       /* page type, shown after the program's name: "report" */
	const char *lab;	       /* name of the laboratory; NULL: none */
	const char *class;	       /* class of the body element; NULL: none */
	const char *first;	       /* id of the first section, which has no heading: "decision" */
	const char *about;	       /* accessible name of the first section: "Decision" */
	const struct html_link *above; /* links at the top of the page, up to one with file NULL; NULL: none */
};

/* Appends the whole page. */
void html_page(const struct html_page *page, const struct document *d, struct buf *out);

/* Renders the answer of the current command as a page. */
doc_renderer document_html;

#endif
