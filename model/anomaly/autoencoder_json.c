/* Networks as JSON; numbers read back are those that were written, to the last bit. */
#include "model/anomaly/autoencoder_internal.h"

#include "base/json.h"

#include <math.h>

#define WEIGHT_MAX 1e100 /* of a number that is read: products of such ones with anything that a scorer lets in are finite */

static const struct {
	enum lanes_curve curve;
	const char *name;
} curves[] = {
#define CURVE_ROW(value, name) { value, name },
	LANES_CURVES(CURVE_ROW)
#undef CURVE_ROW
};

static const char *curve_name(enum lanes_curve curve)
{
	return curves[curve].name;
}

static cJSON *block_write(const double *at, size_t rows, size_t columns)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			cJSON_AddItemToArray(array, cJSON_CreateNumber(at[i * lanes_padded(columns) + j]));
	return array;
}

static bool is_mirror(const struct autoencoder *ae, size_t layer)
{
	return ae->shape.tied && layer >= ae->shape.depth;
}

cJSON *autoencoder_write(const struct autoencoder *ae)
{
	cJSON *json = cJSON_CreateObject(), *widths, *layers;

	cJSON_AddStringToObject(json, "hidden", curve_name(ae->shape.hidden));
	cJSON_AddStringToObject(json, "output", curve_name(ae->shape.output));
	cJSON_AddBoolToObject(json, "tied", ae->shape.tied);
	widths = cJSON_AddArrayToObject(json, "widths");
	for (size_t i = 0; i < ae->shape.depth; i++)
		cJSON_AddItemToArray(widths, cJSON_CreateNumber((double)ae->shape.width[i]));
	layers = cJSON_AddArrayToObject(json, "layers");
	for (size_t l = 0; l < ae->layers; l++) {
		const double *values = ae->values.at;
		cJSON *layer = cJSON_CreateObject();

		if (!is_mirror(ae, l))
			cJSON_AddItemToObject(layer, "weights",
			                      block_write(values + ae->weights_at[l], ae->width[l], ae->width[l + 1]));
		cJSON_AddItemToObject(layer, "biases", block_write(values + ae->biases_at[l], 1, ae->width[l + 1]));
		cJSON_AddItemToArray(layers, layer);
	}
	return json;
}

static enum assay_status curve_read(const cJSON *json, const char *key, enum lanes_curve *out, struct assay_error *err)
{
	const char *text;
	enum assay_status st = json_string("network", json, key, true, &text, err);

	for (size_t i = 0; !st && i < sizeof(curves) / sizeof(curves[0]); i++)
		if (!strcmp(text, curves[i].name)) {
			*out = curves[i].curve;
			return ASSAY_OK;
		}
	return st ? st : assay_fail(err, ASSAY_E_FORMAT, "network: '%s' is '%.40s', which is no curve of neurons", key, text);
}

static enum assay_status shape_read(const cJSON *json, size_t columns, struct autoencoder_shape *shape, struct assay_error *err)
{
	const cJSON *tied = cJSON_GetObjectItemCaseSensitive(json, "tied"), *widths, *width;
	enum assay_status st = curve_read(json, "hidden", &shape->hidden, err);

	shape->columns = columns;
	if (!st)
		st = curve_read(json, "output", &shape->output, err);
	if (!st && !cJSON_IsBool(tied))
		st = assay_fail(err, ASSAY_E_FORMAT, "network: 'tied' must be true or false");
	if (!st)
		st = json_array("network", json, "widths", true, &widths, err);
	if (st)
		return st;
	shape->tied = cJSON_IsTrue(tied);
	cJSON_ArrayForEach(width, widths)
	{
		double w = cJSON_IsNumber(width) ? width->valuedouble : 0.0;

		if (shape->depth == AUTOENCODER_DEPTH_MAX || !(w >= 1.0 && w <= AUTOENCODER_WIDTH_MAX) || w != floor(w))
			return assay_fail(err, ASSAY_E_FORMAT, "network: 'widths' must be 1 to %d integers from 1 to %d",
			                  AUTOENCODER_DEPTH_MAX, AUTOENCODER_WIDTH_MAX);
		shape->width[shape->depth++] = (size_t)w;
	}
	return shape->depth ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "network: 'widths' is empty");
}

static enum assay_status block_read(const cJSON *layer, const char *key, size_t number, size_t rows, size_t columns, double *at,
                                    struct assay_error *err)
{
	const cJSON *array, *value;
	size_t i = 0;
	enum assay_status st = json_array("network", layer, key, true, &array, err);

	if (st)
		return st;
	if ((size_t)cJSON_GetArraySize(array) != rows * columns)
		return assay_fail(err, ASSAY_E_FORMAT, "network: layer %zu has %d %s, not %zu", number, cJSON_GetArraySize(array),
		                  key, rows * columns);
	cJSON_ArrayForEach(value, array)
	{
		if (!cJSON_IsNumber(value) || !(fabs(value->valuedouble) <= WEIGHT_MAX))
			return assay_fail(err, ASSAY_E_FORMAT,
			                  "network: layer %zu has something among its %s that is not a number within +-1e100",
			                  number, key);
		at[i / columns * lanes_padded(columns) + i % columns] = value->valuedouble;
		i++;
	}
	return ASSAY_OK;
}

static enum assay_status layer_read(const cJSON *json, struct autoencoder *ae, size_t layer, struct assay_error *err)
{
	static const char *const keys[] = { "biases", "weights" };
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	enum assay_status st = json_keys("network", json, "a layer", keys, is_mirror(ae, layer) ? 1 : 2, err);

	if (!st && !is_mirror(ae, layer))
		st = block_read(json, "weights", layer + 1, in, out, ae->values.at + ae->weights_at[layer], err);
	if (!st)
		st = block_read(json, "biases", layer + 1, 1, out, ae->values.at + ae->biases_at[layer], err);
	return st;
}

enum assay_status autoencoder_read(const cJSON *json, size_t columns, struct autoencoder **out, struct assay_error *err)
{
	static const char *const keys[] = { "hidden", "output", "tied", "widths", "layers" };
	struct autoencoder_shape shape = { 0 };
	struct autoencoder *ae = NULL;
	const cJSON *layers, *layer;
	size_t l = 0;
	enum assay_status st = json_keys("network", json, "a network", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st)
		st = shape_read(json, columns, &shape, err);
	if (!st)
		st = json_array("network", json, "layers", true, &layers, err);
	if (!st && autoencoder_weights(&shape) > AUTOENCODER_WEIGHTS_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "network: more than %u weights", AUTOENCODER_WEIGHTS_MAX);
	if (!st && (size_t)cJSON_GetArraySize(layers) != 2 * shape.depth)
		st = assay_fail(err, ASSAY_E_FORMAT, "network: %d layers, not %zu", cJSON_GetArraySize(layers), 2 * shape.depth);
	if (st)
		return st;
	ae = autoencoder_new(&shape, 0);
	cJSON_ArrayForEach(layer, layers)
	{
		st = layer_read(layer, ae, l++, err);
		if (st)
			goto out;
	}
	autoencoder_tie(ae);
	*out = ae;
	ae = NULL;
out:
	autoencoder_free(ae);
	return st;
}
