#include "fleet/helper/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MAX 9999999

const char *const *rank_variables(const char *program)
{
	static const char *const mpi[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL }, *const slurm[] = { "SLURM_PROCID",
														       NULL };
	static const char *const launchers[] = { "mpirun", "mpiexec", "orterun", "prterun" };

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strncmp(program, launchers[i], strlen(launchers[i])) == 0) /* "mpirun.openmpi" */
			return mpi;
	return strcmp(program, "srun") == 0 ? slurm : NULL;
}

/* Of "NAME=VALUE"; -1: it is another, or no rank. */
static int64_t rank_in(const char *entry, const char *name)
{
	size_t n = strlen(name);
	char *end;
	long long rank;

	if (strncmp(entry, name, n) != 0 || entry[n] != '=')
		return -1;
	rank = strtoll(entry + n + 1, &end, 10);
	return end == entry + n + 1 || *end || rank < 0 || rank > RANK_MAX ? -1 : rank;
}

int64_t rank_of(uint32_t pid, const char *const *variables)
{
	char path[40], *entry = NULL;
	int64_t rank = -1;
	size_t capacity = 0, first = SIZE_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	file = fopen(path, "re");
	while (file && getdelim(&entry, &capacity, '\0', file) > 0) {
		for (size_t i = 0; variables[i] && i < first; i++) {
			int64_t found = rank_in(entry, variables[i]);

			if (found >= 0) {
				rank = found;
				first = i;
			}
		}
	}
	if (file)
		fclose(file);
	free(entry);
	return rank;
}
