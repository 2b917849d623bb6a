/* Threads that run one after the other, each with memory that the one before it has given back. No clock passes between them: as far as
 * their accesses tell, they might have run side by side.
 *
 *   reused WHAT        malloc, realloc, aligned, large, new, mmap, stack, local; kept: beside each other from the beginning; shared */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{

constexpr int threads = 4, times = 50000;
constexpr size_t page = 4096;
const char *what;
char *kept;
thread_local volatile int local[4];

__attribute__((noinline)) void work(volatile int *at)
{
	for (int i = 0; i < times; i++)
		at[i & 3] = at[i & 3] + 1;
}

bool is(const char *name)
{
	return strcmp(what, name) == 0;
}

void on_heap(size_t bytes, bool aligned)
{
	void *at = nullptr;

	if (aligned && posix_memalign(&at, 64, bytes))
		abort();
	if (!aligned)
		at = malloc(bytes);
	work(static_cast<volatile int *>(at));
	free(at);
}

void grown()
{
	void *at = malloc(16);

	work(static_cast<volatile int *>(at));
	at = realloc(at, 4000);
	work(static_cast<volatile int *>(at) + 900);
	free(at);
}

void mapped()
{
	void *at = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	work(static_cast<volatile int *>(at));
	munmap(at, page);
}

void *run(void *number)
{
	volatile int on_stack[4] = {};

	if (is("malloc") || is("large"))
		on_heap(is("malloc") ? 16 : 1 << 20, false);
	else if (is("aligned"))
		on_heap(64, true);
	else if (is("realloc"))
		grown();
	else if (is("mmap"))
		mapped();
	else if (is("stack"))
		work(on_stack);
	else if (is("local"))
		work(local);
	else if (is("kept"))
		work(reinterpret_cast<volatile int *>(kept + 16 * reinterpret_cast<uintptr_t>(number)));
	else if (is("shared"))
		work(reinterpret_cast<volatile int *>(kept));
	else if (is("new")) {
		int *at = new int[4];

		work(at);
		operator delete[](at, sizeof(int[4]));
	}
	return nullptr;
}

/* Its threads, as the kernel sees them. */
int alive()
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	while (const dirent *entry = readdir(tasks))
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

} // namespace

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;

	what = argc > 1 ? argv[1] : "";
	kept = static_cast<char *>(aligned_alloc(64, 64));
	memset(kept, 0, 64);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (uintptr_t i = 0; i < threads; i++) {
		if (pthread_create(&thread, &attributes, run, reinterpret_cast<void *>(i)))
			abort();
		while (alive() > 1)
			usleep(1000);
	}
	puts("done");
	return 0;
}
