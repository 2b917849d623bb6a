/* Names of the features that the gcc plugin (plugin_gcc.cc) counts, and the selection of features. Also the text that names the counters of
 * a translation unit, in the order of their slots (format.h). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H
#define RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

struct feature_selection {
	bool some; /* true if only the features in `only` are counted */
	std::set<std::string> only;
	bool values;
	std::string until; /* function at which a run may stop; "" if none */
};

/* Adds the lines of a file to *out. Returns false if the file cannot be read. */
bool read_lines(const char *path, std::set<std::string> *out);

/* Applies a plugin argument: only (a file with one name per line), values, until. `value` may be NULL. Returns false if reading fails. */
bool feature_selection_set(feature_selection *wished, const char *key, const char *value);
bool feature_selection_has_count(const feature_selection &wished, const std::string &name);
/* Reports whether any of the first values of the variable is wanted. */
bool feature_selection_has_value(const feature_selection &wished, const std::string &name);

struct source_place {
	std::string file; /* base name */
	unsigned line, column;
};

/* Returns FILE:LINE; place_column() returns FILE:LINE:COLUMN. */
std::string place_line(const source_place &at);
std::string place_column(const source_place &at);
/* Returns the text with '?' for control characters, because these would end a line of names. */
std::string printable(const char *text);
std::string loop_name(const source_place &at, const std::string &function);
/* `way` is "taken", "not taken", "case 3" or "default". */
std::string branch_name(const source_place &at, const std::string &function, const std::string &way);
std::string call_name(const source_place &at, const std::string &function);
std::string exception_name(const source_place &at, const std::string &function, const char *what);
std::string value_name(const source_place &at, const std::string &function, const std::string &variable);

/* Returns the event that a call of the function means: "thrown", "caught" or "longjmp"; NULL if none. */
const char *exception_event(const char *symbol);

/* Counters of a translation unit: their names as lines of format.h, and the number of slots. */
struct counted_unit {
	std::string names;
	uint64_t slots;
};

/* Adds a counter with one or more names. Returns its slot. */
uint64_t counter_new(counted_unit *unit, const std::vector<std::string> &names);
/* Adds a value. Returns the first of its FEATURES_VALUE_SLOTS slots. */
uint64_t value_new(counted_unit *unit, const std::string &name, bool real);

#endif
