/* Authentication by public key. If the user named key files, tries these files and then the agent's keys. Otherwise tries the agent's keys
 * and then the default files. Never asks for a password. */
#include "fleet/engine/link.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/ssh/known_hosts.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define KEY_BYTES_MAX	(64u << 10)
#define ASK_MS		1000
#define SIGN_MS		5000
#define AGENT_BYTES_MAX (256u << 10) /* maximum size of a message, as in OpenSSH */
#define AGENT_KEYS_MAX	2048	     /* maximum number of keys, as in OpenSSH */

#define AGENT_REQUEST_IDENTITIES 11
#define AGENT_IDENTITIES_ANSWER	 12

/* ---- private key files; each is read once ---- */

/* Records that libssh asked for a passphrase, which cannot be entered here. */
static int note_passphrase(const char *prompt, char *buf, size_t len, int echo, int verify, void *asked)
{
	(void)prompt, (void)buf, (void)len, (void)echo, (void)verify;
	*(bool *)asked = true;
	return -1;
}

static void key_import(struct key_file *file, const char *text)
{
	bool asked = false;

	if (ssh_pki_import_privkey_base64(text, NULL, note_passphrase, &asked, &file->key) == SSH_OK)
		return;
	file->key = NULL;
	if (asked)
		file->reason = mem_format("'%s' has a passphrase: start an agent and 'ssh-add %s'", file->path, file->path);
	else
		file->reason = mem_format("'%s' is not a private key that can be read", file->path);
}

/* Refuses a key that other users can read, as OpenSSH does. */
static bool key_is_private(struct key_file *file)
{
	const char *end = strrchr(file->path, '.');
	bool is_public = end && strcmp(end, ".pub") == 0;
	struct stat info;

	if (stat(file->path, &info)) {
		file->absent = errno == ENOENT || errno == ENOTDIR;
		file->reason = mem_format("'%s': %s", file->path, strerror(errno));
		return false;
	}
	if (S_ISDIR(info.st_mode) || is_public) {
		file->reason =
		    mem_format("'%s' is %s: name the file with the private key", file->path, is_public ? "a public key" : "a directory");
		return false;
	}
	if (info.st_uid == geteuid() && (info.st_mode & 077)) {
		file->reason = mem_format("'%s' can be read by others: 'chmod 600 %s'", file->path, file->path);
		return false;
	}
	return true;
}

static struct key_file *key_read(const char *path)
{
	struct key_file *file = mem_new(1, sizeof(*file));
	struct buf text = BUF_INIT;
	struct assay_error err;

	file->path = mem_string(path);
	if (key_is_private(file)) {
		if (file_read(path, KEY_BYTES_MAX, &text, &err))
			file->reason = mem_string(err.text);
		else
			key_import(file, text.bytes ? text.bytes : "");
	}
	if (text.bytes)
		explicit_bzero(text.bytes, text.capacity);
	buf_release(&text);
	return file;
}

static struct key_file *key_file_find(const struct fleet *fleet, const char *path)
{
	for (size_t i = 0; i < fleet->n_keys; i++) {
		if (strcmp(fleet->keys[i]->path, path) == 0)
			return fleet->keys[i];
	}
	return NULL;
}

/* Returns a key file. Reads it if needed, without the lock, because the home directory may hang. Two readers both use the first result. */
static const struct key_file *key_file_get(struct fleet *fleet, const char *path)
{
	struct key_file *file, *mine;

	pthread_mutex_lock(&fleet->state_mutex);
	file = key_file_find(fleet, path);
	pthread_mutex_unlock(&fleet->state_mutex);
	if (file)
		return file;
	mine = key_read(path);
	pthread_mutex_lock(&fleet->state_mutex);
	fleet->keys = mem_grow(fleet->keys, fleet->n_keys, &fleet->keys_capacity, sizeof(*fleet->keys));
	fleet->keys[fleet->n_keys++] = mine;
	file = key_file_find(fleet, path);
	pthread_mutex_unlock(&fleet->state_mutex);
	return file;
}

