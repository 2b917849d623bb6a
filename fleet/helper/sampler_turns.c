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

static void files_close(struct sampler_turns *t)
{
	t->known = false;
	for (size_t i = 0; i < t->n; i++) {
		if (t->rings[i].fd >= 0)
			close(t->rings[i].fd);
		t->rings[i].fd = -1;
	}
}

/* A sample of each change, without callers: as long as no other one. It ends the window, but not every kernel takes one of each task
 * (Linux 6.18 takes none of its first process, nor of the idle tasks that are copies of it): a record of who came says who was there
 * before, too. */
void sampler_turns_open(struct sampler_turns *t, int processor, int ring_fd, uint64_t period_ns)
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
	struct sampler_turns_ring *ring;

	if (t->n == TURNS_PROCESSORS) {
		files_close(t);
		return;
	}
	ring = &t->rings[t->n++];
	t->known = t->n == 1 || t->known;
	t->after_ns = 5 * period_ns / 2;
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, processor, -1, PERF_FLAG_FD_CLOEXEC);
	t->known = t->known && ioctl(ring->fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) == 0;
}

void sampler_turns_close(struct sampler_turns *t)
{
	files_close(t);
	turns_release(&t->turns);
}

/* The kernel ends each by itself when it has told of all that are wanted. */
void sampler_turns_begin(struct sampler_turns *t)
{
	for (size_t i = 0; t->known && i < t->n; i++) {
		int64_t more = t->rings[i].told + TURNS_CHANGES - t->rings[i].wanted;

		t->rings[i].left_known = false;
		t->known = ioctl(t->rings[i].fd, PERF_EVENT_IOC_REFRESH, (int)more) == 0;
		t->rings[i].wanted += more;
	}
	t->begun_ns = (uint64_t)clock_monotonic_ns();
	turns_begin(&t->turns, t->n, t->begun_ns);
	t->open = true;
}

static void window_close(struct sampler_turns *t, uint64_t end_ns, bool last)
{
	for (size_t i = 0; !last && i < t->n; i++)
		ioctl(t->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	turns_end(&t->turns, end_ns, last ? 0 : t->after_ns);
	t->open = false;
	t->next_ns = end_ns + APART_NS + end_ns % MORE_NS;
}

void sampler_turns_take(struct sampler_turns *t, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who, bool change)
{
	struct sampler_turns_ring *of = &t->rings[ring];
	bool last;

	if (!t->known)
		return;
	of->told += change;
	last = change && of->told >= of->wanted;
	turns_add(&t->turns, (uint32_t)ring, time_ns, who, change, last);
	if (change) {
		of->left = thread;
		of->left_known = true;
	}
}

void sampler_turns_came(struct sampler_turns *t, size_t ring, uint64_t time_ns, uint32_t thread, enum turns_who who)
{
	struct sampler_turns_ring *of = &t->rings[ring];

	if (t->known && !(of->left_known && of->left == thread))
		turns_add(&t->turns, (uint32_t)ring, time_ns, who, true, false);
	of->left_known = false;
}

void sampler_turns_drain(struct sampler_turns *t, uint64_t end_ns, uint64_t lost, bool last)
{
	t->known = t->known && lost == 0; /* else it is not known how many changes were told */
	if (!t->known)
		return;
	if (t->open && (last || end_ns >= t->begun_ns + LASTS_NS))
		window_close(t, end_ns, last);
	else if (!t->open && !last && end_ns >= t->next_ns)
		sampler_turns_begin(t);
}
