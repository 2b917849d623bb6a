/* What controller and helper say to each other, over the helper's standard input and output. A frame is one byte of kind, four
 * bytes of length (big-endian), and that many bytes. The only file that both include.
 *
 * The controller sends request frames, the last one HELPER_GO, and then keeps the stream open: when it closes, the helper kills
 * everything it has started and ends. The helper answers with output frames and ends with one HELPER_RESULT or HELPER_REFUSED. */
#ifndef FLEET_HELPER_PROTOCOL_H
#define FLEET_HELPER_PROTOCOL_H

#define HELPER_VERSION         1
#define HELPER_FRAME_BYTES_MAX (1u << 20)
#define HELPER_REQUEST_BYTES_MAX (8u << 20) /* all frames but HELPER_INPUT */

/* Request. Numbers are decimal text. */
#define HELPER_HELLO     'H' /* first: the protocol's version, "1" */
#define HELPER_OPERATION 'o' /* "run", "read" (the files named by HELPER_PATH, each as HELPER_FILE), "put", "get", "facts" */
#define HELPER_ARGUMENT  'a' /* run: one word of the command, repeated; the first is looked up in PATH */
#define HELPER_ENVIRON   'e' /* run: "NAME=value", added to the helper's environment */
#define HELPER_DIRECTORY 'd' /* run: working directory */
#define HELPER_INPUT     'i' /* run: bytes of the command's standard input (kept in a temporary file; none: /dev/null); put: bytes of
			      * the file, repeated, before HELPER_GO */
#define HELPER_PATH      'p' /* read: a path, repeated; put, get: the path */
#define HELPER_MODE      'm' /* put: octal mode of the file */
#define HELPER_LOCK      'l' /* run: path of the lock file of the box: held (flock) from before the command until all of it is gone */
#define HELPER_LOCK_WAIT 'w' /* run: milliseconds to wait for the lock; then HELPER_REFUSED "busy" */
#define HELPER_LIMIT     'r' /* run: "as=BYTES", "fsize=BYTES", "nofile=N", "nproc=N", "core=BYTES", "cpu=SECONDS", repeated */
#define HELPER_INTERRUPT 's' /* run: milliseconds after which the command's first process gets SIGINT (a planned end) */
#define HELPER_TIMEOUT   't' /* run: milliseconds after which everything is killed (SIGTERM to the group, SIGKILL a second later) */
#define HELPER_NICE      'n' /* run: nice value */
#define HELPER_GO        'G' /* last */

/* Answer. */
#define HELPER_BEGUN     'B' /* run: the lock is held and the command was started */
#define HELPER_STDOUT    'O'
#define HELPER_STDERR    'E'
#define HELPER_FILE      'F' /* read, get: path, NUL, bytes; a file that cannot be read: path, NUL only, then HELPER_ABSENT */
#define HELPER_ABSENT    'N' /* read: path, NUL, text of the error */
#define HELPER_RESULT    'R' /* lines "name value\n": see below */
#define HELPER_REFUSED   'X' /* nothing was run: text of the reason */

/* HELPER_RESULT of run: exit STATUS | signal NUMBER; wall_ns, user_us, sys_us (the command and all its descendants), max_rss_bytes,
 * lock_wait_ns, started_ms (real time, since 1970), timed_out 0|1, interrupted 0|1, leftovers N (descendants that were alive when the
 * command itself had ended, and were killed). Of facts: one "name value" a fact (helper_facts in facts.h). Of put and get: bytes N. */

#endif
