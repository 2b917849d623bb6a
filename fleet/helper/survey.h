/* Facts of this machine: what a fingerprint was taken under, and what could stand in its way. */
#ifndef FLEET_HELPER_SURVEY_H
#define FLEET_HELPER_SURVEY_H

#include "fleet/helper/frames.h"

/* Sends RESULT with a line "name value" a fact (fleet/agent/facts.h); what cannot be read is left out. 0, or 1 when the controller on `in`
 * is gone. */
int survey_facts(struct frames_out *out, int in);

/* A growing text of facts. */
struct survey {
	char *text;
	size_t size, capacity;
};

/* Adds a fact: what is not ASCII text becomes '?', blanks around it go; "" adds nothing. */
void survey_add(struct survey *survey, const char *name, const char *value);
void survey_number(struct survey *survey, const char *name, long long value);
/* The first bytes of a small file as a text; false when it cannot be read. */
bool survey_file(const char *path, char *text, size_t n);

/* The parts of survey_facts(), by what they look at. */
void survey_processor(struct survey *survey); /* survey_cpu.c */
void survey_system(struct survey *survey);    /* survey_system.c */

#endif
