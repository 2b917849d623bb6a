#include "gate/cost/cost_words.h"

#include <math.h>
#include <string.h>

struct cost_quantity cost_quantity(enum cost_of of, double value)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1.0, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" }, { 1e-12, "ps" } };
	struct cost_quantity out;
	size_t i = 0;

	if (of == COST_METRIC || value == 0.0 || !isfinite(value)) {
		snprintf(out.text, sizeof(out.text), "%.4g%s", value, of == COST_METRIC ? "" : " s");
		return out;
	}
	while (i + 1 < sizeof(units) / sizeof(units[0]) && fabs(value) < units[i].unit)
		i++;
	snprintf(out.text, sizeof(out.text), "%.3g %s", value / units[i].unit, units[i].name);
	return out;
}

/* The second word of a name that begins with `kind`, as a sentence has it; false: it does not. */
static bool place_words(const char *name, const char *kind, const char *words, struct buf *out)
{
	size_t n = strlen(kind);

	if (strncmp(name, kind, n) != 0)
		return false;
	buf_format(out, "(%s %.*s)", words, (int)strcspn(name + n, " "), name + n);
	return true;
}

void cost_feature_words(const char *name, struct buf *out)
{
	if (place_words(name, "loop ", "iterations of the loop at", out) || place_words(name, "call ", "calls of", out))
		return;
	buf_format(out, strchr(name, ' ') ? "(%s)" : "%s", name);
}

void cost_term_words(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out)
{
	for (size_t k = 0; k < term->degree; k++) {
		if (k)
			buf_text(out, " * ");
		cost_feature_words(cost_fit_column(model, fit, term->column[k]), out);
	}
}

void cost_sentence(const struct cost_model *model, const struct cost_fit *fit, struct buf *out)
{
	const struct sparse *m = &fit->model;

	buf_text(out, "T =");
	for (size_t t = 0; t < m->terms; t++) {
		double c = m->term[t].coefficient;

		buf_format(out, " %s%s * ", t ? (c < 0.0 ? "- " : "+ ") : (c < 0.0 ? "-" : ""),
			   cost_quantity(model->costs.of, fabs(c)).text);
		cost_term_words(model, fit, &m->term[t], out);
	}
	if (m->intercept != 0.0 || !m->terms)
		buf_format(out, " %s%s", m->terms ? (m->intercept < 0.0 ? "- " : "+ ") : "",
			   cost_quantity(model->costs.of, m->terms ? fabs(m->intercept) : m->intercept).text);
}
