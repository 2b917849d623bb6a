/* Runs two coroutines on adjacent stacks. Their thread starts before the program loads the library with the measured functions. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK 65536

static sem_t go;
static int (*yields)(ucontext_t *from, ucontext_t *to, int x);
static int (*leaf)(int x);
static ucontext_t thread, first, second;
static int sum;

static void one(void)
{
	for (int i = 0; i < 50; i++)
		sum += yields(&first, &second, i);
}

static void other(void)
{
	for (int i = 0; i < 50; i++)
		sum += leaf(1) + yields(&second, &first, i);
}

static void coroutine(ucontext_t *context, char *stack, void (*function)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = &thread;
	makecontext(context, function, 0);
}

static void *worker(void *unused)
{
	char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sem_wait(&go);
	coroutine(&first, stacks + STACK, one);
	coroutine(&second, stacks, other);
	swapcontext(&thread, &first);
	return unused;
}

int main(void)
{
	pthread_t t;
	void *library;

	sem_init(&go, 0, 0);
	pthread_create(&t, NULL, worker, NULL);
	library = dlopen("libswitches.so", RTLD_NOW);
	if (!library)
		return 1;
	*(void **)&yields = dlsym(library, "yields");
	*(void **)&leaf = dlsym(library, "leaf");
	sem_post(&go);
	pthread_join(t, NULL);
	printf("%d\n", sum);
	return 0;
}
