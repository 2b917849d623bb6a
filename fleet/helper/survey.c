/* Collects the facts of this machine. */
#include "base/clock.h"
#include "fleet/cgroup/process.h"
#include "fleet/helper/accounts.h"
#include "fleet/helper/protocol.h"
#include "fleet/helper/request.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define VALUE_BYTES_MAX 200
#define LIBC_BYTES_MAX	(64L << 20)
#define EMULATED	"ASSAY_EMULATED" /* variable that the sshd of an emulated host sets */

/* Impossible values are omitted, because the controller would refuse all facts of the host (fleet/agent/facts.h). */
#define NUMBER_DIGITS_MAX 6
#define COUNT_MAX	  900000000000000LL

/* ---- the text of facts ---- */

/* A growing text with one line "name value" per fact. */
struct survey {
	char *text;
	size_t size, capacity;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Adds a fact, unless `value` is empty. Removes surrounding spaces. Replaces bytes that are not printable ASCII by '?'. */
static void survey_add(struct survey *survey, const char *name, const char *value)
{
	size_t n, need;
	char *at;

	while (is_blank(*value))
		value++;
	n = strnlen(value, VALUE_BYTES_MAX);
	while (n > 0 && is_blank(value[n - 1]))
		n--;
	need = strlen(name) + n + 3;
	if (n == 0)
		return;
	if (survey->capacity - survey->size < need) {
		survey->capacity = 2 * survey->capacity + need;
		survey->text = realloc(survey->text, survey->capacity);
		if (!survey->text)
			abort();
	}
	at = survey->text + survey->size;
	survey->size += (size_t)snprintf(at, need, "%s %.*s\n", name, (int)n, value);
	for (at += strlen(name) + 1; *at != '\n' || at[1]; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

static void survey_number(struct survey *survey, const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	survey_add(survey, name, text);
}

/* ---- aarch64 CPUs ---- */

/* aarch64 CPUs have no name. Their main id register (MIDR_EL1) has maker and part number. Source: Linux, arch/arm64/include/asm/cputype.h;
 * util-linux, sys-utils/lscpu-arm.c. */

#define ARM_NAME_BYTES 160

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

/* Determines maker and name of a CPU from its main id register. */
static void arm_processor(uint32_t midr, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES])
{
	name_implementer(midr >> 24, vendor);
	name_part(midr >> 24, midr >> 4 & 0xfff, model);
}

/* Reads the number in a line "key : 0x41". Returns false for other lines. */
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

/* Parses /proc/cpuinfo. Sets `vendor` to the maker of the first CPU ("ARM"), and `model` to the names of all different CPUs in order ("ARM
 * Cortex-A53 + ARM Cortex-A72"). Returns false if the text has no such lines. */
static bool arm_processors(const char *cpuinfo, char vendor[ARM_NAME_BYTES], char model[ARM_NAME_BYTES])
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

/* Reads the main id register. Returns 0 if the kernel does not permit it, or on other architectures. Under user-mode emulation, the
 * register describes the emulated CPU, but /proc/cpuinfo does not. */
static uint32_t arm_register(void)
{
	unsigned long midr = 0;

#if defined(__aarch64__)
	if (getauxval(AT_HWCAP) & HWCAP_CPUID)
		__asm__("mrs %0, midr_el1" : "=r"(midr));
#endif
	return (uint32_t)midr;
}

/* ---- virtual machines ---- */

/* Texts of the firmware (DMI) and the device tree; "" if missing. */
struct hypervisor_signs {
	char vendor[128], product[128], board[128], firmware[128]; /* DMI: sys_vendor, product_name, board_vendor, bios_vendor */
	char node[128];						   /* device tree: `compatible` of the node "hypervisor" */
	char compatible[128];					   /* device tree: `compatible` of the machine */
};

/* Returns the hypervisor according to these texts. Source: systemd, src/basic/virt.c. A cloud's bare-metal machine has the vendor of the
 * cloud, but "metal" in its product name. */
static const char *detect_hypervisor_by_signs(const struct hypervisor_signs *signs)
{
	static const struct {
		const char *begins, *name;
	} firmware[] = {
		{ "KVM", "kvm" },
		{ "OpenStack", "kvm" },
		{ "KubeVirt", "kvm" },
		{ "Amazon EC2", "amazon" },
		{ "Google Compute Engine", "google" },
		{ "QEMU", "qemu" },
		{ "VMware", "vmware" },
		{ "VMW", "vmware" },
		{ "innotek GmbH", "virtualbox" },
		{ "VirtualBox", "virtualbox" },
		{ "Xen", "xen" },
		{ "Bochs", "bochs" },
		{ "Parallels", "parallels" },
		{ "BHYVE", "bhyve" },
		{ "Hyper-V", "hyper-v" },
		{ "Apple Virtualization", "apple" },
		{ "Alibaba Cloud ECS", "kvm" },
		{ "Virtual Machine", "hyper-v" },
	}, tree[] = { { "linux,kvm", "kvm" }, { "xen", "xen" }, { "vmware", "vmware" } };
	const char *const texts[] = { signs->product, signs->vendor, signs->board, signs->firmware };

	for (size_t i = 0; *signs->node && i < sizeof(tree) / sizeof(tree[0]); i++) {
		if (strncmp(signs->node, tree[i].begins, strlen(tree[i].begins)) == 0)
			return tree[i].name;
	}
	for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		for (size_t i = 0; i < sizeof(firmware) / sizeof(firmware[0]); i++) {
			if (strncmp(texts[t], firmware[i].begins, strlen(firmware[i].begins)) == 0)
				return strstr(signs->product, "metal") ? "none" : firmware[i].name;
		}
	}
	if (strncmp(signs->compatible, "linux,dummy-virt", 16) == 0)
		return "qemu";
	if (*signs->node)
		return "unknown";
	return *signs->vendor || *signs->product || *signs->compatible ? "none" : "unknown";
}

/* Returns the hypervisor that the CPU reports in CPUID leaf 0x40000000. NULL if this is not an x86 CPU. */
#if defined(__x86_64__) || defined(__i386__)
static const char *read_cpuid_hypervisor(void)
{
	static const struct {
		const char *signature, *name;
	} rows[] = {
		{ "KVMKVMKVM", "kvm" },		  { "Linux KVM Hv", "kvm" },  { "Microsoft Hv", "hyper-v" },
		{ "VMwareVMware", "vmware" },	  { "XenVMMXenVMM", "xen" },  { "TCGTCGTCGTCG", "qemu" },
		{ "VBoxVBoxVBox", "virtualbox" }, { "bhyve bhyve", "bhyve" }, { "ACRNACRNACRN", "acrn" },
	};
	char signature[13] = "";
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31 & 1))
		return "none";
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(signature, rows[i].signature, strlen(rows[i].signature)) == 0)
			return rows[i].name;
	}
	return "unknown";
}
#else
static const char *read_cpuid_hypervisor(void)
{
	return NULL;
}
#endif

