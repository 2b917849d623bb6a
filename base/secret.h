/* Hides the values of secret environment variables in everything that assay stores or shows. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MASK "(hidden)"

/* Adds copies of name patterns (with * ? [ ]) that make variables secret until the process ends. */
void secret_names_add(char *const *patterns, size_t n);

/* Reports whether a variable's name is secret, ignoring case. A secret name contains TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE,
 * CREDENTIAL, or KEY or AUTH as a separate word, or matches an added pattern. */
bool secret_is_name(const char *name);

/* Returns "NAME=(hidden)" if `text` is "NAME=value" with a secret name, else a copy of `text`. For messages. The caller frees the
 * result. */
char *secret_mask_assignment(const char *text);

/* Records the values of those variables ("NAME=value") whose names are secret at this time, unless they are shorter than four bytes. All
 * threads then hide these values in errors, notes, output of hosts, and the log of the nightly run. Copies the values. */
void secrets_register(char *const *variables, size_t n);
/* Replaces recorded values in `text` by SECRET_MASK, and cuts the result to size - 1 bytes. */
void secrets_mask_in_place(char *text, size_t size);
/* Returns a copy of `text`, of any length, in which SECRET_MASK replaces recorded values. The caller frees the result. */
char *secrets_copy_masked(const char *text);
/* Replaces recorded values in (*text)[0..*n) by SECRET_MASK; *text and *n may change. *text may be NULL. Costs O(bytes) per value. */
void secrets_mask_buffer(char **text, size_t *n);

#endif
