/* The protocol between controller and helper, over the helper's standard input and output. A frame has one byte of kind, four bytes of
 * length (big-endian), and that many bytes. Only this file is included by both programs.
 *
 * The controller sends request frames, the last one HELPER_GO, and then keeps the stream open. When the stream closes, the helper kills
 * everything it has started and ends. The helper ignores bytes after HELPER_GO. It writes HELPER_MAGIC, then output frames, and ends with
 * one HELPER_RESULT or HELPER_REFUSED. Anything before HELPER_MAGIC is output of the login shell's start-up files. */
#ifndef FLEET_HELPER_PROTOCOL_H
#define FLEET_HELPER_PROTOCOL_H

#define HELPER_VERSION		 1
#define HELPER_FRAME_BYTES_MAX	 (1u << 20)
#define HELPER_REQUEST_BYTES_MAX (8u << 20)  /* all frames except HELPER_INPUT, heads included */
#define HELPER_TEXTS_MAX	 65536u	     /* number of arguments, of variables and of paths, each */
#define HELPER_INPUT_BYTES_MAX	 (64u << 20) /* standard input of a command, which is kept in memory */
#define HELPER_FRAME_HEAD	 5
#define HELPER_WAITING_MS	 10000
#define HELPER_MADE_MS		 30000
#define HELPER_MAGIC		 "\0assay helper 1\n" /* without the final NUL */
#define HELPER_MAGIC_BYTES	 (sizeof(HELPER_MAGIC) - 1)

/* Request: HELPER_HELLO, then settings and input, then HELPER_GO. */
#define HELPER_HELLO 'H' /* first frame: the protocol's version, "1" */
#define HELPER_SET   's' /* "NAME VALUE": a setting */
#define HELPER_INPUT 'i' /* repeated, last before HELPER_GO. run: standard input (none: /dev/null); put: bytes of the file */
#define HELPER_GO    'G' /* last frame */

/* Names of settings. Numbers are decimal text; flags are 1. */
#define HELPER_OPERATION                                                                                                                   \
	"operation"		   /* "run", "read" (the files named by HELPER_PATH, each as HELPER_FILE), "put", "get", "facts", "work" */
#define HELPER_ARGUMENT "argument" /* run: one argument of the command, repeated; the first is looked up in PATH */
#define HELPER_ENVIRON	"environ"  /* run: "NAME=value", added to the helper's environment */
#define HELPER_JOIN                                                                                                                        \
	"join" /* run: "NAME=value", put before the variable's value of the host and ':', so that the host's LD_PRELOAD stays in force */
#define HELPER_DIRECTORY "directory" /* run: working directory */
#define HELPER_INPUT_OF	 "input_of"  /* run: file opened again as standard input */
#define HELPER_PATH	 "path"	     /* read: a path, repeated; put, get: the path; work: the parent directory, then a label */
#define HELPER_MODE	 "mode"	     /* put: mode of the file */
/* run, work: path of the physical host's lock file. The helper holds flock(2) on it and on its directory until all processes are gone. */
#define HELPER_LOCK "lock"
#define HELPER_HOLDER                                                                                                                      \
	"holder" /* run: the requester of the lock, shown to waiting ones: one line of ASCII, "alice@controller, process 4711" */
/* any operation: a number for one laboratory and one of its hosts. Processes left by a killed helper are ended only by a helper of the same
 * owner. */
#define HELPER_OWNER	 "owner"
#define HELPER_LOCK_WAIT "lock_wait" /* run: milliseconds to wait for the lock; then HELPER_REFUSED with HELPER_CODE_BUSY */
/* work, a flag, for hosts that allow one channel only: the helper ends with its answer. A process stays until the connection ends. */
#define HELPER_DETACH "detach"
/* run: limits per process are "as", "fsize", "nofile", "nproc", "core" and "cpu". */
#define HELPER_OUTPUT                                                                                                                      \
	"output"	   /* run: limit of each stream, bytes. If the command writes more, it ends as at HELPER_TIMEOUT: see `flooded` */
#define HELPER_KEPT "kept" /* run: bytes of each stream that are sent; the rest is dropped */
/* run, a flag: the command runs in its own cgroup, so that all its processes can be ended. If no cgroup can be made, it runs without one:
 * see `cgroup_version` of the result. Limits of all its processes together: */
#define HELPER_CGROUP "cgroup"
#define HELPER_MEMORY "memory" /* memory, bytes */
#define HELPER_PIDS   "pids"
/* run: samples where the CPU time goes, with this period in ns (0: default); before the result, a HELPER_FILE has them (sampler.h). */
#define HELPER_SAMPLE	     "sample"
#define HELPER_SAMPLE_PLACES "sample_places" /* a flag: also count places in files */
#define HELPER_SAMPLE_BELOW  "sample_below"  /* a directory: count places in the files below it, up to SAMPLER_SPOTS_BYTES */
/* run: directory of the files that tell processes how long they were stopped, and how much the command has used. The offsets in these files
 * are described in fleet/cgroup/stops.h. */
