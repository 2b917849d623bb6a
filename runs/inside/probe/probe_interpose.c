/* Replaces functions of the program that load libraries, or that leave a function without a return. Unwinders read return addresses. So the
 * original addresses are restored before an unwinder starts, and a catch inserts probe_return again. longjmp() needs no replacement,
 * because the next hook recognizes dead frames. */
#include "runs/inside/probe/probe.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define BACKTRACE_MAX 256 /* requests up to this size are served fully; larger ones may miss the outermost address */

/* ---- libraries that are loaded later ---- */

/* Calls dlopen() so that it seems to be called by the caller's module: it returns to a `ret` instruction there, which returns here. The
 * dynamic linker knows the caller by the return address, and uses the search path of the caller's module (RUNPATH, namespace). */
void *probe_call_as(void *function, const char *file, long mode, const void *gadget);

__asm__(".text\n"
	".p2align 4\n"
	".hidden probe_call_as\n"
	".globl probe_call_as\n"
	".type probe_call_as, @function\n"
	"probe_call_as:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	mov %rdi, %r11\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	lea 1f(%rip), %rax\n"
	"	sub $8, %rsp\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	jmp *%r11\n"
	"1:	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size probe_call_as, . - probe_call_as\n");

struct search {
	uintptr_t caller;
	const unsigned char *gadget;
};

/* Finds a byte 0xc3 (`ret`) in the caller's segment. */
static int gadget_find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + p->p_vaddr, high = low + p->p_memsz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || search->caller < low || search->caller >= high)
			continue;
		for (uintptr_t at = search->caller; at < high; at++)
			if (*(const unsigned char *)at == 0xc3)
				return search->gadget = (const unsigned char *)at, 1;
		for (uintptr_t at = search->caller; at-- > low;)
			if (*(const unsigned char *)at == 0xc3)
				return search->gadget = (const unsigned char *)at, 1;
	}
	return 0;
}

/* Returns the function that a function of this library replaces. Blocks signals, because a handler that left dlsym() by longjmp() would
 * leave the loader's lock held forever. */
static void *next_definition(const char *name)
{
	uint64_t signals = record_signals_block();
	void *found = dlsym(RTLD_NEXT, name);

	record_signals_restore(signals);
	return found;
}

static __typeof__(dlopen) *real_dlopen(void)
{
	static void *real;

	if (!real)
		real = next_definition("dlopen");
	return (__typeof__(dlopen) *)(uintptr_t)real;
}

void *probe_load_library(const char *file, int mode)
{
	return real_dlopen()(file, mode);
}

/* Returns the caller's address. If the caller's function is measured and ended by a jump to this one, ends its invocation first. */
static uintptr_t find_caller(uintptr_t *slot)
{
	while (*(volatile uintptr_t *)slot == (uintptr_t)probe_return)
		probe_leave_slowly(slot, record_ticks_done());
	return *(volatile uintptr_t *)slot;
}

PROBE_EXPORT void *dlopen(const char *file, int mode)
{
	struct search search = { .caller = find_caller((uintptr_t *)__builtin_dwarf_cfa() - 1) };
	void *library;

	dl_iterate_phdr(gadget_find, &search);
	if (search.gadget)
		library = probe_call_as((void *)(uintptr_t)real_dlopen(), file, mode, search.gadget);
	else
		library = probe_load_library(file, mode);
	if (library)
		probe_scan_loaded();
	return library;
}

/* Returns the real getcontext() or swapcontext(), which store their return address. If a measured function ended by a jump to them, they
 * would store probe_return and keep it after the frame is gone. So this invocation is ended first. */
void *probe_context_function(bool swap, uintptr_t *slot);

void *probe_context_function(bool swap, uintptr_t *slot)
{
	static void *real[2];

	find_caller(slot);
	if (!real[swap])
		real[swap] = next_definition(swap ? "swapcontext" : "getcontext");
	return real[swap];
}

