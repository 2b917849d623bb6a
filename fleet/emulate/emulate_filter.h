/* System-call filters that refuse nothing and cost time: seccomp programs of a chosen length (seccomp(2), and classic BPF as in
 * McCanne and Jacobson, USENIX Winter 1993). */
#ifndef FLEET_EMULATE_FILTER_H
#define FLEET_EMULATE_FILTER_H

#include "base/error.h"
#include "fleet/emulate/emulate_profile.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

/* Number of calls of a class and their numbers; 0 for EMULATE_CLASS_ALL, which is every call. */
size_t emulate_class_calls(enum emulate_class which, const int **calls);

/* One program: calls of the class run `instructions` (at least 1) of them before they are allowed; all others are allowed by a
 * verdict that depends on the number alone, which the kernel keeps and does not compute again. free() *out. Returns its length.
 */
size_t emulate_filter_build(enum emulate_class which, unsigned instructions, struct sock_filter **out);

/* The longest `instructions` that one program can hold. */
unsigned emulate_filter_room(enum emulate_class which);

/* Installs what the profile says on the calling process, for it and all its descendants, for good. Sets no_new_privs where the
 * process has no right to do without; *installed programs. */
enum assay_status emulate_filter_install(const struct emulate_profile *profile, unsigned *installed, struct assay_error *err);

#endif
