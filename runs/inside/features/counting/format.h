/* The file of features. A counting build writes it (runs/inside/features/counting/), and runs/inside/features/run_features.h reads it. It
 * has events of loops, branches, calls and exceptions of one module of one process, and first values of variables.
 *
 * The file is mapped and written in place: counts made before the process was killed are complete. One file per process and module (a
 * program, or a library built in the same way): DIRECTORY/PID-N.features. A child of fork() starts its own. Little-endian.
 *
 *   counting_header, padded to header_bytes; the names (text), padded to whole pages; blocks of block_bytes each
 *
 * Each thread counts in its own block. The block of a thread that has ended passes to a later one, which continues its counts. Names are
 * lines, one per counter of a block in the order of its slots, which are words of 8 bytes:
 *
 *   "c NAME\n"  one slot: a count
 *   "= NAME\n"  no slot: another name of the counter before it
 *   "v NAME\n"  FEATURES_VALUE_SLOTS: number of values kept, and the first FEATURES_VALUES, as signed integers
 *   "d NAME\n"  the same, as doubles
 *   "s NAME\n", "b", "a", "n"  no slot: a piece that can be excluded (slices.h) */
#ifndef RUNS_FEATURES_COUNTING_FORMAT_H
#define RUNS_FEATURES_COUNTING_FORMAT_H

#include <stdint.h>

#define FEATURES_MAGIC		   "assayfea" /* 8 bytes, without the NUL */
#define FEATURES_MAGIC_PRE_RELEASE "assayftr" /* magic of files that are refused */
#define FEATURES_VERSION	   1u
#define FEATURES_PAGE		   4096u
#define FEATURES_VALUES		   5u
#define FEATURES_VALUE_SLOTS	   (1u + FEATURES_VALUES)
#define FEATURES_SLOTS_MAX	   (16u << 20)
#define FEATURES_NAMES_MAX	   (256u << 20) /* bytes */
#define FEATURES_BLOCKS_MAX	   65536u
#define FEATURES_SUFFIX		   ".features"
#define FEATURES_SECTION	   "assay_features_names" /* section of a counting module */

struct counting_header {
	char magic[8];
	uint32_t version, header_bytes; /* header_bytes: a multiple of the page */
	uint64_t pid;
	uint64_t slots;	      /* per block */
	uint64_t names_bytes; /* without padding */
	uint64_t block_bytes; /* a multiple of the page */
	uint64_t blocks;      /* in use; grows, stored after the block is there */
	uint64_t lost;	      /* threads without a block and children without a file, whose counts are missing */
	uint64_t finished;    /* 1 if the process ended in order */
};

#endif
