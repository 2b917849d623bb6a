/* Patterns of host names as in ssh_config(5): '*' is any text, '?' any character, '!' in front of a pattern excludes. */
#ifndef FLEET_HOST_PATTERN_H
#define FLEET_HOST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Without '!'. O(pattern * text). */
bool host_pattern_matches(const char *pattern, const char *text);

/* One of the patterns matches and none of those with '!' does. */
bool host_patterns_match(const char *const *patterns, size_t n, const char *text);

#endif
