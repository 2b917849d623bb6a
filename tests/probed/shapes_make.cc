#include "shapes.h"

shape::~shape() {}

shape *make(int side)
{
	return new square<int>(side);
}
