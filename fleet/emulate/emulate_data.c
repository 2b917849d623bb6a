#include "fleet/emulate/emulate_data.h"

#include "base/embed.h"

/* symbol, file; the profiles from simple to mixed, which is the order in which hosts get them. */
#define PROFILE_ROWS(X)              \
	X(base, "base.yaml")         \
	X(vm, "vm.yaml")             \
	X(io, "io.yaml")             \
	X(str, "str.yaml")           \
	X(sort, "sort.yaml")         \
	X(bw, "bw.yaml")             \
	X(vm_str, "vm+str.yaml")     \
	X(io_sort, "io+sort.yaml")   \
	X(vm_sort, "vm+sort.yaml")   \
	X(io_vm, "io+vm.yaml")       \
	X(malloc_bw, "malloc+bw.yaml") \
	X(str_io, "str+io.yaml")
#define LIBRARY_ROWS(X)                          \
	X(knobs_string, "knobs_string.so")   \
	X(knobs_compare, "knobs_compare.so") \
	X(knobs_malloc, "knobs_malloc.so")   \
	X(knobs_hog, "knobs_hog.so")

#define EMBED_PROFILE(symbol, file) EMBED_FILE(emulate_data_##symbol, ASSAY_PROFILES "/" file);
#define EMBED_LIBRARY(symbol, file) EMBED_FILE(emulate_data_##symbol, ASSAY_KNOBS "/" file);
PROFILE_ROWS(EMBED_PROFILE)
LIBRARY_ROWS(EMBED_LIBRARY)

#define DATA_ROW(symbol, file) { file, emulate_data_##symbol, emulate_data_##symbol##_end },
const struct emulate_data emulate_data[] = { PROFILE_ROWS(DATA_ROW) LIBRARY_ROWS(DATA_ROW) };
const size_t emulate_data_n = sizeof(emulate_data) / sizeof(emulate_data[0]);
