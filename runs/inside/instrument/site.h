/* Finds the functions of a program or shared library that can be probed, and lists them for the probe (docs/probe.md). */
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
	const char *name; /* symbol */
	uint64_t address; /* address in the file */
	bool patchable;	  /* true if -fpatchable-function-entry=5 has left space for the jump */
};

/* A program or shared library, with its functions. */
struct site_module {
	struct image image;
	char id[SITE_MODULE_BYTES]; /* build-id in hexadecimal digits, or "=" and the file's name */
	struct site *items;	    /* [n] functions defined in the file, by name, then by address */
	size_t n, patchable;
	bool instrumented; /* true if the module calls __cyg_profile_func_enter */
	bool linked;	   /* true if the file itself needs libassay-probe.so */
	bool dynamic;	   /* true if LD_PRELOAD works, for a library or a program with an interpreter */
	bool own_unwinder; /* true if it contains libgcc's unwinder, so that the probe cannot follow exceptions */
};

/* Opens a file. Overwrites *out; site_module_release() frees it. Errors name the fault and the remedy: not ELF, another architecture,
 * stripped, without debug information, damaged. */
enum assay_status site_module_open(const char *path, struct site_module *out, struct assay_error *err);
/* Checks that the module can be probed. Otherwise returns ASSAY_E_USAGE with the remedy. */
enum assay_status site_module_check(const struct site_module *module, struct assay_error *err);
/* Returns ASSAY_E_USAGE if the module was not built with the emulation. */
enum assay_status site_module_check_emulated(const struct site_module *module, struct assay_error *err);
void site_module_release(struct site_module *module); /* accepts a zeroed struct */

/* Selected functions: symbols or readable C++ names, each with an optional "@0xADDRESS". */
struct site_selection {
	struct site_pattern {
		char *name;
		uint64_t address; /* address in the file with `build_id` */
		bool has_address;
		bool optional; /* true if the function is skipped if it cannot be listed */
	} * items;	       /* [n] */
	size_t n, capacity;
	char build_id[SITE_MODULE_BYTES]; /* build-id of the file to which the addresses belong; "" if unknown */
};

/* Adds functions to *selection, which is zeroed at first. `text` is "NAME,NAME..." (commas in brackets belong to a name) or "@FILE" with
 * lines "NAME", "NAME<tab>0xADDRESS..." of `assay changes --list`, or "#..." (a comment). site_selection_release() frees the selection. */
enum assay_status site_selection_add(struct site_selection *selection, const char *text, struct assay_error *err);
/* Adds the lines of such a file. Error messages call the file `name`. */
enum assay_status site_selection_add_lines(struct site_selection *selection, const char *name, const char *text, struct assay_error *err);
/* Adds a function that site_list() skips if it does not exist or cannot be probed. */
void site_selection_add_optional(struct site_selection *selection, const char *name);
void site_selection_release(struct site_selection *selection); /* accepts a zeroed struct */

/* Appends the list for the probe to *out: all places of each selected function in modules[n], including its clones (.constprop, .isra,
 * .part). Fails, with alternatives, if a name does not exist, if several functions have it, or if it cannot be probed. The emulation
 * selects functions by name, so for it only existence is checked. Sets *listed, unless `listed` is NULL, to the number of lines. */
enum site_use { SITE_USE_PROBE, SITE_USE_EMULATION };
enum assay_status site_list(const struct site_module *modules, size_t n, const struct site_selection *selection, enum site_use whom,
			    struct buf *out, size_t *listed, struct assay_error *err);

#endif
