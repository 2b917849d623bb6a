/* The state names what `down` removes and kills: whatever the file holds, only things with the laboratory's tag come out of it. */
#include "fleet/emulate/emulate_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_thing(const struct emulate_thing *thing, const char *tag)
{
	switch (thing->kind) {
	case EMULATE_THING_PROCESS:
		ASSAY_BUG_IF(thing->pid <= 1 || !thing->start_ticks);
		break;
	case EMULATE_THING_LINK:
		ASSAY_BUG_IF(strncmp(thing->name, "as", 2) != 0 || strncmp(thing->name + 2, tag, 8) != 0 || strlen(thing->name) > 15);
		break;
	case EMULATE_THING_CGROUP:
		ASSAY_BUG_IF(thing->name[0] != '/' || strstr(thing->name, "..") || !strstr(thing->name, tag));
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct emulate_state state;

	if (emulate_state_parse("fuzz", (const char *)data, size, &state, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0);
		return 0;
	}
	ASSAY_BUG_IF(state.n && strlen(state.tag) != 8);
	for (size_t i = 0; i < state.n; i++)
		check_thing(&state.things[i], state.tag);
	emulate_state_release(&state);
	return 0;
}
