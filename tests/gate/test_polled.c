/* A server that waits for any of its connections does not say for whom: who waits for it waited for the slow one at another of them. */
#include "gate/variance/regions.c" /* who is followed to whom */

#include "tests/scratch.h"

enum { SERVER, CLIENT, SLOW, PROCESSES };

/* The server is in `call` all the time, and the client in a read from it; the slow one is connected with `partner`. */
static size_t followed(const char *call, size_t partner, size_t slow_ones)
{
	struct fragment_process processes[PROCESSES] = { [SERVER] = { .first = 0, .n = 1 }, [CLIENT] = { .first = 1, .n = 1 } };
	struct fragment_site sites[] = { { .name = (char *)(uintptr_t)call }, { .name = (char *)(uintptr_t) "read" } };
	struct fragment_end ends[] = { { .process = CLIENT, .partner = SERVER }, { .process = SLOW, .partner = partner } };
	struct fragment items[] = { { .time_s = 1, .from = FRAGMENT_NO_SITE, .weight = 1, .activity = ACTIVITY_WAITING, .peer = -1 },
				    { .time_s = 1,
				      .process = CLIENT,
				      .from = FRAGMENT_NO_SITE,
				      .to = 1,
				      .weight = 1,
				      .activity = ACTIVITY_COMMUNICATION,
				      .cluster = 1,
				      .peer = -1,
				      .end = 1 } };
	struct cluster clusters[] = { { .usual_s = .001 }, { .usual_s = .001 } };
	struct variance v = { .fragments = { .processes = processes,
					     .n_processes = PROCESSES,
					     .sites = sites,
					     .n_sites = 2,
					     .items = items,
					     .n = 2,
					     .ends = ends,
					     .n_ends = 2,
					     .one_host = true },
			      .clusters = clusters,
			      .n_clusters = 2 };
	struct stretch stretches[] = {
		{ .activity = ACTIVITY_COMMUNICATION, .member = { .process = CLIENT, .to_s = 1, .loss_s = 1 }, .waits = true },
		{ .activity = ACTIVITY_COMPUTATION, .member = { .process = SLOW, .from_s = .1, .to_s = .9, .loss_s = .7 } }
	};
	struct stretches all = { .items = stretches, .n = 1 + slow_ones };
	struct waits known = { .n = 0 };
	size_t process;

	for (size_t p = 0; p < PROCESSES; p++) {
		processes[p].rank = -1;
		processes[p].host = (char *)(uintptr_t) "node";
	}
	process = stretch_follow(&v, &all, &stretches[0], &known);
	waits_release(&known, &v);
	return process;
}

static void polled_by(void **state)
{
	(void)state;
	assert_int_equal(followed("epoll_wait", SERVER, 1), SLOW);
	assert_int_equal(followed("poll", SERVER, 1), SLOW);
	assert_int_equal(followed("epoll_wait", SERVER, 0), SERVER);	  /* nobody was slow */
	assert_int_equal(followed("sleep", SERVER, 1), SERVER);		  /* it waited for something else */
	assert_int_equal(followed("epoll_wait", END_UNKNOWN, 1), SERVER); /* they have nothing to do with each other */
}

int suite_polled(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(polled_by) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
