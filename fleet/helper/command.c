#include "fleet/helper/command.h"
#include "fleet/helper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int own_session(void)
{
	sigset_t none;

	/* This leaves alone what cannot be caught, and the two that the C library keeps for itself. */
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return setsid() < 0;
}

static int set_streams(const struct request *request, int out, int error)
{
	int in = request->input_fd;

	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0;
}

/* A hard limit that is lower already stays. */
static int set_limits(const struct request *request)
{
	for (size_t i = 0; i < request->n_limits; i++) {
		const struct request_limit *wanted = &request->limits[i];
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)wanted->resource, &limit))
			return 1;
		if (wanted->value < limit.rlim_max)
			limit.rlim_max = wanted->value;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit((__rlimit_resource_t)wanted->resource, &limit))
			return 1;
	}
	return 0;
}

static int set_directory(const struct request *request)
{
	return request->directory && chdir(request->directory);
}

static int set_nice(const struct request *request)
{
	return request->has_nice && setpriority(PRIO_PROCESS, 0, request->nice);
}

/* NAME=value before what NAME has already; an empty value changes nothing. */
static void join_variable(const char *text)
{
	size_t name = strcspn(text, "="), value = strlen(text + name + 1);
	char *key = strndup(text, name), *joined = NULL;
	const char *old = key ? getenv(key) : NULL;

	if (value && old && *old && asprintf(&joined, "%s:%s", text + name + 1, old) < 0)
		joined = NULL;
	if (key && value)
		setenv(key, joined ? joined : text + name + 1, 1);
	free(joined);
	free(key);
}

static void set_environment(const struct request *request)
{
	for (size_t i = 0; i < request->variables.n; i++)
		putenv(request->variables.texts[i]);
	for (size_t i = 0; i < request->joined.n; i++)
		join_variable(request->joined.texts[i]);
}

static void enter_group(const struct group *group, int report)
{
	static const struct command_fault outside = { STAGE_GROUP, 0 };

	if (group->n > 0 && !group_enter(group) && write(report, &outside, sizeof(outside)) < 0)
		_exit(126);
}

static _Noreturn void become(const struct request *request, const struct group *group, int out, int error, int report, pid_t parent)
{
	struct command_fault fault = { STAGE_EXEC, 0 };

	/* Before setsid, which does not undo it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	enter_group(group, report);
	if (own_session())
		fault.stage = STAGE_SESSION;
	else if (set_streams(request, out, error))
		fault.stage = STAGE_STREAMS;
	else if (set_directory(request))
		fault.stage = STAGE_DIRECTORY;
	else if (set_nice(request))
		fault.stage = STAGE_NICE;
	else if (set_limits(request))
		fault.stage = STAGE_LIMITS;
	else {
		set_environment(request);
		execvp(request->arguments.texts[0], request->arguments.texts);
	}
	fault.errnum = errno;
	if (write(report, &fault, sizeof(fault)) < 0)
		_exit(126);
	_exit(127);
}

static void close_pair(const int pair[2])
{
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			close(pair[i]);
	}
}

bool command_start(struct request *request, const struct group *group, struct command *out)
{
	int o[2] = { -1, -1 }, e[2] = { -1, -1 }, f[2] = { -1, -1 };
	pid_t parent = getpid();

	if (pipe2(o, O_CLOEXEC) || pipe2(e, O_CLOEXEC) || pipe2(f, O_CLOEXEC) || (out->id = fork()) < 0) {
		request_refuse(request, "cannot start a process: %s", strerror(errno));
		close_pair(o);
		close_pair(e);
		close_pair(f);
		return false;
	}
	if (out->id == 0)
		become(request, group, o[1], e[1], f[1], parent);
	close(o[1]);
	close(e[1]);
	close(f[1]);
	fcntl(o[0], F_SETFL, O_NONBLOCK);
	fcntl(e[0], F_SETFL, O_NONBLOCK);
	out->pipes[0] = o[0];
	out->pipes[1] = e[0];
	out->fault = f[0];
	return true;
}

void command_refuse(struct request *request, const struct command_fault *fault)
{
	const char *why = strerror(fault->errnum);

	switch (fault->stage) {
	case STAGE_DIRECTORY:
		request_refuse(request, "cannot change to the directory '%.200s': %s", request->directory, why);
		break;
	case STAGE_NICE:
		request_refuse(request, "cannot set the nice value %d: %s", request->nice, why);
		break;
	case STAGE_LIMITS:
		request_refuse(request, "cannot set the limits: %s", why);
		break;
	case STAGE_EXEC:
		request->refusal_code = fault->errnum == EACCES ? HELPER_CODE_PERMISSION : HELPER_CODE_EXECUTE;
		request_refuse(request, "cannot execute '%.200s': %s", request->arguments.texts[0], why);
		break;
	default:
		request_refuse(request, "cannot start a process: %s", why);
	}
}
