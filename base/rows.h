/* Enumerations that are defined by a table of rows. Each row keeps a constant, its code for programs and its text for users together:
 *
 *	#define FRUIT_ROWS(X)                     \
 *		X(FRUIT_APPLE, "apple", "an apple") \
 *		X(FRUIT_PEAR, "pear", "a pear")
 *	enum fruit { FRUIT_ROWS(ROWS_ENUM) FRUITS };
 *
 * The source file then defines the functions that return a code or a text:
 *
 *	ROWS_FUNCTION(fruit_code, enum fruit, FRUIT_ROWS, ROWS_CODE)
 *	ROWS_FUNCTION(fruit_text, enum fruit, FRUIT_ROWS, ROWS_TEXT) */
#ifndef BASE_ROWS_H
#define BASE_ROWS_H

#include "base/error.h"

#include <stddef.h>
#include <string.h>

#define ROWS_ENUM(constant, ...)	constant,
#define ROWS_WORD(constant, word)	word, /* for rows without further columns */
#define ROWS_CODE(constant, code, text) code,
#define ROWS_TEXT(constant, code, text) text,

/* Defines `const char *name(type of)`, which returns one column of the row of `of`. Aborts for a value that has no row. */
#define ROWS_FUNCTION(name, type, rows, column)                                                                                            \
	const char *name(type of)                                                                                                          \
	{                                                                                                                                  \
		static const char *const entries[] = { rows(column) };                                                                     \
                                                                                                                                           \
		ASSAY_BUG_IF((size_t)of >= sizeof(entries) / sizeof(entries[0]));                                                          \
		return entries[of];                                                                                                        \
	}

/* Defines `type name(const char *entry)`, which returns the constant whose row has `entry` in one column, or else the last constant. */
#define ROWS_FINDER(name, type, rows, column)                                                                                              \
	type name(const char *entry)                                                                                                       \
	{                                                                                                                                  \
		static const char *const entries[] = { rows(column) };                                                                     \
		size_t i = 0;                                                                                                              \
                                                                                                                                           \
		while (i < sizeof(entries) / sizeof(entries[0]) - 1 && strcmp(entries[i], entry) != 0)                                     \
			i++;                                                                                                               \
		return (type)i;                                                                                                            \
	}

#endif
