/* Parses documents by recursive descent in one thread and counts values. With BAD, each string is copied before it is scanned. */
#include "../app.h"

#define TEXT  4096
#define DEPTH 6

struct reader {
	const char *at;
	uint64_t numbers, letters, escapes, objects;
	char kept[256];
};

static char text[TEXT];
static size_t length;

FUNCTION void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\n')
		r->at++;
}

FUNCTION void read_number(struct reader *r)
{
	uint64_t n = 0;

	while (*r->at >= '0' && *r->at <= '9')
		n = n * 10 + (uint64_t)(*r->at++ - '0');
	r->numbers += n;
}

FUNCTION void scan_string(struct reader *r, const char *from, size_t n)
{
#ifdef BAD
	memcpy(r->kept, from, n);
	from = r->kept;
#endif
	for (size_t i = 0; i < n; i++) {
		if (from[i] == '\\')
			r->escapes++;
		else
			r->letters++;
	}
}

FUNCTION void read_string(struct reader *r)
{
	const char *from = ++r->at;

	while (*r->at != '"')
		r->at++;
	scan_string(r, from, (size_t)(r->at - from));
	r->at++;
}

static void read_value(struct reader *r);

FUNCTION void read_member(struct reader *r)
{
	read_string(r);
	skip_space(r);
	r->at++; /* skips the colon */
	read_value(r);
}

FUNCTION void read_object(struct reader *r)
{
	r->objects++;
	r->at++;
	for (;;) {
		skip_space(r);
		if (*r->at == '}')
			break;
		if (*r->at == ',')
			r->at++;
		skip_space(r);
		read_member(r);
		skip_space(r);
	}
	r->at++;
}

FUNCTION void read_value(struct reader *r)
{
	skip_space(r);
	if (*r->at == '{')
		read_object(r);
	else if (*r->at == '"')
		read_string(r);
	else
		read_number(r);
}

static void put(const char *what)
{
	while (*what)
		text[length++] = *what++;
}

FUNCTION void make_object(int depth, uint64_t *state)
{
	put("{ ");
	for (int i = 0; i < 3; i++) {
		put(i ? ", " : "");
		put(app_random(state) % 2 ? "\"name\": " : "\"a longer\\nname\": ");
		if (depth < DEPTH && length < TEXT / 2 && i == 1)
			make_object(depth + 1, state);
		else if (app_random(state) % 2)
			put("\"a text of some forty letters, more or less\"");
		else
			put("12345678");
	}
	put(" }");
}

int main(int argc, char **argv)
{
	struct reader r = { .at = NULL };
	uint64_t state;

	app_begin(argc, argv, 800);
	state = app.seed;
	for (long i = 0; i < app.size; i++) {
		if (i % 16 == 0) {
			length = 0;
			make_object(0, &state);
			text[length] = '\0';
		}
		r.at = text;
		read_value(&r);
	}
	app_end(r.numbers + r.letters + r.escapes + r.objects);
	return 0;
}
