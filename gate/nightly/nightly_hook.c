/* Telling others of decisions: a program of the user's, run for each. */
#include "base/mem.h"
#include "fleet/engine/local_command.h"
#include "gate/nightly/nightly.h"

#define HOOK_MS (60 * 1000)

/* At the deadline measuring is cancelled, and not that others are told. */
static void tell(struct nightly *n, const struct night_comparison *c)
{
	static volatile sig_atomic_t none;
	const struct manifest_words *hook = &n->suite.hook;
	const char **words = mem_new(hook->n + 1, sizeof(*words));
	const struct local_command command = { .words = words,
					       .n = hook->n + 1,
					       .directory = n->options->directory,
					       .timeout_ms = HOOK_MS,
					       .cancelled = *n->options->cancelled == SIGALRM ? &none : n->options->cancelled };
	struct local_said said = { .ok = false };
	struct assay_error err;
	char *text = NULL;

	for (size_t i = 0; i < hook->n; i++)
		words[i] = hook->items[i];
	words[hook->n] = c->decision;
	if (local_command_run(&command, &said, &err))
		text = mem_format("the hook '%s' for decision %s: %s", words[0], c->decision, err.text);
	else if (!said.ok)
		text = mem_format("the hook '%s' for decision %s: %s", words[0], c->decision, said.fault);
	if (text) {
		n->options->note(text);
		nightly_log(n, "%s", text);
	}
	local_said_release(&said);
	mem_free(text, words);
}

void nightly_hook(struct nightly *n)
{
	for (size_t i = 0; n->suite.hook.n > 0 && i < n->comparisons.n; i++)
		if (*n->comparisons.items[i].decision)
			tell(n, &n->comparisons.items[i]);
}
