/* Is this a virtual machine, and whose? Processors of x86 say so themselves; elsewhere firmware tables and the device tree do. */
#ifndef FLEET_HELPER_HYPERVISOR_H
#define FLEET_HELPER_HYPERVISOR_H

/* "none", "kvm", "qemu", "xen", ..., "unknown": a virtual one of which nothing more is known, or a machine that says nothing of itself. */
const char *hypervisor_here(void);

/* ---- for tests: what the answer of a machine without CPUID rests on ---- */

/* Texts of firmware (DMI) and the device tree, as files have them; "" where there is none. */
struct hypervisor_signs {
	char vendor[128], product[128], board[128], firmware[128]; /* DMI: sys_vendor, product_name, board_vendor, bios_vendor */
	char node[128];						   /* device tree: compatible of its node hypervisor */
	char compatible[128];					   /* device tree: of the machine itself */
};
const char *hypervisor_by_signs(const struct hypervisor_signs *signs);

#endif
