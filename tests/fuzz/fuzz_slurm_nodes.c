/* Reads sinfo's list of nodes. Checks that it is refused with a reason, or gives unique names that are valid in lab.yaml. */
#include "base/mem.h"
#include "fleet/engine/host_choice.c" /* the static parser of the list */

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct slurm_nodes nodes;
	struct assay_error err = { .text = "" };

	ASSAY_BUG_IF((slurm_nodes_parse(text, &nodes, &err) != ASSAY_OK) != (*err.text != '\0'));
	for (size_t i = 0; i < nodes.n; i++) {
		ASSAY_BUG_IF(strpbrk(nodes.nodes[i].name, "'\" :\n[,") || strpbrk(nodes.nodes[i].state, "\033\n"));
		for (size_t k = 0; k < i && i < 200; k++)
			ASSAY_BUG_IF(strcmp(nodes.nodes[k].name, nodes.nodes[i].name) == 0);
		for (size_t k = 0; k < nodes.nodes[i].n_features; k++)
			ASSAY_BUG_IF(strpbrk(nodes.nodes[i].features[k], "'\" :\n[,@"));
	}
	slurm_nodes_release(&nodes);
	free(text);
	return 0;
}
