/* Linked with --wrap into the assay program of the build with sanitizers. Appends each JSON answer, with the arguments of its command, to
 * the file that the environment variable ASSAY_ANSWERS names. tests/schemas.py checks these answers. */
#include "base/document.h"
#include "base/json.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

doc_renderer __real_document_json, __wrap_document_json;
char *__real_json_line(const cJSON *json);
char *__wrap_json_line(const cJSON *json);

static int n_words;
static char **words; /* [n_words]; a copy, because the program changes its argument list */

__attribute__((constructor)) static void keep_words(int argc, char **argv)
{
	n_words = argc;
	words = mem_new((size_t)argc, sizeof(*words));
	memcpy(words, argv, (size_t)argc * sizeof(*words));
}

/* Appends `answer` to the file. Appends nothing if the user may not write to the file or the limit of file sizes is reached. */
static void keep(const cJSON *answer)
{
	const char *path = getenv("ASSAY_ANSWERS");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
	off_t end = fd == -1 ? 0 : lseek(fd, 0, SEEK_END);
	cJSON *kept;
	char *line;

	if (fd == -1)
		return;
	kept = cJSON_CreateObject();
	cJSON_AddItemToObject(kept, "words", cJSON_CreateStringArray((const char *const *)words, n_words));
	cJSON_AddItemReferenceToObject(kept, "answer", (cJSON *)(uintptr_t)answer);
	line = __real_json_line(kept);
	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line) && ftruncate(fd, end))
		abort();
	free(line);
	close(fd);
	cJSON_Delete(kept);
}

void __wrap_document_json(const struct document *d, const struct doc_style *style, struct buf *out)
{
	cJSON *answer = document_cjson(d);

	keep(answer);
	cJSON_Delete(answer);
	__real_document_json(d, style, out);
}

/* Keeps the lines of `timeline --follow`, which are the ones with a member "lag_s". */
char *__wrap_json_line(const cJSON *json)
{
	if (cJSON_HasObjectItem(json, "lag_s"))
		keep(json);
	return __real_json_line(json);
}