/* Returns the hypervisor of this machine: "none", "kvm", "qemu", "xen", ... "unknown" if it is another one, or nothing is known. */
static const char *detect_hypervisor(void)
{
	const char *name = read_cpuid_hypervisor();
	struct hypervisor_signs signs;
	char type[128];

	if (name)
		return name;
	process_text(type, sizeof(type), "/sys/hypervisor/type");
	if (strncmp(type, "xen", 3) == 0)
		return "xen";
	process_text(signs.vendor, sizeof(signs.vendor), "/sys/class/dmi/id/sys_vendor");
	process_text(signs.product, sizeof(signs.product), "/sys/class/dmi/id/product_name");
	process_text(signs.board, sizeof(signs.board), "/sys/class/dmi/id/board_vendor");
	process_text(signs.firmware, sizeof(signs.firmware), "/sys/class/dmi/id/bios_vendor");
	process_text(signs.node, sizeof(signs.node), "/proc/device-tree/hypervisor/compatible");
	process_text(signs.compatible, sizeof(signs.compatible), "/proc/device-tree/compatible");
	return detect_hypervisor_by_signs(&signs);
}

/* ---- the CPU: model, settings, temperature, hypervisor ---- */

#define CPU "/sys/devices/system/cpu"

/* Copies the value of the first line "key : value" of /proc/cpuinfo. Returns false if there is none. */
static bool cpuinfo_field(const char *info, const char *key, char *value, size_t n)
{
	size_t length = strlen(key);

	for (const char *line = info; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *at = line + length;

		if (strncmp(line, key, length) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at += strspn(at, ": \t");
		snprintf(value, n, "%.*s", (int)strcspn(at, "\n"), at);
		return true;
	}
	return false;
}

/* Copies the word in brackets, which is the selected one, from a text such as "a [b] c". Returns false if there is none. */
static bool chosen_text(const char *text, char *value, size_t n)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return false;
	snprintf(value, n, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

static long parse_number_file(const char *path, long otherwise)
{
	char text[64];

	return process_text(text, sizeof(text), "%s", path) ? strtol(text, NULL, 10) : otherwise;
}

#define PLACES_MAX 65536

/* Counts sockets, cores and threads of the online CPUs. */
static void survey_topology(struct survey *survey)
{
	static struct {
		long package, core;
	} places[PLACES_MAX];
	size_t cpus = 0, cores = 0, sockets = 0, online = (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	for (long cpu = 0, missing = 0; cpus < online && cores < PLACES_MAX && missing < 1024; cpu++) {
		bool new_core = true, new_socket = true;
		long package, core;
		char path[128];

		snprintf(path, sizeof(path), CPU "/cpu%ld/topology/physical_package_id", cpu);
		package = parse_number_file(path, -2);
		snprintf(path, sizeof(path), CPU "/cpu%ld/topology/core_id", cpu);
		core = parse_number_file(path, -2);
		missing = package == -2 || core == -2 ? missing + 1 : 0;
		if (missing)
			continue;
		for (size_t i = 0; i < cores; i++) {
			new_socket = new_socket && places[i].package != package;
			new_core = new_core && !(places[i].package == package && places[i].core == core);
		}
		if (new_core) {
			places[cores].package = package;
			places[cores++].core = core;
		}
		sockets += new_socket;
		cpus++;
	}
	if (cpus == 0)
		return;
	survey_number(survey, "sockets", (long long)sockets);
	survey_number(survey, "cores_per_socket", (long long)(cores / sockets));
	survey_number(survey, "threads_per_core", (long long)(cpus / cores));
}

static bool survey_arm(struct survey *survey, const char *info)
{
	char vendor[ARM_NAME_BYTES], model[ARM_NAME_BYTES];
	uint32_t midr;

	if (!arm_processors(info, vendor, model)) {
		midr = arm_register();
		if (!midr)
			return false;
		arm_processor(midr, vendor, model);
	}
	survey_add(survey, "cpu_vendor", vendor);
	survey_add(survey, "cpu_model", model);
	return true;
}

static void survey_identity(struct survey *survey)
{
	static char info[16384]; /* large enough for the first CPU */
	static const struct {
		const char *fact, *keys[3];
		bool number; /* the value must be a number; it may be a text on other architectures than x86 */
	} rows[] = {
		{ "cpu_model", { "model name", "cpu model", "Processor" }, false },
		{ "cpu_vendor", { "vendor_id", "CPU implementer", "vendor" }, false },
		{ "microcode", { "microcode", NULL, NULL }, false },
		{ "cpu_family", { "cpu family", NULL, NULL }, true },
		{ "cpu_model_number", { "model", NULL, NULL }, true },
		{ "cpu_stepping", { "stepping", NULL, NULL }, true },
	};
	char value[256];

	process_text(info, sizeof(info), "/proc/cpuinfo");
	if (survey_arm(survey, info))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < 3 && rows[i].keys[j]; j++) {
			if (!cpuinfo_field(info, rows[i].keys[j], value, sizeof(value)))
				continue;
			if (!rows[i].number || (strlen(value) <= NUMBER_DIGITS_MAX && value[strspn(value, "0123456789")] == '\0'))
				survey_add(survey, rows[i].fact, value);
			break;
		}
	}
}

/* Finds the last-level cache in the same files as stress-ng does. */
static void survey_cache(struct survey *survey)
{
	long long last_kib = 0;
	long last_level = 0;

	for (int i = 0; i < 16; i++) {
		char path[96], text[32];
		long level;

		snprintf(path, sizeof(path), CPU "/cpu0/cache/index%d/level", i);
		level = parse_number_file(path, 0);
		if (level <= last_level || !process_text(text, sizeof(text), CPU "/cpu0/cache/index%d/size", i) || !strchr(text, 'K'))
			continue;
		last_level = level;
		last_kib = strtoll(text, NULL, 10);
	}
	if (last_kib > 0 && last_kib < COUNT_MAX / 1024)
		survey_number(survey, "last_cache_bytes", last_kib * 1024);
}

static void survey_settings(struct survey *survey)
{
	char text[256], value[64];
	long setting;

	if (process_text(text, sizeof(text), CPU "/cpu0/cpufreq/scaling_governor"))
		survey_add(survey, "governor", text);
	setting = parse_number_file(CPU "/intel_pstate/no_turbo", -1);
	if (setting >= 0)
		survey_add(survey, "turbo", setting ? "off" : "on");
	else if ((setting = parse_number_file(CPU "/cpufreq/boost", -1)) >= 0)
		survey_add(survey, "turbo", setting ? "on" : "off");
	if (process_text(text, sizeof(text), CPU "/smt/control"))
		survey_add(survey, "smt", text);
	if (process_text(text, sizeof(text), "/sys/kernel/mm/transparent_hugepage/enabled") && chosen_text(text, value, sizeof(value)))
		survey_add(survey, "thp", value);
}

static void survey_temperature(struct survey *survey)
{
	int64_t warmest = sensor_temperature_mc("");
	char text[32];

	if (warmest == SENSOR_UNKNOWN)
		return;
	snprintf(text, sizeof(text), "%.1f", (double)warmest / 1000);
	survey_add(survey, "temperature_c", text);
}

/* Reports whether hardware counters work. Virtual machines may offer an event but never increment it. */
static bool pmu_counts(void)
{
	struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE, .size = sizeof(event), .config = PERF_COUNT_HW_CPU_CYCLES };
	volatile unsigned work = 0;
	uint64_t cycles = 0;
	bool got;
	int fd;

	event.exclude_kernel = 1;
	event.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	for (int i = 0; i < 100000; i++)
		work = work + 1;
	got = read(fd, &cycles, sizeof(cycles)) == (ssize_t)sizeof(cycles);
	close(fd);
	return got && cycles > 0;
}

