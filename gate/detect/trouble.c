#include "gate/detect/trouble.h"

#include "base/error.h"

#define TROUBLE_CODE(constant, code, text) code,
#define TROUBLE_TEXT(constant, code, text) text,
static const char *const codes[] = { TROUBLE_ROWS(TROUBLE_CODE) };
static const char *const texts[] = { TROUBLE_ROWS(TROUBLE_TEXT) };

const char *trouble_code(enum trouble trouble)
{
	ASSAY_BUG_IF(trouble >= TROUBLES);
	return codes[trouble];
}

const char *trouble_text(enum trouble trouble)
{
	ASSAY_BUG_IF(trouble >= TROUBLES);
	return texts[trouble];
}
