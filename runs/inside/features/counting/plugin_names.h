/* Which features gcc's plugin (plugin_gcc.cc) is to count, the names of features, and the text that names the counters of a translation
 * unit in the order of their slots (format.h). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H
#define RUNS_FEATURES_COUNTING_PLUGIN_NAMES_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

struct wishes {
	bool some; /* only those of `only` */
	std::set<std::string> only;
	bool values;
	std::string until; /* a function where a run may stop; "": none */
};

/* Adds the lines of a file. False: it cannot be read. */
bool lines_read(const char *path, std::set<std::string> *out);

/* An argument of the plugin: only (a file of names, a line each), values, until. `value` may be NULL. False: the file cannot be read. */
bool wishes_take(wishes *wished, const char *key, const char *value);
bool wishes_count(const wishes &wished, const std::string &name);
/* One of the first values of what is called so. */
bool wishes_value(const wishes &wished, const std::string &name);

struct source_place {
	std::string file; /* without its directory */
	unsigned line, column;
};

/* FILE:LINE, FILE:LINE:COLUMN */
std::string place_line(const source_place &at);
std::string place_column(const source_place &at);
/* Without what would end a line of names. */
std::string printable(const char *text);
std::string loop_name(const source_place &at, const std::string &function);
/* `way`: "taken", "not taken", "case 3", "default". */
std::string branch_name(const source_place &at, const std::string &function, const std::string &way);
std::string call_name(const source_place &at, const std::string &function);
std::string exception_name(const source_place &at, const std::string &function, const char *what);
std::string value_name(const source_place &at, const std::string &function, const std::string &variable);

/* What a call of the function does: "thrown", "caught", "longjmp"; NULL: nothing that is counted. */
const char *exception_of(const char *symbol);

/* The counters of a translation unit. */
struct counted_unit {
	std::string names;
	uint64_t slots;
};

/* A counter with one name or several. Its slot. */
uint64_t counter_new(counted_unit *unit, const std::vector<std::string> &names);
/* The first of its FEATURES_VALUE_SLOTS. */
uint64_t value_new(counted_unit *unit, const std::string &name, bool real);

#endif