#define CONTEXT_FUNCTION(name, swap)                                                                                                       \
	__asm__(".text\n"                                                                                                                  \
		".p2align 4\n"                                                                                                             \
		".globl " name "\n"                                                                                                        \
		".type " name ", @function\n" name ":\n"                                                                                   \
		"	.cfi_startproc\n"                                                                                                        \
		"	push %rdi; push %rsi; push %rsi\n"                                                                                       \
		"	.cfi_adjust_cfa_offset 24\n"                                                                                             \
		"	mov $" swap ", %edi\n"                                                                                             \
		"	lea 24(%rsp), %rsi\n"                                                                                                    \
		"	call probe_context_function\n"                                                                                           \
		"	pop %rsi; pop %rsi; pop %rdi\n"                                                                                          \
		"	.cfi_adjust_cfa_offset -24\n"                                                                                            \
		"	jmp *%rax\n"                                                                                                             \
		"	.cfi_endproc\n"                                                                                                          \
		".size " name ", . - " name "\n")
CONTEXT_FUNCTION("getcontext", "0");
CONTEXT_FUNCTION("swapcontext", "1");

/* Returns the original return address for probe_return, so that a function that looks up its return address finds its caller. */
static void *translate_address(const void *address)
{
	const struct probe_thread *t = probe_self;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), found = 0;

	for (uint32_t i = t && address == (const void *)(uintptr_t)probe_return ? t->depth : 0; i-- > 0 && !found;) {
		const struct probe_frame *frame = probe_frame_at(t, i);

		if ((uintptr_t)frame->slot > here && frame->return_address && !frame->shows_return_address && !probe_is_overwritten(frame))
			found = probe_find_return_address(t, frame->slot);
	}
	return found ? (void *)found : (void *)(uintptr_t)address;
}

PROBE_EXPORT int dladdr(const void *address, Dl_info *info)
{
	static __typeof__(dladdr) *real;

	if (!real)
		*(void **)&real = next_definition("dladdr");
	return real(translate_address(address), info);
}

/* ---- unwinding ---- */

