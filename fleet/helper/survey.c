#include "fleet/helper/protocol.h"
#include "fleet/helper/survey.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES_MAX 200

bool survey_file(const char *path, char *text, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t done = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while (done < n - 1 && (got = read(fd, text + done, n - 1 - done)) > 0)
		done += (size_t)got;
	close(fd);
	text[done] = 0;
	return done > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

void survey_add(struct survey *survey, const char *name, const char *value)
{
	size_t n, need;
	char *at;

	while (is_blank(*value))
		value++;
	n = strnlen(value, VALUE_BYTES_MAX);
	while (n > 0 && is_blank(value[n - 1]))
		n--;
	need = strlen(name) + n + 3;
	if (n == 0)
		return;
	if (survey->capacity - survey->size < need) {
		survey->capacity = 2 * survey->capacity + need;
		survey->text = realloc(survey->text, survey->capacity);
		if (!survey->text)
			abort();
	}
	at = survey->text + survey->size;
	survey->size += (size_t)snprintf(at, need, "%s %.*s\n", name, (int)n, value);
	for (at += strlen(name) + 1; *at != '\n' || at[1]; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

void survey_number(struct survey *survey, const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	survey_add(survey, name, text);
}

int survey_facts(struct frames_out *out, int in)
{
	struct survey survey = { NULL, 0, 0 };
	bool sent;

	survey_system(&survey);
	survey_processor(&survey);
	frames_put(out, HELPER_RESULT, survey.text ? survey.text : "", survey.size, NULL, 0);
	sent = frames_send(out, in);
	free(survey.text);
	return sent ? 0 : 1;
}
