#include "runs/running/metric.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/running/foreign.h"
#include "runs/running/manifest_parse.h"
#include "runs/running/run.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX	  1000000 /* maximum number of values of one run */
#define LINE_BYTES_MAX	  16384	  /* longer lines are skipped, because the time for a match may grow with the square of the length */
#define WHERE_BYTES	  128
#define PATTERN_BYTES_MAX 1000
#define PATTERN_NODES_MAX 2000
#define COMPILED_BYTES	  16384 /* bytes searched until the pattern is compiled again, because regexec() uses more memory with each byte */

/* Values in a run's output. Their median is the metric. */
struct metric_values {
	double *items; /* [n], the values */
	size_t n, capacity;
};

ROWS_FUNCTION(metric_source_name, enum metric_source, METRIC_SOURCE_ROWS, ROWS_WORD)

/* ---- search for a pattern ---- */

struct metric_finder {
	const char *pattern; /* valid pattern; not owned */
	regex_t regex;
	bool compiled;
	size_t read_bytes; /* number of bytes searched since the pattern was compiled */
};

/* ---- patterns that are refused ---- */

/* Returns the largest number in a repetition {n}, {n,} or {n,m}; at least 1. */
static size_t pattern_largest_number(const char *brace)
{
	size_t most = 1;

	for (brace++; *brace && *brace != '}'; brace++) {
		size_t n = *brace >= '0' && *brace <= '9' ? strtoul(brace, NULL, 10) : 0;

		most = n > most ? n : most;
	}
	return most;
}

/* Returns the end of a bracket expression. Its first character may be a ']', and classes such as [:alpha:] contain a ']'. */
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

/* Reports whether the C library might need too much memory for a pattern. The library copies repeated parts, nested ones too: nine times
 * for a{9}, twice for a+. Nested a* may double the time. The result is an upper bound. Only regcomp() checks the syntax. */
