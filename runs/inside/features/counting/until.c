/* Where a run may stop: what plugins call at the entry of the function that --until names. A file of its own, so that what is linked has
 * the variable's name in it only where it has that function: features_build.c looks. */
#include "runs/inside/features/counting/until.h"

#include "runs/inside/record/record_system.h"

#include <stddef.h>
#include <sys/syscall.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void assay_features_until(void);

void assay_features_until(void)
{
	if (!assay_features_variable(FEATURES_UNTIL_ENVIRONMENT))
		return;
	assay_features_end();
	record_system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}
