/* Values of variables that a name says to be secret stay out of what is kept and shown. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MASK "(hidden)"

/* Patterns of names, with * ? [ ], that count as well: for the rest of the process. From one thread; copied. */
void secret_names_add(char *const *patterns, size_t n);

/* Has the name of a variable TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, or a word KEY or AUTH in it, or is it of those
 * patterns? Upper or lower case. */
bool secret_name(const char *name);

/* Of what somebody wrote in the place of a name, for messages: "NAME=(hidden)" where it is "NAME=value" with such a name, else as it is.
 * free() it. */
char *secret_assignment(const char *text);

/* Environments that were read, "NAME=value": values of at least four bytes of variables with such a name, by the names known until then,
 * are hidden from now on, in whatever thread: in errors, notes, what hosts say of themselves, and the night's log. Copied. */
void secrets_know(char *const *variables, size_t n);
/* Hides them in a text of at most size - 1 bytes; a longer one is cut. */
void secrets_hide(char *text, size_t size);
/* The same of a text of any length. free() it. */
char *secrets_hidden(const char *text);
/* Puts SECRET_MASK wherever the bytes (*text)[0..*n), which may be NULL, have one of the values. Replaces *text where it changes. O(bytes)
 * for each value. */
void secrets_mask(char **text, size_t *n);

#endif
