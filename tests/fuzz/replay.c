/* Runs a fuzz target over the files of its corpus, without a fuzzer: what was found once stays mended. */
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	char *copy;

	if (file_read(path, 64u << 20, &bytes, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	copy = mem_bytes(bytes.size ? bytes.bytes : "", bytes.size);
	LLVMFuzzerTestOneInput((const uint8_t *)copy, bytes.size);
	free(copy);
	buf_release(&bytes);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	size_t files = 0;
	DIR *dir;

	if (argc != 2 || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY (cannot open '%s')\n", argv[0], argc == 2 ? argv[1] : "");
		return 1;
	}
	while ((entry = readdir(dir))) {
		char *path;
		int failed;

		if (entry->d_name[0] == '.')
			continue;
		path = mem_format("%s/%s", argv[1], entry->d_name);
		failed = replay(path);
		free(path);
		if (failed)
			return 1;
		files++;
	}
	closedir(dir);
	printf("%zu files of the corpus replayed\n", files);
	return files == 0; /* an empty corpus tests nothing */
}
