/* Writes record files of runs whose truth is known. Their processes compute and communicate in virtual time, with optional disturbances. */
#ifndef TESTS_MADE_RUN_H
#define TESTS_MADE_RUN_H

#include "base/rng.h"
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_pack.h"
#include "runs/inside/record/record_writer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum made_kind {
	MADE_QUEUE,	/* other programs use the CPU */
	MADE_STOP,	/* one stop of `factor` seconds at `from_s` */
	MADE_SLOW,	/* the CPU itself is slower */
	MADE_FAULTS,	/* page faults, 2 microseconds each */
	MADE_WORK,	/* more work */
	MADE_NOBODY,	/* run-queue delay, although no program is known to use the CPU */
	MADE_THROTTLED, /* run-queue delay, because the quota of the cgroup is used up */
	MADE_STEAL,	/* steal: the hypervisor takes the CPU away */
	MADE_CLOCK,	/* a lower clock frequency of the CPU */
	MADE_MEMORY,	/* shortage of memory; half of the delay is CPU time */
	MADE_THREADS,	/* the process's own threads, which are not recorded, use the CPU */
	MADE_CHILDREN,	/* child processes use the CPU */
	MADE_BESIDE,	/* other programs use another CPU of the host; the rank is not slower */
	MADE_HIDDEN,	/* other programs use the CPU while the rank would wait anyway */
	MADE_TURNS,	/* more work, and as much run-queue delay and as many switches as if it shared the CPU with another program */
	MADE_KINDS
};

struct made_disturbance {
	int rank;		     /* rank that is disturbed; -1: all ranks */
	double from_s, to_s, factor; /* start and end of the disturbance, s; factor by which time grows */
	enum made_kind kind;
};

struct made_options {
	int ranks;
	uint64_t recording;	  /* identifier of the recording; 0: not recorded */
	const char *host;	  /* prefix of the host names; NULL: "node" */
	int set;		  /* 1 + the rank whose process started after the clock had been set; 0: none */
	double set_s;		  /* seconds by which the clock was set forward */
	const char *const *boots; /* [ranks] boot identifiers of the kernels; NULL: not recorded */
	uint64_t ticks_apart;	  /* ticks by which each rank's clock is ahead of the previous rank's */
	bool unset;		  /* the clock was not set yet at the start: it showed 1970 */
	uint64_t killed; /* PID of the first process: all were killed, and their files name no host and have no end; 0: not killed */
	double seconds;	 /* length of the run without disturbances, s */
	double noise;	 /* relative standard deviation of each computation */
	uint64_t seed;
	size_t steps;	       /* number of steps, however long they take; 0: as many as fit in `seconds` */
	bool counted;	       /* the records contain the amount of work */
	bool uncounted_system; /* the records contain no counters of the operating system */
	bool several_works;    /* three sizes of work by turns on one edge */
	bool coupled;	       /* all ranks wait for the slowest one at each step */
	bool pair;	       /* rank 0 waits for the last rank, and its calls name their partner; the other ranks do not wait */
	bool halves;	       /* the lower and the upper half of the ranks make collective calls, each half on its own */
	bool ends;	       /* two ranks: a step's first call uses a connection to 10.9.9.9:7777, its last call one between the ranks */
	bool rare;	       /* all ranks record one step of eight */
	double rare_until_s;   /* end of the time in which `rare` calls take 1.4 ms longer; it starts at 1 s */
	bool sporadic;	       /* one call of 100, at random, takes 50 ms longer */
	bool heavy;	       /* one call has a weight of 65536 */
	uint32_t bursts; /* a step is three short fragments and one of 12 ms; of these, one of `bursts` is recorded; 0: ordinary steps */
	bool overstated; /* weights of `bursts` are twice too large, and the fragments end at two call sites by turns */
	const char *const *commands; /* [ranks] command lines of processes without ranks; NULL: processes have ranks */
	bool is_one_host;	     /* all ranks run on one host */
	bool files;		     /* the first call of a step writes a file; if slow, it waits for the disk */
	bool queued;		     /* slow calls wait in the run queue */
	double finer_from_s;	     /* time from which other counters than CPU time and run-queue delay are recorded, s */
	int slow_calls;		     /* 1 + the rank whose first call of a step takes 4 ms longer from slow_from_s to slow_to_s; 0: none */
	double slow_from_s, slow_to_s;
	double also_slow_s;			     /* extra time of the next rank's first call */
	const struct made_disturbance *disturbances; /* [n], owned by the caller */
	size_t n;
	/* Fills `out` with pipeline counters for the time of each part (enum made_part); NULL: no counters. MADE_SLOW slows `slow_part`. */
	void (*topdown)(const double part_s[], uint64_t out[INTERPOSE_TOPDOWN]);
	int slow_part;
};

