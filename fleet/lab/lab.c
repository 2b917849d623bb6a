#include "fleet/lab/lab.h"

#include "base/clock.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES_MAX	      200
#define HOLDER_BYTES_MAX      128 /* size of the lock's text "PID MILLISECONDS COMMAND\n" */
#define GROUP_AND_OTHERS_MODE ((mode_t)(S_IRWXG | S_IRWXO))
#define WALK_FDS	      16
#define DAY_MS		      INT64_C(86400000)
#define LOCK_POLL_US	      200000
#define MS_MAX		      INT64_C(253402300799999) /* end of the year 9999 */

/* ---- lab.yaml ---- */

static enum assay_status parse_name(const char *file, const struct yaml_node *node, const char *what, char **out, struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(file, node, &text, err);

	if (st)
		return st;
	if (!*text || strlen(text) > NAME_BYTES_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %s must have 1 to %d bytes", file, node->line, what, NAME_BYTES_MAX);
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

static enum assay_status parse_secrets(const char *file, const struct yaml_node *list, struct lab_config *config, struct assay_error *err)
{
	enum assay_status st = yaml_require_list(file, list, err);

	config->secrets = mem_new(st ? 1 : list->n_items + 1, sizeof(char *));
	for (size_t i = 0; !st && i < list->n_items; i++) {
		st = parse_name(file, &list->items[i], "a pattern of secret variables", &config->secrets[i], err);
		config->n_secrets += !st;
	}
	return st;
}

/* Parses an item of `out_of_use`: {hosts: NODES, until: DAY, reason: TEXT}. The hosts are out of use until the end of that day. */
static enum assay_status parse_out_of_use(const char *file, const struct yaml_node *node, struct inventory *inventory,
					  struct assay_error *err)
{
	static const char *const keys[] = { "hosts", "until", "reason" };
	const char *texts[] = { NULL, NULL, "no reason is given" };
	int64_t last_ms = INT64_MAX; /* start of the last day */
	bool *marks = mem_new(inventory->n, sizeof(*marks));
	enum assay_status st = yaml_check_keys(file, node, "'out_of_use'", keys, 3, err);

	for (int i = 0; !st && i < 3; i++) {
		const struct yaml_node *value = yaml_get(node, keys[i]);

		st = value ? yaml_string(file, value, &texts[i], err) : ASSAY_OK;
	}
	if (!st && !texts[0])
		st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: 'out_of_use' without 'hosts'", file, node->line);
	if (!st &&
	    ((texts[1] && text_parse_day(texts[1], &last_ms, err)) || inventory_select(inventory, texts[0], NULL, NULL, marks, err))) {
		err->status = ASSAY_E_FORMAT;
		st = assay_add_context(err, "%s:%zu", file, node->line);
	}
	for (size_t i = 0; !st && i < inventory->n; i++)
		if (marks[i] && !inventory->hosts[i].exclusion_reason && clock_real_ms() - DAY_MS < last_ms)
			inventory->hosts[i].exclusion_reason =
			    mem_format("out of use%s%s: %s", texts[1] ? " until " : "", texts[1] ? texts[1] : "", texts[2]);
	free(marks);
	return st;
}

enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err)
{
	static const char *const keys[] = { "name",  "min_effect", "fingerprint_max_age_days", "quota_gib", "fanout", "secrets",
					    "hosts", "out_of_use" };
	struct lab_config config = { .min_effect = LAB_MIN_EFFECT, .fingerprint_max_age_days = LAB_FINGERPRINT_MAX_AGE_DAYS };
	struct yaml_node root = { 0 };
	const struct yaml_node *node;
	enum assay_status st = yaml_parse(name, text, n, &root, err);

	if (!st)
		st = yaml_check_keys(name, &root, "a laboratory", keys, sizeof(keys) / sizeof(keys[0]), err);
	if (!st && (node = yaml_get(&root, "name")))
		st = parse_name(name, node, "name", &config.name, err);
	if (!st && (node = yaml_get(&root, "min_effect")))
		st = yaml_double(name, node, 1e-6, 1, &config.min_effect, err);
	if (!st && (node = yaml_get(&root, "fingerprint_max_age_days")))
		st = yaml_double(name, node, 0, 36500, &config.fingerprint_max_age_days, err);
	if (!st && (node = yaml_get(&root, "quota_gib")))
		st = yaml_double(name, node, 1e-3, 1e6, &config.quota_gib, err);
	if (!st && (node = yaml_get(&root, "fanout")))
		st = yaml_int(name, node, 1, LAB_FANOUT_MAX, &config.fanout, err);
	if (!st && (node = yaml_get(&root, "secrets")))
		st = parse_secrets(name, node, &config, err);
	if (!st && (node = yaml_get(&root, "hosts")))
		st = inventory_parse(name, node, &config.inventory, err);
	if (!st && (node = yaml_get(&root, "out_of_use"))) {
		st = yaml_require_list(name, node, err);
		for (size_t i = 0; !st && i < node->n_items; i++)
			st = parse_out_of_use(name, &node->items[i], &config.inventory, err);
	}
	yaml_release(&root);
	*out = config;
	if (st)
		lab_config_release(out);
	return st;
}

void lab_config_release(struct lab_config *config)
{
	inventory_release(&config->inventory);
	mem_free_all(config->secrets, config->n_secrets);
	free(config->name);
	*config = (struct lab_config){ 0 };
}

enum assay_status lab_config_check(const char *name, const char *text, size_t n, size_t *hosts, struct assay_error *err)
{
	struct lab_config config;
	enum assay_status st = lab_config_parse(name, text, n, &config, err);

	*hosts = st ? 0 : config.inventory.n;
	if (!st)
		lab_config_release(&config);
	return st;
}

/* ---- the lock: one writer at a time ---- */

char *lab_lock_holder(char *text)
{
	char *since, *command;
	int64_t pid, since_ms;

	text[strcspn(text, "\n")] = '\0';
	since = strchr(text, ' ');
	command = since ? strchr(since + 1, ' ') : NULL;
	if (!command || !command[1])
		return NULL;
	*since++ = *command++ = '\0';
	if (!text_parse_int64(text, &pid) || pid < 1 || pid > INT32_MAX || !text_parse_int64(since, &since_ms) || since_ms < 0 ||
	    since_ms > MS_MAX || !text_is_utf8(command, strlen(command)) || (kill((pid_t)pid, 0) && errno != EPERM))
		return NULL;
	return mem_format("'%s', process %" PRId64 ", since %s", TEXT_SANITIZED(command), pid, TEXT_DATE(since_ms));
}

static enum assay_status refuse_busy(const char *directory, int fd, struct assay_error *err)
{
	char text[HOLDER_BYTES_MAX + 1];
	ssize_t n = pread(fd, text, HOLDER_BYTES_MAX, 0);
	char *who;

	text[n < 0 ? 0 : n] = '\0';
	who = lab_lock_holder(text);
	assay_fail(err, ASSAY_E_BUSY, "another assay is writing to the laboratory '%s'%s%s%s: wait until it ends", directory,
		   who ? " (" : "", who ? who : "", who ? ")" : "");
	free(who);
	return err->status;
}

/* Writes the running command to the lock file. Ignores errors, because the text is used only in messages. */
static void lab_lock_sign(int fd, const char *command)
{
	char text[HOLDER_BYTES_MAX];
	int n;

	n = snprintf(text, sizeof(text), "%d %" PRId64 " %s\n", (int)getpid(), clock_real_ms(), command);
	/* Before ftruncate(), a reader may also see the end of a longer previous line. */
	if (n < 0 || n >= (int)sizeof(text) || pwrite(fd, text, (size_t)n, 0) != n || ftruncate(fd, n))
		return;
}

/* Takes flock(2) on .assay/lock, which the kernel releases when the process ends. Sets *fd to -1 on failure. */
static enum assay_status lab_lock(const char *directory, int *fd, struct assay_error *err)
{
	char *path = mem_format("%s/.assay/lock", directory);
	enum assay_status st = ASSAY_OK;
	int lock = file_open_nofollow(path, O_RDWR | O_CREAT, 0600);

	if (lock < 0 && errno == EROFS) {
		st = assay_fail(err, ASSAY_E_IO,
				"the laboratory '%s' is on a read-only file system: copy it to a writable directory with 'cp -R'",
				directory);
	} else if (lock < 0 && (errno == ELOOP || errno == ENXIO)) {
		st = assay_fail(err, ASSAY_E_IO, "'%s' is not a regular file, so it is not from assay: remove it", path);
	} else if (lock < 0) {
		st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	} else if (flock(lock, LOCK_EX | LOCK_NB)) {
		st = refuse_busy(directory, lock, err);
		close(lock);
		lock = -1;
	} else {
		lab_lock_sign(lock, "assay");
	}
	*fd = lock;
	free(path);
	return st;
}

/* ---- opening and closing ---- */

static enum assay_status read_config(const char *directory, struct lab_config *config, struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", directory);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read_cached(path, YAML_BYTES_MAX, &text, err);

	if (st == ASSAY_E_NOTFOUND) {
		char *command = text_format_command((const char *const[]){ "init", strcmp(directory, ".") ? directory : NULL, NULL });

		st = assay_fail(err, ASSAY_E_NOTFOUND,
				"'%s' is not a laboratory (it has no lab.yaml): create one with %s, or name one with -C DIR", directory,
				command);
		free(command);
	}
	if (!st)
		st = lab_config_parse(path, text.bytes ? text.bytes : "", text.size, config, err);
	secret_names_add(config->secrets, config->n_secrets);
	for (size_t i = 0; i < config->inventory.n; i++)
		secrets_register(config->inventory.hosts[i].environment, config->inventory.hosts[i].n_environment);
	buf_release(&text);
	free(path);
	return st;
}

/* ---- privacy: .assay contains environments and outputs of measured programs ---- */

static int revoke_access(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	/* Other users' files in the directory stay unchanged, because only the owner can enter the directory. */
	bool open = (kind == FTW_F || kind == FTW_DP) && (info->st_mode & GROUP_AND_OTHERS_MODE);

	return open && fchmodat(AT_FDCWD, path, info->st_mode & 07700, AT_SYMLINK_NOFOLLOW) && !place->level ? -1 : 0;
}

static enum assay_status fail_private(const char *path, const struct stat *info, struct assay_error *err)
{
	const struct passwd *owner = getpwuid(info->st_uid);

	return assay_fail(err, ASSAY_E_IO,
			  "'%s' belongs to user '%s': run this as that user, or work in a copy of the laboratory ('assay backup DIR' makes "
			  "one, as that user)",
			  path, owner ? owner->pw_name : "?");
}

enum assay_status lab_make_private(const char *path, bool *permissions_tightened, struct assay_error *err)
{
	enum assay_status st = file_make_directory(path, 0700, err);
	struct stat info;

	*permissions_tightened = false;
	if (st || stat(path, &info))
		return st;
	if (info.st_uid != geteuid() && geteuid() != 0)
		return fail_private(path, &info, err);
	if (!(info.st_mode & GROUP_AND_OTHERS_MODE))
		return ASSAY_OK;
	if (nftw(path, revoke_access, WALK_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		return assay_fail_errno(err, errno, "cannot take '%s' from other users (use chmod -R go=)", path);
	*permissions_tightened = true;
	return ASSAY_OK;
}

/* Checks that a reader may access the directory. Changes nothing. */
static enum assay_status lab_check_private(const char *path, struct assay_error *err)
{
	struct stat info;

	return stat(path, &info) || !faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) ? ASSAY_OK : fail_private(path, &info, err);
}

enum assay_status lab_open(const char *directory, enum store_access access, struct lab *out, struct assay_error *err)
{
	struct lab lab = { .directory = mem_string(directory), .machines = mem_format("%s/machines", directory), .lock_fd = -1 };
	char *private = mem_format("%s/.assay", directory);
	char *database = mem_format("%s/.assay/runs.db", directory);
	enum assay_status st = read_config(directory, &lab.config, err);

	if (!st && access == STORE_WRITE) {
		st = lab_make_private(private, &lab.permissions_tightened, err);
		if (!st)
			st = file_make_directory(lab.machines, 0755, err);
		if (!st)
			st = lab_lock(directory, &lab.lock_fd, err);
		if (!st)
			file_remove_temporary(lab.machines);
	} else if (!st) {
		st = lab_check_private(private, err);
	}
	if (!st)
		st = store_open(database, access, &lab.store, err);
	mem_free(private, database);
	*out = lab;
	if (st)
		lab_close(out);
	return st;
}

enum assay_status lab_open_wait(const char *directory, enum store_access access, double wait_s, const volatile sig_atomic_t *cancelled,
				struct lab *out, struct assay_error *err)
{
	int64_t until_ns = clock_monotonic_ns() + (int64_t)(wait_s * 1e9);
	enum assay_status st = lab_open(directory, access, out, err);

	while (st == ASSAY_E_BUSY && clock_monotonic_ns() < until_ns && !(cancelled && *cancelled)) {
		usleep(LOCK_POLL_US);
		st = lab_open(directory, access, out, err);
	}
	return st;
}

void lab_record_command(const struct lab *lab, const char *command)
{
	if (lab->lock_fd >= 0)
		lab_lock_sign(lab->lock_fd, command);
}

void lab_close(struct lab *lab)
{
	store_close(&lab->store);
	lab_config_release(&lab->config);
	if (lab->lock_fd >= 0)
		close(lab->lock_fd);
	mem_free(lab->directory, lab->machines);
	*lab = (struct lab){ .lock_fd = -1 };
}

/* ---- creating a laboratory ---- */

EMBED_FILE(init_lab, ASSAY_SOURCE_DIRECTORY "/fleet/lab/init/lab.yaml");
EMBED_FILE(init_example, ASSAY_SOURCE_DIRECTORY "/fleet/lab/init/example.yaml");
EMBED_FILE(init_apps, ASSAY_SOURCE_DIRECTORY "/fleet/lab/init/apps.txt");
EMBED_FILE(init_machines, ASSAY_SOURCE_DIRECTORY "/fleet/lab/init/machines.txt");
EMBED_FILE(init_ignore, ASSAY_SOURCE_DIRECTORY "/fleet/lab/init/ignore.txt");

enum assay_status lab_create(const char *directory, struct assay_error *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} folders[] = { { "", 0755 }, { "/machines", 0755 }, { "/apps", 0755 }, { "/.assay", 0700 } };
	static const struct {
		const char *name, *text;
	} files[] = { { "machines/README", init_machines },
		      { "apps/README", init_apps },
		      { "apps/example.yaml", init_example },
		      { ".gitignore", init_ignore },
		      { "lab.yaml", init_lab } }; /* written last: if lab.yaml exists, all other files exist */
	enum assay_status st = ASSAY_OK;
	char *path = mem_format("%s/lab.yaml", directory);
	struct stat info;

	if (stat(path, &info) == 0)
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' exists: the directory is already a laboratory", path);
	free(path);
	for (size_t i = 0; !st && i < sizeof(folders) / sizeof(folders[0]); i++) {
		path = mem_format("%s%s", directory, folders[i].name);
		st = file_make_directory(path, folders[i].mode, err);
		free(path);
	}
	for (size_t i = 0; !st && i < sizeof(files) / sizeof(files[0]); i++) {
		path = mem_format("%s/%s", directory, files[i].name);
		if (stat(path, &info)) /* keep a .gitignore of the user */
			st = file_replace(path, files[i].text, strlen(files[i].text), 0644, err);
		free(path);
	}
	return st;
}
