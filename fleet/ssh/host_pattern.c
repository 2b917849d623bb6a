#include "fleet/ssh/host_pattern.h"

/* It is enough to go back to the last '*': what an earlier one could take as well, the last one can. */
bool host_pattern_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = text;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool host_patterns_match(const char *const *patterns, size_t n, const char *text)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		if (patterns[i][0] != '!')
			found = found || host_pattern_matches(patterns[i], text);
		else if (host_pattern_matches(patterns[i] + 1, text))
			return false;
	}
	return found;
}