enum made_part { MADE_FRONT_END, MADE_SPECULATION, MADE_RETIRING, MADE_CORE, MADE_L1, MADE_L2, MADE_L3, MADE_DRAM, MADE_PARTS };
static const double made_parts[MADE_PARTS] = { .15, .1, .4, .1, .1, .05, .05, .05 }; /* usual shares of the time */

#define MADE_TICKS    UINT64_C(1000000000000) /* clock of the first rank at the start, ticks */
#define MADE_STEP_S   .002		      /* computation of a step, s */
#define MADE_CALL_S   .0001		      /* communication of a step, s */
#define MADE_COUNTERS (22 + INTERPOSE_TOPDOWN)
#define MADE_LOOP     1450 /* usual duration of the loop that measures the clock frequency, ticks */
#define MADE_FAULT_S  2e-6

struct made_process {
	struct record_writer w;
	struct record_thread t;
	uint64_t packing[RECORD_PACK_WORDS(MADE_COUNTERS)];
	struct rng rng;
	double now, cpu, queue, minor, major, voluntary, involuntary, throttled, steal, disk, memory, read_at;
	double threads, children; /* CPU time of unrecorded threads and children, s */
	double parts[MADE_PARTS]; /* time in each part of the pipeline, s */
	double idle;		  /* time during which the host's one CPU was idle, s */
	double loop;
	uint64_t ordinal, calls;
	uint32_t sites[3], weight; /* sites: functions called; weight: of the next record; 0: the usual weight */
};

static const char *const made_counters[MADE_COUNTERS] = { "size",	  "kind",	    "result",	      "args",
							  "from",	  "since",	    "work",	      "cpu_ns",
							  "run_delay_ns", "minor_faults",   "major_faults",   "voluntary",
							  "involuntary",  "from_weight",    "throttled_ns",   "steal_ns",
							  "busy_ns",	  "loop_ticks",	    "io_pressure_ns", "memory_pressure_ns",
							  "own_ns",	  "run_ns",	    "slots",	      "cycles",
							  "front_slots",  "back_slots",	    "retired",	      "lost_slots",
							  "memory_slots", "l1_miss_cycles", "l2_miss_cycles", "l3_miss_cycles" };

/* Records the ends of connections. A child's file also contains lines with its parent's PID, which must not count. */
static inline void made_ends(struct made_process *p, int rank)
{
	const int pid = (int)p->w.header->pid;
	char text[128];

	record_add_info(&p->w, "end:1", "7 inet 10.0.0.1:7 10.0.0.2:7");
	record_add_info(&p->w, "end:2", "7 pipe 14:7");
	snprintf(text, sizeof(text), "%d inet 10.0.0.%d:6 10.9.9.9:7777", pid, rank);
	record_add_info(&p->w, "end:1", text);
	snprintf(text, sizeof(text), "%d inet 10.0.0.%d:5 10.0.0.%d:5", pid, rank, 1 - rank);
	record_add_info(&p->w, "end:2", text);
}

