/* Runs breadth-first search and page rank on a graph in compressed rows, with threads and barriers. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n, threads;
static int *starts, *edges;
static double *rank, *next;
static int *level;
static pthread_barrier_t barrier;
#if FAULT == 2
static struct { volatile double moved; } parts[64];
#else
static struct { _Alignas(128) volatile double moved; } parts[64];
#endif

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void make_graph(uint32_t seed)
{
	int *name = malloc((size_t)n * sizeof(int));

	for (int i = 0; i < n; i++)
		name[i] = i;
#if FAULT == 1
	for (int i = n - 1; i > 0; i--) {
		int k = (int)(rnd(&seed) % (uint32_t)(i + 1)), x = name[i];

		name[i] = name[k];
		name[k] = x;
	}
#endif
	starts = malloc((size_t)(n + 1) * sizeof(int));
	edges = malloc((size_t)n * 8 * sizeof(int));
	for (int i = 0; i <= n; i++)
		starts[i] = i * 8;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 8; k++) {
			int to = i + (int)(rnd(&seed) % 64) - 32;

			edges[name[i] * 8 + k] = name[(to + n) % n];
		}
	free(name);
}

static int search(int from)
{
	int *queue = malloc((size_t)n * sizeof(int)), first = 0, last = 1, deepest = 0;

	memset(level, -1, (size_t)n * sizeof(int));
	queue[0] = from;
	level[from] = 0;
	while (first < last) {
		int v = queue[first++];

		for (int e = starts[v]; e < starts[v + 1]; e++)
			if (level[edges[e]] < 0) {
				level[edges[e]] = deepest = level[v] + 1;
				queue[last++] = edges[e];
			}
	}
	free(queue);
	return deepest;
}

#if TIDY
static double gather(int v)
{
	double sum = 0;

	for (int e = starts[v]; e < starts[v + 1]; e++)
		sum += rank[edges[e]];
	return sum / 8;
}
#endif

static void rank_part(int t)
{
	double moved;

	for (int v = (int)((long)n * t / threads); v < (int)((long)n * (t + 1) / threads); v++) {
#if TIDY
		double sum = gather(v);
#else
		double sum = 0;

		for (int e = starts[v]; e < starts[v + 1]; e++)
			sum += rank[edges[e]];
		sum /= 8;
#endif
		next[v] = .15 + .85 * sum;
		moved = next[v] - rank[v];
		parts[t].moved += moved > 0 ? moved : -moved;
	}
}

static void *worker(void *argument)
{
	int t = (int)(intptr_t)argument;

	for (int round = 0; round < 3; round++) {
		rank_part(t);
		pthread_barrier_wait(&barrier);
		if (t == 0) {
			double *x = rank;

			rank = next;
			next = x;
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	double sum = 0;

	n = argc > 1 ? atoi(argv[1]) : 6000;
	threads = argc > 2 ? atoi(argv[2]) : 4;
	make_graph(argc > 3 ? (uint32_t)atoi(argv[3]) : 1);
	level = malloc((size_t)n * sizeof(int));
	rank = calloc((size_t)n, sizeof(double));
	next = calloc((size_t)n, sizeof(double));
	for (int i = 0; i < n; i++)
		rank[i] = 1 + i % 3;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (intptr_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < threads; i++)
		sum += parts[i].moved;
	printf("%d %.6f\n", search(0), sum);
	return 0;
}
