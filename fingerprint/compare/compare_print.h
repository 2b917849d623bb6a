/* A comparison for people and for machines. */
#ifndef FINGERPRINT_COMPARE_COMPARE_PRINT_H
#define FINGERPRINT_COMPARE_COMPARE_PRINT_H

#include "base/buf.h"
#include "base/json.h"
#include "fingerprint/compare/compare.h"

/* The stressors that differ, largest first, at most `rows` of them; `indent` stands before every line. Nothing when none differs. */
void compare_print_table(const struct compare *compare, size_t rows, const char *indent, struct buf *out);

/* One line on the others. */
void compare_print_rest(const struct compare *compare, struct buf *out);

/* An object for each row. */
cJSON *compare_rows_json(const struct compare *compare);

#endif