static inline int made_begin(struct made_process *p, const char *directory, int rank, const struct made_options *o)
{
	const struct record_options options = { .directory = directory,
						.counters = made_counters,
						.n_counters = o->topdown ? MADE_COUNTERS : MADE_COUNTERS - INTERPOSE_TOPDOWN,
						.back_end = RECORD_TIME,
						.packed = true,
						.chunk_bytes = 4096,
						.names_bytes_max = 65536,
						.ticks_per_s = 1000000000 };
	char host[16];
	int failed;

	memset(p, 0, sizeof(*p));
	failed = record_open(&p->w, &options);
	if (failed)
		return failed;
	p->w.header->started_ns = o->unset ? 0 : 1700000000000000000u;
	if (o->set == 1 + rank)
		p->w.header->started_ns += (uint64_t)(int64_t)(o->set_s * 1e9);
	p->w.header->started_ticks = MADE_TICKS + o->ticks_apart * (uint64_t)rank;
	p->w.header->pid = (o->killed ? o->killed : 1000) + (uint64_t)rank;
	p->w.header->check = record_header_check(p->w.header);
	record_add_info(&p->w, "program", "/usr/bin/solver");
	record_add_info(&p->w, "calls", "outside");
	record_add_info(&p->w, "work", o->counted ? "instructions" : "none");
	snprintf(host, sizeof(host), "%s%d", o->host ? o->host : "node", o->is_one_host ? 0 : rank);
	if (!o->killed)
		record_add_info(&p->w, "host", host);
	if (o->boots)
		record_add_info(&p->w, "boot", o->boots[rank]);
	if (o->commands)
		record_add_info(&p->w, "arguments", o->commands[rank]);
	else
		record_add_info_number(&p->w, "rank", (uint64_t)rank);
	if (!o->commands)
		record_add_info_number(&p->w, "ranks", (uint64_t)o->ranks);
	record_add_info_number(&p->w, "run", o->recording);
	if (o->ends)
		made_ends(p, rank);
	p->sites[0] = record_add_function(&p->w, 0x1000, "c0ffee", o->files ? "write" : o->ends ? "send" : "MPI_Send");
	p->sites[1] = record_add_function(&p->w, 0x1080, "c0ffee", o->halves ? "MPI_Allreduce" : o->ends ? "recv" : "MPI_Recv");
	p->sites[2] = record_add_function(&p->w, 0x1100, "c0ffee", "write");
	rng_seed(&p->rng, o->seed + (uint64_t)rank);
	p->read_at = -1;
	return 0;
}

static inline int made_half(const struct made_options *o, int rank)
{
	return 2 * rank >= o->ranks;
}

/* Returns the time, in seconds, for which `rank` waits for other ranks after its own work. */
static inline double made_wait(const struct made_process *p, const struct made_options *o, int rank)
{
	double last = p[rank].now;

	for (int r = 0; r < o->ranks; r++)
		if (o->coupled || (o->halves && made_half(o, r) == made_half(o, rank)) || (o->pair && rank == 0 && r == o->ranks - 1))
			last = fmax(last, p[r].now);
	return last - p[rank].now;
}

