/* The fleet's helper: one static program that a controller runs on a host, over ssh or on its own machine, and talks to over
 * standard input and output (protocol.h). It runs what is to be measured: no shell parses the arguments, the clock stands around
 * the command itself, and when standard input closes nothing of it is left.
 *
 * As arguments it takes those of whole.h. */
#include "fleet/counting/whole.h"
#include "fleet/helper/files.h"
#include "fleet/helper/protocol.h"
#include "fleet/helper/run.h"
#include "fleet/helper/survey.h"
#include "fleet/helper/work.h"
#include "fleet/shape/calls.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IN	       STDIN_FILENO
#define OUT	       STDOUT_FILENO
#define DESCRIPTOR_MAX 1024 /* closed one by one where close_range(2) is missing */

/* What we have inherited may be anything: signals ignored, descriptors open or missing. */
static bool reset_process(void)
{
	int fd;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0) {
		for (fd = STDERR_FILENO + 1; fd < DESCRIPTOR_MAX; fd++)
			close(fd);
	}
	return fcntl(IN, F_SETFL, fcntl(IN, F_GETFL) | O_NONBLOCK) == 0 && fcntl(OUT, F_SETFL, fcntl(OUT, F_GETFL) | O_NONBLOCK) == 0;
}

static int serve_request(struct request *request, struct frames_out *out)
{
	switch (request->operation) {
	case REQUEST_RUN:
		return run_request(request, out, IN);
	case REQUEST_READ:
	case REQUEST_GET:
	case REQUEST_PUT:
		return files_serve(request, out, IN);
	case REQUEST_FACTS:
		return survey_facts(out, IN);
	case REQUEST_WORK:
		return work_serve(request, out, IN);
	case REQUEST_NONE:
		break;
	}
	return 1;
}

/* "exercise SHAPE N": does N times what the shape makes dearer, so that its dose can be measured. An exit status. */
static int exercise(const char *name, const char *times)
{
	struct shaped shaped;
	char text[SHAPE_NAME_BYTES];

	snprintf(text, sizeof(text), "%s=0", name);
	if (!shape_read(text, &shaped))
		return 2;
	if (shapes[shaped.shape].means == SHAPE_FILTER) {
		calls_exercise(shaped.shape, strtoul(times, NULL, 10));
		return 0;
	}
	if (shapes[shaped.shape].means == SHAPE_INTERRUPTS) {
		for (volatile unsigned long left = strtoul(times, NULL, 10) * 1000; left; left--)
			;
		return 0;
	}
	setenv(shape_variable(shaped.shape, true), times, 1); /* a library does it, in any dynamic program */
	return execl("/bin/sh", "sh", "-c", ":", (char *)NULL);
}

int main(int argc, char **argv)
{
	struct frames_out out = { .fd = OUT };
	struct request request;
	int status;

	if (whole_ends(&argc, argv, &status))
		return status;
	if (argc == 4 && strcmp(argv[1], "exercise") == 0)
		return exercise(argv[2], argv[3]);
	if (argc != 1 || !reset_process())
		return 2;
	frames_raw(&out, HELPER_MAGIC, HELPER_MAGIC_BYTES);
	frames_flush(&out);
	request_init(&request, files_input);
	if (!request_receive(&request, IN))
		return request_answer_refusal(&request, &out, IN);
	return serve_request(&request, &out);
}