static bool pattern_is_large(const char *pattern)
{
	size_t before[PATTERN_BYTES_MAX + 1] = { 0 }, depth = 0, item = 0; /* numbers of nodes in each open group, and in the last item */

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

/* Returns the reason why an escape sequence of another dialect is refused; NULL if there is none. The C library reads \d as the letter d,
 * and knows \s and \w only outside brackets. Back-references take exponential time and are not in POSIX's extended expressions. */
static const char *pattern_foreign_escape(const char *pattern)
{
	const char *bracket = NULL; /* end of the current bracket expression; NULL outside of one */

	for (const char *c = pattern; *c; c++) {
		if (bracket && c >= bracket)
			bracket = NULL;
		else if (!bracket && *c == '[')
			bracket = pattern_bracket_end(c);
		if (*c != '\\' || !c[1])
			continue;
		if (!bracket && c[1] >= '1' && c[1] <= '9')
			return "back-references are not supported";
		if (c[1] == 'd')
			return "\\d is not supported: write [0-9], in brackets 0-9";
		if (c[1] == 'D')
			return "\\D is not supported: write [^0-9]";
		if (bracket && strchr("swSW", c[1]))
			return "\\s and \\w are not supported between brackets: write [:space:] and [:alnum:]_";
		c += bracket ? 0 : 1;
	}
	return NULL;
}

static const char *pattern_fault(const char *pattern)
{
	if (strlen(pattern) > PATTERN_BYTES_MAX)
		return "it is too long";
	if (pattern_foreign_escape(pattern))
		return pattern_foreign_escape(pattern);
	return pattern_is_large(pattern) ? "it is too large when its repetitions are written out" : NULL;
}

/* Returns the reason why a pattern is refused; NULL if it is valid and has a group. The caller frees the result. */
static char *metric_pattern_fault(const char *pattern)
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

static void metric_finder_release(struct metric_finder *f)
{
	if (f->compiled)
		regfree(&f->regex);
	f->compiled = false;
}

/* Finds the first match in line[0..n) and its first group. line[n] must be NUL; a NUL before that is an ordinary character. Sets *again to
 * whether the rest of the line has another match. */
static bool metric_finder_find(struct metric_finder *f, const char *line, size_t n, regmatch_t groups[2], bool *again)
{
	regmatch_t rest;

	if (f->read_bytes > COMPILED_BYTES)
		metric_finder_release(f);
	if (!f->compiled) {
		ASSAY_BUG_IF(regcomp(&f->regex, f->pattern, REG_EXTENDED));
		f->compiled = true;
		f->read_bytes = 0;
	}
	f->read_bytes += n;
	groups[0] = (regmatch_t){ 0, (regoff_t)n };
	if (regexec(&f->regex, line, 2, groups, REG_STARTEND))
		return false;
	rest = (regmatch_t){ groups[0].rm_eo, (regoff_t)n };
	*again = groups[0].rm_eo > groups[0].rm_so && rest.rm_so < rest.rm_eo && !regexec(&f->regex, line, 1, &rest, REG_STARTEND);
	return true;
}

/* ---- the key `metric` of a manifest ---- */

static enum assay_status metric_parse_source(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	const char *words[METRIC_SOURCES], *text = NULL, *nearest;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	for (int i = 0; !st && i < METRIC_SOURCES; i++) {
		words[i] = metric_source_name((enum metric_source)i);
		if (strcmp(words[i], text) == 0) {
			out->source = (enum metric_source)i;
			return ASSAY_OK;
		}
	}
	if (st)
		return st;
	nearest = text_nearest(text, words, METRIC_SOURCES);
	return manifest_fail(r, ASSAY_E_FORMAT, node->line,
			     "unknown metric '%s': use wall, cpu, regex, google-benchmark or hyperfine%s%s%s", TEXT_SANITIZED(text),
			     nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* Parses one of two words. Sets *out to true for `yes`, and to false for `no`. */
static enum assay_status metric_parse_choice(const struct manifest_reader *r, const struct yaml_node *node, const char *no, const char *yes,
					     bool *out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (!st && strcmp(text, no) && strcmp(text, yes))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is %s or %s, not '%s'", node->key, no, yes, TEXT_SANITIZED(text));
	if (!st)
		*out = strcmp(text, yes) == 0;
	return st;
}

static enum assay_status metric_parse_text(const struct manifest_reader *r, const struct yaml_node *node, char **out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (!st && !*text)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' is empty", node->key);
	if (!st)
		*out = mem_string(text);
	return st;
}

static enum assay_status metric_parse_pattern(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	enum assay_status st = metric_parse_text(r, node, &out->pattern);
	char *fault = st ? NULL : metric_pattern_fault(out->pattern);

	if (fault)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "%s", fault);
	free(fault);
	return st;
}

/* Checks that each key suits the metric's source. */
static enum assay_status metric_check_keys(const struct manifest_reader *r, const struct yaml_node *node, const struct metric *metric)
{
	static const char *const keys[] = { "source", "pattern", "direction", "unit", "name", "time" };
	static const struct {
		const char *key;
		unsigned sources;
	} rows[] = {
		{ "pattern", 1u << METRIC_REGEX },
		{ "direction", 1u << METRIC_REGEX },
		{ "unit", 1u << METRIC_REGEX },
		{ "name", 1u << METRIC_GOOGLE_BENCHMARK | 1u << METRIC_HYPERFINE },
		{ "time", 1u << METRIC_GOOGLE_BENCHMARK },
	};
	enum assay_status st = yaml_check_keys(r->file, node, "a metric", keys, sizeof(keys) / sizeof(keys[0]), r->err);

	for (size_t i = 0; !st && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct yaml_node *value = yaml_get(node, rows[i].key);

		if (value && !(rows[i].sources & 1u << metric->source))
			st = manifest_fail(r, ASSAY_E_FORMAT, value->line, "'%s' is not a key of the metric '%s'", rows[i].key,
					   metric_source_name(metric->source));
	}
	return st;
}

static enum assay_status metric_parse_map(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	const struct yaml_node *value = yaml_get(node, "source");
	enum assay_status st = ASSAY_OK;

	if (value)
		st = metric_parse_source(r, value, out);
	else if (yaml_get(node, "pattern"))
		out->source = METRIC_REGEX;
	else
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
				   "this metric has no 'source': wall, cpu, regex, google-benchmark or hyperfine");
	if (!st)
		st = metric_check_keys(r, node, out);
	if (!st && (value = yaml_get(node, "pattern")))
		st = metric_parse_pattern(r, value, out);
	if (!st && (value = yaml_get(node, "direction")))
		st = metric_parse_choice(r, value, "lower", "higher", &out->higher_is_better);
	if (!st && (value = yaml_get(node, "unit")))
		st = metric_parse_text(r, value, &out->unit);
	if (!st && (value = yaml_get(node, "name")))
		st = metric_parse_text(r, value, &out->name);
	if (!st && (value = yaml_get(node, "time")))
		st = metric_parse_choice(r, value, "real", "cpu", &out->cpu_time);
	return st;
}

enum assay_status metric_parse(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out)
{
	enum assay_status st = node->kind == YAML_MAP ? metric_parse_map(r, node, out) : metric_parse_source(r, node, out);

	if (!st && out->source == METRIC_REGEX && !out->pattern)
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line,
				   "the metric regex needs a pattern, such as metric: {source: regex, pattern: 'took ([0-9.]+) s'}");
	if (!st && out->source != METRIC_REGEX)
		out->unit = mem_string("s");
	return st;
}

