#include "model/variance/fixed_workload.h"

#include "base/mem.h"
#include "base/order.h"

#include <stdlib.h>

struct work_of_row {
	double work;
	size_t row;
};

ORDER_BY(works_order, struct work_of_row, BY_ASC(work) BY_ASC(row))

size_t fixed_workload_clusters(const double *work, size_t n, double distance, size_t *cluster)
{
	struct work_of_row *sorted = mem_new(n, sizeof(*sorted));
	size_t clusters = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct work_of_row){ work[i], i };
	order_sort(sorted, n, works_order);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (!i || sorted[i].work - sorted[first].work > distance * sorted[first].work) {
			first = i;
			clusters++;
		}
		cluster[sorted[i].row] = clusters - 1;
	}
	free(sorted);
	return clusters;
}
