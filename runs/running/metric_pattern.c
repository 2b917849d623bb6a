/* Patterns are the user's, lines are anybody's. regexec() begins anew at each byte of a line, and may go to its end each time: 9 s for one
 * line of 64 KiB. A line is therefore read from its end, by the pattern written backwards behind "anything": the longest match of that, of
 * which there is one beginning, ends where the first match of the pattern begins. From there regexec() reads once more. */
#include "runs/running/metric_pattern.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PATTERN_BYTES_MAX 1000
#define PATTERN_NODES_MAX 2000
#define COMPILED_BYTES	  16384 /* of text: then anew, for regexec() keeps what it finds out with each byte */

/* ---- what is refused ---- */

/* The largest number of {n}, {n,} or {n,m}; at least 1. */
static size_t pattern_largest_number(const char *brace)
{
	size_t most = 1;

	for (brace++; *brace && *brace != '}'; brace++) {
		size_t n = *brace >= '0' && *brace <= '9' ? strtoul(brace, NULL, 10) : 0;

		most = n > most ? n : most;
	}
	return most;
}

/* The end of [...]: a ']' in front is one of its characters, and so is that of [:alpha:]. */
static const char *pattern_bracket_end(const char *at)
{
	at += 1 + (at[1] == '^');
	at += *at == ']';
	for (; *at && *at != ']'; at++) {
		const char *end = *at == '[' && at[1] && strchr(":.=", at[1]) ? strchr(at + 2, ']') : NULL;

		at = end ? end : at;
	}
	return at;
}

/* Is the pattern more than the C library can take? It copies what is repeated, a{9} nine times and a+ twice, and copies of copies take all
 * memory; each a* around another one may double the time. An estimate from above; whether the pattern is right is regcomp()'s business. */
static bool pattern_is_large(const char *pattern)
{
	size_t before[PATTERN_BYTES_MAX + 1] = { 0 }, depth = 0, item = 0; /* nodes of each open group, and of the last item */

	for (const char *c = pattern; *c; c++) {
		if (strchr("*?+{", *c)) {
			size_t copies = *c == '{' ? pattern_largest_number(c) : 2;

			if (item && copies > PATTERN_NODES_MAX / item)
				return true;
			item = item * copies + 1;
			c = *c == '{' && strchr(c, '}') ? strchr(c, '}') : c;
		} else if (*c == ')' && depth) {
			item += before[depth--] + 1;
		} else {
			before[depth] += item;
			item = *c != '(';
			if (*c == '(')
				before[++depth] = 0;
			else if (*c == '[')
				c = pattern_bracket_end(c);
			else if (*c == '\\' && c[1])
				c++;
			if (!*c)
				break;
		}
		if (item + before[depth] > PATTERN_NODES_MAX)
			return true;
	}
	return false;
}

/* Back-references take exponential time and are not part of POSIX's extended expressions. */
static bool pattern_refers_back(const char *pattern)
{
	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && *++c >= '1' && *c <= '9')
			return true;
		if (!*c)
			return false;
	}
	return false;
}

/* Classes of other languages. The C library takes \d for the letter d; \s and \w it knows, but not between brackets. */
static const char *pattern_foreign_class(const char *pattern)
{
	const char *bracket = NULL; /* the end of the one that we are in */

	for (const char *c = pattern; *c; c++) {
		if (bracket && c >= bracket)
			bracket = NULL;
		else if (!bracket && *c == '[')
			bracket = pattern_bracket_end(c);
		if (*c != '\\' || !c[1])
			continue;
		if (c[1] == 'd')
			return "\\d does not mean a digit here: write [0-9], in brackets 0-9";
		if (c[1] == 'D')
			return "\\D means nothing here: write [^0-9]";
		if (bracket && strchr("swSW", c[1]))
			return "\\s and \\w mean nothing between brackets: write [:space:] and [:alnum:]_ there";
		c += bracket ? 0 : 1;
	}
	return NULL;
}

static const char *pattern_fault(const char *pattern)
{
	if (strlen(pattern) > PATTERN_BYTES_MAX)
		return "it is too long";
	if (pattern_refers_back(pattern))
		return "back-references are not supported";
	if (pattern_foreign_class(pattern))
		return pattern_foreign_class(pattern);
	return pattern_is_large(pattern) ? "it is too large when its repetitions are written out" : NULL;
}

char *metric_pattern_fault(const char *pattern)
{
	const char *fault = pattern_fault(pattern);
	char said[128], *why = NULL;
	regex_t regex;
	int code;

	if (fault)
		return mem_format("the pattern cannot be used: %s", fault);
	code = regcomp(&regex, pattern, REG_EXTENDED);
	if (code) {
		regerror(code, &regex, said, sizeof(said));
		return mem_format("the pattern is not an extended regular expression: %s", said);
	}
	if (regex.re_nsub == 0)
		why = mem_string("the pattern has no group: put ( ) around the number");
	regfree(&regex);
	return why;
}

