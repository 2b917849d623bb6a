/* For the writer alone: the file that it writes to, its place on the disk and in memory. Errors are an errno; 0: none. */
#ifndef RUNS_RECORD_FILE_H
#define RUNS_RECORD_FILE_H

#include "runs/inside/record/record_writer.h"

#include <time.h>

#define RECORD_PAGE_BYTES   4096u
#define RECORD_NAMES_BITS   40
#define RECORD_FINAL_CHUNKS 64u /* beyond the limit, for what threads say at their end */

static inline uint64_t record_clock_ns(int which)
{
	struct timespec t = { 0, 0 };

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline char *names_of(const struct record_header *header)
{
	return (char *)(uintptr_t)header + header->header_bytes;
}

/* Made absolute: the program may change its directory. */
bool record_directory_set(struct record_writer *w, const char *directory);
/* Creates and maps a file and writes its header; options and directory are there. */
int record_file_begin(struct record_writer *w);
/* Some of the disk and of the memory, at an offset of the file. `fresh`: nothing stands there yet. */
int record_file_reserve(struct record_writer *w, uint64_t offset, uint32_t bytes, bool fresh);
/* A part of a file that is kept in memory. */
int record_file_write(const struct record_writer *w, uint64_t offset, uint64_t bytes);
/* The descriptor that is kept of it. */
void record_file_let_go(struct record_writer *w);
/* As it is mapped. */
uint64_t record_file_bytes(const struct record_writer *w);
/* Names get their room on the disk piece by piece: most processes have few. */
uint64_t record_names_pieces(const struct record_writer *w, uint64_t bytes);

#endif
