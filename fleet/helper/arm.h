/* What processor an aarch64 machine has. They carry no name: the main id register (MIDR_EL1) says who made them and which part it is.
 * Source: Linux, arch/arm64/include/asm/cputype.h; util-linux, sys-utils/lscpu-arm.c. */
#ifndef FLEET_HELPER_ARM_H
#define FLEET_HELPER_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARM_NAME_BYTES 160

/* From the text of /proc/cpuinfo: the maker of the first processor ("ARM") and the names of all kinds that there are, in the order in which
 * they come ("ARM Cortex-A53 + ARM Cortex-A72"). False: there is nothing of it in the text. */
bool arm_processors(const char *cpuinfo, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES]);

/* The same of one processor, from its register. */
void arm_processor(uint32_t midr, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES]);

#endif
