/* What programs may call themselves when they are built with -fsanitize=thread (sanitizer/tsan_interface.h): it tells a race detector who
 * orders whom. Nothing here looks for races. */
#include "runs/inside/emulate/emulate.h"

#define IGNORES(name, ...)                  \
	EXPORT void name(__VA_ARGS__);      \
	void name(__VA_ARGS__)              \
	{                                   \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

IGNORES(__tsan_acquire, void *at)
IGNORES(__tsan_release, void *at)
IGNORES(__tsan_ignore_thread_begin, void)
IGNORES(__tsan_ignore_thread_end, void)
IGNORES(__tsan_flush_memory, void)
IGNORES(__tsan_mutex_create, void *at, unsigned flags)
IGNORES(__tsan_mutex_destroy, void *at, unsigned flags)
IGNORES(__tsan_mutex_pre_lock, void *at, unsigned flags)
IGNORES(__tsan_mutex_post_lock, void *at, unsigned flags, int recursion)
IGNORES(__tsan_mutex_post_unlock, void *at, unsigned flags)
IGNORES(__tsan_mutex_pre_signal, void *at, unsigned flags)
IGNORES(__tsan_mutex_post_signal, void *at, unsigned flags)
IGNORES(__tsan_mutex_pre_divert, void *at, unsigned flags)
IGNORES(__tsan_mutex_post_divert, void *at, unsigned flags)
IGNORES(__tsan_destroy_fiber, void *fiber)
IGNORES(__tsan_switch_to_fiber, void *fiber, unsigned flags)
IGNORES(__tsan_set_fiber_name, void *fiber, const char *name)
IGNORES(__tsan_external_register_header, void *tag, const char *header)
IGNORES(__tsan_external_assign_tag, void *at, void *tag)
IGNORES(__tsan_external_read, void *at, void *pc, void *tag)
IGNORES(__tsan_external_write, void *at, void *pc, void *tag)

EXPORT int __tsan_mutex_pre_unlock(void *at, unsigned flags);
int __tsan_mutex_pre_unlock(void *at, unsigned flags)
{
	return 0;
}

/* Programs compare what they get, and give it back: something that is not NULL. */
EXPORT void *__tsan_create_fiber(unsigned flags);
void *__tsan_create_fiber(unsigned flags)
{
	return &runtime;
}

EXPORT void *__tsan_get_current_fiber(void);
void *__tsan_get_current_fiber(void)
{
	return &runtime;
}

EXPORT void *__tsan_external_register_tag(const char *name);
void *__tsan_external_register_tag(const char *name)
{
	return &runtime;
}
