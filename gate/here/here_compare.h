/* Which of two commands is slower on this machine, by how much, and what the difference is made of. */
#ifndef GATE_HERE_HERE_COMPARE_H
#define GATE_HERE_HERE_COMPARE_H

#include "base/document.h"
#include "base/error.h"
#include "gate/here/here.h"

#include <stdbool.h>
#include <stddef.h>

/* words[n]: A, "--", B. They run in turn (A B B A), as here_measure() does it. ASSAY_E_USAGE: they are not two; ASSAY_E_NODATA: one fails.
 */
enum assay_status here_compare(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err);

#endif
