/* Hides values of variables with secret names in everything that is kept and shown. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MASK "(hidden)"

/* Adds patterns of secret names, with * ? [ ], for the rest of the process. Copied; call it from one thread. */
void secret_names_add(char *const *patterns, size_t n);

/* Reports whether a variable's name contains TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, or a word KEY or AUTH, or matches an
 * added pattern; ignores case. */
bool secret_name(const char *name);

/* Returns a text in place of a name for messages: "NAME=(hidden)" for "NAME=value" with a secret name, else unchanged. free() it. */
char *secret_assignment(const char *text);

/* Learns secrets from an environment "NAME=value": hides values of at least four bytes of variables with secret names known so far. From
 * then on they are hidden in all threads: in errors, notes, output of hosts, and the night's log. Copied. */
void secrets_know(char *const *variables, size_t n);
/* Hides them in a text of at most size - 1 bytes; cuts a longer one. */
void secrets_hide(char *text, size_t size);
/* Returns a text of any length with them hidden. free() it. */
char *secrets_hidden(const char *text);
/* Replaces the values in the bytes (*text)[0..*n) (may be NULL) by SECRET_MASK, and *text if it changes. O(bytes) per value. */
void secrets_mask(char **text, size_t *n);

#endif