static void survey_processor(struct survey *survey)
{
	char text[64];

	survey_identity(survey);
	survey_topology(survey);
	survey_cache(survey);
	survey_number(survey, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	survey_settings(survey);
	survey_temperature(survey);
	survey_add(survey, "virtual", detect_hypervisor());
	if (process_text(text, sizeof(text), "/proc/sys/kernel/perf_event_paranoid"))
		survey_add(survey, "perf_event_paranoid", text);
	survey_number(survey, "has_pmu", pmu_counts());
}

/* ---- the system: kernel, C library, memory, disks, load, user ---- */

static void survey_kernel(struct survey *survey)
{
	struct utsname name;

	if (uname(&name))
		return;
	survey_add(survey, "kernel", name.release);
	survey_add(survey, "architecture", name.machine);
	survey_add(survey, "hostname", name.nodename);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Finds "... release version 2.36." in the host's C library. This static program contains another C library. */
static bool glibc_version(const char *path, char *value, size_t n)
{
	static const char words[] = "release version ";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *at = NULL;
	struct stat info;
	char *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) || info.st_size <= 0 || info.st_size > LIBC_BYTES_MAX) {
		close(fd);
		return false;
	}
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	at = memmem(bytes, (size_t)info.st_size, words, sizeof(words) - 1);
	if (at) {
		size_t rest = (size_t)info.st_size - (size_t)(at - bytes) - (sizeof(words) - 1), length = 0;

		at += sizeof(words) - 1;
		while (length + 1 < rest && length < 16 && (is_digit(at[length]) || (at[length] == '.' && is_digit(at[length + 1]))))
			length++;
		snprintf(value, n, "glibc %.*s", (int)length, at);
	}
	munmap(bytes, (size_t)info.st_size);
	return at != NULL;
}

