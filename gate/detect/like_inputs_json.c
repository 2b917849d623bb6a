/* What inputs should cost, in a model that is kept. It is checked so far that comparing by it cannot go wrong. */
#include "gate/detect/like_inputs.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define INPUTS_MAX  1000000
#define COLUMNS_MAX 1000000
#define LARGEST	    1e6 /* of logarithms and slopes: far beyond all that occur */

/* ---- writing ---- */

static cJSON *column_json(const struct like_column *c)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "function", c->function);
	cJSON_AddStringToObject(object, "column", c->column);
	cJSON_AddNumberToObject(object, "stretch", c->stretch);
	cJSON_AddNumberToObject(object, "typical", c->typical);
	if (c->expect.by == EXPECT_BY_INPUT) {
		list = cJSON_AddArrayToObject(object, "by_input");
		for (size_t i = 0; i < c->expect.inputs; i++)
			cJSON_AddItemToArray(list, isnan(c->expect.median[i]) ? cJSON_CreateNull() : cJSON_CreateNumber(c->expect.median[i]));
		return object;
	}
	cJSON_AddNumberToObject(object, "intercept", c->expect.intercept);
	list = cJSON_AddArrayToObject(object, "by_numbers");
	for (size_t k = 0; k < c->expect.n; k++) {
		cJSON *number = cJSON_CreateObject();

		cJSON_AddNumberToObject(number, "number", (double)c->expect.number[k]);
		cJSON_AddNumberToObject(number, "slope", c->expect.slope[k]);
		cJSON_AddNumberToObject(number, "low", c->expect.low[k]);
		cJSON_AddNumberToObject(number, "high", c->expect.high[k]);
		cJSON_AddItemToArray(list, number);
	}
	return object;
}

cJSON *like_inputs_json(const struct like_inputs *like)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddNumberToObject(object, "numbers", (double)like->numbers);
	list = cJSON_AddArrayToObject(object, "inputs");
	for (size_t i = 0; i < like->n_inputs; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(like->inputs[i]));
	list = cJSON_AddArrayToObject(object, "columns");
	for (size_t i = 0; i < like->n; i++)
		cJSON_AddItemToArray(list, column_json(&like->columns[i]));
	return object;
}

/* ---- reading ---- */

static enum assay_status number_of(const char *name, const cJSON *from, const char *key, double low, double high, double *out,
                                   struct assay_error *err)
{
	enum assay_status st = json_number(name, from, key, true, out, err);

	if (!st && !(*out >= low && *out <= high))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' is %g, not between %g and %g", name, key, *out, low, high);
	return st;
}

static enum assay_status numbers_read(const char *name, const cJSON *list, size_t numbers, struct expect *e, struct assay_error *err)
{
	const cJSON *item;
	enum assay_status st;
	int64_t number;

	e->by = EXPECT_BY_NUMBERS;
	cJSON_ArrayForEach(item, list)
	{
		if (e->n == EXPECT_NUMBERS_USED || !numbers)
			return assay_fail(err, ASSAY_E_FORMAT, "%s: 'by_numbers' has too many elements", name);
		if ((st = json_integer(name, item, "number", true, 0, (int64_t)numbers - 1, &number, err)) ||
		    (st = number_of(name, item, "slope", -LARGEST, LARGEST, &e->slope[e->n], err)) ||
		    (st = number_of(name, item, "low", -LARGEST, LARGEST, &e->low[e->n], err)) ||
		    (st = number_of(name, item, "high", e->low[e->n], LARGEST, &e->high[e->n], err)))
			return st;
		e->number[e->n++] = (size_t)number;
	}
	return ASSAY_OK;
}

static enum assay_status medians_read(const char *name, const cJSON *list, size_t inputs, struct expect *e, struct assay_error *err)
{
	const cJSON *item;

	if ((size_t)cJSON_GetArraySize(list) != inputs)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: 'by_input' has not as many elements as there are inputs", name);
	e->by = EXPECT_BY_INPUT;
	e->median = mem_new(inputs + 1, sizeof(e->median[0]));
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNull(item) && !(cJSON_IsNumber(item) && fabs(item->valuedouble) <= LARGEST))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: 'by_input' must consist of numbers and null", name);
		e->median[e->inputs++] = cJSON_IsNull(item) ? (double)NAN : item->valuedouble;
	}
	return ASSAY_OK;
}

static enum assay_status column_read(const char *name, const cJSON *item, const struct like_inputs *like, struct like_column *c,
                                     struct assay_error *err)
{
	const cJSON *by_input = NULL, *by_numbers = NULL;
	const char *function = NULL, *column = NULL;
	enum assay_status st;

	if ((st = json_string(name, item, "function", true, &function, err)) || (st = json_string(name, item, "column", true, &column, err)))
		return st;
	c->function = mem_string(function);
	c->column = mem_string(column);
	if ((st = number_of(name, item, "stretch", 1e-300, 1e300, &c->stretch, err)) ||
	    (st = number_of(name, item, "typical", -LARGEST, LARGEST, &c->typical, err)) ||
	    (st = json_array(name, item, "by_input", false, &by_input, err)))
		return st;
	if (by_input)
		return medians_read(name, by_input, like->n_inputs, &c->expect, err);
	st = number_of(name, item, "intercept", -LARGEST, LARGEST, &c->expect.intercept, err);
	if (!st)
		st = json_array(name, item, "by_numbers", true, &by_numbers, err);
	return st ? st : numbers_read(name, by_numbers, like->numbers, &c->expect, err);
}

static enum assay_status inputs_read(const char *name, const cJSON *json, struct like_inputs *like, struct assay_error *err)
{
	const cJSON *list = NULL, *item;
	enum assay_status st = json_array(name, json, "inputs", true, &list, err);
	size_t n = st ? 0 : (size_t)cJSON_GetArraySize(list);

	if (n > INPUTS_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: more than %d 'inputs'", name, INPUTS_MAX);
	like->inputs = mem_new(n + 1, sizeof(like->inputs[0]));
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item) || (like->n_inputs && strcmp(like->inputs[like->n_inputs - 1], item->valuestring) >= 0))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: 'inputs' must be texts in order, each once", name);
		like->inputs[like->n_inputs++] = mem_string(item->valuestring);
	}
	return st;
}

enum assay_status like_inputs_read(const char *name, const cJSON *json, struct like_inputs *out, struct assay_error *err)
{
	struct like_inputs like = { .inputs = NULL };
	const cJSON *list = NULL, *item;
	int64_t numbers = 0;
	enum assay_status st = json_integer(name, json, "numbers", true, 0, INPUT_NUMBERS_MAX, &numbers, err);

	like.numbers = (size_t)numbers;
	if (!st)
		st = inputs_read(name, json, &like, err);
	if (!st)
		st = json_array(name, json, "columns", true, &list, err);
	if (!st && cJSON_GetArraySize(list) > COLUMNS_MAX)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: more than %d 'columns'", name, COLUMNS_MAX);
	if (!st)
		like.columns = mem_new((size_t)cJSON_GetArraySize(list) + 1, sizeof(like.columns[0]));
	for (item = st ? NULL : list->child; item && !st; item = item->next)
		st = column_read(name, item, &like, &like.columns[like.n++], err);
	if (!st) {
		*out = like;
		like = (struct like_inputs){ .inputs = NULL };
	}
	like_inputs_release(&like);
	return st;
}
