/* Ends the process while one of its threads is alive. The probe must still report the calls of that thread. */
#include <semaphore.h>
#include <pthread.h>
#include <unistd.h>

static sem_t done;

__attribute__((noinline)) void step(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *thread(void *unused)
{
	for (int i = 0; i < 1000; i++)
		step();
	sem_post(&done);
	for (;;)
		pause();
	return unused;
}

int main(void)
{
	pthread_t handle;

	sem_init(&done, 0, 0);
	pthread_create(&handle, NULL, thread, NULL);
	sem_wait(&done);
	return 0;
}
