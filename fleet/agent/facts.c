#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/facts.h"

#include <math.h>

/* Returns the name that the helper gives to a field. The names differ for `virtual`, a keyword of C++: its field is `virtual_machine`. */
static const char *helper_fact_name(const char *field)
{
	return strcmp(field, "virtual_machine") == 0 ? "virtual" : field;
}

static enum assay_status set_text(char **field, const char *name, const char *value, struct assay_error *err)
{
	if (*field)
		return assay_fail(err, ASSAY_E_FORMAT, "the host reports '%s' twice", name);
	*field = mem_string(value);
	return ASSAY_OK;
}

static enum assay_status set_number(double *field, const char *name, const char *value, double min, double max, struct assay_error *err)
{
	double number;

	if (!isnan(*field))
		return assay_fail(err, ASSAY_E_FORMAT, "the host reports '%s' twice", name);
	if (!text_parse_double(value, &number) || number < min || number > max)
		return assay_fail(err, ASSAY_E_FORMAT, "the host reports '%s' for its %s, which is impossible", TEXT_SANITIZED(value),
				  name);
	*field = number;
	return ASSAY_OK;
}

static enum assay_status set_fact(struct facts *facts, const char *name, const char *value, struct assay_error *err)
{
#define SET_TEXT(field)                                                                                                                    \
	if (strcmp(name, helper_fact_name(#field)) == 0)                                                                                   \
		return set_text(&facts->field, name, value, err);
#define SET_NUMBER(field, min, max)                                                                                                        \
	if (strcmp(name, #field) == 0)                                                                                                     \
		return set_number(&facts->field, name, value, min, max, err);
	FACTS_TEXT_ROWS(SET_TEXT)
	FACTS_NUMBER_ROWS(SET_NUMBER)
#undef SET_TEXT
#undef SET_NUMBER
	return ASSAY_OK;
}

static struct facts unknown_facts(void)
{
#define NO_NUMBER(name, min, max) .name = (double)NAN,
	return (struct facts){ FACTS_NUMBER_ROWS(NO_NUMBER) };
#undef NO_NUMBER
}

static enum assay_status parse_line(struct facts *facts, char *line, struct assay_error *err)
{
	char *value = strchr(line, ' '), shown[TEXT_SANITIZED_BYTES];

	if (!value || value == line || !value[1])
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is not a fact", text_sanitize(line, shown));
	*value++ = 0;
	return set_fact(facts, line, value, err);
}

enum assay_status facts_parse(const char *text, size_t n, struct facts *out, struct assay_error *err)
{
	struct facts facts = unknown_facts();
	enum assay_status st = ASSAY_OK;
	char *copy = NULL, *end;

	*out = unknown_facts();
	if (n > FACTS_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "the host's facts have more than %u bytes", FACTS_BYTES_MAX);
	if (memchr(text, 0, n) || !text_is_utf8(text, n))
		return assay_fail(err, ASSAY_E_FORMAT, "the host's facts are not text");
	copy = mem_bytes(text, n);
	for (char *line = copy; !st && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		st = parse_line(&facts, line, err);
	}
	if (!st) {
		*out = facts;
		facts = unknown_facts();
	}
	facts_release(&facts);
	free(copy);
	return st;
}

void facts_release(struct facts *facts)
{
#define FREE(name) free(facts->name);
	FACTS_TEXT_ROWS(FREE)
#undef FREE
	*facts = unknown_facts();
}

bool facts_parse_stress_ng(const char *said, char version[FACTS_VERSION_BYTES])
{
	static const char before[] = "stress-ng, version ",
			  allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+~-";
	const char *start;
	size_t n;

	if (strncmp(said, before, sizeof(before) - 1) != 0)
		return false;
	start = said + sizeof(before) - 1;
	n = strspn(start, allowed);
	if (n == 0 || n >= FACTS_VERSION_BYTES || (start[n] != ' ' && start[n] != '\n'))
		return false;
	memcpy(version, start, n);
	version[n] = '\0';
	return true;
}
