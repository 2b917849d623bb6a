/* One stressor in one run: how it is asked for, and what its answer is worth. */
#include "base/mem.h"
#include "fingerprint/take/take_internal.h"

#include <inttypes.h>

#define END_MS 5000 /* that stress-ng gets to end after the interrupt, before everything is killed */

/* Each process by the kernel's limits; all together by a control group, where the host lets us have one. */
static void add_limits(const struct battery_limits *limits, struct helper_request *request)
{
	if (limits->memory_bytes)
		helper_request_limit(request, "as", (uint64_t)limits->memory_bytes);
	if (limits->file_bytes)
		helper_request_limit(request, "fsize", (uint64_t)limits->file_bytes);
	if (limits->open_files)
		helper_request_limit(request, "nofile", (uint64_t)limits->open_files);
	helper_request_cgroup(request, (uint64_t)limits->memory_bytes, (uint64_t)limits->processes);
}

void take_request_cell(const struct take *take, const struct take_host *h, size_t index, const char *const *prefix, size_t n,
		       struct helper_request *request)
{
	const struct battery *battery = take->options->battery;
	const struct battery_entry *entry = &battery->entries[index];
	char *option = mem_format("--%s", entry->stressor);
	char *seconds = mem_format("%" PRId64, 20 + 2 * entry->milliseconds / 1000); /* its own end comes far behind ours */
	const char *const stressor[] = { "stress-ng", "--temp-path", h->directory, "--no-rand-seed", "--oomable", "-q",    "--metrics",
					 "--yaml",    "/dev/stdout", "-t",         seconds,          option,      "1" };
	const size_t n_stressor = sizeof(stressor) / sizeof(stressor[0]);
	const char **words = mem_new(n + n_stressor, sizeof(*words));

	if (n > 0)
		memcpy(words, prefix, n * sizeof(*words));
	memcpy(words + n, stressor, sizeof(stressor));
	measure_request(request, h->host, words, n + n_stressor, entry->milliseconds + END_MS);
	for (size_t i = 0; i < entry->n_arguments; i++)
		helper_request_text(request, HELPER_ARGUMENT, entry->arguments[i]);
	helper_request_number(request, HELPER_INTERRUPT, entry->milliseconds);
	add_limits(&battery->limits, request);
	measure_request_lock(request);
	free(words);
	free(option);
	free(seconds);
}

/* Did it end as it should, whatever it wrote? */
static char *judge_end(const struct battery_limits *limits, const struct helper_answer *answer)
{
	const struct helper_result *result = &answer->result;
	const char *why;

	if (answer->refusal)
		return mem_string(answer->refusal);
	if (result->oom_kills > 0 && limits->memory_bytes == 0)
		return mem_string("the kernel killed it for want of memory");
	if (result->oom_kills > 0)
		return mem_format("it wanted more memory than the battery's limit of %" PRId64 " bytes for all of it, and was killed",
				  limits->memory_bytes);
	if (result->timed_out > 0)
		return mem_string("it did not end when it was told to, and was killed");
	if (result->signal > 0)
		return mem_format("stress-ng was ended by signal %" PRId64, result->signal);
	if (result->refused_processes > 0)
		return mem_format("it wanted more processes than the battery's limit of %" PRId64, limits->processes);
	return stressng_trust_of((int)result->exit_status, &why) != STRESSNG_MEASURED ? mem_string(why) : NULL;
}

char *take_judge(const struct take *take, struct take_host *h, size_t index, const struct helper_answer *answer,
		 struct stressng_metrics *metrics, char **text)
{
	const struct battery *battery = take->options->battery;
	char *why = judge_end(&battery->limits, answer);
	struct assay_error err;
	size_t n = 0;

	*metrics = (struct stressng_metrics){ .measured = false };
	*text = NULL;
	if (answer->result.cgroup >= 0 && (h->cgroup < 0 || answer->result.cgroup < h->cgroup))
		h->cgroup = answer->result.cgroup;
	if (why)
		return why;
	if (spool_text(&answer->out, STRESSNG_YAML_BYTES_MAX, text, &n, &err) ||
	    stressng_parse(*text, n, battery->entries[index].stressor, metrics, &err))
		return mem_string(err.text);
	if (!metrics->measured)
		return mem_string("it made no operations in its time");
	if (strcmp(metrics->version, h->version) != 0)
		return mem_format("stress-ng said version %s before and %s now", h->version, metrics->version);
	return NULL;
}

void take_progress(struct take *take, const struct take_host *h)
{
	take->cells_done++;
	if (take->options->progress)
		take->options->progress(h->host, take->cells_done, take->cells_total);
}