/* ---- values of a metric ---- */

/* Adds a value. `where` is its place for messages, such as "line 7". ASSAY_E_NODATA: the value is not finite, not above 0, or too large. */
static enum assay_status metric_add(struct metric_values *values, double value, const char *where, struct assay_error *err)
{
	if (!isfinite(value))
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is not a finite number", where);
	if (value <= 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is %s; it must be above 0", where, TEXT_DOUBLE(value));
	if (value > RUN_METRIC_MAX)
		return assay_fail(err, ASSAY_E_NODATA, "%s: the metric is %s; it must be at most %g", where, TEXT_DOUBLE(value),
				  RUN_METRIC_MAX);
	if (values->n == VALUES_MAX)
		return assay_fail(err, ASSAY_E_NODATA, "%s: more than %d values of one run", where, VALUES_MAX);
	mem_append(values->items, values->n, &values->capacity, value);
	return ASSAY_OK;
}

/* Reads the metric from the command's resource usage. */
static enum assay_status metric_read_usage(const struct metric *metric, const struct metric_usage *usage, double *value,
					   struct assay_error *err)
{
	bool wall = metric->source == METRIC_WALL;

	if (wall ? usage->wall_ns < 0 : usage->user_us < 0 || usage->sys_us < 0)
		return assay_fail(err, ASSAY_E_NODATA, "the host did not report its time");
	*value = wall ? (double)usage->wall_ns / 1e9 : ((double)usage->user_us + (double)usage->sys_us) / 1e6;
	if (*value <= 0)
		return assay_fail(err, ASSAY_E_NODATA, "it took less %s time than can be measured", wall ? "wall" : "CPU");
	return ASSAY_OK;
}

/* ---- metrics from lines of text ---- */

static enum assay_status metric_read_group(const char *line, const regmatch_t *group, size_t number, struct metric_values *out,
					   struct assay_error *err)
{
	char where[32], *text;
	enum assay_status st = ASSAY_OK;
	double value = 0;

