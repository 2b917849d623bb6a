#include "base/cancel.h"

#include <stddef.h>

static volatile sig_atomic_t *to_set;

static void on_signal(int number)
{
	*to_set = number;
}

void cancel_on_signals(volatile sig_atomic_t *flag)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART) }, before;

	to_set = flag;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &before) && (numbers[i] != SIGHUP || before.sa_handler != SIG_IGN))
			sigaction(numbers[i], &action, NULL);
	}
}
