#ifndef TESTS_APPS_SPECIAL_LIBRARY_H
#define TESTS_APPS_SPECIAL_LIBRARY_H

long library_count(long n);

#endif
