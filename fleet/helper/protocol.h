/* What controller and helper say to each other, over the helper's standard input and output. A frame is one byte of kind, four
 * bytes of length (big-endian), and that many bytes. The only file that both include.
 *
 * The controller sends request frames, the last one HELPER_GO, and then keeps the stream open: when it closes, the helper kills
 * everything it has started and ends. Bytes after HELPER_GO are ignored. The helper says HELPER_MAGIC (what stands before it is
 * noise of the login shell's start-up files), answers with output frames and ends with one HELPER_RESULT or HELPER_REFUSED. */
#ifndef FLEET_HELPER_PROTOCOL_H
#define FLEET_HELPER_PROTOCOL_H

#define HELPER_VERSION		 1
#define HELPER_FRAME_BYTES_MAX	 (1u << 20)
#define HELPER_REQUEST_BYTES_MAX (8u << 20)  /* all frames but HELPER_INPUT, with their heads */
#define HELPER_TEXTS_MAX	 65536u	     /* arguments, variables, paths: of each kind */
#define HELPER_INPUT_BYTES_MAX	 (64u << 20) /* of a command: it is kept in memory */
#define HELPER_FRAME_HEAD	 5
#define HELPER_WAITING_MS	 10000
#define HELPER_MADE_MS		 30000
#define HELPER_MAGIC		 "\0assay helper 1\n" /* without the final NUL */
#define HELPER_MAGIC_BYTES	 (sizeof(HELPER_MAGIC) - 1)

/* Request: HELPER_HELLO, then settings and input, then HELPER_GO. */
#define HELPER_HELLO 'H' /* first: the protocol's version, "1" */
#define HELPER_SET   's' /* "NAME VALUE": a setting */
#define HELPER_INPUT 'i' /* repeated, last before HELPER_GO. run: its standard input (none: /dev/null); put: bytes of the file */
#define HELPER_GO    'G' /* last */

/* Names of settings. Numbers are decimal text; flags are 1. */
#define HELPER_OPERATION                                                                                                                   \
	"operation"		    /* "run", "read" (the files named by HELPER_PATH, each as HELPER_FILE), "put", "get", "facts", "work" */
#define HELPER_ARGUMENT	 "argument" /* run: one word of the command, repeated; the first is looked up in PATH */
#define HELPER_ENVIRON	 "environ"  /* run: "NAME=value", added to the helper's environment */
#define HELPER_JOIN	 "join" /* run: "NAME=value", put before what the variable has then, with ':': LD_PRELOAD of a host stays in force */
#define HELPER_DIRECTORY "directory" /* run: working directory */
#define HELPER_INPUT_OF	 "input_of"  /* run: the file that is its standard input, opened again */
#define HELPER_PATH	 "path"	     /* read: a path, repeated; put, get: the path; work: where, and a label */
#define HELPER_MODE	 "mode"	     /* put: mode of the file */
/* run, work: path of the lock file of the box. flock(2) is held on it and on its directory, from before the command until all of it is gone
 */
#define HELPER_LOCK	 "lock"
#define HELPER_HOLDER	 "holder" /* run: who asks, for those who wait for the lock: one line of ASCII, "alice@controller, process 4711" */
#define HELPER_LOCK_WAIT "lock_wait" /* run: milliseconds to wait for the lock; then HELPER_REFUSED with HELPER_CODE_BUSY */
/* work, a flag: the helper ends with its answer and leaves a process that stays until the connection ends: where a host allows one channel
 * only */
#define HELPER_DETACH "detach"
/* run: limits of resources, each process by itself, are "as", "fsize", "nofile", "nproc", "core" and "cpu". */
#define HELPER_OUTPUT                                                                                                                      \
	"output" /* run: so many bytes of each stream are sent; when the command writes more, it ends as at HELPER_TIMEOUT: `flooded` */
#define HELPER_KEPT "kept" /* run: so many bytes of each stream are sent, and the rest is dropped */
/* run, a flag: in a cgroup of its own, for a certain end; where there can be none the command runs without: see `cgroup_version` of
 * the result. With limits of all of it together: */
#define HELPER_CGROUP "cgroup"
#define HELPER_MEMORY "memory" /* bytes */
#define HELPER_PIDS   "pids"
/* run: where its time goes is sampled, so many nanoseconds apart (0: as usual), and comes before the result as a HELPER_FILE (sampler.h) */
#define HELPER_SAMPLE	     "sample"
#define HELPER_SAMPLE_PLACES "sample_places" /* a flag: places in files, too */
#define HELPER_SAMPLE_BELOW  "sample_below"  /* a directory: places in files below it, as many as SAMPLER_SPOTS_BYTES let */
/* run: a directory of files in which its processes are told for how long they were stopped, and what all of it has used; where in them, as
 * fleet/cgroup/stops.h has it */
