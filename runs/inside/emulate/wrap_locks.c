/* Locks of the C library: taking and giving one back is an atomic write where it lies. The order in which threads get one says nothing
 * about their clocks. */
#include "runs/inside/emulate/emulate.h"

static void touches(const volatile void *lock)
{
	hot.atomics++;
	simulate_range((uintptr_t)lock, sizeof(int), ACCESS_WRITE);
}

#define WRAP(name, type)                          \
	int __real_##name(type *lock);            \
	EXPORT int __wrap_##name(type *lock);     \
	int __wrap_##name(type *lock)             \
	{                                         \
		touches(lock);                    \
		return __real_##name(lock);       \
	}

WRAP(pthread_mutex_lock, pthread_mutex_t)
WRAP(pthread_mutex_trylock, pthread_mutex_t)
WRAP(pthread_mutex_unlock, pthread_mutex_t)
WRAP(pthread_spin_lock, pthread_spinlock_t)
WRAP(pthread_spin_trylock, pthread_spinlock_t)
WRAP(pthread_spin_unlock, pthread_spinlock_t)
WRAP(pthread_rwlock_rdlock, pthread_rwlock_t)
WRAP(pthread_rwlock_wrlock, pthread_rwlock_t)
WRAP(pthread_rwlock_unlock, pthread_rwlock_t)
