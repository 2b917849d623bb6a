/* The build includes this header before each source file (see CMakeLists.txt): calls that do not check bounds or input fail to compile. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll atof strncpy strncat gets tmpnam system popen
#pragma GCC poison localtime ctime asctime

/* These two are deprecated, not poisoned: #pragma GCC poison would also reject parameters named rand or srand in other headers. */
int rand(void) __attribute__((deprecated("not reproducible: use base/rng.h")));
void srand(unsigned seed) __attribute__((deprecated("not reproducible: use base/rng.h")));
#endif

#endif
