/* Results of other tools: what is taken is a results.csv that can be read, with as many rows as it says; errors name the file. The first
 * byte chooses whose it is. */
#include "base/mem.h"
#include "runs/running/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct buf *rows, const struct foreign_result *result)
{
	char *text = mem_bytes(rows->bytes, rows->size);
	struct assay_error err = { .text = "" };
	struct quiho quiho;
	size_t n;

	if (quiho_parse("again", text, rows->size, &quiho, &err)) {
		fprintf(stderr, "%s\n", err.text);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	n = quiho.n;
	for (int i = 0; i < QUIHO_SKIPS; i++)
		n += quiho.skipped[i].count;
	ASSAY_BUG_IF(n != result->rows || n == 0);
	for (size_t i = 0; i < quiho.n; i++)
		ASSAY_BUG_IF(strcmp(quiho.rows[i].benchmark, QUIHO_STRESSNG) == 0);
	quiho_release(&quiho);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const columns[] = { "result=value" };
	struct assay_error err = { .text = "" };
	struct foreign_options options = { .name = "fuzz", .tool = FOREIGN_TOOLS, .taken_ms = INT64_C(1700000000000) };
	struct foreign_result result;
	struct buf rows = BUF_INIT;
	char *text;

	if (size == 0)
		return 0;
	options.tool = (enum foreign_tool)(data[0] % (FOREIGN_TOOLS + 1));
	options.machine = data[0] & 16 ? "node1" : NULL;
	options.application = data[0] & 32 ? "app" : NULL;
	options.metric = data[0] & 64 ? "cpu_time" : NULL;
	options.columns = columns;
	options.n_columns = data[0] & 128 ? 1 : 0;
	text = mem_bytes((const char *)data + 1, size - 1);
	if (foreign_read(text, size - 1, &options, &rows, &result, &err))
		ASSAY_BUG_IF(!strstr(err.text, "fuzz") || strchr(err.text, '\n'));
	else
		check_rows(&rows, &result);
	buf_release(&rows);
	free(text);
	return 0;
}