static void survey_c_library(struct survey *survey, const char *machine)
{
	static const char *const patterns[] = {
		"/lib/%s-linux-gnu/libc.so.6",
		"/usr/lib/%s-linux-gnu/libc.so.6",
		"/lib64/libc.so.6",
		"/usr/lib64/libc.so.6",
		"/lib/libc.so.6",
		"/usr/lib/libc.so.6",
	};
	char path[192], value[64];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const char *place = strchr(patterns[i], '%');

		if (place)
			snprintf(path, sizeof(path), "%.*s%s%s", (int)(place - patterns[i]), patterns[i], machine, place + 2);
		else
			snprintf(path, sizeof(path), "%s", patterns[i]);
		if (glibc_version(path, value, sizeof(value))) {
			survey_add(survey, "libc", value);
			return;
		}
	}
	snprintf(path, sizeof(path), "/lib/ld-musl-%s.so.1", machine);
	if (access(path, F_OK) == 0)
		survey_add(survey, "libc", "musl");
}

static void survey_memory(struct survey *survey)
{
	static const struct {
		const char *fact, *key;
	} rows[] = { { "memory_bytes", "MemTotal:" }, { "memory_available_bytes", "MemAvailable:" } };
	char text[4096];

	if (!process_text(text, sizeof(text), "/proc/meminfo"))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *at = strstr(text, rows[i].key);
		long long kib = at ? strtoll(at + strlen(rows[i].key), NULL, 10) : 0;

		if (kib > 0 && kib < COUNT_MAX)
			survey_number(survey, rows[i].fact, kib * 1024);
	}
}

