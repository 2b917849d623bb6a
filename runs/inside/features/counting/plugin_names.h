/* Features that gcc's plugin (plugin_gcc.cc) counts, their names, and the text that names the counters of a translation unit in the order
 * of their slots (format.h). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H
#define RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

struct wishes {
	bool some; /* only those in `only` */
	std::set<std::string> only;
	bool values;
	std::string until; /* a function at which a run may stop; "": none */
};

/* Adds the lines of a file. Returns false if it cannot be read. */
bool lines_read(const char *path, std::set<std::string> *out);

/* Takes an argument of the plugin: only (a file of names, one per line), values, until. value may be NULL. Returns false on a read
 * error. */
bool wishes_take(wishes *wished, const char *key, const char *value);
bool wishes_count(const wishes &wished, const std::string &name);
/* Reports whether one of the first values of a variable with this name is wanted. */
bool wishes_value(const wishes &wished, const std::string &name);

struct source_place {
	std::string file; /* without directory */
	unsigned line, column;
};

/* FILE:LINE, FILE:LINE:COLUMN */
std::string place_line(const source_place &at);
std::string place_column(const source_place &at);
/* Replaces characters that would end a line of names. */
std::string printable(const char *text);
std::string loop_name(const source_place &at, const std::string &function);
/* `way`: "taken", "not taken", "case 3", "default". */
std::string branch_name(const source_place &at, const std::string &function, const std::string &way);
std::string call_name(const source_place &at, const std::string &function);
std::string exception_name(const source_place &at, const std::string &function, const char *what);
std::string value_name(const source_place &at, const std::string &function, const std::string &variable);

/* Returns the event of a call of the function: "thrown", "caught", "longjmp"; NULL: not counted. */
const char *exception_of(const char *symbol);

/* The counters of a translation unit. */
struct counted_unit {
	std::string names;
	uint64_t slots;
};

/* Adds a counter with one or several names. Returns its slot. */
uint64_t counter_new(counted_unit *unit, const std::vector<std::string> &names);
/* Adds a value. Returns the first of its FEATURES_VALUE_SLOTS. */
uint64_t value_new(counted_unit *unit, const std::string &name, bool real);

#endif
