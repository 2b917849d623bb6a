/* Hides the values of secret variables in everything that assay stores or shows. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MASK "(hidden)"

/* Adds patterns of secret names, with * ? [ ], for the rest of the process; copies them. */
void secret_names_add(char *const *patterns, size_t n);

/* Reports whether a variable's name is secret: contains TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, or the word KEY or AUTH,
 * or matches an added pattern. Ignores case. */
bool secret_name(const char *name);

/* Returns "NAME=(hidden)" for "NAME=value" with a secret name, else a copy of `text`; for messages. free() it. */
char *secret_assignment(const char *text);

/* Records the values of variables "NAME=value" with secret names known so far, if they have at least four bytes; copies them. All threads
 * then hide these values in errors, notes, output of hosts, and the log of the nightly run. */
void secrets_know(char *const *variables, size_t n);
/* Replaces recorded values in `text` by SECRET_MASK; cuts the result to size - 1 bytes. */
void secrets_hide(char *text, size_t size);
/* Returns a copy of `text`, of any length, with recorded values replaced by SECRET_MASK. free() it. */
char *secrets_hidden(const char *text);
/* Replaces recorded values in (*text)[0..*n) by SECRET_MASK, and *text if there are any. *text may be NULL. O(bytes) per value. */
void secrets_mask(char **text, size_t *n);

#endif