	snprintf(where, sizeof(where), "line %zu", number);
	if (group->rm_so < 0)
		return assay_fail(err, ASSAY_E_NODATA, "%s matches, but the pattern's group is not part of the match", where);
	text = mem_bytes(line + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
	if (!text_parse_double(text, &value))
		st = assay_fail(err, ASSAY_E_NODATA, "%s: '%s' is not a number", where, TEXT_SANITIZED(text));
	free(text);
	return st ? st : metric_add(out, value, where, err);
}

/* Returns a warning if the pattern matches several times; NULL if it matches once. */
static char *metric_warn_lines(size_t n, size_t first_double, size_t doubles)
{
	if (doubles)
		return mem_format(
		    "the pattern matches more than once in %zu line%s, the first of them line %zu: the first match of a line is taken%s",
		    doubles, text_plural(doubles), first_double, n > 1 ? ", and the median of all lines" : "");
	return n > 1 ? mem_format("the pattern matches %zu lines: the median of their values is taken", n) : NULL;
}

static enum assay_status metric_read_lines(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
					   char **warning, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const char *end = output + n;
	struct metric_finder finder = { .pattern = metric->pattern };
	struct buf line = BUF_INIT; /* copy of the line, because regexec() needs a NUL at its end */
	size_t number = 0, doubles = 0, first_double = 0;

	for (const char *at = output, *next; !st && at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		regmatch_t groups[2];
		bool again = false;

		next = newline ? newline + 1 : end;
		number++;
		if (length && at[length - 1] == '\r')
			length--;
		if (length > LINE_BYTES_MAX)
			continue;
		buf_clear(&line);
		buf_add(&line, at, length);
		if (metric_finder_find(&finder, line.bytes, length, groups, &again))
			st = metric_read_group(line.bytes, &groups[1], number, out, err);
		first_double = again && !doubles++ ? number : first_double;
	}
	metric_finder_release(&finder);
	buf_release(&line);
	if (!st && out->n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "none of the %zu line%s that it printed matches '%s'", number, text_plural(number),
				TEXT_SANITIZED(metric->pattern));
	if (!st)
		*warning = metric_warn_lines(out->n, first_double, doubles);
	return st;
}

/* ---- metrics from JSON of Google Benchmark and hyperfine ---- */

/* Returns the JSON document in the output: from the last line that starts with '{' to the last '}'. Programs may print other text around
 * it, and hyperfine prints all results again after each command. Returns NULL if there is none. The caller frees the result. */
static char *metric_find_document(const char *output, size_t n, struct assay_error *err)
{
	const char *begin = NULL, *end = NULL;

	for (size_t i = n; i-- > 0 && !begin;) {
		if (output[i] == '{' && (i == 0 || output[i - 1] == '\n'))
			begin = output + i;
		else if (output[i] == '}' && !end)
			end = output + i + 1;
	}
	if (begin && end)
		return mem_bytes(begin, (size_t)(end - begin));
	assay_fail(err, ASSAY_E_NODATA, "the output has no JSON document: no line starts with '{'%s",
		   begin ? " and has its '}' after it" : "");
	return NULL;
}

/* Reports whether metric->name is the row's name, with or without its mark. If metric->name is NULL, returns true for all rows. */
static bool metric_is_chosen(const struct metric *metric, const struct foreign_row *row)
{
	char *whole = mem_format("%s%s", row->name, row->mark);
	bool chosen = !metric->name || strcmp(metric->name, row->name) == 0 || strcmp(metric->name, whole) == 0;

	free(whole);
	return chosen;
}

static enum assay_status metric_read_row(const struct foreign_row *row, const struct foreign_row *before, struct metric_values *out,
					 struct assay_error *err)
{
	char where[WHERE_BYTES];
	double value = 0;

