/* The key `metric` of a manifest. */
#include "runs/running/manifest_internal.h"

#include "base/mem.h"
#include "base/text.h"

#define PATTERN_BYTES_MAX 1000
#define PATTERN_NODES_MAX 2000

static enum assay_status take_source(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	const char *words[METRIC_SOURCES], *text = NULL, *nearest;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);
	char shown[TEXT_SHOWN_BYTES];

	for (int i = 0; !st && i < METRIC_SOURCES; i++) {
		words[i] = metric_source_word((enum metric_source)i);
		if (strcmp(words[i], text) == 0) {
			out->source = (enum metric_source)i;
			return ASSAY_OK;
		}
	}
	if (st)
		return st;
	nearest = text_nearest(text, words, METRIC_SOURCES);
	return manifest_fail(
	    r, ASSAY_E_FORMAT, node->line, "no metric '%s': there are wall, cpu, regex, google-benchmark and hyperfine%s%s%s",
	    text_shown(text, shown), nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* The largest number of {n}, {n,} or {n,m}; at least 1. */
static size_t largest_number(const char *brace)
{
	size_t most = 1;

	for (brace++; *brace && *brace != '}'; brace++) {
		size_t n = *brace >= '0' && *brace <= '9' ? strtoul(brace, NULL, 10) : 0;

		most = n > most ? n : most;
	}
	return most;
}

/* The end of [...]: a ']' in front is one of its characters, and so is that of [:alpha:]. */
static const char *bracket_end(const char *at)
{
	at += 1 + (at[1] == '^');
	at += *at == ']';
	for (; *at && *at != ']'; at++) {
		const char *end = *at == '[' && at[1] && strchr(":.=", at[1]) ? strchr(at + 2, ']') : NULL;

		at = end ? end : at;
	}
	return at;
}

/* Is the pattern more than the C library can take? It copies what is repeated, a{9} nine times and a+ twice, and copies of copies
 * take all memory; each a* around another one may double the time. An estimate from above; whether the pattern is right is
 * regcomp()'s business. */
static bool is_large(const char *pattern)
{
	size_t before[PATTERN_BYTES_MAX + 1] = {0}, depth = 0, item = 0; /* nodes of each open group, and of the last item */

	for (const char *c = pattern; *c; c++) {
		if (strchr("*?+{", *c)) {
			size_t copies = *c == '{' ? largest_number(c) : 2;

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
				c = bracket_end(c);
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

/* Back-references take exponential time and are none of POSIX's extended expressions. */
static bool refers_back(const char *pattern)
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
static const char *foreign_class(const char *pattern)
{
	const char *bracket = NULL; /* the end of the one that we are in */

	for (const char *c = pattern; *c; c++) {
		if (bracket && c >= bracket)
			bracket = NULL;
		else if (!bracket && *c == '[')
			bracket = bracket_end(c);
		if (*c != '\\' || !c[1])
			continue;
		if (c[1] == 'd')
			return "\\d stands for no digit here: write [0-9], in brackets 0-9";
		if (c[1] == 'D')
			return "\\D stands for nothing here: write [^0-9]";
		if (bracket && strchr("swSW", c[1]))
			return "\\s and \\w stand for nothing between brackets: write [:space:] and [:alnum:]_ there";
		c += bracket ? 0 : 1;
	}
	return NULL;
}

static const char *pattern_fault(const char *pattern)
{
	if (strlen(pattern) > PATTERN_BYTES_MAX)
		return "it is too long";
	if (refers_back(pattern))
		return "back-references are not supported";
	if (foreign_class(pattern))
		return foreign_class(pattern);
	return is_large(pattern) ? "it is too large when its repetitions are written out" : NULL;
}

static enum assay_status take_pattern(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	const char *text = NULL, *fault;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);
	char said[128];
	int code;

	if (st)
		return st;
	fault = pattern_fault(text);
	if (fault)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "the pattern cannot be used: %s", fault);
	code = regcomp(&out->regex, text, REG_EXTENDED);
	if (code) {
		regerror(code, &out->regex, said, sizeof(said));
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "the pattern is no extended regular expression: %s", said);
	}
	out->pattern = mem_string(text); /* from here on metric_release() frees both */
	if (out->regex.re_nsub == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "the pattern has no group: put ( ) around the number");
	return ASSAY_OK;
}

/* One of two words. */
static enum assay_status take_choice(const struct manifest_reader *r, const struct yaml_node *node, const char *no,
                                     const char *yes, bool *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);
	char shown[TEXT_SHOWN_BYTES];

	if (!st && strcmp(text, no) && strcmp(text, yes))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is %s or %s, not '%s'", node->key, no, yes,
		                   text_shown(text, shown));
	if (!st)
		*out = strcmp(text, yes) == 0;
	return st;
}

static enum assay_status take_text(const struct manifest_reader *r, const struct yaml_node *node, char **out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (!st && !*text)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is empty", node->key);
	if (!st)
		*out = mem_string(text);
	return st;
}

/* Which keys belong to which source. */
static enum assay_status check_keys(const struct manifest_reader *r, const struct yaml_node *node, const struct metric *metric)
{
	static const char *const keys[] = {"source", "pattern", "direction", "unit", "name", "time"};
	static const struct {
		const char *key;
		unsigned sources;
	} rows[] = {
	    {"pattern", 1u << METRIC_REGEX},
	    {"direction", 1u << METRIC_REGEX},
	    {"unit", 1u << METRIC_REGEX},
	    {"name", 1u << METRIC_GOOGLE_BENCHMARK | 1u << METRIC_HYPERFINE},
	    {"time", 1u << METRIC_GOOGLE_BENCHMARK},
	};
	enum assay_status st = yaml_keys(r->file, node, "a metric", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	for (size_t i = 0; !st && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct yaml_node *value = yaml_get(node, rows[i].key);

		if (value && !(rows[i].sources & 1u << metric->source))
			st = manifest_fail(r, ASSAY_E_FORMAT, value->line, "'%s' is nothing that the metric '%s' has",
			                   rows[i].key, metric_source_word(metric->source));
	}
	return st;
}

static enum assay_status take_map(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	const struct yaml_node *value = yaml_get(node, "source");
	enum assay_status st = ASSAY_OK;

	if (value)
		st = take_source(r, value, out);
	else if (yaml_get(node, "pattern"))
		out->source = METRIC_REGEX;
	else
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
		                   "this metric has no 'source': wall, cpu, regex, google-benchmark or hyperfine");
	if (!st)
		st = check_keys(r, node, out);
	if (!st && (value = yaml_get(node, "pattern")))
		st = take_pattern(r, value, out);
	if (!st && (value = yaml_get(node, "direction")))
		st = take_choice(r, value, "lower", "higher", &out->higher_is_better);
	if (!st && (value = yaml_get(node, "unit")))
		st = take_text(r, value, &out->unit);
	if (!st && (value = yaml_get(node, "name")))
		st = take_text(r, value, &out->name);
	if (!st && (value = yaml_get(node, "time")))
		st = take_choice(r, value, "real", "cpu", &out->cpu_time);
	return st;
}

enum assay_status manifest_take_metric(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	enum assay_status st = node->kind == YAML_MAP ? take_map(r, node, out) : take_source(r, node, out);

	if (!st && out->source == METRIC_REGEX && !out->pattern)
		st = manifest_fail(
		    r, ASSAY_E_FORMAT, node->line,
		    "the metric regex needs a pattern, such as metric: {source: regex, pattern: 'took ([0-9.]+) s'}");
	if (!st && out->source != METRIC_REGEX)
		out->unit = mem_string("s");
	return st;
}
