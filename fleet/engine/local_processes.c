#include "fleet/engine/local_processes.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cgroup/process.h"

#include <limits.h>
#include <unistd.h>

enum assay_status local_processes_find(char *const *texts, size_t n, struct local_processes *out, struct assay_error *err)
{
	char program[PATH_MAX], *link;
	struct buf ids = BUF_INIT;
	ssize_t length;

	*out = (struct local_processes){ .n = n, .items = mem_new(n, sizeof(*out->items)) };
	for (size_t i = 0; i < n; i++) {
		int64_t id;

		if (!text_parse_int64(texts[i], &id) || id < 1 || id > INT_MAX || !process_read((long)id, &out->items[i]) ||
		    !out->items[i].alive) {
			buf_release(&ids);
			return assay_fail(err, ASSAY_E_NODATA, "there is no process '%s'", TEXT_SANITIZED(texts[i]));
		}
		buf_format(&ids, "%s%d", i ? "," : "", (int)id);
	}
	out->ids = buf_take(&ids);
	link = mem_format("/proc/%d/exe", (int)out->items[0].id);
	length = readlink(link, program, sizeof(program));
	out->program = length > 0 && length < (ssize_t)sizeof(program) ? mem_bytes(program, (size_t)length) : mem_string("?");
	free(link);
	return ASSAY_OK;
}

enum assay_status local_processes_check(const struct local_processes *processes, struct assay_error *err)
{
	for (size_t i = 0; i < processes->n; i++) {
		const struct process *before = &processes->items[i];
		struct process now;

		if (!process_read(before->id, &now) || !now.alive || now.start_ticks != before->start_ticks)
			return assay_fail(err, ASSAY_E_NODATA, "process %d ended while it was watched", (int)before->id);
	}
	return ASSAY_OK;
}

void local_processes_release(struct local_processes *processes)
{
	mem_free(processes->items, processes->ids, processes->program);
	*processes = (struct local_processes){ .n = 0 };
}
