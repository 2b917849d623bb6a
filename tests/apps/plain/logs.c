/* Reads a log, splits its lines into fields, and collects statistics per host. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct host {
	char name[24];
	long requests, bytes, errors;
};

struct reader {
	int file;
	char buffer[8192];
	size_t at, n;
};

static struct host hosts[64];
static int n_hosts;

static void write_log(int file, long lines, uint32_t seed)
{
	char *text = malloc((size_t)lines * 80), *p = text;

	for (long i = 0; i < lines; i++) {
		seed = seed * 1664525 + 1013904223;
		p += sprintf(p, "host%u GET /path/%u/item %u %u\n", seed >> 24 & 31, seed >> 10 & 4095, seed >> 8 & 15 ? 200 : 500, seed >> 16 & 65535);
	}
	if (write(file, text, (size_t)(p - text)) < 0)
		abort();
	free(text);
}

static int next_char(struct reader *r)
{
	if (r->at == r->n) {
#if FAULT == 2
		ssize_t n = read(r->file, r->buffer, 128);
#else
		ssize_t n = read(r->file, r->buffer, sizeof(r->buffer));
#endif

		if (n <= 0)
			return -1;
		r->n = (size_t)n;
		r->at = 0;
	}
	return (unsigned char)r->buffer[r->at++];
}

static int read_line(struct reader *r, char *line, size_t room)
{
	size_t n = 0;
	int c;

	while ((c = next_char(r)) >= 0 && c != '\n')
		if (n + 1 < room)
			line[n++] = (char)c;
	line[n] = 0;
	return c >= 0 || n > 0;
}

static int split(char *line, char **fields, int most)
{
	int n = 1;

	fields[0] = line;
#if FAULT == 1
	for (size_t i = 0; i < strlen(line + i) + i; i++)
		if (line[i] == ' ' && n < most) {
			fields[n++] = line + i + 1;
			line[i] = 0;
			i++;
		}
#else
	for (char *p = line; *p; p++)
		if (*p == ' ' && n < most) {
			fields[n++] = p + 1;
			*p++ = 0;
		}
#endif
	return n;
}

static long to_number(const char *s)
{
	long n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + *s++ - '0';
	return n;
}

#if TIDY
static int host_index(const char *name)
{
	int i = 0;

	while (i < n_hosts && strcmp(hosts[i].name, name) != 0)
		i++;
	return i;
}

static struct host *find_host(const char *name)
{
	int i = host_index(name);

	if (i == n_hosts)
		strcpy(hosts[n_hosts++].name, name);
	return &hosts[i];
}
#define host_of find_host
#else
static struct host *host_of(const char *name)
{
	for (int i = 0; i < n_hosts; i++)
		if (strcmp(hosts[i].name, name) == 0)
			return &hosts[i];
	strcpy(hosts[n_hosts].name, name);
	return &hosts[n_hosts++];
}
#endif

static void account(char **fields, int n)
{
	struct host *h;

	if (n < 5)
		return;
	h = host_of(fields[0]);
	h->requests++;
	h->bytes += to_number(fields[4]);
	h->errors += to_number(fields[3]) >= 500;
}

int main(int argc, char **argv)
{
	static struct reader r;
	char line[256], *fields[8], name[] = "/tmp/logs-XXXXXX";
	long sum = 0;

	r.file = mkstemp(name);
	unlink(name);
	write_log(r.file, argc > 1 ? atol(argv[1]) : 3000, argc > 2 ? (uint32_t)atol(argv[2]) : 1);
	lseek(r.file, 0, SEEK_SET);
	while (read_line(&r, line, sizeof(line)))
		account(fields, split(line, fields, 8));
	for (int i = 0; i < n_hosts; i++)
		sum = sum * 31 + hosts[i].bytes + hosts[i].errors;
	printf("%d %ld\n", n_hosts, sum);
	return 0;
}
