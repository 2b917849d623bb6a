#include "base/mat.h"

#include "base/mem.h"

struct mat mat_new(size_t rows, size_t cols)
{
	struct mat m = { rows, cols, NULL };

	m.at = mem_new(rows * cols, sizeof(double));
	return m;
}

void mat_release(struct mat *m)
{
	free(m->at);
	*m = (struct mat){ 0, 0, NULL };
}
