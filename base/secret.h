/* Values of variables that a name says to be secret stay out of what is kept and shown. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MASK "(hidden)"

/* Has the name of a variable TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, or a word KEY or AUTH in it? Upper or lower case. */
bool secret_name(const char *name);

/* Puts SECRET_MASK wherever the bytes (*text)[0..*n), which may be NULL, have a value of at least four bytes of such a variable among
 * variables[n_variables], "NAME=value". Replaces *text where it changes. O(bytes) for each secret. */
void secret_mask(char **text, size_t *n, char *const *variables, size_t n_variables);

#endif
