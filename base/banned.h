/* Included before everything (see CMakeLists.txt): makes calls fail to compile that do not check their bounds or input. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll atof strncpy strncat gets tmpnam system popen
#pragma GCC poison localtime ctime asctime

/* #pragma poison would also hit parameters of that name in other headers. */
int rand(void) __attribute__((deprecated("not reproducible: use base/rng.h")));
void srand(unsigned seed) __attribute__((deprecated("not reproducible: use base/rng.h")));
#endif

#endif
