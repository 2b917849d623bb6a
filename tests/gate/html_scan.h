/* A strict reader of the HTML that the report writes. Every tag must be known and closed, every attribute known and quoted. Text must not
 * contain a bare '<', '>' or '&'. Errors that a browser would forgive make the scan fail. */
#ifndef TESTS_HTML_SCAN_H
#define TESTS_HTML_SCAN_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#define HTML_SCAN_DEPTH 64

struct html_scan {
	const char *at;
	const char *open[HTML_SCAN_DEPTH]; /* starts of the names of the open elements */
	size_t open_bytes[HTML_SCAN_DEPTH], depth;
	size_t elements, scripts, styles, headings;
	struct buf text; /* all text with entities resolved, without scripts and styles */
	char *error;	 /* first error; NULL if there is none */
};

static inline bool html_scan_fail(struct html_scan *s, const char *what)
{
	if (!s->error)
		s->error = mem_format("%s at '%.60s'", what, s->at);
	return false;
}

static inline bool html_scan_known(const char *const *names, const char *name, size_t n)
{
	for (; *names; names++) {
		if (strlen(*names) == n && strncmp(*names, name, n) == 0)
			return true;
	}
	return false;
}

static const char *const html_scan_tags[] = {
	"html",	      "head", "meta", "title",	 "style",   "script", "body", "header", "nav",	"main",	 "section", "footer", "figure",
	"figcaption", "div",  "p",    "h1",	 "h2",	    "h3",     "a",    "b",	"i",	"ul",	 "ol",	    "li",     "dl",
	"dt",	      "dd",   "span", "bdi",	 "wbr",	    "abbr",   "time", "code",	"pre",	"table", "caption", "thead",  "tbody",
	"tr",	      "th",   "td",   "details", "summary", "svg",    "g",    "path",	"rect", "line",	 "circle",  "text",   NULL
};
static const char *const html_scan_void[] = { "meta", "wbr", NULL };
static const char *const html_scan_attributes[] = { "lang",	   "charset",
						    "http-equiv",  "content",
						    "name",	   "class",
						    "id",	   "href",
						    "aria-label",  "aria-labelledby",
						    "aria-hidden", "aria-live",
						    "role",	   "scope",
						    "title",	   "tabindex",
						    "datetime",	   "data-decision",
						    "data-code",   "data-r",
						    "data-v",	   "width",
						    "height",	   "viewBox",
						    "d",	   "x",
						    "y",	   "x1",
						    "x2",	   "y1",
						    "y2",	   "cx",
						    "cy",	   "r",
						    "rx",	   "dx",
						    "dy",	   "data-says",
						    NULL };

static inline size_t html_scan_word(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '-')
		n++;
	return n;
}

/* Reads one character of text or of an attribute value into `out`. */
static inline bool html_scan_char(struct html_scan *s, struct buf *out)
{
	static const struct {
		const char *entity, *text;
	} rows[] = { { "&amp;", "&" },	     { "&lt;", "<" },	      { "&gt;", ">" },		{ "&quot;", "\"" },
		     { "&#39;", "'" },	     { "&rarr;", "\u2192" },  { "&middot;", "\u00b7" }, { "&rsquo;", "\u2019" },
		     { "&nbsp;", "\u00a0" }, { "&minus;", "\u2212" }, { "&ndash;", "\u2013" } };

	if (*s->at != '&') {
		buf_char(out, *s->at++);
		return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(s->at, rows[i].entity, strlen(rows[i].entity)) == 0) {
			buf_text(out, rows[i].text);
			s->at += strlen(rows[i].entity);
			return true;
		}
	}
	return html_scan_fail(s, "a bare '&'");
}

static inline bool html_scan_attribute(struct html_scan *s)
{
	size_t n = html_scan_word(s->at);
	struct buf value = BUF_INIT;
	bool link, ok = true;

	if (!n || !html_scan_known(html_scan_attributes, s->at, n))
		return html_scan_fail(s, "an attribute that is not expected");
	link = n == 4 && strncmp(s->at, "href", 4) == 0;
	s->at += n;
	if (strncmp(s->at, "=\"", 2) != 0)
		return html_scan_fail(s, "an attribute without a quoted value");
	for (s->at += 2; ok && *s->at && *s->at != '"';)
		ok = (*s->at != '<' && *s->at != '>' && *s->at != '\n') ? html_scan_char(s, &value)
									: html_scan_fail(s, "markup in an attribute");
	if (ok && *s->at != '"')
		ok = html_scan_fail(s, "an attribute without end");
	s->at += ok;
	if (ok && link && (!value.size || value.bytes[0] != '#'))
		ok = html_scan_fail(s, "a link out of the page");
	buf_release(&value);
	return ok;
}

static inline bool html_scan_close(struct html_scan *s)
{
	size_t n = html_scan_word(s->at += 2);

	if (!s->depth || s->open_bytes[s->depth - 1] != n || strncmp(s->open[s->depth - 1], s->at, n) != 0 || s->at[n] != '>')
		return html_scan_fail(s, "an end without its beginning");
	s->depth--;
	s->at += n + 1;
	return true;
}

/* Skips a script or a style: it contains no text and ends at the first "</". */
static inline bool html_scan_raw(struct html_scan *s)
{
	const char *end = strstr(s->at, "</");

	if (!end)
		return html_scan_fail(s, "a script or style without end");
	s->at = end;
	return html_scan_close(s);
}

static inline bool html_scan_open(struct html_scan *s)
{
	size_t n = html_scan_word(++s->at);
	const char *name = s->at;
	bool closed = false;

	if (!html_scan_known(html_scan_tags, name, n))
		return html_scan_fail(s, "an element that is not expected");
	s->at += n;
	while (*s->at == ' ') {
		s->at++;
		if (!html_scan_attribute(s))
			return false;
	}
	if (*s->at == '/') {
		closed = true;
		s->at++;
	}
	if (*s->at != '>')
		return html_scan_fail(s, "a tag without end");
	s->at++;
	s->elements++;
	s->headings += n == 2 && name[0] == 'h' && isdigit((unsigned char)name[1]);
	if (closed || html_scan_known(html_scan_void, name, n))
		return true;
	if (s->depth == HTML_SCAN_DEPTH)
		return html_scan_fail(s, "too deep");
	s->open[s->depth] = name;
	s->open_bytes[s->depth++] = n;
	if (n == 6 && strncmp(name, "script", n) == 0)
		s->scripts++;
	else if (n == 5 && strncmp(name, "style", n) == 0)
		s->styles++;
	else
		return true;
	return html_scan_raw(s);
}

/* Scans a page. The result's `error` is NULL if the page is well-formed. The caller releases the result with html_scan_release(). */
static inline struct html_scan html_scan_page(const char *page)
{
	static const char doctype[] = "<!DOCTYPE html>";
	struct html_scan s = { .at = page, .text = BUF_INIT };
	bool ok = strncmp(page, doctype, strlen(doctype)) == 0 || html_scan_fail(&s, "no doctype");

	s.at += ok ? strlen(doctype) : 0;
	while (ok && *s.at) {
		if (*s.at == '>')
			ok = html_scan_fail(&s, "a bare '>'");
		else if (*s.at != '<')
			ok = html_scan_char(&s, &s.text);
		else
			ok = s.at[1] == '/' ? html_scan_close(&s) : html_scan_open(&s);
	}
	if (ok && s.depth)
		html_scan_fail(&s, "elements that are not closed");
	return s;
}

static inline void html_scan_release(struct html_scan *s)
{
	buf_release(&s->text);
	free(s->error);
}

#endif
