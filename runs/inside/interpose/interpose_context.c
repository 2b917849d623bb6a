/* Which calls led to a call: the return addresses on the thread's stack above it, by the unwinder of the program's own compiler library
 * (libgcc_s, which finds modules without a lock: glibc 2.35). It is loaded only where call paths are asked for. */
#include "runs/inside/interpose/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unwind.h>

#define OWN_MOST 32u /* frames between here and the call itself */

static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*address_of)(struct _Unwind_Context *);

bool interpose_context_begin(void)
{
	int before = errno;
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL), *found[2] = { NULL, NULL };

	if (library) {
		found[0] = dlsym(library, "_Unwind_Backtrace");
		found[1] = dlsym(library, "_Unwind_GetIP");
	}
	memcpy(&unwind, &found[0], sizeof(unwind));
	memcpy(&address_of, &found[1], sizeof(address_of));
	errno = before;
	return found[0] && found[1];
}

struct walk {
	uintptr_t call;
	unsigned own;
	bool begun;
	struct interpose_path *path;
};

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *of)
{
	struct walk *w = of;
	uintptr_t address = address_of(context);

	if (!w->begun) {
		w->begun = address == w->call;
		return ++w->own < OWN_MOST ? _URC_NO_REASON : _URC_NORMAL_STOP;
	}
	if (!address || w->path->n == INTERPOSE_PATH)
		return _URC_NORMAL_STOP;
	w->path->at[w->path->n++] = address;
	w->path->hash = interpose_mix(w->path->hash, address);
	return _URC_NO_REASON;
}

void interpose_context(uint64_t key, struct interpose_path *out)
{
	struct walk w = { .call = key & ((UINT64_C(1) << INTERPOSE_ADDRESS_BITS) - 1), .path = out };

	out->n = 0;
	out->hash = key;
	unwind(frame, &w);
}
