/* The tables stand with those who use them, in files schema_VERSION.sql. */
#include "fleet/lab/store_schema.h"

#include "base/embed.h"

#include <stddef.h>

EMBED_FILE(schema_fingerprint_1, ASSAY_SOURCE_DIRECTORY "/fingerprint/stored/schema_1.sql");
EMBED_FILE(schema_fingerprint_2, ASSAY_SOURCE_DIRECTORY "/fingerprint/stored/schema_2.sql");
EMBED_FILE(schema_fingerprint_4, ASSAY_SOURCE_DIRECTORY "/fingerprint/stored/schema_4.sql");
EMBED_FILE(schema_fingerprint_6, ASSAY_SOURCE_DIRECTORY "/fingerprint/stored/schema_6.sql");
EMBED_FILE(schema_running_1, ASSAY_SOURCE_DIRECTORY "/runs/running/schema_1.sql");
EMBED_FILE(schema_running_3, ASSAY_SOURCE_DIRECTORY "/runs/running/schema_3.sql");
EMBED_FILE(schema_running_5, ASSAY_SOURCE_DIRECTORY "/runs/running/schema_5.sql");
EMBED_FILE(schema_running_6, ASSAY_SOURCE_DIRECTORY "/runs/running/schema_6.sql");
EMBED_FILE(schema_samples_5, ASSAY_SOURCE_DIRECTORY "/runs/inside/samples/schema_5.sql");

const struct store_migration store_migrations[] = {
	{ { schema_fingerprint_1, schema_running_1, NULL } },
	{ { schema_fingerprint_2, NULL } },
	{ { schema_running_3, NULL } },
	{ { schema_fingerprint_4, NULL } },
	{ { schema_running_5, schema_samples_5, NULL } },
	{ { schema_fingerprint_6, schema_running_6, NULL } },
};

const int store_migrations_n = (int)(sizeof(store_migrations) / sizeof(store_migrations[0]));