/* Adds the load, and the CPU ticks since boot from "cpu user nice system idle iowait irq softirq steal ..." (user includes guest time). */
static void survey_add_load(struct survey *survey)
{
	long long total = 0, ticks = 0;
	char load[64];
	char text[1024], *at = text;

	if (process_text(text, sizeof(text), "/proc/loadavg") && is_digit(*text)) {
		text[strspn(text, "0123456789.")] = 0;
		snprintf(load, sizeof(load), "%.2f", strtod(text, NULL));
		if (strlen(load) <= 2 * NUMBER_DIGITS_MAX)
			survey_add(survey, "load1", load);
	}
	if (!process_text(text, sizeof(text), "/proc/stat") || strncmp(text, "cpu ", 4) != 0)
		return;
	at += 4;
	for (int i = 0; i < 8; i++) {
		ticks = strtoll(at, &at, 10);
		if (ticks < 0 || ticks > COUNT_MAX)
			return;
		total += ticks;
	}
	survey_number(survey, "steal_ticks", ticks);
	survey_number(survey, "total_ticks", total);
}

static const char *filesystem_name(long type)
{
	static const struct {
		long type;
		const char *name;
	} rows[] = {
		{ 0x01021994, "tmpfs" },  { 0xEF53, "ext4" },	     { 0x58465342, "xfs" },	   { (long)0x9123683E, "btrfs" },
		{ 0x6969, "nfs" },	  { 0x794C7630, "overlay" }, { 0x2FC12FC1, "zfs" },	   { (long)0x858458F6, "ramfs" },
		{ 0x0BD00BD0, "lustre" }, { 0x65735546, "fuse" },    { (long)0xF2F52010, "f2fs" }, { 0x47504653, "gpfs" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == type)
			return rows[i].name;
	}
	return NULL;
}

