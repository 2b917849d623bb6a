#include "runs/inside/features/counting/plugin_names.h"

#include "runs/inside/features/counting/format.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

/* ---- selection of features ---- */

bool read_lines(const char *path, std::set<std::string> *out)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!file)
		return false;
	while ((n = getline(&line, &room, file)) >= 0) {
		if (n && line[n - 1] == '\n')
			line[n - 1] = '\0';
		out->insert(line);
	}
	free(line);
	fclose(file);
	return true;
}

static bool read_only(feature_selection *wished, const char *path)
{
	std::set<std::string> lines;

	wished->some = read_lines(path, &lines);
	for (const std::string &line : lines) {
		size_t digits = strspn(line.c_str(), "0123456789.+-e");

		wished->only.insert(line[digits] == ' ' ? line.substr(digits + 1) : line); /* a line may also be "NUMBER NAME" */
	}
	return wished->some;
}

bool feature_selection_set(feature_selection *wished, const char *key, const char *value)
{
	if (strcmp(key, "values") == 0)
		wished->values = true;
	else if (strcmp(key, "until") == 0 && value)
		wished->until = value;
	else if (strcmp(key, "only") == 0 && value)
		return read_only(wished, value);
	return true;
}

bool feature_selection_has_count(const feature_selection &wished, const std::string &name)
{
	return !wished.some || wished.only.count(name);
}

bool feature_selection_has_value(const feature_selection &wished, const std::string &name)
{
	bool is = !wished.some;

	for (unsigned i = 1; i <= FEATURES_VALUES; i++)
		is = is || wished.only.count(name + ' ' + std::to_string(i));
	return is;
}

/* ---- names ---- */

std::string printable(const char *text)
{
	std::string out(text ? text : "?");

	for (char &c : out)
		if ((unsigned char)c < ' ' || c == 0x7f)
			c = '?';
	return out;
}

std::string place_line(const source_place &at)
{
	return printable(at.file.c_str()) + ':' + std::to_string(at.line);
}

std::string place_column(const source_place &at)
{
	return place_line(at) + ':' + std::to_string(at.column);
}

std::string loop_name(const source_place &at, const std::string &function)
{
	return "loop " + place_line(at) + ' ' + function;
}

std::string branch_name(const source_place &at, const std::string &function, const std::string &way)
{
	return "branch " + place_column(at) + ' ' + function + ' ' + way;
}

std::string call_name(const source_place &at, const std::string &function)
{
	return "call " + function + ' ' + place_line(at);
}

std::string exception_name(const source_place &at, const std::string &function, const char *what)
{
	return "exception " + place_line(at) + ' ' + function + ' ' + what;
}

std::string value_name(const source_place &at, const std::string &function, const std::string &variable)
{
	return "value " + variable + ' ' + place_line(at) + ' ' + function;
}

const char *exception_event(const char *symbol)
{
	static const struct {
		const char *symbol, *what;
	} rows[] = { { "__cxa_throw", "thrown" }, { "__cxa_rethrow", "thrown" }, { "__cxa_begin_catch", "caught" },
		     { "longjmp", "longjmp" },	  { "_longjmp", "longjmp" },	 { "siglongjmp", "longjmp" } };

	for (const auto &row : rows)
		if (strcmp(symbol, row.symbol) == 0)
			return row.what;
	return NULL;
}

/* ---- counters ---- */

uint64_t counter_new(counted_unit *unit, const std::vector<std::string> &names)
{
	for (size_t i = 0; i < names.size(); i++)
		unit->names += (i ? "= " : "c ") + names[i] + '\n';
	return unit->slots++;
}

uint64_t value_new(counted_unit *unit, const std::string &name, bool real)
{
	uint64_t slot = unit->slots;

	unit->slots += FEATURES_VALUE_SLOTS;
	unit->names += (real ? "d " : "v ") + name + '\n';
	return slot;
}
