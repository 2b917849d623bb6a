/* Passes messages between libssh and the authentication agent, over streams in pieces. Checks that only whole messages are passed on, and
 * that the list of keys contains only keys that the user named, in their order. The first byte says whether only named keys are wanted, and
 * the size of the pieces. */
#include "fleet/engine/ssh_login.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 60000 /* fits a socket's buffer */

static unsigned char named[] = { 'k', 'e', 'y' };

/* Checks that all messages are complete. A list of keys must have as many keys as it claims, all of them named by the user. */
static void check_messages(const unsigned char *bytes, size_t n, bool filter)
{
	for (size_t at = 0, size; at < n; at += size) {
		ASSAY_BUG_IF(n - at < 4);
		size = read_uint32(bytes + at);
		at += 4;
		ASSAY_BUG_IF(size > n - at);
		if (!filter || size < 5 || bytes[at] != AGENT_IDENTITIES_ANSWER)
			continue;
		for (size_t i = 0, keys = read_uint32(bytes + at + 1), key = at + 5; i <= keys; i++) {
			ASSAY_BUG_IF(i == keys ? key != at + size : memcmp(bytes + key, "\0\0\0\3key", 7) != 0);
			if (i < keys)
				key += 7 + 4 + read_uint32(bytes + key + 7);
			ASSAY_BUG_IF(key > at + size);
		}
	}
}

/* Reads the guard's output. Returns the number of bytes. */
static size_t drain(int fd, unsigned char *bytes, size_t room)
{
	size_t n = 0;
	ssize_t got;

	while (n < room && (got = recv(fd, bytes + n, room - n, MSG_DONTWAIT)) > 0)
		n += (size_t)got;
	return n;
}

static size_t pass_pieces(struct agent_guard *guard, int from, int to, const uint8_t *data, size_t n, size_t piece, unsigned char *out)
{
	size_t got = 0;

	for (size_t at = 0; at < n; at += piece)
		ASSAY_BUG_IF(!send_all(from, data + at, n - at < piece ? n - at : piece));
	shutdown(from, SHUT_WR);
	while (forward_message(guard, guard->agent, guard->client_fd, 0))
		got += drain(to, out + got, INPUT_MAX - got);
	return got + drain(to, out + got, INPUT_MAX - got);
}

static void count_keys(const uint8_t *data, size_t n)
{
	int ends[2];
	size_t keys = 0;

	ASSAY_BUG_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	ASSAY_BUG_IF(n && !send_all(ends[0], data, n < 64 ? n : 64));
	shutdown(ends[0], SHUT_WR);
	if (agent_count_keys(ends[1], &keys))
		ASSAY_BUG_IF(keys > AGENT_KEYS_MAX || n < 9);
	close(ends[0]);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char out[INPUT_MAX];
	const struct hostkey only = { .blob = named, .n = sizeof(named) };
	struct agent_guard guard = { .cancel_fd = -1, .only = &only, .n_only = 1 };
	int agent[2], client_fd[2];
	size_t n;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	ASSAY_BUG_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, agent));
	ASSAY_BUG_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, client_fd));
	guard.filter = data[0] % 2;
	guard.agent = agent[1];
	guard.client_fd = client_fd[1];
	n = pass_pieces(&guard, agent[0], client_fd[0], data + 1, size - 1, (size_t)data[0] / 2 * 50 + 200, out);
	check_messages(out, n, guard.filter);
	ASSAY_BUG_IF(!guard.filter && memcmp(out, data + 1, n) != 0);
	for (int i = 0; i < 2; i++) {
		close(agent[i]);
		close(client_fd[i]);
	}
	count_keys(data + 1, size - 1);
	return 0;
}
