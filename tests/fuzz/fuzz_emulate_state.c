/* Checks that a state file's tag, by which `down` finds processes and files to remove, is eight hexadecimal digits if it is accepted. */
#include "fleet/emulate/emulate_down.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct emulate_state state;

	if (emulate_state_parse("fuzz", (const char *)data, size, &state, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || *state.tag);
		return 0;
	}
	ASSAY_BUG_IF((state.laboratory || *state.boot) && !*state.tag);
	ASSAY_BUG_IF(*state.tag && (strlen(state.tag) != 8 || strspn(state.tag, "0123456789abcdef") != 8));
	ASSAY_BUG_IF(memchr(state.boot, '\0', sizeof(state.boot)) == NULL);
	return 0;
}
