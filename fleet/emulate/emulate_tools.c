#include "fleet/emulate/emulate_site.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_TYPE "ssh-ed25519"

extern char **environ;

/* ---- running a program ---- */

static int spawn_tool(const char *const *argv, int in, int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int errnum;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	errnum = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return errnum;
}

/* Reads the output of a program until it ends. Returns its status of waitpid(2). */
static int finish_tool(pid_t pid, int out, struct buf *output)
{
	char piece[4096];
	int status;
	ssize_t n;

	while ((n = read(out, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
		buf_add(output, piece, n > 0 ? (size_t)n : 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Runs a program with `input` as its standard input. If it fails, the error message has the first line of its output. */
static enum assay_status run_tool(const char *const *argv, const char *input, struct buf *output, struct assay_error *err)
{
	int in = memfd_create("input", MFD_CLOEXEC), out[2] = { -1, -1 }, status = 0, errnum = 0;
	pid_t pid;
	enum assay_status st = ASSAY_OK;

	if (in < 0 || write(in, input, strlen(input)) < 0 || lseek(in, 0, SEEK_SET) < 0 || pipe2(out, O_CLOEXEC))
		errnum = errno;
	if (!errnum)
		errnum = spawn_tool(argv, in, out[1], &pid);
	if (out[1] >= 0)
		close(out[1]);
	if (errnum)
		st = assay_fail_errno(err, errnum, "cannot run '%s'", argv[0]);
	else
		status = finish_tool(pid, out[0], output);
	if (!st && status)
		st = assay_fail(err, ASSAY_E_IO, "%s: %.*s", argv[0], output->size ? (int)strcspn(output->bytes, "\n") : 0,
				output->size ? output->bytes : "");
	if (out[0] >= 0)
		close(out[0]);
	if (in >= 0)
		close(in);
	return st;
}

/* ---- keys ---- */

/* Returns the public key of an existing key pair; NULL if there is none. The caller frees it. */
static char *key_line(const char *path, const char *public_path)
{
	struct buf text = BUF_INIT;
	struct assay_error ignored;
	char *line = NULL;

	if (access(path, R_OK) == 0 && !file_read(public_path, 4096, &text, &ignored) &&
	    strncmp(text.bytes ? text.bytes : "", KEY_TYPE " ", strlen(KEY_TYPE) + 1) == 0) {
		size_t type = strlen(KEY_TYPE) + 1;

		line = mem_bytes(text.bytes, type + strcspn(text.bytes + type, " \n"));
	}
	buf_release(&text);
	return line;
}

enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err)
{
	const char *const argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path, NULL };
	char *public_path = mem_format("%s.pub", path);
	struct buf output = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	*line = key_line(path, public_path);
	if (!*line) {
		unlink(path); /* remove an incomplete pair, because ssh-keygen would ask before overwriting it */
		unlink(public_path);
		st = run_tool(argv, "", &output, err);
		*line = st ? NULL : key_line(path, public_path);
		if (!st && !*line)
			st = assay_fail(err, ASSAY_E_IO, "ssh-keygen has not written '%s'", public_path);
	}
	buf_release(&output);
	free(public_path);
	return st;
}

/* ---- networks ---- */

/* Reports whether a route ("10.0.0.0/8", "10.0.0.1") overlaps network/22. Returns false for the default route. */
static bool route_touches(const char *destination, uint32_t network)
{
	const char *slash = strchr(destination, '/');
	unsigned bits = slash ? (unsigned)strtoul(slash + 1, NULL, 10) : 32;
	char *text = mem_bytes(destination, strcspn(destination, "/"));
	struct in_addr address;
	bool known = bits > 0 && bits <= 32 && inet_pton(AF_INET, text, &address) == 1;

	free(text);
	if (!known)
		return false;
	bits = bits < EMULATE_NET_PREFIX ? bits : EMULATE_NET_PREFIX;
	return (ntohl(address.s_addr) ^ network) >> (32 - bits) == 0;
}

static bool is_network_in_use(const cJSON *routes, uint32_t network)
{
	const cJSON *route;

	cJSON_ArrayForEach(route, routes)
	{
		const cJSON *destination = cJSON_GetObjectItemCaseSensitive(route, "dst");

		if (cJSON_IsString(destination) && route_touches(destination->valuestring, network))
			return true;
	}
	return false;
}

enum assay_status emulate_choose_network(uint32_t seed, uint32_t *network, struct assay_error *err)
{
	static const char *const argv[] = { "ip", "-json", "-4", "route", "show", "table", "all", NULL };
	const uint32_t networks = 1u << (EMULATE_NET_PREFIX - 9); /* networks in 10.128.0.0/9, the half that is used less */
	struct buf output = BUF_INIT;
	cJSON *routes = NULL;
	enum assay_status st = run_tool(argv, "", &output, err);

	if (!st && !(routes = cJSON_ParseWithLength(output.bytes ? output.bytes : "", output.size)))
		st = assay_fail(err, ASSAY_E_FORMAT, "cannot read the routes of this machine from 'ip -json route'");
	*network = 0;
	for (uint32_t i = 0; !st && !*network && i < 256; i++) {
		uint32_t at = 0x0a800000u | (seed + i * 31) % networks << (32 - EMULATE_NET_PREFIX);

		*network = is_network_in_use(routes, at) ? 0 : at;
	}
	if (!st && !*network)
		st = assay_fail(err, ASSAY_E_LIMIT,
				"routes of this machine cover 10.128.0.0/9, so no private network is left for emulated hosts; use "
				"--no-root, which needs none");
	cJSON_Delete(routes);
	buf_release(&output);
	return st;
}

enum assay_status emulate_run_ip(const char *what, const char *lines, struct assay_error *err)
{
	static const char *const argv[] = { "ip", "-batch", "-", NULL };
	struct buf output = BUF_INIT;
	enum assay_status st = run_tool(argv, lines, &output, err);

	buf_release(&output);
	return st ? assay_add_context(err, "cannot %s", what) : ASSAY_OK;
}
