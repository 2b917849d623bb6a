/* What the plugins that make programs count have in common, whichever compiler they are of (plugin_gcc.cc, plugin_clang.cc): what is asked
 * for, what features are called, and the text that names the counters of a translation unit in the order of their slots (format.h). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_SHARED_H
#define RUNS_FEATURES_COUNTING_PLUGIN_SHARED_H

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

/* Of a loop whose counters are in registers. With more there are too few registers, and whatever enters and leaves the loop moves them all.
 */
#define HELD_EXITS_MAX 8u
#define HELD_MAX       4u

/* Assembly, as gcc writes it in a function: %0 becomes how far the thread's counters are away from the section (counting.c). A thread gets
 * its counters in its first function. It has no effect that the compiler must know of: it may move or go. */
extern const char *const delta_assembly;

#endif
