/* Tests hosts of other architectures: CPU names, detection of virtual machines, and the choice of the program for a host. */
#include "fleet/helper/request.h"

/* The helper is a separate program, so this test includes its source file. */
#define frames_put(out, ...) ((void)(out))
#define frames_send(out, in) ((void)(out), (void)(in), true)
#include "fleet/helper/survey.c"

#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"
#include "fleet/counting/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CPUINFO(implementer, part)                                                                                                         \
	"processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: " implementer                                                               \
	"\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " part "\nCPU revision\t: 1\n\n"

static void test_processors(void **state)
{
	static const struct {
		const char *what, *text, *vendor, *model;
	} rows[] = {
		{ "a server", CPUINFO("0x41", "0xd0c") CPUINFO("0x41", "0xd0c"), "ARM", "ARM Neoverse-N1" },
		{ "two kinds of cores", CPUINFO("0x41", "0xd03") CPUINFO("0x41", "0xd03") CPUINFO("0x41", "0xd08"), "ARM",
		  "ARM Cortex-A53 + ARM Cortex-A72" },
		{ "a kind whose name begins another's",
		  CPUINFO("0x41", "0xd4d") CPUINFO("0x41", "0xd47") CPUINFO("0x41", "0xd42") CPUINFO("0x41", "0xd41"), "ARM",
		  "ARM Cortex-A715 + ARM Cortex-A710 + ARM Cortex-A78AE + ARM Cortex-A78" },
		{ "the same part of another maker", CPUINFO("0x6d", "0xd49"), "Microsoft", "Microsoft Azure-Cobalt-100" },
		{ "a part that is not in the table", CPUINFO("0xc0", "0xfff"), "Ampere", "Ampere part 0xfff" },
		{ "a maker that is not", CPUINFO("0x99", "0x1"), "implementer 0x99", "implementer 0x99 part 0x001" },
		{ "x86", "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n", "", "" },
		{ "a part without a maker", "CPU part\t: 0xd03\n", "", "" },
		{ "nothing", "", "", "" },
	};
	char vendor[ARM_NAME_BYTES], model[ARM_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(arm_processors(rows[i].text, vendor, model), *rows[i].model != '\0');
		assert_string_equal(vendor, rows[i].vendor);
		assert_string_equal(model, rows[i].model);
	}
	arm_processor(0x411fd070, vendor, model); /* QEMU's cortex-a57 */
	assert_string_equal(vendor, "ARM");
	assert_string_equal(model, "ARM Cortex-A57");
}

static void test_hypervisors(void **state)
{
	static const struct {
		const char *what;
		struct hypervisor_signs signs;
		const char *expected;
	} rows[] = {
		{ "a cloud's virtual machine", { .vendor = "Amazon EC2\n", .product = "m6g.large\n" }, "amazon" },
		{ "a cloud's metal", { .vendor = "Amazon EC2\n", .product = "m6g.metal\n" }, "none" },
		{ "a rack's server", { .vendor = "GIGABYTE\n", .product = "R181-T92\n", .firmware = "GIGABYTE\n" }, "none" },
		{ "QEMU with firmware", { .vendor = "QEMU\n", .product = "QEMU Virtual Machine\n" }, "qemu" },
		{ "KVM says so", { .vendor = "Red Hat\n", .product = "KVM Virtual Machine\n" }, "kvm" },
		{ "QEMU without", { .compatible = "linux,dummy-virt" }, "qemu" },
		{ "Xen's device tree", { .node = "xen,xen-4.14", .compatible = "xen,xenvm" }, "xen" },
		{ "another hypervisor", { .node = "acme,hv", .compatible = "acme,board" }, "unknown" },
		{ "a board", { .compatible = "raspberrypi,4-model-b" }, "none" },
		{ "a machine that says nothing", { .vendor = "" }, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(detect_hypervisor_by_signs(&rows[i].signs), rows[i].expected);
}

/* Checks that the output of uname selects the program for a host, and that no program runs on an unsupported machine. */
static void test_script(void **state)
{
	static const char here[] = "#!/bin/sh\necho here \"$@\"\n", there[] = "#!/bin/sh\necho there \"$@\"\n";
	const struct program program = {
		"toy", { { PROGRAM_ARCHITECTURE, here, here + sizeof(here) - 1 }, { "sparc64", there, there + sizeof(there) - 1 } }
	};
	struct buf run = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
	char *reason;

	(void)state;
	program_script_run(&program, &run);
	program_script_deploy(&program, program_find(&program, PROGRAM_ARCHITECTURE), &one);
	program_script_deploy(&program, program_find(&program, "sparc64"), &two);
	assert_non_null(strstr(run.bytes, "in " PROGRAM_ARCHITECTURE ") n=toy-"));
	assert_non_null(strstr(run.bytes, ";; sparc64) n=toy-"));
	assert_string_not_equal(one.bytes, two.bytes);
	assert_null(strchr(run.bytes, '\''));
	assert_null(program_find(&program, "riscv64"));
	reason = program_explain_missing(&program, "riscv64");
	assert_string_equal(reason, "hosts of the architecture 'riscv64' are not supported, only x86_64 and aarch64");
	free(reason);
	reason = program_explain_missing(&program, "aarch64");
	assert_non_null(strstr(reason, "without its toy program for hosts of aarch64"));
	free(reason);
	buf_release(&run);
	buf_release(&one);
	buf_release(&two);
}

int suite_architecture(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processors),
		cmocka_unit_test(test_hypervisors),
		cmocka_unit_test(test_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