#define HELPER_STOPS	     "stops"
#define HELPER_STOPS_PID     "stops_pid"
#define HELPER_STOPS_ENDED   "stops_finished"
#define HELPER_STOPS_STOPPED "stops_stopped"
#define HELPER_STOPS_RUN     "stops_run"
#define HELPER_STOPS_READING "stops_readings"
#define HELPER_PLANT	     "plant"	 /* run: a slowdown that is injected (fleet/emulate/plant.h): "cpu5" */
#define HELPER_INTERRUPT     "interrupt" /* run: milliseconds after which the command's first process gets SIGINT (a planned end) */
#define HELPER_TIMEOUT	     "timeout" /* run: milliseconds after which everything is killed (SIGTERM to the group, SIGKILL a second later) */

/* Answer. */
/* run: another process has the lock; again every HELPER_WAITING_MS while that is so. Lines "name value\n" of what is known: held_ms (how
 * long it has the lock), limit_ms (how long it may; a minute later who waits is refused), holder (as in HELPER_HOLDER) */
#define HELPER_WAITING 'W'
#define HELPER_BEGUN   'B' /* run: the lock is held and the command was started */
#define HELPER_STDOUT  'O' /* run; get: bytes of the file */
#define HELPER_STDERR  'E'
#define HELPER_FILE                                                                                                                        \
	'F' /* read, and run with HELPER_SAMPLE: path, NUL, the whole file (one that does not fit a frame is HELPER_ABSENT: use get) */
#define HELPER_ABSENT 'N' /* read: path, NUL, why it cannot be read */
/* work: the path of a new directory, WHERE/assay-session-USER-LABEL-...; it lives as long as the helper, which stays. After it, every
 * HELPER_MADE_MS, an empty HELPER_WAITING that nobody needs to read: what is sent shows whether the connection still stands */
#define HELPER_MADE    'D'
#define HELPER_RESULT  'R' /* lines "name value\n": see below */
#define HELPER_REFUSED 'X' /* nothing was run or replaced: one byte of the code (below), then the reason as text */

/* Codes of HELPER_REFUSED. */
#define HELPER_CODE_FAULT      'f' /* the request or the host is at fault */
#define HELPER_CODE_BUSY       'b' /* the lock was not free in time */
#define HELPER_CODE_EXECUTE    'x' /* the command cannot be executed */
#define HELPER_CODE_PERMISSION 'p' /* the command cannot be executed for want of permission */
#define HELPER_CODES	       "fbxp"

/* HELPER_RESULT of run: exit STATUS | signal NUMBER; wall_ns (monotonic, from before the fork to the end of the command itself; while
 * the controller does not read, a command that writes waits); user_us, sys_us, max_rss_bytes (the command and all its descendants, but
 * those whose parent ignored their end); lock_wait_ns; started_ms (real time, since 1970); timed_out 0|1; interrupted 0|1; flooded 0|1|2
 * (of what there was more than its limit: 1 standard output, 2 standard error); leftovers N
 * (descendants that were alive when the command itself had ended, and were killed); survivors N (of these, not gone after ten seconds:
 * another user's, or stuck in the kernel); minor_faults, major_faults, voluntary_switches, involuntary_switches (with all descendants);
 * read_bytes, write_bytes, read_calls, write_calls (system calls, with the descendants that were waited for; missing where the kernel
 * does not say); run_delay_ns (for which first threads of the processes that we have waited for were kept waiting for a CPU),
 * others_delay_ns (for which their other threads were, and processes that one of them has waited for: with a sampler, as far as they lived
 * longer than 50 ms; of what waited at once the longest only; and the helper, that was to empty their full pipe); crowded_ns,
 * io_stalled_ns, memory_stalled_ns (for which anything on the host was kept waiting for a CPU, for input or output, for memory, while
 * the command ran), throttled_ns (for which the helper's cgroup, and those around it, had used up their shares of the CPUs),
 * busy_ns (for which the host's CPUs, all together, were at work; within 10 ms), processes (that were started on the host, threads
 * too), each missing where the kernel does not say; tick_ns (of the kernel's clock); swept N (processes that a killed helper had left, and
 * that were ended before). With HELPER_CGROUP also: cgroup_version 0|1|2 (the version that was in use with all the limits asked for; 0:
 * none, or not all of them); oom_kills N (processes that the kernel has killed for want of memory in the group); refused_processes N (times
 * that the limit of processes was met). Of facts: one "name value" a fact (fleet/agent/facts.h). Of read: files N. Of put and get: bytes N.
 */

#endif
