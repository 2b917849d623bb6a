/* Checks that numbers written as text are read unchanged and are as short as possible. Also checks UTF-8, and nearest words. */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_double(double value)
{
	char text[TEXT_DOUBLE_BYTES], shorter[TEXT_DOUBLE_BYTES];
	int digits = 0;
	double back;

	text_from_double(value, text);
	ASSAY_BUG_IF(!text_parse_double(text, &back) || memcmp(&back, &value, sizeof(value)) != 0);
	for (const char *s = text; *s && *s != 'e'; s++)
		digits += *s >= '0' && *s <= '9' && (digits || *s != '0');
	ASSAY_BUG_IF(digits > 17);
	if (digits < 2 || (fabs(value) < 1e16 && value == trunc(value)))
		return;
	snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, value);
	ASSAY_BUG_IF(strtod(shorter, NULL) == value);
}

/* Checks that text_parse_double() accepts only whole texts that strtod() accepts, too, and only finite numbers. */
static void check_number(const char *text)
{
	char *end, date[TEXT_DATE_BYTES];
	double value, expected;
	int64_t integer, ms;

	if (text_parse_double(text, &value)) {
		expected = strtod(text, &end);
		ASSAY_BUG_IF(*end || !isfinite(value) || memcmp(&value, &expected, sizeof(value)) != 0);
		check_double(value);
	}
	if (text_parse_int64(text, &integer)) {
		ASSAY_BUG_IF(!text_parse_double(text, &value));
		text_from_ms(integer, date);
		ASSAY_BUG_IF(date[strlen(date) - 1] != 'Z');
	}
	if (text_parse_time_ms(text, &ms)) {
		ASSAY_BUG_IF(ms > INT64_C(253402300799999));
		text_from_ms(ms, date);
		ASSAY_BUG_IF(ms < 0 || strlen(date) < 20 || date[4] != '-' || date[10] != 'T');
	}
}

/* Reports whether the bytes are UTF-8. Decodes characters and then checks their values; text.c checks ranges of bytes instead. */
static bool decodes(const unsigned char *s, size_t n)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };

	while (n) {
		size_t length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
		uint32_t c;

		if (!length || length > n)
			return false;
		c = length == 1 ? s[0] : s[0] & (0x7fu >> length);
		for (size_t i = 1; i < length; i++) {
			if (s[i] >> 6 != 2)
				return false;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return false;
		s += length;
		n -= length;
	}
	return true;
}

static void check_words(const char *text, size_t size)
{
	const char *second = text + strlen(text) < text + size ? text + strlen(text) + 1 : text;
	const char *const words[] = { "port", second, "architecture" };
	const char *found = text_nearest(text, words, 3), *own = text_nearest(second, words, 3);
	char shown[TEXT_SANITIZED_BYTES];

	ASSAY_BUG_IF(found && found != words[0] && found != words[1] && found != words[2]);
	ASSAY_BUG_IF(own ? strcmp(own, second) != 0 : strlen(second) < 32);
	text_sanitize(text, shown);
	ASSAY_BUG_IF(strlen(shown) >= TEXT_SANITIZED_BYTES || strpbrk(shown, "\n\r\t\033"));
	ASSAY_BUG_IF(text_is_utf8(text, strlen(text)) && !text_is_utf8(shown, strlen(shown)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	double value;

	check_number(text);
	check_words(text, size);
	ASSAY_BUG_IF(text_is_utf8(text, size) != decodes(data, size));
	if (size >= sizeof(value)) {
		memcpy(&value, data, sizeof(value));
		if (isfinite(value))
			check_double(value);
	}
	free(text);
	return 0;
}
