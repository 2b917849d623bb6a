/* Tests the sampler's record of memory mappings per process. The helper is a separate program, so this test includes its source files. */
#include "fleet/helper/request.h"

#define frames_put(out, ...) ((void)(out))
#include "fleet/helper/sampler.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void add(struct sampler_maps *maps, uint32_t pid, uint64_t begin, uint64_t end, uint64_t offset, uint32_t place)
{
	const struct sampler_map map = { begin, end, offset, place };

	assert_true(sampler_maps_add(maps, pid, &map));
}

static void assert_place(const struct sampler_maps *maps, uint32_t pid, uint64_t address, uint32_t place, uint64_t offset)
{
	const struct sampler_map *map = sampler_maps_find(maps, pid, address);

	assert_non_null(map);
	assert_int_equal(map->place, place);
	assert_int_equal(address - map->begin + map->offset, offset);
}

static void test_overlapping(void **state)
{
	struct sampler_maps *maps = sampler_maps_new();

	(void)state;
	add(maps, 1, 100, 200, 1000, 1);
	add(maps, 1, 200, 300, 0, 2);
	add(maps, 1, 140, 160, 7, 3); /* inside another mapping, whose two ends stay */
	assert_place(maps, 1, 139, 1, 1039);
	assert_place(maps, 1, 140, 3, 7);
	assert_place(maps, 1, 160, 1, 1060);
	add(maps, 1, 150, 250, 0, 4); /* over several mappings */
	assert_place(maps, 1, 149, 3, 16);
	assert_place(maps, 1, 199, 4, 49);
	assert_place(maps, 1, 250, 2, 50);
	add(maps, 1, 0, 1000, 0, 5);
	assert_place(maps, 1, 250, 5, 250);
	add(maps, 1, 400, 300, 0, 6); /* an empty range */
	assert_place(maps, 1, 350, 5, 350);
	assert_null(sampler_maps_find(maps, 1, 1000));
	assert_null(sampler_maps_find(maps, 2, 100));
	sampler_maps_free(maps);
}

/* Checks that a reused process id is a new process, and that later mappings of a parent do not change its child. */
static void test_history(void **state)
{
	struct sampler_maps *maps = sampler_maps_new();

	(void)state;
	add(maps, 1, 100, 200, 0, 1);
	sampler_maps_fork(maps, 2, 1);
	add(maps, 1, 100, 200, 0, 2);
	assert_place(maps, 1, 150, 2, 50);
	assert_place(maps, 2, 150, 1, 50);
	sampler_maps_exec(maps, 1);
	assert_null(sampler_maps_find(maps, 1, 150));
	assert_place(maps, 2, 150, 1, 50);
	sampler_maps_fork(maps, 2, 2); /* a new thread, not a process */
	sampler_maps_exit(maps, 2);
	assert_place(maps, 2, 150, 1, 50);
	sampler_maps_exit(maps, 2);
	assert_null(sampler_maps_find(maps, 2, 150));
	assert_true(sampler_maps_has(maps, 2)); /* while the kernel ends the process */
	sampler_maps_forget(maps, 2);
	sampler_maps_forget(maps, 2);
	assert_false(sampler_maps_has(maps, 2));
	sampler_maps_fork(maps, 2, 1);
	assert_true(sampler_maps_has(maps, 2));
	assert_null(sampler_maps_find(maps, 2, 150));
	sampler_maps_free(maps);
}

/* Checks that ended processes take at most the room for the last ENDED_MAX of them. */
static void test_ended(void **state)
{
	struct sampler_maps *maps = sampler_maps_new();
	uint32_t last = 2 * ENDED_MAX;

	(void)state;
	sampler_maps_fork(maps, 1, 0);
	for (uint32_t pid = 2; pid <= last; pid++) {
		sampler_maps_fork(maps, pid, 1);
		sampler_maps_exit(maps, pid);
		sampler_maps_exit(maps, pid); /* this process has already ended */
	}
	assert_true(sampler_maps_has(maps, 1) && sampler_maps_has(maps, last) && sampler_maps_has(maps, last - ENDED_MAX + 1));
	assert_false(sampler_maps_has(maps, last - ENDED_MAX));
	assert_int_equal(maps->n, 1 + ENDED_MAX);
	sampler_maps_fork(maps, last, 1); /* another process, which stays alive */
	for (uint32_t pid = last + 1; pid <= 2 * last; pid++) {
		sampler_maps_fork(maps, pid, 1);
		sampler_maps_exit(maps, pid);
	}
	assert_true(sampler_maps_has(maps, last));
	sampler_maps_free(maps);
}

