#include "base/cancel.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t *to_set; /* NULL: not yet */
static const char *last_words;
static pid_t speaker; /* not what it forks */

static void on_signal(int number)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (to_set && *to_set != number) {
		*to_set = number;
		return;
	}
	if (last_words && getpid() == speaker) {
		ssize_t ignored = write(STDERR_FILENO, last_words, strlen(last_words));

		(void)ignored;
	}
	sigaction(number, &action, NULL);
	raise(number); /* when this returns */
}

static void catch_signals(bool even_ignored)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &before) && (before.sa_handler != SIG_IGN || (even_ignored && numbers[i] != SIGHUP)))
			sigaction(numbers[i], &action, NULL);
	}
}

void cancel_say(const char *words)
{
	last_words = words;
	speaker = getpid();
	catch_signals(false);
}

void cancel_on_signals(volatile sig_atomic_t *flag)
{
	to_set = flag;
	catch_signals(true);
}
