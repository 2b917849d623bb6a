/* Collects a host's facts from files of /proc and /sys that are the input (tests/fuzz/small_files.h). Checks that the controller accepts
 * each line of the helper's answer. The helper is a separate program, so its source is included here. */
#include "tests/fuzz/small_files.h"

#include "fleet/agent/facts.h"
#include "fleet/helper/request.h"

#define frames_put(out, ...) ((void)(out))
#define frames_send(out, in) ((void)(out), (void)(in), true)
/* Renames this copy: the library's own functions read the files of this machine. */
#define process_read survey_process_read
#define process_text survey_process_text
#include "fleet/cgroup/process.c"
#include "fleet/helper/survey.c"
#include "fleet/helper/accounts.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct survey *survey)
{
	for (const char *line = survey->text, *end = line; end && (size_t)(end - survey->text) < survey->size; line = end) {
		const char *blank;

		end = memchr(line, '\n', survey->size - (size_t)(line - survey->text));
		blank = end ? memchr(line, ' ', (size_t)(end - line)) : NULL;
		ASSAY_BUG_IF(!blank || blank == line || blank + 1 == end);
		for (const char *c = line; c < end; c++)
			ASSAY_BUG_IF(*c < ' ' || *c > '~');
		end++;
	}
}

/* Checks the parsers of aarch64's /proc/cpuinfo and of texts from the firmware. */
static void check_processors(const char *data, size_t size)
{
	struct hypervisor_signs signs;
	char *text = strndup(data, size), vendor[ARM_NAME_BYTES], model[ARM_NAME_BYTES];

	ASSAY_BUG_IF(!text);
	if (arm_processors(text, vendor, model))
		ASSAY_BUG_IF(!*vendor || strlen(model) >= ARM_NAME_BYTES);
	memset(&signs, 0, sizeof(signs));
	snprintf(signs.product, sizeof(signs.product), "%s", text);
	ASSAY_BUG_IF(!detect_hypervisor_by_signs(&signs));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct survey survey = { NULL, 0, 0 };
	struct assay_error err = { .text = "" };
	struct facts facts;

	check_processors((const char *)data, size);
	small_files_set((const char *)data, size);
	survey_board(&survey);
	survey_memory(&survey);
	survey_limits(&survey);
	survey_add_load(&survey);
	survey_control_groups(&survey);
	survey_identity(&survey);
	survey_topology(&survey);
	survey_settings(&survey);
	survey_temperature(&survey);
	small_files_check();
	check_lines(&survey);
	if (facts_parse(survey.text ? survey.text : "", survey.size, &facts, &err)) {
		fprintf(stderr, "%s\n%.*s", err.text, (int)survey.size, survey.text);
		ASSAY_BUG_IF("the controller refuses what its helper says" != NULL);
	}
	facts_release(&facts);
	free(survey.text);
	return 0;
}
