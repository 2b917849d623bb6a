#include "model/anomaly/lanes.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#define JOINED(verb, suffix) verb##_##suffix
#define JOIN(verb, suffix)   JOINED(verb, suffix)
#define NAME(verb)	     JOIN(verb, SUFFIX)

/* As many sums at a time as there are registers for them. */
#if defined(__aarch64__)
#define SUFFIX neon
#define LANES  2
#define TILE   8
#define TARGET
#define ROOT(x) ((VEC)vsqrtq_f64((float64x2_t)(x)))
#include "model/anomaly/lanes_body.h"

static size_t supported(const struct lanes *all[3])
{
	all[0] = &lanes_neon;
	return 1;
}
#else
#define SUFFIX sse2
#define LANES  2
#define TILE   4
#define TARGET
#define ROOT(x) ((VEC)_mm_sqrt_pd((__m128d)(x)))
#include "model/anomaly/lanes_body.h"

#define SUFFIX	avx2
#define LANES	4
#define TILE	4
#define TARGET	__attribute__((target("avx2")))
#define ROOT(x) ((VEC)_mm256_sqrt_pd((__m256d)(x)))
#include "model/anomaly/lanes_body.h"

#define SUFFIX	avx512
#define LANES	8
#define TILE	8
#define TARGET	__attribute__((target("avx512f")))
#define ROOT(x) ((VEC)_mm512_sqrt_pd((__m512d)(x)))
#include "model/anomaly/lanes_body.h"

static size_t supported(const struct lanes *all[3])
{
	size_t n = 0;

	all[n++] = &lanes_sse2;
	if (__builtin_cpu_supports("avx2"))
		all[n++] = &lanes_avx2;
	if (__builtin_cpu_supports("avx512f"))
		all[n++] = &lanes_avx512;
	return n;
}
#endif

size_t lanes_all(const struct lanes **out, size_t max)
{
	const struct lanes *all[3];
	size_t n = supported(all);

	for (size_t i = 0; i < n && i < max; i++)
		out[i] = all[i];
	return n;
}

const struct lanes *lanes_here(void)
{
	const struct lanes *all[3];

	return all[lanes_all(all, 3) - 1];
}