/* ---- the agent of SSH_AUTH_SOCK ---- */

static int agent_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("SSH_AUTH_SOCK");
	int fd;

	if (!path || !*path || strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reads exactly `n` bytes. Gives up at the time until_ms (0: no limit), or when cancel_fd (-1: none) is readable. */
static bool read_until(int fd, unsigned char *bytes, size_t n, int64_t until_ms, int cancel_fd)
{
	while (n) {
		struct pollfd ready[] = { { .fd = fd, .events = POLLIN }, { .fd = cancel_fd, .events = POLLIN } };
		int64_t left = until_ms ? until_ms - link_now_ms() : -1;
		ssize_t got;

		if ((until_ms && left <= 0) || (poll(ready, 2, (int)left) < 0 && errno != EINTR) || ready[1].revents)
			return false;
		got = recv(fd, bytes, n, 0);
		if (got > 0) {
			bytes += got;
			n -= (size_t)got;
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			return false;
		}
	}
	return true;
}

static bool send_all(int fd, const unsigned char *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static uint32_t read_uint32(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Counts the agent's keys. Reads only the start of the answer: length, kind, number of keys. */
static bool agent_count_keys(int fd, size_t *n_keys)
{
	static const unsigned char request[] = { 0, 0, 0, 1, AGENT_REQUEST_IDENTITIES };
	unsigned char answer[9];

	if (!send_all(fd, request, sizeof(request)) || !read_until(fd, answer, sizeof(answer), link_now_ms() + ASK_MS, -1) ||
	    answer[4] != AGENT_IDENTITIES_ANSWER)
		return false;
	*n_keys = read_uint32(answer + 5);
	return *n_keys <= AGENT_KEYS_MAX;
}

void agent_read_keys(struct fleet *fleet)
{
	const char *path = getenv("SSH_AUTH_SOCK"), *what = "";
	int fd;

	if (!path || !*path)
		return;
	fd = agent_connect();
	if (fd < 0)
		what = "the agent of SSH_AUTH_SOCK cannot be reached";
	else if (!agent_count_keys(fd, &fleet->n_agent_keys))
		what = "the agent of SSH_AUTH_SOCK does not answer";
	else if (fleet->n_agent_keys == 0)
		what = "the agent holds no keys";
	snprintf(fleet->agent_reason, sizeof(fleet->agent_reason), "%s", what);
	if (*what)
		fleet->n_agent_keys = 0;
	if (fd >= 0)
		close(fd);
}

/* libssh waits for the agent without limit and offers all keys of the agent. So libssh talks to a thread, which passes messages on. If the
 * agent is too slow, or after cancelling, it closes both ends. With IdentitiesOnly, it removes keys that the user has not named. */
struct agent_guard {
	int client_fd, agent, cancel_fd;
	int64_t until_ms;
	const struct hostkey *only; /* [n_only] keys that the user named */
	size_t n_only;
	bool filter, timed_out;
};

static void write_number(unsigned char *bytes, size_t number)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(number >> (24 - 8 * i) & 255);
}

static bool is_named(const struct agent_guard *guard, const unsigned char *blob, size_t n)
{
	for (size_t i = 0; i < guard->n_only; i++) {
		if (guard->only[i].n == n && memcmp(guard->only[i].blob, blob, n) == 0)
			return true;
	}
	return false;
}

/* Removes unnamed keys from an answer of the agent. bytes[*n]: the kind, the number of keys, then a blob and a comment for each key. */
static bool filter_keys(const struct agent_guard *guard, unsigned char *bytes, size_t *n)
{
	size_t at = 5, kept = 5, n_kept = 0;

	for (size_t i = 0, keys = read_uint32(bytes + 1); i < keys; i++) {
		size_t start = at, blob = 0;

		for (int part = 0; part < 2; part++) {
			size_t size = *n - at >= 4 ? read_uint32(bytes + at) : SIZE_MAX;

			if (*n - at < 4 || size > *n - at - 4)
				return false;
			blob = part ? blob : size;
			at += 4 + size;
		}
		if (!is_named(guard, bytes + start + 4, blob))
			continue;
		memmove(bytes + kept, bytes + start, at - start);
		kept += at - start;
		n_kept++;
	}
	write_number(bytes + 1, n_kept);
	*n = kept;
	return true;
}

/* Passes one message, with its length, on from `from` to `to`. */
static bool forward_message(const struct agent_guard *guard, int from, int to, int64_t until_ms)
{
	unsigned char head[4], *bytes;
	size_t n;
	bool ok;

	if (!read_until(from, head, sizeof(head), until_ms, guard->cancel_fd))
		return false;
	n = read_uint32(head);
	if (n > AGENT_BYTES_MAX)
		return false;
	bytes = mem_new(n + 4, 1);
	ok = read_until(from, bytes + 4, n, until_ms, guard->cancel_fd);
	if (ok && guard->filter && from == guard->agent && n >= 5 && bytes[4] == AGENT_IDENTITIES_ANSWER)
		ok = filter_keys(guard, bytes + 4, &n);
	write_number(bytes, n);
	ok = ok && send_all(to, bytes, n + 4);
	free(bytes);
	return ok;
}

static void *agent_guard_work(void *argument)
{
	struct agent_guard *guard = argument;

	while (forward_message(guard, guard->client_fd, guard->agent, 0)) {
		int64_t latest_ms = link_now_ms() + SIGN_MS;

		if (forward_message(guard, guard->agent, guard->client_fd, guard->until_ms < latest_ms ? guard->until_ms : latest_ms))
			continue;
		guard->timed_out = true;
		break;
	}
	close(guard->client_fd);
	close(guard->agent);
	return NULL;
}

/* Reads the public keys of named identity files from FILE.pub or FILE. Returns the number of keys. The caller calls hostkey_release() for
 * each, and free(*out). */
static size_t read_identity_keys(const struct ssh_link *ssh, struct hostkey **out)
{
	struct hostkey *keys = mem_new(2 * ssh->n_identities, sizeof(*keys));
	size_t n = 0;

	for (size_t i = 0; i < 2 * ssh->n_identities; i++) {
		char *path = mem_format("%s%s", ssh->identities[i / 2], i % 2 ? "" : ".pub"), *word;
		struct buf text = BUF_INIT;
		struct assay_error err;

		word = file_read(path, KEY_BYTES_MAX, &text, &err) || !text.size ? NULL : strchr(text.bytes, ' ');
		n += word && hostkey_from_base64(word + 1, &keys[n]);
		buf_release(&text);
		free(path);
	}
	*out = keys;
	return n;
}

/* ---- login ---- */

static void add_login_note(struct link *link, const char *text)
{
	if (*text)
		buf_format(&link->ssh.notes, "; %s", text);
}

enum login_attempt { TRIED_ACCEPTED, TRIED_REFUSED, TRIED_FAILED };

/* Interprets libssh's result for a key. */
static enum login_attempt judge_answer(struct link *link, int rc)
{
	const char *text;

	if (rc == SSH_AUTH_SUCCESS)
		return TRIED_ACCEPTED;
	if (rc == SSH_AUTH_PARTIAL) {
		link_fail(link, FLEET_AUTH, "the host takes the key of '%s', but also needs a password or another method", link->ssh.user);
		return TRIED_FAILED;
	}
	if (!ssh_is_dead(link))
		return TRIED_REFUSED;
	text = ssh_get_error(link->ssh.session);
	if (strstr(text, "uthentication failures")) /* the host limits the number of refused keys */
		link_fail(link, FLEET_AUTH, "too many keys for user '%s': name the right key with identity_file", link->ssh.user);
	else
		ssh_fail(link, "during authentication");
	return TRIED_FAILED;
}

/* Tries a key or, if `key` is NULL, all keys of the agent. */
static enum login_attempt try_key(struct link *link, ssh_key key)
{
	for (;;) {
		int rc = ssh_is_dead(link) ? SSH_AUTH_ERROR
			 : key		   ? ssh_userauth_publickey(link->ssh.session, NULL, key)
					   : ssh_userauth_agent(link->ssh.session, NULL);

		if (rc != SSH_AUTH_AGAIN)
			return judge_answer(link, rc);
		if (!ssh_wait(link, "login"))
			return TRIED_FAILED;
	}
}

static enum login_attempt try_guarded_agent(struct link *link, struct agent_guard *guard)
{
	int ends[2] = { -1, -1 };
	struct pollfd none;
	enum login_attempt login_attempt;
	pthread_t thread;

	if (guard->agent < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		add_login_note(link, "the agent cannot be reached");
		if (guard->agent >= 0)
			close(guard->agent);
		return TRIED_REFUSED;
	}
	guard->client_fd = ends[1];
	if (ssh_set_agent_socket(link->ssh.session, ends[0]) != SSH_OK) {
		close(ends[0]);
		ends[0] = -1;
	}
	if (ends[0] < 0 || fleet_start_thread(&thread, agent_guard_work, guard)) {
		close(guard->client_fd);
		close(guard->agent);
		add_login_note(link, "the agent cannot be reached");
		return TRIED_REFUSED;
	}
	login_attempt = try_key(link, NULL);
	shutdown(ends[0], SHUT_RDWR); /* the session closes this end */
	pthread_join(thread, NULL);
	if (login_attempt == TRIED_REFUSED && link_wait(link, &none, 0, link_now_ms()) == LINK_CANCELLED) {
		link_fail_cancelled(link);
		return TRIED_FAILED;
	}
	if (guard->timed_out)
		add_login_note(link, "the agent of SSH_AUTH_SOCK has stopped answering");
	return login_attempt;
}

static enum login_attempt try_agent(struct link *link)
{
	struct agent_guard guard = { .cancel_fd = link->fleet->cancel_fd,
				     .until_ms = link->deadline_ms,
				     .filter = link->ssh.identities_only };
	struct hostkey *named = NULL;
	enum login_attempt login_attempt = TRIED_REFUSED;

	if (guard.filter)
		guard.n_only = read_identity_keys(&link->ssh, &named);
	guard.only = named;
	if (!guard.filter || guard.n_only) {
		guard.agent = agent_connect();
		login_attempt = try_guarded_agent(link, &guard);
	}
	mem_release_all(named, guard.n_only, hostkey_release);
	return login_attempt;
}

static enum login_attempt try_file(struct link *link, const char *path, bool *any)
{
	const struct key_file *file = key_file_get(link->fleet, path);

	if (file->key) {
		*any = true;
		return try_key(link, file->key);
	}
	if (!file->absent || link->ssh.identities_are_user_given)
		add_login_note(link, file->reason);
	return TRIED_REFUSED;
}

bool ssh_login(struct link *link)
{
	const struct ssh_link *ssh = &link->ssh;
	bool any = false, agent = link->fleet->n_agent_keys > 0 && !ssh->no_agent;
	size_t steps = ssh->n_identities + 1, agent_at = ssh->identities_are_user_given ? ssh->n_identities : 0;
	enum login_attempt login_attempt = TRIED_REFUSED;

	for (size_t i = 0; i < steps && login_attempt == TRIED_REFUSED; i++) {
		if (i != agent_at) {
			login_attempt = try_file(link, ssh->identities[i - (i > agent_at)], &any);
		} else if (agent) {
			any = true;
			login_attempt = try_agent(link);
		} else if (!ssh->no_agent) {
			add_login_note(link, link->fleet->agent_reason);
		}
	}
	if (login_attempt == TRIED_REFUSED)
		link_fail(link, FLEET_AUTH, "%s '%s'%s", any ? "none of the keys is accepted for user" : "no key for user", ssh->user,
			  ssh->notes.bytes ? ssh->notes.bytes : "");
	return login_attempt == TRIED_ACCEPTED;
}