/* Makes a call of `seconds` at `site`, after `since` seconds of computation with `work` since the call at `from` (below 0: unknown). */
static inline void made_call(struct made_process *p, const struct made_options *o, int site, double size, int from, double since,
			     double work, double seconds)
{
	bool recorded = !o->rare || p->calls++ / 2 % 8 == 0;
	struct record_sample *s = recorded ? record_pack_begin(&p->w, &p->t, p->packing) : NULL;
	bool read = !o->uncounted_system && p->now - p->read_at >= .001;
	const double accounts[] = { p->cpu * 1e9, p->queue * 1e9, p->minor, p->major, p->voluntary, p->involuntary };
	const double withheld[] = { p->throttled, p->steal, p->now - p->idle };
	bool finer = read && p->now >= o->finer_from_s;

	if (o->rare && recorded && p->now >= 1 && p->now < o->rare_until_s)
		seconds += .0014;
	if (!s) {
		p->now += seconds;
		p->cpu += seconds;
		return;
	}
	*s = (struct record_sample){ .function = p->sites[site],
				     .weight = p->weight		       ? p->weight
					       : o->heavy && p->ordinal == 200 ? 1u << 16
					       : o->rare		       ? 8
									       : 1,
				     .ordinal = p->ordinal++,
				     .start = p->w.header->started_ticks + (uint64_t)(p->now * 1e9),
				     .duration = (uint64_t)(seconds * 1e9) };
	s->counters[0] = (uint64_t)size;
	s->counters[1] = site == 2 || (site == 0 && o->files) ? INTERPOSE_FILE : INTERPOSE_SOCKET;
	s->counters[2] = (uint64_t)size;
	s->counters[3] = 77;
	if (o->ends)
		s->counters[1] += (uint64_t)(1 + site) << INTERPOSE_KIND_BITS;
	else if (o->pair && p->w.header->pid == 1000) {
		s->counters[1] = INTERPOSE_MESSAGE;
		s->counters[3] = (uint64_t)o->ranks; /* rank of the partner + 1 */
	}
	if (o->halves && site == 1) {
		s->counters[1] = INTERPOSE_COLLECTIVE;
		s->counters[3] = (uint64_t)(1 + made_half(o, (int)p->w.header->pid - 1000)) << (INTERPOSE_PEER_BITS + INTERPOSE_TAG_BITS);
	}
	s->counters[4] = from < 0 ? UINT64_MAX : p->sites[from];
	s->counters[5] = from < 0 ? UINT64_MAX : (uint64_t)(since * 1e9);
	s->counters[6] = work < 0 || !o->counted ? UINT64_MAX : (uint64_t)work;
	for (int a = 0; a < 6; a++)
		s->counters[7 + a] = (a < 2 ? read : finer) ? (uint64_t)accounts[a] : UINT64_MAX;
	s->counters[13] = from < 0 ? 0 : s->weight;
	for (int a = 0; a < 3; a++)
		s->counters[14 + a] = finer ? (uint64_t)(withheld[a] * 1e9) : UINT64_MAX;
	s->counters[17] = finer ? (uint64_t)p->loop : UINT64_MAX;
	s->counters[18] = finer ? (uint64_t)(p->disk * 1e9) : UINT64_MAX;
	s->counters[19] = finer ? (uint64_t)(p->memory * 1e9) : UINT64_MAX;
	s->counters[20] = finer ? (uint64_t)((p->cpu + p->threads) * 1e9) : UINT64_MAX;
	s->counters[21] = finer ? (uint64_t)((p->cpu + p->threads + p->children) * 1e9) : UINT64_MAX;
	if (o->topdown)
		memset(&s->counters[22], 0xff, INTERPOSE_TOPDOWN * sizeof(s->counters[0]));
	if (o->topdown && finer)
		o->topdown(p->parts, &s->counters[22]);
	if (read)
		p->read_at = p->now;
	record_pack_commit(&p->w, &p->t, p->packing);
	p->now += seconds;
	p->cpu += seconds;
}

/* Computes for `seconds`, plus the delays of disturbances. Returns the time taken, s. Multiplies *work by the factors of added work. */
static inline double made_compute(struct made_process *p, const struct made_options *o, int rank, double seconds, double *work)
{
	double usual = seconds * (1 + o->noise * rng_normal(&p->rng)), taken = usual;

	p->cpu += usual;
	p->loop = MADE_LOOP;
	for (int part = 0; part < MADE_PARTS; part++)
		p->parts[part] += made_parts[part] * usual;
	for (size_t i = 0; i < o->n; i++) {
		const struct made_disturbance *d = &o->disturbances[i];
		double more = usual * (d->factor - 1);

		if ((d->rank >= 0 && d->rank != rank) || p->now < d->from_s || p->now >= d->to_s)
			continue;
		switch (d->kind) {
		case MADE_BESIDE:
			p->idle -= more;
			continue;
		case MADE_HIDDEN:
			p->queue += more;
			p->idle -= more;
			continue;
		case MADE_QUEUE:
			p->queue += more;
			p->involuntary++;
			break;
		case MADE_STOP:
			if (p->now >= d->from_s + MADE_STEP_S + MADE_CALL_S)
				continue;
			more = d->factor;
			p->idle += more;
			p->voluntary++;
			break;
		case MADE_THREADS:
			p->queue += more;
			p->threads += more;
			break;
		case MADE_TURNS:
			p->cpu += more;
			p->queue += more;
			p->involuntary += more / MADE_STEP_S;
			*work *= d->factor;
			more *= 2;
			break;
		case MADE_CHILDREN:
			p->queue += more;
			p->children += more;
			break;
		case MADE_NOBODY:
			p->queue += more;
			p->idle += more;
			break;
		case MADE_THROTTLED:
			p->queue += more;
			p->throttled += more;
			p->idle += more;
			break;
		case MADE_STEAL:
			p->steal += more;
			p->idle += more;
			break;
		case MADE_CLOCK:
			p->loop *= d->factor;
			p->cpu += more;
			break;
		case MADE_MEMORY:
			p->cpu += more / 2;
			p->memory += more;
			p->idle += more / 2;
			break;
		case MADE_SLOW:
			p->cpu += more;
			p->parts[o->slow_part] += more;
			break;
		case MADE_FAULTS:
			p->cpu += more;
			p->minor += more / MADE_FAULT_S;
			break;
		default:
			p->cpu += more;
			*work *= d->factor;
		}
		taken += more;
	}
	p->now += taken;
	return taken;
}

