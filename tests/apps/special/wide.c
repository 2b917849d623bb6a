/* Checks every atomic operation at every width against plain arithmetic, as the emulation instruments it. */
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 wide;

static int wrong;

#define CHECK(type, what, got, expected)                                     \
	do {                                                                 \
		if ((type)(got) != (type)(expected)) {                       \
			printf("%s of %s is wrong\n", what, #type);          \
			wrong = 1;                                           \
		}                                                            \
	} while (0)

#define CHECK_ALL(type)                                                                                                             \
	static void check_##type(void)                                                                                              \
	{                                                                                                                           \
		static type at __attribute__((aligned(16)));                                                                        \
		type big = (type)((type)1 << (sizeof(type) * 8 - 2)), expected;                                                     \
                                                                                                                                    \
		__atomic_store_n(&at, big, __ATOMIC_SEQ_CST);                                                                       \
		CHECK(type, "load", __atomic_load_n(&at, __ATOMIC_ACQUIRE), big);                                                   \
		CHECK(type, "fetch_add", __atomic_fetch_add(&at, 7, __ATOMIC_RELAXED), big);                                        \
		CHECK(type, "fetch_sub", __atomic_fetch_sub(&at, 2, __ATOMIC_ACQ_REL), big + 7);                                    \
		CHECK(type, "fetch_xor", __atomic_fetch_xor(&at, 1, __ATOMIC_SEQ_CST), big + 5);                                    \
		CHECK(type, "fetch_or", __atomic_fetch_or(&at, 3, __ATOMIC_SEQ_CST), big + 4);                                      \
		CHECK(type, "fetch_and", __atomic_fetch_and(&at, (type)~(type)1, __ATOMIC_SEQ_CST), big + 7);                       \
		CHECK(type, "fetch_nand", __atomic_fetch_nand(&at, 6, __ATOMIC_SEQ_CST), big + 6);                                  \
		CHECK(type, "exchange", __atomic_exchange_n(&at, 9, __ATOMIC_SEQ_CST), (type)~(type)6);                             \
		expected = 8;                                                                                                       \
		CHECK(type, "failed compare_exchange",                                                                              \
		      __atomic_compare_exchange_n(&at, &expected, big, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST), 0);                  \
		CHECK(type, "what compare_exchange saw", expected, 9);                                                              \
		CHECK(type, "compare_exchange", __atomic_compare_exchange_n(&at, &expected, big, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST), 1); \
		CHECK(type, "what is left", __atomic_load_n(&at, __ATOMIC_SEQ_CST), big);                                           \
	}

CHECK_ALL(uint8_t)
CHECK_ALL(uint16_t)
CHECK_ALL(uint32_t)
CHECK_ALL(uint64_t)
CHECK_ALL(wide)

int main(void)
{
	check_uint8_t();
	check_uint16_t();
	check_uint32_t();
	check_uint64_t();
	check_wide();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	printf("%s\n", wrong ? "wrong" : "right");
	return wrong;
}