	if (before && (strcmp(before->name, row->name) != 0 || strcmp(before->mark, row->mark) != 0))
		return assay_fail(err, ASSAY_E_NODATA, "the output has several results ('%s%s', '%s%s'): name one in 'metric'",
				  TEXT_SANITIZED(before->name), TEXT_SANITIZED(before->mark), TEXT_SANITIZED(row->name),
				  TEXT_SANITIZED(row->mark));
	snprintf(where, sizeof(where), "the result '%s'", TEXT_SANITIZED(row->name));
	if (row->to.failure)
		return assay_fail(err, ASSAY_E_NODATA, "%s was not measured: %s", where, row->to.failure);
	if (row->is_ambiguous)
		return assay_fail(err, ASSAY_E_NODATA, "%s is in the output twice, and the two cannot be distinguished", where);
	return text_parse_double(row->texts.result, &value) ? metric_add(out, value, where, err)
							    : assay_fail(err, ASSAY_E_NODATA, "%s is not a number", where);
}

/* Reads the rows that belong to metric->name. Any excluded row is an error, because it may belong to this name, too. */
static enum assay_status metric_read_rows(const struct metric *metric, const struct foreign_result *read, struct metric_values *out,
					  struct assay_error *err)
{
	static const enum imported_skip bad[] = { IMPORTED_BAD_ROW, IMPORTED_UNKNOWN_END };
	const struct foreign_row *before = NULL;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read->imported.skipped[bad[i]].count)
			return assay_fail(err, ASSAY_E_NODATA, "the output has a result that cannot be used: %s (%s)",
					  imported_skip_text(bad[i]), read->imported.skipped[bad[i]].first);
	}
	for (size_t i = 0; !st && i < read->n_rows; i++) {
		if (!metric_is_chosen(metric, &read->rows[i]))
			continue;
		st = metric_read_row(&read->rows[i], before, out, err);
		before = &read->rows[i];
	}
	if (!st && !before)
		st = assay_fail(err, ASSAY_E_NODATA, "the output has no result '%s'; its first result is '%s'",
				TEXT_SANITIZED(metric->name), TEXT_SANITIZED(read->rows[0].name));
	return st;
}

/* Reads the values with the readers for imports (foreign.h). */
static enum assay_status metric_read_json(const struct metric *metric, const char *output, size_t n, struct metric_values *out,
					  char **warning, struct assay_error *err)
{
	bool google = metric->source == METRIC_GOOGLE_BENCHMARK;
	const struct foreign_options how = { .name = "the output",
					     .tool = google ? FOREIGN_GBENCH : FOREIGN_HYPERFINE,
					     .machine = "here",
					     .metric = google && metric->cpu_time ? "cpu_time" : NULL,
					     .is_time_given = true };
	char *text = metric_find_document(output, n, err);
	struct foreign_result read;
	struct assay_error why;
	enum assay_status st;

	if (!text)
		return ASSAY_E_NODATA;
	st = foreign_read(text, strlen(text), &how, &read, &why);
	st = st ? assay_fail(err, ASSAY_E_NODATA, "%s", why.text) : metric_read_rows(metric, &read, out, err);
	if (!st && google && cJSON_IsTrue(json_get(json_get(read.root, "context"), "cpu_scaling_enabled")))
		*warning = mem_string("Google Benchmark reports that CPU scaling is enabled: times may be noisy");
	foreign_release(&read);
	free(text);
	return st;
}

enum assay_status metric_read(const struct metric *metric, const struct metric_usage *usage, const char *output, size_t n, double *value,
			      char **warning, struct assay_error *err)
{
	struct metric_values values = { NULL, 0, 0 };
	enum assay_status st;

	*warning = NULL;
	if (metric->source == METRIC_WALL || metric->source == METRIC_CPU)
		return metric_read_usage(metric, usage, value, err);
	if (n == 0)
		return assay_fail(err, ASSAY_E_NODATA, "it printed nothing on standard output");
	if (n > METRIC_OUTPUT_BYTES_MAX)
		return assay_fail(err, ASSAY_E_NODATA,
				  "it printed %zu bytes on standard output; only the first %u are searched for a metric", n,
				  METRIC_OUTPUT_BYTES_MAX);
	if (metric->source == METRIC_REGEX)
		st = metric_read_lines(metric, output, n, &values, warning, err);
	else
		st = metric_read_json(metric, output, n, &values, warning, err);
	if (!st)
		*value = stats_median(values.items, values.n);
	free(values.items);
	return st;
}
