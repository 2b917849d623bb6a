#include "gate/detect/trouble.h"

ROWS_FUNCTION(trouble_code, enum trouble, TROUBLE_ROWS, ROWS_CODE)
ROWS_FUNCTION(trouble_text, enum trouble, TROUBLE_ROWS, ROWS_TEXT)
