/* A program of two MPI ranks for the tests of `assay record`. Rank 1 is late at some calls, and rank 0 waits for it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAG 77

static int rank, late_us;

static void late(void)
{
	if (rank == 1)
		usleep((useconds_t)late_us);
}

static void messages(void)
{
	static int data[250];
	MPI_Status status;
	MPI_Request request;

	late();
	if (rank == 1)
		MPI_Send(data, 250, MPI_INT, 0, TAG, MPI_COMM_WORLD);
	else
		MPI_Recv(data, 250, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	late();
	if (rank == 1) {
		MPI_Ssend(data, 100, MPI_INT, 0, TAG, MPI_COMM_WORLD);
	} else {
		MPI_Irecv(data, 100, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (request != MPI_REQUEST_NULL)
			abort();
	}
}

/* Makes collective calls on a communicator in which the two ranks are swapped. */
static void collective(MPI_Comm backwards)
{
	double in[8] = { rank }, out[8];
	int root = rank;

	late();
	MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, backwards);
	if (out[0] != 1)
		abort();
	MPI_Bcast(&root, 1, MPI_INT, 0, backwards);
	if (root != 1)
		abort();
	MPI_Gather(rank == 1 ? MPI_IN_PLACE : in, 4, rank == 1 ? MPI_DATATYPE_NULL : MPI_DOUBLE, out, 4, MPI_DOUBLE, 0, backwards);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Puts data from rank 1 into the memory of rank 0, which waits for it. */
static void one_sided(MPI_Comm backwards)
{
	int memory[40] = { 0 }, data[40];
	MPI_Win window;

	for (int i = 0; i < 40; i++)
		data[i] = i;
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, backwards, &window);
	MPI_Win_fence(0, window);
	late();
	if (rank == 1)
		MPI_Put(data, 40, MPI_INT, 1, 0, 40, MPI_INT, window);
	MPI_Win_fence(0, window);
	if (rank == 0 && memory[39] != 39)
		abort();
	if (rank == 1) {
		MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
		MPI_Get(data, 20, MPI_INT, 1, 20, 20, MPI_INT, window);
		MPI_Win_unlock(1, window);
		if (data[0] != 20)
			abort();
	}
	MPI_Win_free(&window);
	if (window != MPI_WIN_NULL)
		abort();
}

static void file(void)
{
	MPI_File f;

	MPI_File_open(MPI_COMM_WORLD, "ranks.data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	MPI_File_write_at_all(f, 16 * rank, "0123456789abcdef", 16, MPI_CHAR, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

/* Polls `n` times for a message, as waiting programs do. The recorder skips most of these calls. */
static void polls(long n)
{
	for (int there; n > 0; n--)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	MPI_Comm backwards;

	late_us = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
	for (int i = 0; i < n; i++) {
		messages();
		collective(backwards);
		one_sided(backwards);
	}
	file();
	polls(argc > 3 ? atol(argv[3]) : 0);
	MPI_Comm_free(&backwards);
	MPI_Finalize();
	printf("rank %d ended\n", rank);
	return 0;
}
