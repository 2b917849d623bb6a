// Every way out of a function but its return, in four threads and at different depths; what is printed must not depend on the probe.
#include <csetjmp>
#include <cstdio>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>

#define KEEP __attribute__((noinline))

static __thread int destroyed;

struct Counted {
	KEEP ~Counted() { destroyed++; }
};

KEEP void thrower(int n)
{
	Counted counted;

	if (n == 0)
		throw std::runtime_error("thrown");
	thrower(n - 1);
	__asm__ volatile("");
}

KEEP int catcher(int n)
{
	Counted counted;

	try {
		thrower(n);
	} catch (const std::exception &) {
		return 1;
	}
	return 0;
}

KEEP int rethrower(int n)
{
	try {
		thrower(n % 7);
	} catch (...) {
		if (n & 1)
			throw;
		return 1;
	}
	return 0;
}

// A destructor that throws and catches while another exception passes.
struct Nested {
	KEEP ~Nested() { catcher(1); }
};

KEEP void nester(int n)
{
	Nested nested;

	thrower(n);
}

KEEP int outer(int n)
{
	int result = 0;

	try {
		result += rethrower(n);
	} catch (const std::exception &) {
		result += 2;
	}
	try {
		nester(2);
	} catch (...) {
		result += 4;
	}
	return result + catcher(n % 3);
}

static __thread jmp_buf place;

KEEP void jumper(int n)
{
	if (n == 0)
		longjmp(place, 1);
	jumper(n - 1);
	__asm__ volatile("");
}

KEEP int jump(int n)
{
	if (setjmp(place) == 0)
		jumper(n);
	return 5;
}

KEEP int tail_end(int x)
{
	__asm__ volatile("");
	return x + 1;
}

KEEP int tail(int x)
{
	__asm__ volatile("");
	return tail_end(x + 1);
}

KEEP int deep_enough()
{
	void *frames[20];

	return backtrace(frames, 20) > 3;
}

KEEP long all(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += outer(i) + jump(i % 5) + tail(i) + catcher(i % 4);
	return sum;
}

KEEP void leave(int n)
{
	Counted counted;

	if (n == 0)
		pthread_exit((void *)42L);
	leave(n - 1);
	__asm__ volatile("");
}

static int left[4];

struct Last {
	int *at;
	KEEP ~Last() { *at = destroyed; }
};

KEEP void *thread(void *at)
{
	Last last = { static_cast<int *>(at) };

	all(50);
	leave(3);
	return nullptr;
}

int main()
{
	pthread_t threads[4];
	long sum = all(300), results = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, thread, &left[i]);
	for (int i = 0; i < 4; i++) {
		void *result;

		pthread_join(threads[i], &result);
		results += reinterpret_cast<long>(result);
	}
	printf("%ld %d %ld %d %d %d %d %d\n", sum, destroyed, results, left[0], left[1], left[2], left[3], deep_enough());
	return 0;
}
