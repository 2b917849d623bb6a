/* Checks that unpacked data never exceeds the limit, is the same if packed and unpacked again, and is refused if a byte is missing. Also
 * checks that packing and unpacking restores any bytes. */
#include "base/mem.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/inside/samples/samples.h"

#include <stdint.h>
#include <string.h>

#define LIMIT ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct buf *bytes)
{
	struct buf packed = BUF_INIT, back = BUF_INIT;
	struct assay_error err;

	ASSAY_BUG_IF(sample_compress(bytes->bytes ? bytes->bytes : "", bytes->size, &packed, &err));
	ASSAY_BUG_IF(sample_decompress("again", packed.bytes, packed.size, bytes->size, &back, &err));
	ASSAY_BUG_IF(back.size != bytes->size || (back.size && memcmp(back.bytes, bytes->bytes, back.size) != 0));
	buf_clear(&back);
	ASSAY_BUG_IF(sample_decompress("cut", packed.bytes, packed.size - 1, bytes->size, &back, &err) != ASSAY_E_CORRUPT);
	buf_release(&packed);
	buf_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf raw = BUF_INIT, out = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct samples samples;

	buf_add(&raw, (const char *)data, size);
	check_again(&raw);
	if (sample_decompress("fuzz", data, size, LIMIT, &out, &err)) {
		ASSAY_BUG_IF(err.status != ASSAY_E_CORRUPT || !err.text[0]);
	} else {
		check_again(&out);
		if (!samples_parse("fuzz", out.bytes ? out.bytes : "", out.size, &samples, &err))
			samples_release(&samples);
	}
	ASSAY_BUG_IF(out.size > LIMIT);
	buf_release(&raw);
	buf_release(&out);
	return 0;
}
