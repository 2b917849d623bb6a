#include "runs/inside/samples/samples_clock.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNTED "counted"
#define MOST	.9 /* of what is unseen: then others are not worth a word */

/* A number and a blank; where what follows begins, NULL: there is none. */
static const char *number_of(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	*out = strtoull(text, &end, 10);
	return *end == ' ' ? end + 1 : NULL;
}

/* "FUNCTION TICKS LIBRARY", FUNCTION "-": none. */
static bool clock_parse(const struct samples *samples, const char *text, struct samples_clock *out)
{
	bool none = text[0] == '-' && text[1] == ' ';
	uint64_t function = 0;

	text = none ? text + 2 : number_of(text, &function);
	if (!text || (!none && function >= samples->n_functions))
		return false;
	out->function = none ? SIZE_MAX : (size_t)function;
	text = number_of(text, &out->ticks);
	if (!text || *text == '\0')
		return false;
	out->counted = strcmp(text, COUNTED) == 0 || strncmp(text, COUNTED " ", sizeof(COUNTED)) == 0;
	out->library = !out->counted ? text : text[strlen(COUNTED)] ? text + sizeof(COUNTED) : NULL;
	return !out->library || *out->library != '\0';
}

size_t samples_clock(const struct samples *samples, struct samples_clock **out)
{
	size_t n = 0;

	*out = mem_new(samples->n_infos + 1, sizeof(**out));
	for (size_t i = 0; i < samples->n_infos; i++)
		if (strcmp(samples->infos[i].key, SAMPLES_CLOCK_KEY) == 0)
			n += clock_parse(samples, samples->infos[i].value, &(*out)[n]);
	return n;
}

/* Returns the library of that name, a new one if there is none yet. */
static struct samples_library *time_in(struct samples_time *time, const char *name)
{
	for (size_t i = 0; i < time->n; i++)
		if (strcmp(time->libraries[i].name, name) == 0)
			return &time->libraries[i];
	time->libraries = mem_resize(time->libraries, time->n + 1, sizeof(time->libraries[0]));
	time->libraries[time->n] = (struct samples_library){ .name = mem_string(name) };
	return &time->libraries[time->n++];
}

void samples_time_add(struct samples_time *time, const struct samples *samples)
{
	struct samples_clock *rows;
	size_t n = samples_clock(samples, &rows);

	for (size_t i = 0; i < n; i++) {
		double ticks = (double)rows[i].ticks;
		struct samples_library *library;

		time->ticks += ticks;
		if (!rows[i].library)
			continue;
		time->unseen += rows[i].counted ? 0 : ticks;
		library = time_in(time, rows[i].library);
		library->counted = rows[i].counted && (library->counted || library->ticks == 0);
		library->ticks += ticks;
	}
	free(rows);
}

/* Returns the library with most time among those of which nothing is counted; NULL: there is none. */
static const struct samples_library *time_most(const struct samples_time *time)
{
	const struct samples_library *most = NULL;

	for (size_t i = 0; i < time->n; i++)
		if (!time->libraries[i].counted && (!most || time->libraries[i].ticks > most->ticks))
			most = &time->libraries[i];
	return most;
}

void samples_time_release(struct samples_time *time)
{
	for (size_t i = 0; i < time->n; i++)
		free(time->libraries[i].name);
	free(time->libraries);
	*time = (struct samples_time){ .n = 0 };
}

char *samples_time_text(const struct samples_time *time)
{
	const struct samples_library *most = time_most(time);

	if (!most || time->ticks < SAMPLES_TICKS_MIN || time->unseen < SAMPLES_TIME_SAID * time->ticks)
		return NULL;
	if (strcmp(most->name, SAMPLES_CLOCK_PROGRAM) == 0)
		return mem_format(
		    "%.0f %% of the program's time is in parts of it that were not built by 'assay build --for counters', and are "
		    "not counted: build them so, too, or judge by time",
		    100 * time->unseen / time->ticks);
	return mem_format("%.0f %% of the program's time is in %s%s, which the emulation does not count: build that with 'assay emulate "
			  "build', or judge by time",
			  100 * time->unseen / time->ticks, most->name, most->ticks < MOST * time->unseen ? " and other libraries" : "");
}
