/* System calls of a host made dearer, by class: filters that refuse nothing and cost time. */
#include "fleet/emulate/emulate_site.h"
#include "fleet/shape/calls.h"

#include <errno.h>

enum assay_status emulate_filter_install(const struct emulate_profile *profile, struct assay_error *err)
{
	for (unsigned which = 0; which < EMULATE_CLASSES; which++) {
		int errnum = profile->divisions[which] ? calls_filter(which, profile->divisions[which]) : 0;

		if (errnum == ENOMEM)
			return assay_fail(err, ASSAY_E_IO,
					  "the kernel has no room for a system-call filter of %u divisions more: this process already runs "
					  "under filters, lower the profile's system_calls",
					  profile->divisions[which]);
		if (errnum)
			return assay_fail_errno(err, errnum, "cannot install a system-call filter");
	}
	return ASSAY_OK;
}