/* Checks that mappings beyond the limit are refused, and that a refused one removes the mappings that it replaces. */
static void test_many(void **state)
{
	struct sampler_maps *maps = sampler_maps_new();
	struct sampler_map map = { 0, 0, 0, 9 };
	size_t added = 0;

	(void)state;
	for (uint64_t i = 0; i < MAPS_MAX + 100; i++) {
		map.begin = 20 * i;
		map.end = map.begin + 10;
		added += sampler_maps_add(maps, 1, &map);
	}
	assert_true(added <= MAPS_MAX && added >= MAPS_MAX - 2);
	assert_place(maps, 1, 45, 9, 5);
	assert_null(sampler_maps_find(maps, 1, 20 * (MAPS_MAX + 50) + 5));
	map = (struct sampler_map){ 0, 20 * MAPS_MAX, 0, 8 };
	assert_true(sampler_maps_add(maps, 1, &map));
	assert_place(maps, 1, 45, 8, 45);
	for (uint32_t pid = 2; pid < PROCESSES_MAX + 10; pid++)
		sampler_maps_fork(maps, pid, 1);
	assert_true(sampler_maps_has(maps, PROCESSES_MAX) && !sampler_maps_has(maps, PROCESSES_MAX + 1));
	sampler_maps_free(maps);
}

/* Checks that a forked process has its parent's program until it gets another name. */
static void test_programs(void **state)
{
	struct sampler_maps *maps = sampler_maps_new();

	(void)state;
	sampler_maps_fork(maps, 10, 0);
	assert_int_equal(sampler_maps_find_program(maps, 10), 0);
	sampler_maps_name(maps, 10, 3);
	sampler_maps_fork(maps, 11, 10);
	sampler_maps_fork(maps, 11, 11); /* a new thread, not a process */
	assert_int_equal(sampler_maps_find_program(maps, 11), 3);
	sampler_maps_name(maps, 11, 4);
	assert_true(sampler_maps_find_program(maps, 10) == 3 && sampler_maps_find_program(maps, 11) == 4);
	sampler_maps_exit(maps, 10);
	assert_int_equal(sampler_maps_find_program(maps, 10), 3); /* while the kernel ends the process */
	sampler_maps_fork(maps, 10, 11);
	assert_true(sampler_maps_find_program(maps, 10) == 4 && sampler_maps_find_program(maps, 12) == 0);
	sampler_maps_free(maps);
}

/* Checks that the helper does not wait for a pipe that another user put in the place of the kept kernel symbols. */
static void test_kept_pipe(void **state)
{
	struct sampler_entries *e = calloc(1, sizeof(*e));
	char name[CACHE_PATH_BYTES];
	struct cache_header now;

	(void)state;
	assert_non_null(e);
	cache_path(name);
	assert_true(switch_file(&now));
	unlink(name);
	assert_int_equal(mkfifo(name, 0600), 0);
	alarm(10);
	assert_false(stored_read(&now, e));
	alarm(0);
	unlink(name);
	free(e);
}

/* Checks how the kernel was entered. `callers` are symbols of /proc/kallsyms, separated by spaces, innermost first. */
static void assert_entered(const char *callers, const char *by)
{
	struct sampler_entries *e = calloc(1, sizeof(*e));
	char *copy = strdup(callers), *rest = copy, *symbol;
	uint64_t chain[16] = { (uint64_t)PERF_CONTEXT_KERNEL }, n = 1;

	assert_true(e && copy);
	for (; (symbol = strsep(&rest, " ")) && n < 16; n++) {
		const char *name = entry_name(symbol);

		chain[n] = 16 * n + 1;
		if (!name)
			continue;
		e->items[e->n] = (struct entry){ .begin = 16 * n, .end = 16 * n + 16 };
		snprintf(e->items[e->n++].name, NAME_BYTES, "%s", name);
	}
	assert_string_equal(sampler_entries_find(e, chain, n), by);
	free(copy);
	free(e);
}

/* Checks call chains sampled on Linux 6.18: in programs with filters (whose code has no symbol), in traced ones and in others. */
static void test_entered(void **state)
{
	(void)state;
	assert_entered("_einittext __seccomp_filter syscall_trace_enter do_syscall_64 entry_SYSCALL_64_after_hwframe", "filter");
	assert_entered("populate_seccomp_data __seccomp_filter syscall_trace_enter do_syscall_64", "filter");
	assert_entered("sysvec_apic_timer_interrupt _einittext __seccomp_filter syscall_trace_enter do_syscall_64", "interrupt");
	assert_entered("trace_event_raw_event_sys_enter syscall_trace_enter do_syscall_64", "boundary");
	assert_entered("trace_event_raw_event_sys_exit syscall_exit_work do_syscall_64", "boundary");
	assert_entered("__get_user_8 __rseq_handle_notify_resume exit_to_user_mode_loop do_syscall_64", "boundary");
	assert_entered("finish_task_switch.isra.0 __schedule schedule exit_to_user_mode_loop do_syscall_64", "schedule");
	assert_entered("__fput ____fput task_work_run exit_to_user_mode_loop do_syscall_64", "close");
	assert_entered("read_zero vfs_read ksys_read do_syscall_64", "read");
	assert_entered("do_syscall_64 entry_SYSCALL_64_after_hwframe", "boundary");
	assert_entered("_einittext do_syscall_64", "other");
}

int suite_sampler_maps(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entered),	 cmocka_unit_test(test_kept_pipe), cmocka_unit_test(test_overlapping),
		cmocka_unit_test(test_history),	 cmocka_unit_test(test_ended),	   cmocka_unit_test(test_many),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