/* Returns the function that the program would have without the probe. Also searches libgcc and libstdc++, which only a plugin may use. */
static void *find_next_symbol(const char *name)
{
	uint64_t signals = record_signals_block();
	void *found = dlsym(RTLD_NEXT, name), *library;

	if (!found && (library = probe_load_library("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(library, name);
	if (!found && (library = probe_load_library("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(library, name);
	record_signals_restore(signals);
	if (!found) {
		probe_report("cannot find ", name, 0);
		abort();
	}
	return found;
}

/* Restores the thread's return addresses; without `restore`, inserts probe_return again. Hooks in signal handlers only count meanwhile. */
static void addresses_change(bool restore)
{
	struct probe_thread *t = probe_self;
	struct probe_work work;

	if (!t || !t->depth || !probe_on_stack(t, &work))
		return;
	probe_work_begin(t, &work);
	/* Inserts from the outermost frame on. If frames share a slot (tail calls), only the outermost one has the original address. */
	for (uint32_t i = 0; i < t->depth; i++) {
		struct probe_frame *frame = probe_frame_at(t, restore ? t->depth - 1 - i : i);

		if (!frame->return_address || frame->shows_return_address == restore || probe_is_overwritten(frame))
			continue;
		*frame->slot = restore ? frame->return_address : (uintptr_t)probe_return;
		frame->shows_return_address = restore;
	}
	probe_work_end(t, &work);
}

/* Ends the frames below the stack address `here`. */
static void prune_below(void *here)
{
	struct probe_thread *t = probe_self;
	struct probe_work work;

	if (!t || !probe_on_stack(t, &work) || probe_is_hook_active(t, here))
		return;
	probe_work_begin(t, &work);
	probe_end_dead_frames(t, here, false);
	work.before = 0;
	probe_work_end(t, &work);
}

/* Defines real_NAME(), which returns the function NAME that a function of this library replaces. */
#define REAL(name)                                                                                                                         \
	static __typeof__(name) *real_##name(void)                                                                                         \
	{                                                                                                                                  \
		static void *found;                                                                                                        \
                                                                                                                                           \
		if (!found)                                                                                                                \
			found = find_next_symbol(#name);                                                                                   \
		return (__typeof__(name) *)(uintptr_t)found;                                                                               \
	}

void *__cxa_begin_catch(void *exception); /* from the C++ runtime */
REAL(_Unwind_RaiseException)
REAL(_Unwind_Resume_or_Rethrow)
REAL(_Unwind_Resume)
REAL(_Unwind_ForcedUnwind)
REAL(_Unwind_Backtrace)
REAL(__cxa_begin_catch)
REAL(pthread_exit)
REAL(backtrace)

PROBE_EXPORT _Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *exception)
{
	__typeof__(_Unwind_RaiseException) *real = real__Unwind_RaiseException();

	addresses_change(true);
	return real(exception);
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_Resume_or_Rethrow(struct _Unwind_Exception *exception)
{
	__typeof__(_Unwind_Resume_or_Rethrow) *real = real__Unwind_Resume_or_Rethrow();

	addresses_change(true);
	return real(exception);
}

PROBE_EXPORT void _Unwind_Resume(struct _Unwind_Exception *exception)
{
	__typeof__(_Unwind_Resume) *real = real__Unwind_Resume();

	addresses_change(true); /* a destructor may have caught another exception, which inserted probe_return */
	real(exception);
	__builtin_unreachable();
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_ForcedUnwind(struct _Unwind_Exception *exception, _Unwind_Stop_Fn stop, void *argument)
{
	__typeof__(_Unwind_ForcedUnwind) *real = real__Unwind_ForcedUnwind();

	addresses_change(true);
	return real(exception, stop, argument);
}

/* Ends the frames that an exception left, and inserts probe_return again. Called when the exception has reached its catch. */
PROBE_EXPORT void *__cxa_begin_catch(void *exception)
{
	__typeof__(__cxa_begin_catch) *real = real___cxa_begin_catch();

	prune_below(__builtin_dwarf_cfa());
	addresses_change(false);
	return real(exception);
}

PROBE_EXPORT void pthread_exit(void *result)
{
	__typeof__(pthread_exit) *real = real_pthread_exit();

	addresses_change(true);
	real(result);
	__builtin_unreachable();
}

/* Restores the original addresses while the program reads its stack. */
PROBE_EXPORT int backtrace(void **array, int size)
{
	__typeof__(backtrace) *real = real_backtrace();
	void *with_us[BACKTRACE_MAX + 1];
	bool fits = size > 0 && size <= BACKTRACE_MAX;
	int n;

	addresses_change(true);
	n = fits ? real(with_us, size + 1) : real(array, size);
	addresses_change(false);
	if (n > 0) { /* removes the first address, which is in this function */
		n--;
		memmove(array, fits ? with_us + 1 : array + 1, (size_t)n * sizeof(*array));
	}
	return n;
}

struct backtrace_call {
	_Unwind_Trace_Fn callback;
	void *argument;
	bool skipped_first; /* the first frame, which is _Unwind_Backtrace() below, was skipped */
};

static _Unwind_Reason_Code continue_unwinding(struct _Unwind_Context *context, void *argument)
{
	struct backtrace_call *look = argument;

	if (look->skipped_first)
		return look->callback(context, look->argument);
	look->skipped_first = true;
	return _URC_NO_REASON;
}

PROBE_EXPORT _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn with, void *argument)
{
	__typeof__(_Unwind_Backtrace) *real = real__Unwind_Backtrace();
	struct backtrace_call look = { with, argument, false };
	_Unwind_Reason_Code code;

	addresses_change(true);
	code = real(continue_unwinding, &look);
	addresses_change(false);
	return code;
}
