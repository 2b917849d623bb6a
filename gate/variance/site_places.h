/* Where call sites are, as people know them: where the programs that made the records are on this machine, as they were. */
#ifndef GATE_VARIANCE_SITE_PLACES_H
#define GATE_VARIANCE_SITE_PLACES_H

#include "gate/variance/fragments.h"

/* Fills `place` of the sites in the programs themselves, by their symbols and lines. Libraries, and programs that are not here or were
 * built anew, keep the build-id that their records have. Reads the programs' symbols and, of those built with -g, lines. */
void site_places_find(struct fragments *f);

#endif