static void survey_disks(struct survey *survey)
{
	struct statfs info;
	const char *name;
	char text[32];

	if (statfs("/", &info) == 0)
		survey_number(survey, "disk_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
	if (statfs("/tmp", &info) == 0) {
		name = filesystem_name((long)info.f_type & 0xFFFFFFFFL);
		snprintf(text, sizeof(text), "0x%lx", (unsigned long)info.f_type & 0xFFFFFFFFUL);
		survey_number(survey, "tmp_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
		survey_add(survey, "tmp_filesystem", name ? name : text);
	}
	if (statfs("/dev/shm", &info) == 0 && info.f_type == 0x01021994)
		survey_number(survey, "shm_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
}

static void survey_board(struct survey *survey)
{
	static const struct {
		const char *fact, *paths[3];
	} rows[] = {
		{ "machine_id", { "/etc/machine-id", "/var/lib/dbus/machine-id", NULL } },
		{ "board_name", { "/sys/class/dmi/id/board_name", "/sys/class/dmi/id/product_name", "/proc/device-tree/model" } },
		{ "board_serial",
		  { "/sys/class/dmi/id/board_serial", "/sys/class/dmi/id/product_serial", "/proc/device-tree/serial-number" } },
		{ "board_uuid", { "/sys/class/dmi/id/product_uuid", NULL, NULL } },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < 3 && rows[i].paths[j]; j++) {
			if (!process_text(text, sizeof(text), "%s", rows[i].paths[j]))
				continue;
			survey_add(survey, rows[i].fact, text);
			break;
		}
	}
}

static void survey_control_groups(struct survey *survey)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
		survey_add(survey, "cgroup", "v2");
	else if (access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0)
		survey_add(survey, "cgroup", "hybrid");
	else if (access("/sys/fs/cgroup/cpu", F_OK) == 0 || access("/sys/fs/cgroup/memory", F_OK) == 0)
		survey_add(survey, "cgroup", "v1");
}

/* Returns the smallest limit of this process's cgroups; 0 if there is none. In version 2, one file has "VALUE" or "VALUE PERIOD". In
 * version 1, the period is in a separate file (v1_period; NULL if there is none). */
static double group_limit(const char *controller, const char *v2, const char *v1, const char *v1_period)
{
	char group[PATH_MAX], text[64], *end, *rest;
	size_t top = usage_find_cgroup(controller, group);
	double least = 0;

	for (end = top ? group + strlen(group) : NULL; end; end = strrchr(group + top, '/')) {
		double limit, period;

		*end = '\0';
		if (!process_text(text, sizeof(text), "%s/%s", group, v2))
			process_text(text, sizeof(text), "%s/%s", group, v1);
		limit = strtod(text, &rest);
		if (v1_period && process_text(text, sizeof(text), "%s/%s", group, v1_period))
			rest = text;
		period = strtod(rest, NULL);
		limit = period > 0 ? limit / period : limit;
		least = limit > 0 && (limit < least || least <= 0) ? limit : least;
	}
	return least;
}

/* Adds this host's limits: those of its cgroups, and the number of CPUs on which its programs may run. */
static void survey_limits(struct survey *survey)
{
	double memory = group_limit("memory", "memory.max", "memory.limit_in_bytes", NULL),
	       cpus = group_limit("cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us");
	cpu_set_t allowed;
	char text[32];

	if (memory > 0 && memory < (double)COUNT_MAX)
		survey_number(survey, "memory_limit_bytes", (long long)memory);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && (cpus <= 0 || CPU_COUNT(&allowed) < cpus))
		cpus = CPU_COUNT(&allowed);
	snprintf(text, sizeof(text), "%.2f", cpus);
	if (cpus > 0 && cpus < 1e6)
		survey_add(survey, "cpus_limit", text);
}

static void survey_system(struct survey *survey)
{
	struct utsname name;

	survey_number(survey, "clock_ms", (long long)clock_real_ms());
	survey_number(survey, "uid", geteuid());
	if (getenv(EMULATED))
		survey_add(survey, "emulated", getenv(EMULATED));
	survey_kernel(survey);
	if (uname(&name) == 0)
		survey_c_library(survey, name.machine);
	survey_board(survey);
	survey_memory(survey);
	survey_limits(survey);
	survey_add_load(survey);
	survey_disks(survey);
	survey_control_groups(survey);
}

int survey_facts(struct frames_out *out, int in)
{
	struct survey survey = { NULL, 0, 0 };
	bool sent;

	survey_system(&survey);
	survey_processor(&survey);
	frames_put(out, HELPER_RESULT, survey.text ? survey.text : "", survey.size, NULL, 0);
	sent = frames_send(out, in);
	free(survey.text);
	return sent ? 0 : 1;
}