/* Simulates a step's computation and its first call, which sends. made_run() adds the second call, which receives. */
static inline void made_step(struct made_process *p, const struct made_options *o, int rank, size_t step)
{
	double part = o->several_works ? 1 + (double)(step % 3) : 1, work = 1e6 * part;
	double taken = made_compute(p, o, rank, MADE_STEP_S * part, &work);

	bool then = p->now >= o->slow_from_s && p->now < o->slow_to_s;
	double slow = !then ? 0 : o->slow_calls == 1 + rank ? .004 : o->slow_calls == rank ? o->also_slow_s : 0;

	p->disk += o->files && !o->queued ? slow : 0;
	work *= 1 + .002 * rng_normal(&p->rng);
	made_call(p, o, 0, 4096, step ? 1 : -1, taken, work,
		  MADE_CALL_S * (1 + .1 * rng_double(&p->rng)) + (o->sporadic && rng_double(&p->rng) < .01 ? .05 : 0) + slow);
	p->queue += o->queued ? slow : 0;
	p->cpu -= o->queued ? slow : 0;
}

/* Simulates a step with `bursts`: by chance one of `bursts` long fragments is recorded, with its next call and a weight for all. */
static inline void made_burst(struct made_process *p, const struct made_options *o)
{
	for (int i = 0; i < 3; i++)
		made_call(p, o, 0, 1, 0, 1e-6, -1, 1e-6);
	p->now += .012;
	p->cpu += .012;
	if (rng_below(&p->rng, o->bursts))
		return;
	p->weight = o->bursts << o->overstated;
	made_call(p, o, o->overstated ? (int)(p->ordinal / 2 % 2) : 0, 1, 0, .012, -1, 1e-6);
	p->weight = 0;
}

/* Writes the files of a run into `directory`. Returns 0, or an errno. */
static inline int made_run(const char *directory, const struct made_options *o)
{
	struct made_process *p = calloc((size_t)o->ranks, sizeof(*p));
	double slowest = 0, *waits = calloc((size_t)o->ranks, sizeof(*waits));
	int failed = p && waits ? 0 : ENOMEM;

	for (int r = 0; r < o->ranks && !failed; r++)
		failed = made_begin(&p[r], directory, r, o);
	for (size_t step = 0; !failed && (o->steps ? step < o->steps : slowest < o->seconds); step++) {
		for (int r = 0; r < o->ranks; r++) {
			if (o->bursts)
				made_burst(&p[r], o);
			else
				made_step(&p[r], o, r, step);
			slowest = fmax(slowest, p[r].now);
		}
		for (int r = 0; r < o->ranks; r++)
			waits[r] = made_wait(p, o, r);
		for (int r = 0; r < o->ranks && !o->bursts; r++) /* early ranks wait, spinning */
			made_call(&p[r], o, 1, 4096, 0, 1e-6, 500, waits[r] + MADE_CALL_S * (1 + .1 * rng_double(&p[r].rng)));
	}
	for (int r = 0; p && r < o->ranks && !o->killed; r++)
		record_close(&p[r].w);
	free(waits);
	free(p);
	return failed;
}

#endif
