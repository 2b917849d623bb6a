#include "library.h"

#include <stdio.h>

int main(void)
{
	printf("%ld\n", library_count(5000));
	return 0;
}
