#include "fleet/helper/arm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	unsigned implementer;
	const char *name;
} implementers[] = {
	{ 0x41, "ARM" },       { 0x42, "Broadcom" },  { 0x43, "Cavium" },   { 0x44, "DEC" },	{ 0x46, "Fujitsu" },
	{ 0x48, "HiSilicon" }, { 0x49, "Infineon" },  { 0x4d, "Motorola" }, { 0x4e, "NVIDIA" }, { 0x50, "APM" },
	{ 0x51, "Qualcomm" },  { 0x53, "Samsung" },   { 0x56, "Marvell" },  { 0x61, "Apple" },	{ 0x66, "Faraday" },
	{ 0x69, "Intel" },     { 0x6d, "Microsoft" }, { 0x70, "Phytium" },  { 0xc0, "Ampere" },
};

static const struct {
	unsigned implementer, part;
	const char *name;
} parts[] = {
	{ 0x41, 0xd01, "Cortex-A32" },
	{ 0x41, 0xd02, "Cortex-A34" },
	{ 0x41, 0xd03, "Cortex-A53" },
	{ 0x41, 0xd04, "Cortex-A35" },
	{ 0x41, 0xd05, "Cortex-A55" },
	{ 0x41, 0xd06, "Cortex-A65" },
	{ 0x41, 0xd07, "Cortex-A57" },
	{ 0x41, 0xd08, "Cortex-A72" },
	{ 0x41, 0xd09, "Cortex-A73" },
	{ 0x41, 0xd0a, "Cortex-A75" },
	{ 0x41, 0xd0b, "Cortex-A76" },
	{ 0x41, 0xd0c, "Neoverse-N1" },
	{ 0x41, 0xd0d, "Cortex-A77" },
	{ 0x41, 0xd0e, "Cortex-A76AE" },
	{ 0x41, 0xd40, "Neoverse-V1" },
	{ 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd42, "Cortex-A78AE" },
	{ 0x41, 0xd44, "Cortex-X1" },
	{ 0x41, 0xd46, "Cortex-A510" },
	{ 0x41, 0xd47, "Cortex-A710" },
	{ 0x41, 0xd48, "Cortex-X2" },
	{ 0x41, 0xd49, "Neoverse-N2" },
	{ 0x41, 0xd4a, "Neoverse-E1" },
	{ 0x41, 0xd4b, "Cortex-A78C" },
	{ 0x41, 0xd4c, "Cortex-X1C" },
	{ 0x41, 0xd4d, "Cortex-A715" },
	{ 0x41, 0xd4e, "Cortex-X3" },
	{ 0x41, 0xd4f, "Neoverse-V2" },
	{ 0x41, 0xd80, "Cortex-A520" },
	{ 0x41, 0xd81, "Cortex-A720" },
	{ 0x41, 0xd82, "Cortex-X4" },
	{ 0x41, 0xd83, "Neoverse-V3AE" },
	{ 0x41, 0xd84, "Neoverse-V3" },
	{ 0x41, 0xd85, "Cortex-X925" },
	{ 0x41, 0xd87, "Cortex-A725" },
	{ 0x41, 0xd8e, "Neoverse-N3" },
	{ 0x42, 0x516, "ThunderX2" },
	{ 0x43, 0x0a0, "ThunderX" },
	{ 0x43, 0x0a1, "ThunderX-88XX" },
	{ 0x43, 0x0a2, "ThunderX-81XX" },
	{ 0x43, 0x0a3, "ThunderX-83XX" },
	{ 0x43, 0x0af, "ThunderX2-99xx" },
	{ 0x43, 0x0b1, "OcteonTX2-98XX" },
	{ 0x43, 0x0b2, "OcteonTX2-96XX" },
	{ 0x46, 0x001, "A64FX" },
	{ 0x48, 0xd01, "TaiShan-v110" },
	{ 0x48, 0xd02, "TaiShan-v120" },
	{ 0x4e, 0x000, "Denver" },
	{ 0x4e, 0x003, "Denver-2" },
	{ 0x4e, 0x004, "Carmel" },
	{ 0x50, 0x000, "X-Gene" },
	{ 0x51, 0x001, "Oryon" },
	{ 0x51, 0x800, "Kryo-2xx-Gold" },
	{ 0x51, 0x801, "Kryo-2xx-Silver" },
	{ 0x51, 0x802, "Kryo-3xx-Gold" },
	{ 0x51, 0x803, "Kryo-3xx-Silver" },
	{ 0x51, 0x804, "Kryo-4xx-Gold" },
	{ 0x51, 0x805, "Kryo-4xx-Silver" },
	{ 0x51, 0xc00, "Falkor" },
	{ 0x51, 0xc01, "Saphira" },
	{ 0x61, 0x022, "M1 Icestorm" },
	{ 0x61, 0x023, "M1 Firestorm" },
	{ 0x61, 0x024, "M1-Pro Icestorm" },
	{ 0x61, 0x025, "M1-Pro Firestorm" },
	{ 0x61, 0x028, "M1-Max Icestorm" },
	{ 0x61, 0x029, "M1-Max Firestorm" },
	{ 0x61, 0x032, "M2 Blizzard" },
	{ 0x61, 0x033, "M2 Avalanche" },
	{ 0x6d, 0xd49, "Azure-Cobalt-100" },
	{ 0x70, 0x660, "FTC660" },
	{ 0x70, 0x661, "FTC661" },
	{ 0x70, 0x662, "FTC662" },
	{ 0x70, 0x663, "FTC663" },
	{ 0x70, 0x664, "FTC664" },
	{ 0x70, 0x862, "FTC862" },
	{ 0xc0, 0xac3, "Ampere-1" },
	{ 0xc0, 0xac4, "Ampere-1a" },
	{ 0xc0, 0xac5, "Ampere-1b" },
};

