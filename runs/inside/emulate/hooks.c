/* What the compiler calls (-fsanitize=thread -fsanitize-coverage=trace-pc). In windows that are skipped an access costs a count and a
 * look at the page. */
#include "runs/inside/emulate/emulate.h"

__thread struct hot hot;

static inline void on_read(const void *at, size_t bytes)
{
	if (UNLIKELY(--hot.left < 0))
		simulate_access((uintptr_t)at, bytes, ACCESS_READ);
}

/* Apart, so that the usual way needs no stack. */
static __attribute__((noinline)) void on_write_elsewhere(uintptr_t at, size_t bytes)
{
	page_written(at >> PAGE_BITS);
	if (UNLIKELY(--hot.left < 0))
		simulate_access(at, bytes, ACCESS_WRITE);
}

static inline void on_write(const void *at, size_t bytes)
{
	if (UNLIKELY((uintptr_t)at >> PAGE_BITS != hot.written_page))
		on_write_elsewhere((uintptr_t)at, bytes);
	else if (UNLIKELY(--hot.left < 0))
		simulate_access((uintptr_t)at, bytes, ACCESS_WRITE);
}

/* The compiler declares these itself; nobody else calls them. */
#define HOOK(name, bytes, on)            \
	EXPORT void name(void *at);      \
	void name(void *at)              \
	{                                \
		on(at, bytes);           \
	}
#define HOOK_PC(name, bytes, on)                  \
	EXPORT void name(void *at, void *pc);     \
	void name(void *at, void *pc)             \
	{                                         \
		(void)pc;                         \
		on(at, bytes);                    \
	}
#define HOOKS(bytes)                                           \
	HOOK(__tsan_read##bytes, bytes, on_read)               \
	HOOK(__tsan_write##bytes, bytes, on_write)             \
	HOOK(__tsan_volatile_read##bytes, bytes, on_read)      \
	HOOK(__tsan_volatile_write##bytes, bytes, on_write)    \
	HOOK(__tsan_read_write##bytes, bytes, on_write)        \
	HOOK_PC(__tsan_read##bytes##_pc, bytes, on_read)       \
	HOOK_PC(__tsan_write##bytes##_pc, bytes, on_write)
#define HOOKS_UNALIGNED(bytes)                                        \
	HOOK(__tsan_unaligned_read##bytes, bytes, on_read)            \
	HOOK(__tsan_unaligned_write##bytes, bytes, on_write)          \
	HOOK(__tsan_unaligned_volatile_read##bytes, bytes, on_read)   \
	HOOK(__tsan_unaligned_volatile_write##bytes, bytes, on_write) \
	HOOK(__tsan_unaligned_read_write##bytes, bytes, on_write)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
HOOKS_UNALIGNED(1)
HOOKS_UNALIGNED(2)
HOOKS_UNALIGNED(4)
HOOKS_UNALIGNED(8)
HOOKS_UNALIGNED(16)
HOOK(__tsan_vptr_read, sizeof(void *), on_read)

EXPORT void __tsan_vptr_update(void **at, void *value);
void __tsan_vptr_update(void **at, void *value)
{
	(void)value;
	on_write(at, sizeof(*at));
}

EXPORT void __tsan_read_range(void *at, size_t bytes);
void __tsan_read_range(void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

EXPORT void __tsan_write_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes)
{
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

EXPORT void __tsan_read_range_pc(void *at, size_t bytes, void *pc);
void __tsan_read_range_pc(void *at, size_t bytes, void *pc)
{
	(void)pc;
	simulate_range((uintptr_t)at, bytes, ACCESS_READ);
}

EXPORT void __tsan_write_range_pc(void *at, size_t bytes, void *pc);
void __tsan_write_range_pc(void *at, size_t bytes, void *pc)
{
	(void)pc;
	simulate_range((uintptr_t)at, bytes, ACCESS_WRITE);
}

EXPORT void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	if (UNLIKELY(--hot.blocks_left < 0))
		simulate_block((uintptr_t)__builtin_return_address(0));
}

/* The argument, the caller's return address, does not say which function it is; where the call stands does. */
EXPORT void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	(void)caller;
	if (LIKELY(hot.thread != NULL))
		frames_enter(hot.thread, (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0));
}

EXPORT void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	if (LIKELY(hot.thread != NULL))
		frames_leave(hot.thread, (uintptr_t)__builtin_frame_address(0), (uintptr_t)__builtin_return_address(0),
			     (uintptr_t)__tsan_func_exit);
}

/* Called by the constructors that the compiler adds, perhaps before our own. */
EXPORT void __tsan_init(void);
void __tsan_init(void)
{
	runtime_start();
}