/* ---- backwards ---- */

static char *pattern_backwards(const char **at, bool in_group);

/* One item without its repetitions. */
static char *pattern_item_backwards(const char **at)
{
	static const char anchors[] = "<>`'";
	const char *begin = (*at)++, *place;
	char *group, *item;

	switch (*begin) {
	case '(':
		group = pattern_backwards(at, true);
		*at += **at == ')';
		item = mem_format("(%s)", group);
		free(group);
		return item;
	case '[':
		*at = pattern_bracket_end(begin) + 1;
		return mem_bytes(begin, (size_t)(*at - begin));
	case '^':
		return mem_string("$");
	case '$':
		return mem_string("^");
	case ')': /* without a group to end it is itself */
		return mem_string("\\)");
	case '\\':
		place = strchr(anchors, *(*at)++);
		return mem_format("\\%c", place ? anchors[(size_t)(place - anchors) ^ 1] : begin[1]);
	default:
		return mem_bytes(begin, 1);
	}
}

/* Alternatives in their order, the items of each from the last to the first. The pattern is one that regcomp() takes. */
static char *pattern_backwards(const char **at, bool in_group)
{
	char *done = mem_string(""), *branch = mem_string(""), *item, *joined;

	while (**at && !(in_group && **at == ')')) {
		const char *repetitions;

		if (**at == '|') {
			joined = mem_format("%s%s|", done, branch);
			mem_free(done, branch);
			done = joined;
			branch = mem_string("");
			(*at)++;
			continue;
		}
		item = pattern_item_backwards(at);
		for (repetitions = *at; **at && strchr("*?+{", **at); (*at)++)
			*at = **at == '{' ? strchr(*at, '}') : *at;
		joined = mem_format("%s%.*s%s", item, (int)(*at - repetitions), repetitions, branch);
		mem_free(item, branch);
		branch = joined;
	}
	joined = mem_format("%s%s", done, branch);
	mem_free(done, branch);
	return joined;
}

/* ---- finding ---- */

void metric_finder_init(struct metric_finder *f, const char *pattern)
{
	const char *at = pattern;
	char *backwards = pattern_backwards(&at, false);

	/* A dot is no NUL. */
	*f = (struct metric_finder){ .pattern = pattern, .backwards = mem_format("^(.|[^.])*(%s)", backwards), .line = BUF_INIT };
	free(backwards);
}

static void finder_forget(struct metric_finder *f)
{
	if (f->compiled) {
		regfree(&f->forward);
		regfree(&f->backward);
	}
	f->compiled = false;
}

void metric_finder_release(struct metric_finder *f)
{
	finder_forget(f);
	free(f->backwards);
	buf_release(&f->line);
}

static void finder_compile(struct metric_finder *f, size_t n)
{
	if (f->compiled && f->read_bytes > COMPILED_BYTES)
		finder_forget(f);
	if (!f->compiled) {
		ASSAY_BUG_IF(regcomp(&f->forward, f->pattern, REG_EXTENDED) || regcomp(&f->backward, f->backwards, REG_EXTENDED));
		f->read_bytes = 0;
	}
	f->compiled = true;
	f->read_bytes += n;
}

/* Where the first match from `from` on begins; n + 1: there is none. f->line is the line backwards. */
static size_t finder_first(const struct metric_finder *f, size_t from, size_t n)
{
	regmatch_t whole = { 0, (regoff_t)(n - from) };

	if (regexec(&f->backward, f->line.bytes, 1, &whole, REG_STARTEND | (from ? REG_NOTEOL : 0)))
		return n + 1;
	return n - (size_t)whole.rm_eo;
}

bool metric_finder_find(struct metric_finder *f, const char *line, size_t n, regmatch_t groups[2], bool *again)
{
	size_t first, end;

	finder_compile(f, n);
	buf_clear(&f->line);
	buf_add(&f->line, "", 0);
	for (size_t i = n; i-- > 0;)
		buf_char(&f->line, line[i]);
	first = finder_first(f, 0, n);
	if (first > n)
		return false;
	groups[0] = (regmatch_t){ (regoff_t)first, (regoff_t)n };
	if (regexec(&f->forward, line, 2, groups, REG_STARTEND))
		return false; /* the C library takes \\b in what is repeated for other things in one direction than in the other */
	end = (size_t)groups[0].rm_eo;
	*again = end > first && end < n && finder_first(f, end, n) <= n;
	return true;
}
