#include "runs/prune.h"

#include "base/clock.h"
#include "base/mem.h"
#include "runs/running/execution.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PRUNED	 EXECUTION_PRUNED "\n"
#define DAY_MS	 86400000
#define WALK_FDS 16
#define GIB	 (1024. * 1024 * 1024)

/* Space for a write-ahead log that contains all pages: 1 / LOG_PART of the pages, and at least LOG_MIN_BYTES. */
#define LOG_PART      64
#define LOG_MIN_BYTES (1 << 17)

/* Replaces old output by a mark; with `dry_run`, only counts it. Disables secure_delete, which needs disk space to overwrite freed data. */
static enum assay_status prune_outputs(struct store *store, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT count(*), ifnull(sum(length(out) + length(err)), 0) FROM execution WHERE taken_ms < ? AND "
			"(out <> x'' OR err <> x'') AND out <> ?",
			"ib", before_ms, PRUNED, sizeof(PRUNED) - 1);

	if (!st && store_next(store, stmt, &st, err)) {
		out->executions = sqlite3_column_int64(stmt, 0);
		out->output_bytes = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	if (!st && !dry_run)
		st = store_execute(store, err, "PRAGMA secure_delete = OFF", "");
	if (!st && !dry_run)
		st = store_execute(store, err,
				   "UPDATE execution SET out = ?, err = x'' WHERE taken_ms < ? AND (out <> x'' OR err <> x'') AND out <> ?",
				   "bib", PRUNED, sizeof(PRUNED) - 1, before_ms, PRUNED, sizeof(PRUNED) - 1);
	return st;
}

/* Shrinks the database if the disk has space for VACUUM's copy of it. Otherwise the file keeps its size, and its free pages are reused. */
static enum assay_status shrink_store(struct lab *lab, struct pruned *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	struct store_space space;
	int64_t stays = 0;
	enum assay_status st = store_execute(&lab->store, err, "PRAGMA wal_checkpoint(TRUNCATE)", "");

	if (!st)
		st = store_query(&lab->store, &stmt, err,
				 "SELECT page_count * page_size, freelist_count * page_size FROM pragma_page_count, pragma_freelist_count, "
				 "pragma_page_size",
				 "");
	if (stmt && store_next(&lab->store, stmt, &st, err)) {
		out->unused_bytes = sqlite3_column_int64(stmt, 1);
		stays = sqlite3_column_int64(stmt, 0) - out->unused_bytes;
	}
	sqlite3_finalize(stmt);
	if (!st)
		st = prune_measure_space(lab, &space, err);
	if (st || space.free_bytes < stays + stays / LOG_PART + LOG_MIN_BYTES)
		return st;
	out->unused_bytes = 0;
	st = store_execute(&lab->store, err, "VACUUM", "");
	return st ? st : store_execute(&lab->store, err, "PRAGMA wal_checkpoint(TRUNCATE)", "");
}

enum assay_status prune_before(struct lab *lab, int64_t before_ms, bool dry_run, struct pruned *out, struct assay_error *err)
{
	enum assay_status st;

	*out = (struct pruned){ .before_ms = before_ms };
	st = sample_file_prune(lab, before_ms, dry_run, &out->samples, err); /* first, because this frees space */
	if (!st)
		st = prune_outputs(&lab->store, before_ms, dry_run, out, err);
	return st || dry_run ? st : shrink_store(lab, out, err);
}

/* ---- quota ---- */

static int64_t walked; /* size so far, bytes; global, because nftw() passes no context */

static int add_size(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)path;
	(void)place;
	walked += kind == FTW_NS ? 0 : 512 * (int64_t)info->st_blocks;
	return 0;
}

enum assay_status prune_measure_space(const struct lab *lab, struct store_space *out, struct assay_error *err)
{
	char *path = mem_format("%s/.assay", lab->directory);
	struct statvfs fs;
	enum assay_status st = ASSAY_OK;

	walked = 0;
	if (statvfs(path, &fs) || nftw(path, add_size, WALK_FDS, FTW_PHYS | FTW_MOUNT))
		st = assay_fail_errno(err, errno, "cannot read the size of '%s'", path);
	else
		*out = (struct store_space){ walked, (int64_t)fs.f_bavail * (int64_t)fs.f_frsize };
	free(path);
	return st;
}

enum assay_status prune_to_quota(struct lab *lab, bool dry_run, struct pruned *out, struct store_space *space, struct assay_error *err)
{
	static const int days[] = { 365, 180, 90, 60, 30, 14, 7, 3, 1 };
	const double quota = lab->config.quota_gib * GIB;
	struct pruned sum = { 0 }, one;
	enum assay_status st = prune_measure_space(lab, space, err);

	for (size_t i = 0; !st && quota > 0 && (double)space->bytes > quota && i < sizeof(days) / sizeof(days[0]); i++) {
		st = prune_before(lab, clock_real_ms() - (int64_t)days[i] * DAY_MS, dry_run, &one, err);
		if (dry_run) /* each count of a dry run includes the earlier ones, because nothing was removed */
			sum = (struct pruned){ 0 };
		sum.executions += one.executions;
		sum.output_bytes += one.output_bytes;
		sum.samples.files += one.samples.files;
		sum.samples.bytes += one.samples.bytes;
		sum.before_ms = one.before_ms;
		if (!st)
			st = prune_measure_space(lab, space, err);
		sum.unused_bytes = one.unused_bytes;
		space->bytes -= dry_run ? one.output_bytes : one.unused_bytes;
	}
	*out = sum;
	if (!st && !dry_run && quota > 0 && (double)space->bytes > quota)
		st = assay_fail(err, ASSAY_E_LIMIT,
				"the store of '%s' has %.4g GiB, its quota_gib in lab.yaml is %.4g, and nothing more may be removed from "
				"it: raise the quota, or remove unneeded builds (.assay/builds)",
				lab->directory, (double)space->bytes / GIB, lab->config.quota_gib);
	return st;
}
