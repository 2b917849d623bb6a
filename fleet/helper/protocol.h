/* The protocol between controller and helper, over the helper's standard input and output. Both programs include this file. A frame is one
 * byte of kind, four bytes of length (big-endian), and that number of bytes.
 *
 * The controller sends request frames, the last of which is HELPER_GO, and keeps the stream open. When the stream closes, the helper ends
 * itself and all processes that it started. The helper ignores input after HELPER_GO. It writes HELPER_MAGIC, then output frames, and
 * finally one HELPER_RESULT or HELPER_REFUSED. Text before HELPER_MAGIC comes from start-up files of the login shell. */
#ifndef FLEET_HELPER_PROTOCOL_H
#define FLEET_HELPER_PROTOCOL_H

#define HELPER_VERSION		 1
#define HELPER_FRAME_BYTES_MAX	 (1u << 20)
#define HELPER_REQUEST_BYTES_MAX (8u << 20)  /* maximum size of all frames of a request, with heads, without HELPER_INPUT */
#define HELPER_TEXTS_MAX	 65536u	     /* maximum number of arguments, of variables and of paths in a request */
#define HELPER_INPUT_BYTES_MAX	 (64u << 20) /* maximum size of a command's standard input, which the helper keeps in memory */
#define HELPER_FRAME_HEAD	 5
#define HELPER_WAITING_MS	 10000
#define HELPER_PING_MS		 30000
#define HELPER_MAGIC		 "\0assay helper 1\n" /* sent without the final NUL */
#define HELPER_MAGIC_BYTES	 (sizeof(HELPER_MAGIC) - 1)

/* Frames of a request. HELPER_HELLO is first; settings and input follow; HELPER_GO is last. */
#define HELPER_HELLO 'H' /* version of the protocol, "1" */
#define HELPER_SET   's' /* a setting: "NAME VALUE" */
#define HELPER_INPUT 'i' /* input; repeated, after all settings. run: standard input, else /dev/null; put: content of the file */
#define HELPER_GO    'G' /* end of the request */

/* Names of settings, each with the operations that use it. Numbers are decimal. Flags have the value 1. */
#define HELPER_OPERATION "operation" /* "run", "read" (files named by HELPER_PATH, as HELPER_FILE), "put", "get", "facts", "work" */
#define HELPER_ARGUMENT	 "argument"  /* run: an argument of the command; repeated; the first is searched for in PATH */
#define HELPER_ENVIRON	 "environ"   /* run: "NAME=value", added to the helper's environment */
#define HELPER_ENVIRON_PREPEND                                                                                                             \
	"join" /* run: "NAME=value"; if the host sets the variable to OLD, the result is "value:OLD", so that its LD_PRELOAD stays */
#define HELPER_DIRECTORY  "directory" /* run: working directory */
#define HELPER_INPUT_PATH "input_of"  /* run: path of the file that becomes standard input */
#define HELPER_PATH	  "path"      /* read: a path; repeated. put, get: the path. work: the parent directory; then a label */
#define HELPER_MODE	  "mode"      /* put: mode of the file */
/* run, work: path of the physical host's lock file. The helper locks it and its directory by flock(2) until all processes have ended. */
#define HELPER_LOCK "lock"
#define HELPER_HOLDER                                                                                                                      \
	"holder" /* run: name of the requester of the lock, for waiting helpers; a line of ASCII: "alice@controller, process 4711" */
/* any operation: a number that identifies the laboratory and the host in it. Processes that a killed helper left are ended only by helpers
 * with the same number. */
#define HELPER_OWNER	 "owner"
#define HELPER_LOCK_WAIT "lock_wait" /* run: maximum wait for the lock, ms; after it, HELPER_REFUSED with HELPER_CODE_BUSY */
/* work: flag for hosts that allow only one channel: the helper ends after its answer; another process stays until the connection ends. */
#define HELPER_DETACH "detach"
/* run: names of resource limits per process are "as", "fsize", "nofile", "nproc", "core" and "cpu". */
#define HELPER_OUTPUT	   "output" /* run: limit per stream, bytes. A command that writes more is ended as at HELPER_TIMEOUT; see `flooded` */
#define HELPER_OUTPUT_KEPT "kept" /* run: maximum number of bytes per stream that are sent; the rest is dropped */
/* run: flag: the command runs in its own cgroup, so that all its processes can be ended. If no cgroup can be made, the command runs without
 * one; see `cgroup_version` in the result. HELPER_MEMORY and HELPER_PIDS limit all processes together. */
#define HELPER_CGROUP "cgroup"
#define HELPER_MEMORY "memory" /* memory limit, bytes */
#define HELPER_PIDS   "pids"
/* run: sampling period of the CPU time, ns; 0 for the default. The samples are sent as a HELPER_FILE before the result (sampler.h). */
#define HELPER_SAMPLE		"sample"
#define HELPER_SAMPLE_ADDRESSES "sample_places" /* flag: also count addresses in files */
/* run: ids of processes that already run, "12,345". Their samples and counters are reported instead of the command's, which only waits. */
#define HELPER_ATTACH		"attach"
#define HELPER_SAMPLE_DIRECTORY "sample_below" /* a directory: count addresses in files below it, up to SAMPLER_ADDRESSES_BYTES */
/* run: directory of the record files in which processes find the time for which they were stopped and the CPU time of the command. The next
 * settings are offsets in these files (fleet/cgroup/stops.h). */
