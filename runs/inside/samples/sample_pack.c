#include "runs/inside/samples/sample_pack.h"

#include "base/mem.h"
#include "runs/inside/samples/samples.h"

#include <stdlib.h>
#include <zstd.h>

#define LEVEL	       3
#define WINDOW_LOG_MAX 23 /* for reading: files of that level need 21; a frame cannot ask for more memory than 8 MiB */
#define PIECE_BYTES    ((size_t)1 << 20)

enum assay_status sample_pack(const void *bytes, size_t n, struct buf *out, struct assay_error *err)
{
	size_t bound = ZSTD_compressBound(n), size;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	enum assay_status st = ASSAY_OK;
	char *packed;

	ASSAY_BUG_IF(n > SAMPLES_FILE_BYTES_MAX);
	if (!context)
		return assay_fail(err, ASSAY_E_IO, "cannot compress: out of memory");
	packed = mem_new(bound, 1);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, packed, bound, bytes, n);
	if (ZSTD_isError(size))
		st = assay_fail(err, ASSAY_E_IO, "cannot compress: %s", ZSTD_getErrorName(size));
	else
		buf_add(out, packed, size);
	free(packed);
	ZSTD_freeCCtx(context);
	return st;
}

/* One frame; what follows it is not ours. */
static enum assay_status unpack_frame(ZSTD_DCtx *context, const char *name, ZSTD_inBuffer *in, size_t limit, struct buf *out,
				      struct assay_error *err)
{
	char *piece = mem_new(PIECE_BYTES, 1);
	enum assay_status st = ASSAY_OK;
	size_t left = 1, begin = out->size;

	while (!st && left) {
		ZSTD_outBuffer to = { piece, PIECE_BYTES, 0 };
		size_t before = in->pos;

		left = ZSTD_decompressStream(context, &to, in);
		if (ZSTD_isError(left))
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: %s", name, ZSTD_getErrorName(left));
		else if (to.pos > limit - (out->size - begin))
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: more than %zu bytes are in it", name, limit);
		else if (left && in->pos == before && to.pos == 0)
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is cut off", name);
		else
			buf_add(out, piece, to.pos);
	}
	free(piece);
	return st;
}

enum assay_status sample_unpack(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = { packed, n, 0 };
	enum assay_status st;

	if (!context)
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': out of memory", name);
	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	st = unpack_frame(context, name, &in, limit, out, err);
	if (!st && in.pos < in.size)
		st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: something follows its end", name);
	ZSTD_freeDCtx(context);
	return st;
}
