/* Names to addresses, many at once. Private to fleet/. */
#ifndef FLEET_ENGINE_RESOLVE_H
#define FLEET_ENGINE_RESOLVE_H

#include <netdb.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct engine_resolve_name {
	const char *name;
	struct addrinfo *found; /* without port; NULL: message says why */
	char message[128];
};

/* Resolves names[n], each within timeout_ms, by a bounded number of threads (numeric addresses need none). Returns early when
 * *cancelled (may be NULL) is set. A thread that hangs in the C library is left behind with what belongs to it. */
void engine_resolve_all(struct engine_resolve_name *names, size_t n, int64_t timeout_ms, const volatile sig_atomic_t *cancelled);
void engine_resolve_release(struct engine_resolve_name *names, size_t n);

#endif