#define HELPER_MONITOR		"stops"
#define HELPER_MONITOR_PID	"stops_pid"
#define HELPER_MONITOR_FINISHED "stops_finished"
#define HELPER_MONITOR_STOPPED	"stops_stopped"
#define HELPER_MONITOR_RUN	"stops_run"
#define HELPER_MONITOR_READINGS "stops_readings"
#define HELPER_INJECTION	"plant"	    /* run: injected slowdown (fleet/emulate/plant.h), such as "cpu5" */
#define HELPER_INTERRUPT	"interrupt" /* run: time until the command's first process gets SIGINT as its planned end, ms */
#define HELPER_TIMEOUT		"timeout" /* run: time until the command is ended, ms: SIGTERM to its group; SIGKILL to all a second later */

/* Frames of an answer. */
/* run: another process holds the lock; repeated every HELPER_WAITING_MS. Lines "name value\n" of known facts: held_ms, the time since it
 * took the lock; limit_ms, the maximum of held_ms (a minute after it, waiting helpers are refused); holder, as in HELPER_HOLDER. */
#define HELPER_WAITING 'W'
#define HELPER_STARTED 'B' /* run: the helper holds the lock, and the command has started */
#define HELPER_STDOUT  'O' /* run: standard output; get: content of the file */
#define HELPER_STDERR  'E'
#define HELPER_FILE                                                                                                                        \
	'F' /* read, and run with HELPER_SAMPLE: path, NUL, whole file. A file larger than a frame is HELPER_ABSENT; get it by "get" */
#define HELPER_ABSENT 'N' /* read: path, NUL, reason why the file cannot be read */
/* work: path of a new directory, WHERE/assay-session-USER-LABEL-... The helper keeps running, and removes the directory when it ends. Every
 * HELPER_PING_MS it sends an empty HELPER_WAITING, to test the connection. The controller need not read these frames. */
#define HELPER_DIRECTORY_MADE 'D'
#define HELPER_RESULT	      'R' /* lines "name value\n", listed below */
#define HELPER_REFUSED	      'X' /* nothing was run or replaced: one byte of code (below), then the reason as text */

/* Codes in HELPER_REFUSED. */
#define HELPER_CODE_FAULT      'f' /* the request is invalid, or the host failed */
#define HELPER_CODE_BUSY       'b' /* the lock was not free in time */
#define HELPER_CODE_EXECUTE    'x' /* the command cannot be executed */
#define HELPER_CODE_PERMISSION 'p' /* this user may not execute the command */
#define HELPER_CODES	       "fbxp"

/* Lines of HELPER_RESULT for "run". Names marked * are missing if the kernel does not report the value.
 * exit STATUS | signal NUMBER
 * wall_ns: monotonic time from the first instruction of the command's process to its end. It includes waits of the command for the
 * controller to read its output.
 * user_us, sys_us, max_rss_bytes: of the command and all its descendants, except those whose parents ignored their end
 * lock_wait_ns; tick_ns: period of the kernel's clock; started_ms: real time since 1970
 * timed_out, interrupted: 0 or 1; flooded: stream that exceeded its limit: 0 none, 1 standard output, 2 standard error
 * leftovers: descendants that were alive at the command's end and were killed
 * survivors: leftovers that still existed ten seconds later: processes of another user, or stuck in the kernel
 * swept: processes that a killed helper of the same owner had left, ended before the start. swept_names: "NAME (PID), ..."
 * minor_faults, major_faults, voluntary_switches, involuntary_switches: of the command and all its descendants
 * read_bytes*, write_bytes*, read_calls*, write_calls*: by system calls of the command and the descendants that were waited for
 * run_delay_ns*: run-queue delay of the first thread of each process for which the helper waited
 * others_delay_ns*: run-queue delay of their other threads, and of the processes for which they waited. A thread counts if it lives longer
 * than 50 ms and a sampler runs. Of simultaneous delays, only the longest counts. The helper's own delay counts while it has to empty a
 * full pipe of the command.
 * crowded_ns*, io_stalled_ns*, memory_stalled_ns*: time in which any process of the host waited for a CPU, for I/O, for memory
 * throttled_ns*: time in which the helper's cgroup, or one around it, had used up its CPU quota
 * busy_ns*: CPU time used on the whole host, exact to 10 ms;  steal_ns*: mean time per CPU that a hypervisor took
 * processes*: processes and threads started on the host;  frequency_khz*, temperature_mc*: of the CPUs, at the command's end
 * instructions*, cycles*: in user space; need a PMU
 * With HELPER_CGROUP also: cgroup_version: 1 or 2, the version in use with all requested limits; 0: no cgroup, or not all limits.
 * oom_kills: processes that the kernel killed because the group used up its memory. refused_processes: hits of the process limit.
 * Other operations. facts: one "name value" per fact (fleet/agent/facts.h). read: files N. put, get: bytes N. */

#endif
