#include "fleet/engine/engine_keys.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <libssh/callbacks.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES_MAX    (64u << 10)
#define PATH_SHOWN_BYTES 80

/* libssh asks for a passphrase: nobody is there to type one. */
static int note_passphrase(const char *prompt, char *buf, size_t len, int echo, int verify, void *asked)
{
	(void)prompt, (void)buf, (void)len, (void)echo, (void)verify;
	*(bool *)asked = true;
	return -1;
}

static void import(struct engine_key_file *file, const char *text)
{
	const char *shown = text_path_end(file->path, PATH_SHOWN_BYTES);
	bool asked = false;

	if (ssh_pki_import_privkey_base64(text, NULL, note_passphrase, &asked, &file->key) == SSH_OK)
		return;
	file->key = NULL;
	if (asked)
		snprintf(file->reason, sizeof(file->reason), "'%s' has a passphrase: start an agent and 'ssh-add %s'", shown, shown);
	else
		snprintf(file->reason, sizeof(file->reason), "'%s' is no private key that can be read", shown);
}

/* As OpenSSH: a key of ours that others can read is not used. */
static bool is_private(struct engine_key_file *file)
{
	const char *shown = text_path_end(file->path, PATH_SHOWN_BYTES);
	struct stat info;

	if (stat(file->path, &info)) {
		file->absent = errno == ENOENT || errno == ENOTDIR;
		snprintf(file->reason, sizeof(file->reason), "'%s': %s", shown, strerror(errno));
		return false;
	}
	if (info.st_uid == geteuid() && (info.st_mode & 077)) {
		snprintf(file->reason, sizeof(file->reason), "'%s' can be read by others: 'chmod 600 %s'", shown, shown);
		return false;
	}
	return true;
}

static struct engine_key_file *read_key(const char *path)
{
	struct engine_key_file *file = mem_new(1, sizeof(*file));
	struct buf text = BUF_INIT;
	struct assay_error err;

	file->path = mem_string(path);
	if (is_private(file)) {
		if (file_read(path, KEY_BYTES_MAX, &text, &err))
			snprintf(file->reason, sizeof(file->reason), "%.200s", err.text);
		else
			import(file, text.bytes ? text.bytes : "");
	}
	if (text.bytes)
		explicit_bzero(text.bytes, text.capacity);
	buf_release(&text);
	return file;
}

const struct engine_key_file *engine_keys_get(struct engine_keys *keys, const char *path)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (strcmp(keys->files[i]->path, path) == 0)
			return keys->files[i];
	}
	keys->files = mem_grow(keys->files, keys->n, &keys->capacity, sizeof(*keys->files));
	keys->files[keys->n] = read_key(path);
	return keys->files[keys->n++];
}

void engine_keys_release(struct engine_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		ssh_key_free(keys->files[i]->key);
		free(keys->files[i]->path);
		free(keys->files[i]);
	}
	free(keys->files);
	*keys = (struct engine_keys){ 0 };
}
