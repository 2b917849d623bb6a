/* Renders documents as HTML. A page is one file that loads nothing; all inserted text is escaped. The same data give the same bytes. */
#ifndef GATE_PAGE_DOCUMENT_HTML_H
#define GATE_PAGE_DOCUMENT_HTML_H

#include "base/document.h"

/* A link to another file in the same directory. */
struct html_link {
	const char *file, *text;
};

/* The description of a page. The caller owns the strings; html_page() escapes them. */
struct html_page {
	const char *title;
	const char *kind;		   /* type of the page, shown after the program's name: "report" */
	const char *lab;		   /* name of the laboratory; NULL to show none */
	const char *class;		   /* class of the body element; NULL for none */
	const char *first;		   /* id of the first section, which has no heading: "decision" */
	const char *about;		   /* accessible name of the first section: "Decision" */
	const struct html_link *top_links; /* links at the top of the page, ended by a link with file NULL; NULL for none */
};

/* Appends the complete page to *out. */
void html_page(const struct html_page *page, const struct document *d, struct buf *out);

/* Renders the document of the current command as a page. */
doc_renderer document_html;

#endif
