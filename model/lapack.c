#include "model/lapack.h"

#include <dlfcn.h>
#include <lapacke.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "liblapacke.so.3"

static struct {
	pthread_once_t once;
	__typeof__(LAPACKE_dpotrf) *potrf; /* NULL if the library could not be loaded; also `potri` and `syev` */
	__typeof__(LAPACKE_dpotri) *potri;
	__typeof__(LAPACKE_dsyev) *syev;
} lapack = { .once = PTHREAD_ONCE_INIT };

static void lapack_open(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);
	void (*set_threads)(int);

	if (!library)
		return;
	set_threads = (void (*)(int))(uintptr_t)dlsym(library, "openblas_set_num_threads");
	if (set_threads) /* other LAPACK libraries lack this function; they have no threads */
		set_threads(1);
	lapack.potrf = (__typeof__(LAPACKE_dpotrf) *)(uintptr_t)dlsym(library, "LAPACKE_dpotrf");
	lapack.potri = (__typeof__(LAPACKE_dpotri) *)(uintptr_t)dlsym(library, "LAPACKE_dpotri");
	lapack.syev = (__typeof__(LAPACKE_dsyev) *)(uintptr_t)dlsym(library, "LAPACKE_dsyev");
}

enum assay_status lapack_load(struct assay_error *err)
{
	pthread_once(&lapack.once, lapack_open);
	return lapack.potrf && lapack.potri && lapack.syev
		   ? ASSAY_OK
		   : assay_fail(err, ASSAY_E_IO, "cannot load '" LIBRARY "': install LAPACKE (Debian: liblapacke, Fedora: lapack)");
}

static void lapack_require(void)
{
	struct assay_error err;

	if (!lapack_load(&err))
		return;
	fprintf(stderr, "assay: %s\n", err.text);
	exit(1);
}

/* Passes rows to LAPACK as columns, so that the lower triangle of `a` is the upper triangle for LAPACK. */
bool lapack_invert(double *a, size_t n, double least, double *log_determinant)
{
	lapack_int size = (lapack_int)n;
	double sum = 0;

	lapack_require();
	if (lapack.potrf(LAPACK_COL_MAJOR, 'U', size, a, size) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		double diagonal = a[i * n + i];

		if (!(diagonal * diagonal > least))
			return false;
		sum += 2 * log(diagonal);
	}
	if (lapack.potri(LAPACK_COL_MAJOR, 'U', size, a, size) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			a[j * n + i] = a[i * n + j];
	if (log_determinant)
		*log_determinant = sum;
	return true;
}

void lapack_eigen(const struct mat *symmetric, double *values, struct mat *vectors)
{
	size_t n = symmetric->rows;

	ASSAY_BUG_IF(symmetric->cols != n || vectors->rows != n || vectors->cols != n);
	if (!n)
		return;
	lapack_require();
	memcpy(vectors->at, symmetric->at, n * n * sizeof(double));
	ASSAY_BUG_IF(lapack.syev(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, vectors->at, (lapack_int)n, values) != 0);
	for (size_t k = 0; k < n / 2; k++) { /* LAPACK returns the eigenvalues in ascending order */
		double *low = &vectors->at[k * n], *high = &vectors->at[(n - 1 - k) * n], value = values[k];

		values[k] = values[n - 1 - k];
		values[n - 1 - k] = value;
		for (size_t j = 0; j < n; j++) {
			double element = low[j];

			low[j] = high[j];
			high[j] = element;
		}
	}
}
