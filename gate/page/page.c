#include "gate/page/page.h"

#include "base/digest.h"
#include "base/embed.h"
#include "gate/page/html.h"

EMBED_FILE(page_style, ASSAY_SOURCE_DIRECTORY "/gate/page/style.css");
EMBED_FILE(page_script, ASSAY_SOURCE_DIRECTORY "/gate/page/script.js");

static void head(const struct page *page, struct buf *out)
{
	size_t style = (size_t)(page_style_end - page_style), script = (size_t)(page_script_end - page_script);
	char style_hash[DIGEST_BASE64_BYTES], script_hash[DIGEST_BASE64_BYTES];

	digest_sha256_base64(page_style, style, style_hash);
	digest_sha256_base64(page_script, script, script_hash);
	html_format(
	    out,
	    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; script-src "
	    "'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
	    "<meta name=\"generator\" content=\"assay %s\">\n<title>%s</title>\n",
	    style_hash, script_hash, ASSAY_VERSION, page->title);
	buf_text(out, "<style>");
	buf_add(out, page_style, style);
	buf_text(out, "</style>\n</head>\n");
}

static void masthead(const struct page *page, struct buf *out)
{
	html_format(out, "<header class=\"top\"><p class=\"brand\"><b>assay</b> %s", page->kind);
	if (page->lab)
		html_format(out, " <span class=\"lab\"><bdi>%s</bdi></span>", page->lab);
	buf_text(out, "</p><nav aria-label=\"Sections\"><ul>");
	for (size_t i = 0; i < page->n_links; i++)
		html_format(out, "<li><a href=\"#%s\">%s</a></li>", page->links[i].id, page->links[i].text);
	buf_text(out, "</ul></nav>\n</header>\n");
}

void page_begin(const struct page *page, struct buf *out)
{
	head(page, out);
	html_format(out, "<body class=\"%s\">\n<a class=\"skip\" href=\"#main\">%s</a>\n", page->class, page->skip);
	masthead(page, out);
	buf_text(out, "<main id=\"main\">\n");
}

void page_end(struct buf *out)
{
	buf_text(out, "</main>\n<script>");
	buf_add(out, page_script, (size_t)(page_script_end - page_script));
	buf_text(out, "</script>\n</body>\n</html>\n");
}

void page_section(struct buf *out, const char *id, const char *heading, const char *lead)
{
	html_format(out, "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>", id, id, id, heading);
	if (lead)
		html_format(out, "<p class=\"lead\">%s</p>", lead);
}

void page_category(enum category category, struct buf *out)
{
	html_format(out, "<span class=\"cat c-%s\">%s</span>", category_name(category), category_name(category));
}

void page_footer(struct buf *out)
{
	html_format(out,
		    "<footer><p class=\"muted\">Made by assay %s. This page needs no network, and loads nothing.</p></footer>",
		    ASSAY_VERSION);
}
