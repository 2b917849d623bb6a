#include "fleet/helper/hypervisor.h"

#include "fleet/cgroup/process.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* Source: systemd, src/basic/virt.c; a machine of bare metal that a cloud lends has the cloud's vendor, and "metal" in its name. */
const char *hypervisor_by_signs(const struct hypervisor_signs *signs)
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

#if defined(__x86_64__) || defined(__i386__)
/* The hypervisor says its name in leaf 0x40000000, when the processor says that there is one. */
const char *hypervisor_here(void)
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
const char *hypervisor_here(void)
{
	struct hypervisor_signs signs;
	char type[128];

	process_text(type, sizeof(type), "/sys/hypervisor/type");
	if (strncmp(type, "xen", 3) == 0)
		return "xen";
	process_text(signs.vendor, sizeof(signs.vendor), "/sys/class/dmi/id/sys_vendor");
	process_text(signs.product, sizeof(signs.product), "/sys/class/dmi/id/product_name");
	process_text(signs.board, sizeof(signs.board), "/sys/class/dmi/id/board_vendor");
	process_text(signs.firmware, sizeof(signs.firmware), "/sys/class/dmi/id/bios_vendor");
	process_text(signs.node, sizeof(signs.node), "/proc/device-tree/hypervisor/compatible");
	process_text(signs.compatible, sizeof(signs.compatible), "/proc/device-tree/compatible");
	return hypervisor_by_signs(&signs);
}
#endif
