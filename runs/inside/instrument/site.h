/* Functions of a program or shared library that can be probed, and the list of them for the probe (docs/probe.md). */
#ifndef RUNS_INSTRUMENT_SITE_H
#define RUNS_INSTRUMENT_SITE_H

#include "base/buf.h"
#include "base/error.h"
#include "runs/inside/changes/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITE_MODULE_BYTES   300
#define SITE_NAMES_MAX	    65536
#define SITE_LIST_BYTES_MAX (64u << 20)

struct site {
	const char *name; /* the symbol */
	uint64_t address; /* in the file */
	bool patchable;	  /* -fpatchable-function-entry=5 has left space at its start */
};

/* A file, as the probe sees it. */
struct site_module {
	struct image image;
	char id[SITE_MODULE_BYTES]; /* build-id in hexadecimal digits, or "=" and the file's name */
	struct site *items;	    /* [n], functions defined here, by name, then address */
	size_t n, patchable;
	bool instrumented; /* calls __cyg_profile_func_enter */
	bool linked;	   /* needs libassay-probe.so itself */
	bool dynamic;	   /* a program with an interpreter, or a library: LD_PRELOAD works */
	bool own_unwinder; /* contains libgcc's unwinder: exceptions cannot be followed */
};

/* Opens a file. *out is overwritten; site_module_release() it. Errors give the fault and the remedy: not ELF, another machine, stripped,
 * without debug information, damaged. */
enum assay_status site_module_open(const char *path, struct site_module *out, struct assay_error *err);
/* Checks that it can be probed at all; otherwise ASSAY_E_USAGE with the remedy. */
enum assay_status site_module_check(const struct site_module *module, struct assay_error *err);
/* Returns ASSAY_E_USAGE if it was not built with the emulation. */
enum assay_status site_module_check_emulated(const struct site_module *module, struct assay_error *err);
void site_module_release(struct site_module *module); /* accepts zeroed */

/* Selected functions: symbols or readable C++ names, each with an optional "@0xADDRESS". */
struct site_selection {
	struct site_wanted {
		char *name;
		uint64_t address; /* in a file with that build-id */
		bool has_address;
		bool optional; /* passed over if it cannot be listed */
	} * items;	       /* [n] */
	size_t n, capacity;
	char build_id[SITE_MODULE_BYTES]; /* build-id of the file with these addresses; "" if not given */
};

/* Adds functions to *selection, initially zeroed: "NAME,NAME..." (commas inside brackets belong to a name), or "@FILE" with one per line,
 * "NAME" or "NAME<tab>0xADDRESS..." as `assay changes --list` writes it; "#" starts a comment. site_selection_release() it. */
enum assay_status site_selection_add(struct site_selection *selection, const char *text, struct assay_error *err);
/* Adds the lines of such a file; `name` is for messages. */
enum assay_status site_selection_lines(struct site_selection *selection, const char *name, const char *text, struct assay_error *err);
/* Adds a function that site_list() passes over if it is not there or cannot be probed. */
void site_selection_add_optional(struct site_selection *selection, const char *name);
void site_selection_release(struct site_selection *selection); /* accepts zeroed */

/* Appends the list for the probe to *out: all places of each selected function in the n modules, with its clones (.constprop, .isra,
 * .part). Fails, with the alternatives, if a name does not exist, if several functions have it, or if it cannot be probed; for the
 * emulation, which goes by names, only the first. *listed (may be NULL): number of lines. */
enum site_for { SITE_FOR_PROBE, SITE_FOR_EMULATION };
enum assay_status site_list(const struct site_module *modules, size_t n, const struct site_selection *selection, enum site_for whom,
			    struct buf *out, size_t *listed, struct assay_error *err);

#endif
