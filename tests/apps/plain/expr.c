/* Parses and evaluates expressions with variables by recursive descent; reports errors by longjmp(). */
#include <ctype.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLES 64

struct variable {
	char name[8];
	long value;
};

struct parser {
	const char *text, *at;
	jmp_buf failed;
};

static struct variable variables[VARIABLES]; /* sorted by name */
static uint64_t state;

static uint32_t rnd(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

static long sum(struct parser *p);

static void skip(struct parser *p)
{
	while (*p->at == ' ')
		p->at++;
}

static long value_of(struct parser *p, const char *name)
{
#if FAULT == 1
	for (int i = 0; i < VARIABLES; i++)
		if (strcmp(variables[i].name, name) == 0)
			return variables[i].value;
#else
	int low = 0, high = VARIABLES;

	while (low < high) {
		int middle = (low + high) / 2, order = strcmp(variables[middle].name, name);

		if (order == 0)
			return variables[middle].value;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
#endif
	longjmp(p->failed, 1);
}

#if TIDY
static int take(struct parser *p, char c)
{
	skip(p);
	if (*p->at != c)
		return 0;
	p->at++;
	return 1;
}
#endif

static long factor(struct parser *p)
{
	char name[8] = "";
	long value;
	int n = 0;

#if TIDY
	if (take(p, '(')) {
		value = sum(p);
		if (!take(p, ')'))
			longjmp(p->failed, 2);
		return value;
	}
#else
	skip(p);
	if (*p->at == '(') {
		p->at++;
		value = sum(p);
		skip(p);
		if (*p->at != ')')
			longjmp(p->failed, 2);
		p->at++;
		return value;
	}
#endif
	if (isdigit((unsigned char)*p->at)) {
		for (value = 0; isdigit((unsigned char)*p->at); p->at++)
			value = 10 * value + (*p->at - '0');
		return value;
	}
	while (isalpha((unsigned char)*p->at) && n < 7)
		name[n++] = *p->at++;
	if (!n)
		longjmp(p->failed, 3);
	return value_of(p, name);
}

static long product(struct parser *p)
{
	long value = factor(p);

	for (skip(p); *p->at == '*'; skip(p)) {
		p->at++;
		value = (value * factor(p)) % 1000003;
	}
	return value;
}

static long sum(struct parser *p)
{
	long value = product(p);

	for (skip(p); *p->at == '+' || *p->at == '-'; skip(p)) {
		int plus = *p->at++ == '+';

		value += plus ? product(p) : -product(p);
	}
	return value;
}

static int evaluate(const char *text, long *value)
{
	struct parser p = { .text = text, .at = text };
#if FAULT == 2
	char *copy = strdup(text); /* for a possible error message */

	p.text = p.at = copy;
#endif
	int why = setjmp(p.failed);

	if (!why) {
		*value = sum(&p);
		why = *p.at ? 4 : 0;
	}
#if FAULT == 2
	free(copy);
#endif
	return why;
}

static char *append(char *to, int depth)
{
	switch (depth > 4 ? rnd() % 2 : rnd() % 5) {
	case 0:
		return to + sprintf(to, "%u", rnd() % 1000);
	case 1:
		return to + sprintf(to, "%s", rnd() % 50 ? variables[rnd() % VARIABLES].name : "none");
	case 2:
		*to++ = '(';
		to = append(to, depth + 1);
		*to++ = ')';
		return to;
	default:
		to = append(to, depth + 1);
		to += sprintf(to, " %c ", "+-*"[rnd() % 3]);
		return append(to, depth + 1);
	}
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 2000, all = 0, value;
	int wrong[5] = { 0 };
	char text[4096];

	state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(variables[i].name, sizeof(variables[i].name), "v%c%c", 'a' + i / 26, 'a' + i % 26);
		variables[i].value = rnd() % 100;
	}
	for (long i = 0; i < n; i++) {
		int why;

		*append(text, 0) = '\0';
		why = evaluate(text, &value);
		wrong[why]++;
		all += why ? 0 : value;
	}
	printf("%ld, wrong %d %d %d %d\n", all, wrong[1], wrong[2], wrong[3], wrong[4]);
	return 0;
}
