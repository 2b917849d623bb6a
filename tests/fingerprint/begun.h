/* Starts a fingerprint in the store as the take command does, so that tests can store data that belongs to it. */
#ifndef TESTS_FINGERPRINT_BEGUN_H
#define TESTS_FINGERPRINT_BEGUN_H

#include "fingerprint/stored/fingerprint.h"
#include "tests/scratch.h"

static inline void begin_fingerprint(struct store *store, const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES])
{
	struct assay_error err;

	fingerprint_id(key, id);
	check(store_execute(
		  store, &err,
		  "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, profile, "
		  "conditions, complete) VALUES (?, ?, ?, ?, ?, ?, ?, 'measured', NULL, '{}', 0)",
		  "tttttit", id, key->machine, key->battery, key->battery_hash, key->stress_ng, key->taken_ms, key->architecture),
	      &err);
}

#endif
