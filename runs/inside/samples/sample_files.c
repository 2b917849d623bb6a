#include "runs/inside/samples/sample_files.h"

#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/samples/sample_keep.h"
#include "runs/inside/samples/sample_pack.h"

/* ---- rows ---- */

enum { HASH, PLAN, MACHINE, VERSION, INPUT, APPLICATION, REPETITION, PACK, BYTES, TYPE, BACK_END, TAKEN, OUTCOME, PRUNED };

static bool back_end_of(const char *name, enum record_back_end *out)
{
	for (int i = RECORD_TIME; i <= RECORD_EMULATED; i++) {
		*out = (enum record_back_end)i;
		if (strcmp(samples_back_end_name(*out), name) == 0)
			return true;
	}
	return false;
}

/* The row becomes the name of a file, and a size that is allocated. */
static enum assay_status check_row(const struct store *store, sqlite3_stmt *stmt, struct assay_error *err)
{
	static const char digits[] = "0123456789abcdef";
	const char *hash = store_text(stmt, HASH);
	int64_t bytes = sqlite3_column_int64(stmt, BYTES);
	enum record_back_end back_end;

	if (strlen(hash) == DIGEST_HEX_BYTES - 1 && hash[strspn(hash, digits)] == '\0' && bytes >= 0 && (uint64_t)bytes <= SAMPLES_FILE_BYTES_MAX &&
	    back_end_of(store_text(stmt, BACK_END), &back_end))
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a file of samples that cannot be: hash, size or back end", store->path);
}

static void read_row(sqlite3_stmt *stmt, struct sample_file *out)
{
	*out = (struct sample_file){
		.machine = mem_string(store_text(stmt, MACHINE)),
		.version = mem_string(store_text(stmt, VERSION)),
		.input = mem_string(store_text(stmt, INPUT)),
		.application = mem_string(store_text(stmt, APPLICATION)),
		.hardware_type = mem_string(store_text(stmt, TYPE)),
		.repetition = sqlite3_column_int64(stmt, REPETITION),
		.pack = sqlite3_column_int64(stmt, PACK),
		.bytes = sqlite3_column_int64(stmt, BYTES),
		.taken_ms = sqlite3_column_int64(stmt, TAKEN),
		.ok = strcmp(store_text(stmt, OUTCOME), "ok") == 0,
		.pruned = sqlite3_column_int64(stmt, PRUNED) != 0,
	};
	snprintf(out->hash, sizeof(out->hash), "%s", store_text(stmt, HASH));
	snprintf(out->plan, sizeof(out->plan), "%s", store_text(stmt, PLAN));
	(void)back_end_of(store_text(stmt, BACK_END), &out->back_end);
}

static const char select_rows[] =
    "SELECT hash, s.plan, s.machine, s.version, s.input, e.application, s.repetition, pack, bytes, hardware_type, back_end, taken_ms, outcome, pruned "
    "FROM sample_file AS s JOIN execution AS e USING (plan, machine, version, input, repetition) JOIN plan AS p ON p.id = s.plan "
    "WHERE (e.application = ?1 OR p.application = ?1) AND (?2 IS NULL OR s.version = ?2) "
    "ORDER BY s.machine, s.input, p.started_ms, s.plan, s.version, s.repetition, pack, hash";

enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err)
{
	struct sample_file *files = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0, count = 0;
	bool row = true;
	enum assay_status st = store_prepare(store, select_rows, &stmt, err);

	if (!st)
		store_bind(stmt, "tt", application, version);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (!st && row)
			st = check_row(store, stmt, err);
		if (st || !row)
			break;
		files = mem_grow(files, count, &capacity, sizeof(*files));
		read_row(stmt, &files[count++]);
	}
	sqlite3_finalize(stmt);
	if (st) {
		sample_files_free(files, count);
		files = NULL;
		count = 0;
	}
	*out = files;
	*n = count;
	return st;
}

void sample_files_free(struct sample_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(files[i].machine);
		free(files[i].version);
		free(files[i].input);
		free(files[i].application);
		free(files[i].hardware_type);
	}
	free(files);
}

/* ---- one file ---- */

static enum assay_status check_hash(const char *path, const struct buf *bytes, const struct sample_file *file, struct assay_error *err)
{
	char hash[DIGEST_HEX_BYTES];

	digest_sha256(bytes->bytes ? bytes->bytes : "", bytes->size, hash);
	if (strcmp(hash, file->hash) != 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: its content has another hash than its name says", path);
	return ASSAY_OK;
}

enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err)
{
	char *path = sample_keep_path(lab, file->hash);
	struct buf packed = BUF_INIT, bytes = BUF_INIT;
	enum assay_status st;

	*out = (struct samples){ .items = NULL };
	if (file->pruned)
		st = assay_fail(err, ASSAY_E_NODATA, "'%s' was removed by 'assay samples prune': measure again", path);
	else
		st = file_read(path, SAMPLES_FILE_BYTES_MAX, &packed, err);
	if (st == ASSAY_E_NOTFOUND)
		st = assay_fail(err, ASSAY_E_CORRUPT, "the file of samples '%s' is missing: restore it from a copy, or measure again", path);
	if (!st)
		st = sample_unpack(path, packed.bytes, packed.size, (size_t)file->bytes, &bytes, err);
	buf_release(&packed);
	if (!st)
		st = check_hash(path, &bytes, file, err);
	if (!st)
		st = samples_parse(path, bytes.bytes ? bytes.bytes : "", bytes.size, out, err);
	buf_release(&bytes);
	free(path);
	return st;
}
