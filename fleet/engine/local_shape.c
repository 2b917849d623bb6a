#include "fleet/engine/local_shape.h"

#include "base/mem.h"
#include "fleet/agent/helper_client.h"
#include "fleet/emulate/emulate_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMEOUT_MS (24 * 3600 * 1000)

static const char *const libraries[2] = { "knobs_malloc.so", "knobs_compare.so" };

/* -1: it cannot be had. */
static int library_open(const char *name)
{
	const struct emulate_data *data = emulate_data;
	size_t n, done = 0;
	int fd;

	while (strcmp(data->name, name) != 0)
		data++;
	n = (size_t)(data->end - data->bytes);
	fd = memfd_create(name, MFD_CLOEXEC);
	while (fd >= 0 && done < n) {
		ssize_t more = write(fd, data->bytes + done, n - done);

		if (more < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		done += more > 0 ? (size_t)more : 0;
	}
	return fd;
}

void local_shape_begin(struct local_shape *shape, const volatile sig_atomic_t *cancelled)
{
	*shape = (struct local_shape){ .command = { .lock = MEASURE_LOCK, .timeout_ms = TIMEOUT_MS, .cancelled = cancelled } };
	for (size_t i = 0; i < 2; i++)
		shape->libraries[i] = library_open(libraries[i]);
	if (shape->libraries[0] >= 0 && shape->libraries[1] >= 0)
		shape->command.preload = mem_format("LD_PRELOAD=/proc/%d/fd/%d:/proc/%d/fd/%d", (int)getpid(), shape->libraries[0],
						    (int)getpid(), shape->libraries[1]);
}

void local_shape_end(struct local_shape *shape)
{
	for (size_t i = 0; i < 2; i++)
		if (shape->libraries[i] >= 0)
			close(shape->libraries[i]);
	free(shape->command.preload);
}

enum assay_status local_shape_run(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				  struct helper_result *out, struct assay_error *err)
{
	const struct local_shape *shape = context;
	struct local_command command = shape->command;
	struct local_said said;
	enum assay_status st;

	command.words = words;
	command.n = n;
	command.shaped = shaped;
	command.n_shaped = n_shaped;
	st = local_command_run(&command, &said, err);
	if (st)
		return st;
	*out = said.result;
	if (command.cancelled && *command.cancelled)
		st = assay_fail(err, ASSAY_E_IO, "cancelled");
	else if (!said.ok && !(shape->any_status && said.result.exit_status > 0))
		st = assay_fail(err, ASSAY_E_NODATA, "%s", said.fault);
	local_said_release(&said);
	return st;
}
