#include "fleet/helper/sampler_turns.h"

#include "base/clock.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A window lasts as a rule from one time that this process takes a processor to the next one, for after that the command's share the others
 * in another way than later; then there is none for a while that differs by chance. */
#define LASTS_NS 40000000 /* at least */
#define APART_NS 80000000
#define MORE_NS	 80000000 /* at most, more than that */

/* A change that is told costs who changes some 1.5 us; all of them cost one part in 200 of the time at most, but for those of the first
 * window, which are fewer. */
#define APART_EACH_NS 300000
#define FIRST_CHANGES 1024 /* of each processor in it */

/* So much after a thread is told to have been made its processor begins to be charged to it (1.0 to 1.3 us here), as far as who has made it
 * is at work beside it: that this one leaves is told, which takes as long as above. */
#define CHARGED_NS 2500

/* While an event is there each change costs, told or not: so it is for a window alone. */
static void files_close(struct sampler_turns *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->rings[i].fd >= 0)
			close(t->rings[i].fd);
		t->rings[i].fd = -1;
	}
}

/* A sample of each change, without callers: as long as no other one. It ends the window, but not every kernel takes one of each task
 * (Linux 6.18 takes none of its first process, nor of the idle tasks that are copies of it): a record of who came says who was there
 * before, too. The kernel ends each by itself when it has told of all that are wanted. */
static bool file_open(struct sampler_turns_ring *ring)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					.disabled = 1,
					.sample_id_all = 1,
					.context_switch = 1,
					.use_clockid = 1,
					.clockid = CLOCK_MONOTONIC };

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, ring->processor, -1, PERF_FLAG_FD_CLOEXEC);
	return ring->fd >= 0 && ioctl(ring->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->ring_fd) == 0 &&
	       ioctl(ring->fd, PERF_EVENT_IOC_REFRESH, (int)ring->wanted) == 0;
}

void sampler_turns_add(struct sampler_turns *t, int processor, int ring_fd, uint64_t period_ns)
{
	t->known = (t->n == 0 || t->known) && t->n < TURNS_PROCESSORS;
	if (t->known)
		t->rings[t->n++] =
		    (struct sampler_turns_ring){ .processor = processor, .ring_fd = ring_fd, .fd = -1, .wanted = FIRST_CHANGES };
	t->after_ns = 5 * period_ns / 2;
}

void sampler_turns_close(struct sampler_turns *t)
{
	files_close(t);
	turns_release(&t->turns);
}

void sampler_turns_begin(struct sampler_turns *t)
{
	for (size_t i = 0; t->known && i < t->n; i++) {
		t->rings[i].told = 0;
		t->rings[i].left_known = false;
		t->known = file_open(&t->rings[i]);
	}
	t->begun_ns = (uint64_t)clock_monotonic_ns();
	turns_begin(&t->turns, t->n, t->begun_ns);
	t->open = true;
}

/* Who has left, until then. */
static void left_add(struct sampler_turns *t, struct sampler_turns_ring *of, uint64_t time_ns)
{
	if (of->left_known)
		turns_add(&t->turns, (uint32_t)(of - t->rings), time_ns, of->left_who, true, false);
	of->left_known = false;
}

static void window_close(struct sampler_turns *t, uint64_t end_ns, bool last)
{
	uint64_t apart_ns = APART_NS + end_ns % MORE_NS, told = 0;

	files_close(t);
	for (size_t i = 0; i < t->n; i++)
		left_add(t, &t->rings[i], t->rings[i].left_ns);
	turns_end(&t->turns, end_ns, last ? 0 : t->after_ns);
	for (size_t i = 0; i < t->n; i++) {
		told += (uint64_t)t->rings[i].told;
		t->rings[i].wanted = TURNS_CHANGES;
	}
	t->open = false;
	t->next_ns = end_ns + (told * APART_EACH_NS > apart_ns ? told * APART_EACH_NS : apart_ns);
}

void sampler_turns_take(struct sampler_turns *t, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who, bool change)
{
	struct sampler_turns_ring *of = &t->rings[ring];

	if (!t->known)
		return;
	left_add(t, of, of->left_ns);
	of->told += change;
	if (change && of->told < of->wanted) {
		of->left = thread;
		of->left_who = who;
		of->left_ns = time_ns;
		of->left_known = true;
		return;
	}
	turns_add(&t->turns, (uint32_t)ring, time_ns, who, change, change);
}

void sampler_turns_left(struct sampler_turns *t, size_t ring, uint64_t time_ns, uint32_t thread)
{
	struct sampler_turns_ring *of = &t->rings[ring];

	if (of->left_known && of->left == thread)
		of->left_ns = time_ns;
}

void sampler_turns_born(struct sampler_turns *t, uint64_t time_ns, uint32_t thread)
{
	t->born[t->n_born % TURNS_BORN].thread = thread;
	t->born[t->n_born++ % TURNS_BORN].time_ns = time_ns;
}

/* Since when it is the thread's own time that this processor is no longer idle; it comes at time_ns. Of one that was made before this
 * window it is not known whether it comes for the first time. */
static uint64_t idle_until(struct sampler_turns *t, const struct sampler_turns_ring *of, uint32_t thread, uint64_t time_ns)
{
	for (size_t i = 0; i < TURNS_BORN && i < t->n_born; i++) {
		uint64_t from_ns = t->born[i].time_ns + CHARGED_NS;

		if (t->born[i].thread != thread || t->born[i].time_ns < t->begun_ns)
			continue;
		t->born[i].thread = 0; /* the next time it is woken */
		from_ns = from_ns > of->came_ns ? from_ns : of->came_ns;
		return from_ns < time_ns ? from_ns : time_ns;
	}
	return time_ns;
}

void sampler_turns_came(struct sampler_turns *t, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who, uint32_t comes)
{
	struct sampler_turns_ring *of = &t->rings[ring];
	bool known = of->left_known && of->left == thread;
	uint64_t until_ns = idle_until(t, of, comes, time_ns);

	of->came_ns = time_ns;
	if (who == TURNS_IDLE)
		time_ns = until_ns;
	if (!t->known)
		return;
	left_add(t, of, known ? time_ns : of->left_ns);
	if (!known)
		turns_add(&t->turns, (uint32_t)ring, time_ns, who, true, false);
}

void sampler_turns_drain(struct sampler_turns *t, uint64_t end_ns, uint64_t lost, bool last)
{
	t->known = t->known && lost == 0; /* else it is not known how many changes were told */
	if (!t->known) {
		files_close(t);
		return;
	}
	if (t->open && (last || end_ns >= t->begun_ns + LASTS_NS))
		window_close(t, end_ns, last);
	else if (!t->open && !last && end_ns >= t->next_ns)
		sampler_turns_begin(t);
}
