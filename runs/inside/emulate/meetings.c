/* Barriers, and teams of threads that begin and end something together: what passes between their clocks. All under the lock of
 * threads.c. */
#include "runs/inside/emulate/emulate.h"

static struct team *teams; /* of those that not all have entered */

uint64_t teams_horizon(void)
{
	uint64_t first = UINT64_MAX;

	for (const struct team *team = teams; team; team = team->next)
		first = team->begin < first ? team->begin : first;
	return first;
}

void teams_fork(void)
{
	teams = NULL;
}

/* ---- meetings ---- */

bool meeting_arrive(struct meeting *m, uint32_t count)
{
	struct thread *t = hot.thread;

	if (!t || hot.busy)
		return false;
	thread_wait_begin(t);
	threads_hold();
	t->state = THREAD_WAITING;
	m->window = t->resume > m->window ? t->resume : m->window;
	if (m->n < THREADS)
		m->waiting[m->n++] = t;
	if (m->n == count) {
		for (uint32_t i = 0; i < count; i++)
			thread_release(m->waiting[i], m->window);
		m->n = 0;
		m->window = 0;
	}
	threads_release();
	return true;
}

/* Where not all of those who meet are simulated, nobody knows when they are complete: each goes on then as it can. */
void meeting_leave(struct meeting *m)
{
	struct thread *t = hot.thread;

	threads_hold();
	if (t->state == THREAD_WAITING) {
		thread_release(t, m->window);
		m->n = 0;
	}
	threads_release();
	thread_wait_end(t);
}

/* ---- teams ---- */

/* Under the lock. */
static void team_unlink(const struct team *team)
{
	struct team **at = &teams;

	while (*at && *at != team)
		at = &(*at)->next;
	if (*at)
		*at = team->next;
}

void team_open(struct team *team)
{
	struct thread *t = hot.thread;

	*team = (struct team){ .master = t };
	if (!t || hot.busy)
		return;
	team->begin = team->end = thread_advance(t, 0);
	threads_hold();
	team->next = teams;
	teams = team;
	threads_release();
}

void team_enter(struct team *team, uint32_t size)
{
	struct thread *t = hot.thread ? hot.thread : thread_attach();

	if (!team->master)
		return;
	if (t && t != team->master) {
		hot.busy++;
		window_close(t);
	}
	threads_hold();
	team->size = size;
	if (t && t != team->master) {
		t->resume = 0;
		thread_release(t, team->begin);
	}
	if (++team->started == size)
		team_unlink(team);
	threads_release();
	if (t && t != team->master)
		thread_wait_end(t);
}

void team_leave(struct team *team)
{
	struct thread *t = hot.thread;
	uint64_t window;

	if (!team->master || !t)
		return;
	window = window_after(t);
	if (t != team->master) {
		hot.busy++;
		window_close(t);
		hot.busy--;
	}
	threads_hold();
	team->end = window > team->end ? window : team->end;
	if (t != team->master)
		t->state = THREAD_WAITING;
	threads_release();
}

void team_close(struct team *team)
{
	if (!team->master)
		return;
	threads_hold();
	team_unlink(team);
	threads_release();
	thread_advance(team->master, team->end);
}
