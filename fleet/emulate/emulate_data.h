/* Files of emulated hosts that are built into the program, so that it works wherever it lies. */
#ifndef FLEET_EMULATE_DATA_H
#define FLEET_EMULATE_DATA_H

#include <stddef.h>

struct emulate_data {
	const char *name;        /* "vm.yaml", "knobs_string.so" */
	const char *bytes, *end; /* bytes[end - bytes], and a NUL behind them */
};

extern const struct emulate_data emulate_data[];
extern const size_t emulate_data_n;

#endif
