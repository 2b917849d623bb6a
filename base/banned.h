/* Included before everything (see CMakeLists.txt): calls that do not check their bounds or their input do not compile. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll atof rand srand strncpy strncat gets tmpnam system popen
#pragma GCC poison localtime ctime asctime
#endif

#endif
