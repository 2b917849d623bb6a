/* Models of the cost in words. */
#ifndef GATE_COST_COST_WORDS_H
#define GATE_COST_COST_WORDS_H

#include "base/buf.h"
#include "gate/cost/cost_model.h"

/* "1.2 us", "0.34 s"; of a metric the number alone. */
#define COST_QUANTITY_BYTES 40
struct cost_quantity {
	char text[COST_QUANTITY_BYTES];
};
struct cost_quantity cost_quantity(enum cost_of of, double value);

/* What a feature is in a sentence: "(iterations of the loop at sort.c:88)" for "loop sort.c:88 sort_range", else its name. */
void cost_feature_words(const char *name, struct buf *out);
/* "blocks * (bytes of argument 1)" */
void cost_term_words(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out);
/* "T = 1.2 us * (iterations of the loop at sort.c:88) + 0.3 ms * blocks + 2 ms" */
void cost_sentence(const struct cost_model *model, const struct cost_fit *fit, struct buf *out);

#endif
