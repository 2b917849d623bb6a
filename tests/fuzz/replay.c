/* Runs a fuzz target on the files of its corpus, without a fuzzer, so that errors found once stay fixed. */
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const struct target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = { SUITES };

static const struct target *find_target(const char *name)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	return NULL;
}

static int replay(const struct target *target, const char *path)
{
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	char *copy;

	if (file_read(path, 64u << 20, &bytes, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	copy = mem_bytes(bytes.size ? bytes.bytes : "", bytes.size);
	target->run((const uint8_t *)copy, bytes.size);
	free(copy);
	buf_release(&bytes);
	return 0;
}

int main(int argc, char **argv)
{
	const struct target *target = argc == 3 ? find_target(argv[1]) : NULL;
	struct dirent *entry;
	size_t files = 0;
	DIR *dir;

	if (!target) {
		fprintf(stderr, "usage: %s fuzz_NAME CORPUS-DIRECTORY\n", argv[0]);
		return 2;
	}
	if (!(dir = opendir(argv[2]))) {
		fprintf(stderr, "cannot open '%s'\n", argv[2]);
		return 1;
	}
	while ((entry = readdir(dir))) {
		char *path;
		int failed;

		if (entry->d_name[0] == '.')
			continue;
		path = mem_format("%s/%s", argv[2], entry->d_name);
		failed = replay(target, path);
		free(path);
		if (failed)
			return 1;
		files++;
	}
	closedir(dir);
	printf("%zu files of the corpus replayed\n", files);
	return files == 0; /* an empty corpus tests nothing */
}
