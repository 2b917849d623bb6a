/* Tests the helper's side: each request is either refused with a reason or complete and within its limits, whatever the sizes of its
 * pieces. The helper is a separate program, so its source is included here. */
#include "fleet/helper/request.c"

#include "base/error.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frames_add(struct frames_in *in, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	make_room(&in->bytes, &in->start, &in->end, &in->capacity, n);
	memcpy(in->bytes + in->end, bytes, n);
	in->end += n;
}

static void release_texts(struct request_texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->texts[i]);
	free(list->texts);
}

static void request_release(struct request *request)
{
	release_texts(&request->arguments);
	release_texts(&request->variables);
	release_texts(&request->prepended);
	release_texts(&request->paths);
	free(request->directory);
	free(request->lock);
	free(request->holder);
	free(request->input_path);
	free(request->input_file_path);
	free(request->sample_directory);
	free(request->monitor_directory);
	free(request->injection_text);
	request_init(request, request->input);
}

static bool count_input(struct request *request, const char *bytes, size_t n)
{
	ASSAY_BUG_IF(request->operation != REQUEST_RUN && request->operation != REQUEST_PUT);
	ASSAY_BUG_IF(request->go || (n > 0 && !bytes));
	return true;
}

/* Reads frames until the request is complete, refused or cut off. Returns the number of frames. */
static size_t take_pieces(struct request *request, const char *bytes, size_t n, size_t piece)
{
	struct frames_in in = { .bytes = NULL };
	enum frames_got got = FRAMES_MORE;
	size_t frames = 0, at = 0;
	struct frame frame;

	request_init(request, count_input);
	while (!request->go && !*request->refusal && got != FRAMES_TOO_LONG && (at < n || got == FRAMES_ONE)) {
		size_t more = n - at < piece ? n - at : piece;

		frames_add(&in, bytes + at, more);
		at += more;
		while (!request->go && !*request->refusal && (got = frames_next(&in, &frame)) == FRAMES_ONE) {
			ASSAY_BUG_IF(frame.size > HELPER_FRAME_BYTES_MAX);
			ASSAY_BUG_IF(!request_take(request, &frame) == !*request->refusal);
			frames++;
		}
	}
	frames_release(&in);
	return frames;
}

static void check_texts(const struct request_texts *list)
{
	ASSAY_BUG_IF(list->n > HELPER_TEXTS_MAX || (list->n > 0 && list->texts[list->n]));
}

static void check_whole(const struct request *request)
{
	ASSAY_BUG_IF(request->operation == REQUEST_NONE || !request->greeting_received || request->bytes > HELPER_REQUEST_BYTES_MAX);
	ASSAY_BUG_IF(request->operation == REQUEST_RUN && request->arguments.n == 0);
	ASSAY_BUG_IF((request->operation == REQUEST_PUT || request->operation == REQUEST_GET) && request->paths.n != 1);
	ASSAY_BUG_IF(request->mode < 0 || request->mode > 07777);
	ASSAY_BUG_IF(request->timeout_ms < -1 || request->interrupt_ms < -1 || request->lock_wait_ms < 0);
	ASSAY_BUG_IF(request->memory_bytes < 0 || request->processes < 0 || request->cgroup < 0 || request->cgroup > 1);
	ASSAY_BUG_IF(request->output_max < 0 || request->kept_max < 0 || request->sample_ns < -1);
	for (size_t i = 0; i < REQUEST_LIMITS; i++)
		ASSAY_BUG_IF(request->limits[i] < -1);
	for (size_t i = 0; i < request->variables.n; i++)
		ASSAY_BUG_IF(!strchr(request->variables.texts[i], '=') || request->variables.texts[i][0] == '=');
	for (size_t i = 0; i < request->prepended.n; i++)
		ASSAY_BUG_IF(!strchr(request->prepended.texts[i], '=') || request->prepended.texts[i][0] == '=');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request whole, pieces;

	if (size < 1)
		return 0;
	ASSAY_BUG_IF(take_pieces(&whole, (const char *)data + 1, size - 1, size) !=
		     take_pieces(&pieces, (const char *)data + 1, size - 1, (size_t)data[0] % 40 + 1));
	ASSAY_BUG_IF(whole.go != pieces.go || strcmp(whole.refusal, pieces.refusal) != 0 || whole.input_bytes != pieces.input_bytes);
	ASSAY_BUG_IF(whole.go && *whole.refusal);
	check_texts(&whole.arguments);
	check_texts(&whole.variables);
	check_texts(&whole.paths);
	if (whole.go)
		check_whole(&whole);
	request_release(&whole);
	request_release(&pieces);
	return 0;
}
