#include "fleet/engine/launched.h"

bool launched_end(const char *line, size_t n, size_t *before, int *status)
{
	static const char words[] = LAUNCHED_ENDED;
	const char *at = memmem(line, n, words, sizeof(words) - 1);
	const char *digit = at ? at + sizeof(words) - 1 : NULL, *end = line + n;
	int value = 0;

	if (n && end[-1] == '\r')
		end--;
	if (!at || digit == end || end - digit > 3)
		return false;
	for (; digit < end; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		value = 10 * value + (*digit - '0');
	}
	if (value > 255)
		return false;
	*before = (size_t)(at - line);
	*status = value;
	return true;
}

bool slurm_held(const char *text, size_t n, char job[24])
{
	static const char words[] = SLURM_HELD;
	const char *at = memmem(text, n, words, sizeof(words) - 1);
	size_t digits = 0;

	if (!at)
		return false;
	at += sizeof(words) - 1;
	while (at + digits < text + n && at[digits] >= '0' && at[digits] <= '9')
		digits++;
	if (!digits || digits > 20 || at + digits == text + n || at[digits] != '\n')
		return false;
	memcpy(job, at, digits);
	job[digits] = '\0';
	return true;
}

static void copy_field(const char *from, size_t n, char *out, size_t room)
{
	n = n < room - 1 ? n : room - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	out[n] = '\0';
}

void slurm_parse(const char *text, struct slurm_said *out)
{
	*out = (struct slurm_said){ .silent = false };
	for (const char *line = text; *line; line += line[strcspn(line, "\n")] ? strcspn(line, "\n") + 1 : strlen(line)) {
		size_t first = strcspn(line, "|\n"), second, rest;
		const char *state = line + first + 1, *reason;

		if (line[first] != '|')
			continue;
		second = strcspn(state, "|\n");
		if (state[second] != '|')
			continue;
		reason = state + second + 1;
		rest = strcspn(reason, "\n");
		if (first == 4 && memcmp(line, "node", 4) == 0) {
			/* Marks behind the state: '*' does not answer; others say that its power is being changed, or a reservation. */
			out->silent = memchr(state, '*', second) != NULL;
			second = strcspn(state, "*~#!%$@^-+|");
			copy_field(state, second, out->node_state, sizeof(out->node_state));
			copy_field(reason, rest, out->node_reason, sizeof(out->node_reason));
		} else if (first > 0) {
			copy_field(line, first, out->job, sizeof(out->job));
			copy_field(state, second, out->state, sizeof(out->state));
			copy_field(reason, rest, out->reason, sizeof(out->reason));
		}
	}
}