#define HELPER_STOPS	     "stops"
#define HELPER_STOPS_PID     "stops_pid"
#define HELPER_STOPS_ENDED   "stops_finished"
#define HELPER_STOPS_STOPPED "stops_stopped"
#define HELPER_STOPS_RUN     "stops_run"
#define HELPER_STOPS_READING "stops_readings"
#define HELPER_PLANT	     "plant"	 /* run: injected slowdown (fleet/emulate/plant.h), such as "cpu5" */
#define HELPER_INTERRUPT     "interrupt" /* run: ms until the command's first process gets SIGINT, a planned end */
#define HELPER_TIMEOUT	     "timeout"	 /* run: ms until everything is killed: SIGTERM to the group, SIGKILL a second later */

/* Answer. */
/* run: another process holds the lock; repeated every HELPER_WAITING_MS until it is free. Lines "name value\n" of the known facts: held_ms
 * (how long it has been held), limit_ms (how long it may be held; a minute later the waiting run is refused), holder (see HELPER_HOLDER) */
#define HELPER_WAITING 'W'
#define HELPER_BEGUN   'B' /* run: the lock is held, and the command has started */
#define HELPER_STDOUT  'O' /* run; get: bytes of the file */
#define HELPER_STDERR  'E'
#define HELPER_FILE                                                                                                                        \
	'F' /* read, and run with HELPER_SAMPLE: path, NUL, the whole file. A file larger than a frame is HELPER_ABSENT: use get */
#define HELPER_ABSENT 'N' /* read: path, NUL, reason why it cannot be read */
/* work: path of a new directory, WHERE/assay-session-USER-LABEL-...; the helper stays, and the directory lives as long as the helper. After
 * it, an empty HELPER_WAITING follows every HELPER_MADE_MS. It need not be read: sending it shows whether the connection still stands. */
#define HELPER_MADE    'D'
#define HELPER_RESULT  'R' /* lines "name value\n": see below */
#define HELPER_REFUSED 'X' /* nothing was run or replaced: one byte of the code (below), then the reason as text */

/* Codes of HELPER_REFUSED. */
#define HELPER_CODE_FAULT      'f' /* a fault of the request or of the host */
#define HELPER_CODE_BUSY       'b' /* the lock was not free in time */
#define HELPER_CODE_EXECUTE    'x' /* the command cannot be executed */
#define HELPER_CODE_PERMISSION 'p' /* permission to execute the command is missing */
#define HELPER_CODES	       "fbxp"

/* HELPER_RESULT of run. Names marked * are missing where the kernel does not report them.
 * exit STATUS | signal NUMBER
 * wall_ns: monotonic time from the first instruction of the command's process to its end. A command that writes waits while the controller
 * does not read.
 * user_us, sys_us, max_rss_bytes: the command and all its descendants, except those whose parent ignored their end
 * lock_wait_ns; tick_ns: period of the kernel's clock; started_ms: real time since 1970
 * timed_out, interrupted: 0|1; flooded: the stream that exceeded its limit: 0 none, 1 standard output, 2 standard error
 * leftovers: descendants that were alive when the command itself had ended, and were killed
 * survivors: leftovers not gone after ten seconds: another user's, or stuck in the kernel
 * swept: processes left by a killed helper of the same owner; they were ended before the command started. swept_names: "NAME (PID), ..."
 * minor_faults, major_faults, voluntary_switches, involuntary_switches: with all descendants
 * read_bytes*, write_bytes*, read_calls*, write_calls*: of system calls, with the descendants that were waited for
 * run_delay_ns*: run-queue delay of the first threads of the processes that the helper waited for
 * others_delay_ns*: run-queue delay of their other threads and of processes that one of them waited for. With a sampler, these count if
 * they lived longer than 50 ms. Of simultaneous delays, only the longest counts. The helper's own delay counts if it was to empty their
 * full pipe.
 * crowded_ns*, io_stalled_ns*, memory_stalled_ns*: time in which anything on the host waited for a CPU, for input or output, for memory
 * throttled_ns*: time in which the helper's cgroup, or one around it, had used up its share of the CPUs
 * busy_ns*: time in which the host's CPUs, all together, were at work; within 10 ms;  steal_ns*: mean time per CPU taken by a hypervisor
 * processes*: processes and threads started on the host;  frequency_khz*, temperature_mc*: of the CPUs, at the command's end
 * instructions*, cycles*: in user space, only with a PMU
 * With HELPER_CGROUP also: cgroup_version: 1|2, the version in use with all requested limits; 0: none, or not all limits. oom_kills:
 * processes killed by the kernel for lack of memory in the group. refused_processes: how often the limit of processes was met.
 * Other operations. facts: one "name value" per fact (fleet/agent/facts.h). read: files N. put and get: bytes N. */

#endif