static void name_implementer(unsigned implementer, char name[ARM_NAME_BYTES])
{
	for (size_t i = 0; i < sizeof(implementers) / sizeof(implementers[0]); i++) {
		if (implementers[i].implementer == implementer) {
			snprintf(name, ARM_NAME_BYTES, "%s", implementers[i].name);
			return;
		}
	}
	snprintf(name, ARM_NAME_BYTES, "implementer 0x%02x", implementer & 0xff);
}

static void name_part(unsigned implementer, unsigned part, char name[ARM_NAME_BYTES])
{
	char vendor[ARM_NAME_BYTES];

	name_implementer(implementer, vendor);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].implementer == implementer && parts[i].part == part) {
			snprintf(name, ARM_NAME_BYTES, "%.40s %s", vendor, parts[i].name);
			return;
		}
	}
	snprintf(name, ARM_NAME_BYTES, "%.40s part 0x%03x", vendor, part & 0xfff);
}

void arm_processor(uint32_t midr, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES])
{
	name_implementer(midr >> 24, vendor);
	name_part(midr >> 24, midr >> 4 & 0xfff, model);
}

/* The number of a line "key : 0x41"; false when this is not such a line. */
static bool line_number(const char *line, const char *key, unsigned *out)
{
	size_t n = strlen(key);
	const char *at = line + n;

	if (strncmp(line, key, n) != 0)
		return false;
	at += strspn(at, " \t");
	if (*at != ':')
		return false;
	*out = (unsigned)strtoul(at + 1, NULL, 0);
	return true;
}

static bool has_kind(const char *model, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(model, name); at; at = strstr(at + 1, name)) {
		if (at[n] == '\0' || strncmp(at + n, " + ", 3) == 0)
			return true;
	}
	return false;
}

bool arm_processors(const char *cpuinfo, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES])
{
	unsigned implementer = 0, part = 0;
	bool known = false;

	vendor[0] = model[0] = '\0';
	for (const char *line = cpuinfo; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		char name[ARM_NAME_BYTES];
		size_t have = strlen(model);

		known = line_number(line, "CPU implementer", &implementer) || known;
		if (!known || !line_number(line, "CPU part", &part))
			continue;
		if (!*vendor)
			name_implementer(implementer, vendor);
		name_part(implementer, part, name);
		if (has_kind(model, name) || have + strlen(name) + 4 >= ARM_NAME_BYTES)
			continue;
		if (have)
			memcpy(model + have, " + ", 4);
		memcpy(model + strlen(model), name, strlen(name) + 1);
	}
	return *model != '\0';
}
