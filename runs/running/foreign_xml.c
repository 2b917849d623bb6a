#include "base/buf.h"
#include "runs/running/foreign_reader.h"

#include <expat.h>

#define DEPTH_MAX 32
#define NODES_MAX 10000000 /* maximum number of elements and attributes of a file */

struct parse {
	XML_Parser parser;
	cJSON *open[DEPTH_MAX]; /* [depth], open elements; deeper ones are ignored */
	size_t depth, nodes;
	struct buf text; /* text of the innermost open element, since its last child */
};

static void element_open(void *of, const XML_Char *name, const XML_Char **attributes)
{
	struct parse *p = of;
	cJSON *element;

	buf_clear(&p->text);
	if (p->depth++ >= DEPTH_MAX)
		return;
	element = p->open[p->depth - 1] = cJSON_CreateObject();
	ASSAY_BUG_IF(!element);
	element->valueint = (int)XML_GetCurrentLineNumber(p->parser);
	if (p->depth == 1)
		element->string = mem_string(name);
	else
		cJSON_AddItemToObject(p->open[p->depth - 2], name, element);
	for (; *attributes; attributes += 2) {
		char *key = mem_format("@%s", attributes[0]);

		cJSON_AddStringToObject(element, key, attributes[1]);
		free(key);
		p->nodes++;
	}
	if (p->nodes++ > NODES_MAX)
		XML_StopParser(p->parser, XML_FALSE);
}

static void element_text(void *of, const XML_Char *bytes, int n)
{
	struct parse *p = of;

	buf_add(&p->text, bytes, (size_t)n);
}

static void element_close(void *of, const XML_Char *name)
{
	struct parse *p = of;

	(void)name;
	if (p->depth-- <= DEPTH_MAX)
		p->open[p->depth]->valuestring = buf_take(&p->text);
	buf_clear(&p->text);
}

enum assay_status foreign_xml_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err)
{
	struct parse p = { .parser = XML_ParserCreate(NULL) };
	enum assay_status st = ASSAY_OK;

	ASSAY_BUG_IF(!p.parser || n > INT32_MAX);
	XML_SetUserData(p.parser, &p);
	XML_SetElementHandler(p.parser, element_open, element_close);
	XML_SetCharacterDataHandler(p.parser, element_text);
	if (XML_Parse(p.parser, text, (int)n, 1) == XML_STATUS_ERROR)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%lu: %s", name, XML_GetCurrentLineNumber(p.parser),
				p.nodes > NODES_MAX ? "more elements than can be read: divide the file"
						    : XML_ErrorString(XML_GetErrorCode(p.parser)));
	*out = p.open[0];
	buf_release(&p.text);
	XML_ParserFree(p.parser);
	return st;
}

const char *foreign_xml_text(const cJSON *element, const char *name)
{
	const cJSON *child = json_get(element, name);

	return child && child->valuestring ? child->valuestring : "";
}
