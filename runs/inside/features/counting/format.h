/* Format of feature files. Programs built to count features write them (runs/inside/features/counting/), run_features.h reads them. A file
 * has counts of loops, branches, calls and exceptions in one module of one process, and first values of variables.
 *
 * The program maps the file and writes in place, so the counts of a killed process are complete. Each process has one file per module (a
 * program, or a library built in the same way): DIRECTORY/PID-N.features. A child of fork() starts its own. Little-endian. Parts:
 *
 *   counting_header, padded to header_bytes; the names (text), padded to whole pages; blocks of block_bytes each
 *
 * Each thread counts in its own block. The block of an ended thread passes to a later one, which continues its counts. Names are lines, one
 * per counter of a block, in the order of the slots. A slot has 8 bytes.
 *
 *   "c NAME\n"                  one slot: a count
 *   "= NAME\n"                  no slot: another name of the previous counter
 *   "v NAME\n"                  FEATURES_VALUE_SLOTS: number of values kept, then the first FEATURES_VALUES, as signed integers
 *   "d NAME\n"                  FEATURES_VALUE_SLOTS: the same, as doubles
 *   "s NAME\n", "b", "a", "n"   no slot: a piece that can be excluded (slices.h) */
#ifndef RUNS_FEATURES_COUNTING_FORMAT_H
#define RUNS_FEATURES_COUNTING_FORMAT_H

#include <stdint.h>

#define FEATURES_MAGIC		   "assayfea" /* magic number, 8 bytes, without the NUL */
#define FEATURES_MAGIC_PRE_RELEASE "assayftr" /* magic number of pre-release files, which are refused */
#define FEATURES_VERSION	   1u
#define FEATURES_PAGE		   4096u
#define FEATURES_VALUES		   5u
#define FEATURES_VALUE_SLOTS	   (1u + FEATURES_VALUES)
#define FEATURES_SLOTS_MAX	   (16u << 20)
#define FEATURES_NAMES_MAX	   (256u << 20) /* maximum size of all names together, bytes */
#define FEATURES_BLOCKS_MAX	   65536u
#define FEATURES_SUFFIX		   ".features"
#define FEATURES_SECTION	   "assay_features_names" /* section of the names in a counting module */

struct counting_header {
	char magic[8];
	uint32_t version, header_bytes; /* `header_bytes` is a multiple of FEATURES_PAGE */
	uint64_t pid;
	uint64_t slots;	      /* number of slots per block */
	uint64_t names_bytes; /* size of the names without padding, bytes */
	uint64_t block_bytes; /* size of a block, bytes, a multiple of FEATURES_PAGE */
	uint64_t blocks;      /* number of blocks in use; increased after a block exists */
	uint64_t lost;	      /* number of threads without a block and children without a file, whose counts are missing */
	uint64_t finished;    /* 1 if the process ended in order, otherwise 0 */
};

#endif
