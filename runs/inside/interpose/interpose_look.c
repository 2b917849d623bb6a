/* What is known about a call besides its arguments: its site's name, its descriptor's kind. Nothing here is a cancellation point or changes
 * errno. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SITES_LOG2  12 /* of a process */
#define SITES_MAX   (1u << SITES_LOG2)
#define MODULES_MAX 32u
#define NAME_BYTES  (64u + INTERPOSE_PATH * 17u)
#define FILES_MAX   1024u
#define FILE_BYTES  512u /* of a path */
#define ENDS_MAX    63u
#define END_BYTES   128u
#define LOOK_TICKS  2000000u /* after which a descriptor is looked at again: libc closes and opens some unseen */
#define LOOK_MASK   UINT64_C(0xffff)

void *interpose_find(const char *name, uintptr_t caller)
{
	struct dl_find_object found;
	void *at = dlsym(RTLD_NEXT, name);

	if (!at && _dl_find_object((void *)caller, &found) == 0)
		at = dlsym(found.dlfo_link_map, name);
	return at;
}

/* Appends a number, and what stands behind it. */
static char *number_text(char *at, uint64_t number, unsigned base, char behind)
{
	char digits[24];
	const char *text = record_number(number, base, digits);
	size_t n = strlen(text);

	memcpy(at, text, n);
	at[n] = behind;
	return at + n + 1;
}

void interpose_say(struct record_writer *writer, const char *beginning, uint64_t number, const char *value)
{
	char key[64];
	size_t n = strlen(beginning);

	memcpy(key, beginning, n);
	number_text(key + n, number, 10, '\0');
	record_info(writer, key, value);
}

/* ---- numbers of sites, the same ones for all threads ---- */

/* A place is taken by its key, and of use once its number is there: 0 is one less than none. */
struct shared_site {
	uint64_t key;
	uint32_t number_and_2;
};

static struct shared_site shared_sites[SITES_MAX];

/* A build-id is written once: another function of the module has "~" and the number of the one that has it. */
static struct named_module {
	uint64_t id; /* a hash */
	uint32_t number_and_1;
} modules[MODULES_MAX];

/* file: the path of a library, once for each. */
static uint32_t function_of(struct record_writer *writer, uintptr_t address, const char *id, const char *name, const char *file)
{
	uint64_t hash = interpose_text_hash(id), none = 0;
	char digits[24], short_id[26] = "~";
	struct named_module *m = modules;
	uint32_t number;

	while (m < modules + MODULES_MAX && __atomic_load_n(&m->id, __ATOMIC_ACQUIRE) && m->id != hash)
		m++;
	number = m < modules + MODULES_MAX ? __atomic_load_n(&m->number_and_1, __ATOMIC_ACQUIRE) : 0;
	if (number && m->id == hash) {
		const char *text = record_number(number - 1, 10, digits);

		memcpy(short_id + 1, text, strlen(text) + 1);
		return record_function(writer, address, short_id, name);
	}
	number = record_function(writer, address, id, name);
	if (number != UINT32_MAX && m < modules + MODULES_MAX &&
	    __atomic_compare_exchange_n(&m->id, &none, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		__atomic_store_n(&m->number_and_1, number + 1, __ATOMIC_RELEASE);
		if (*file)
			interpose_say(writer, "module:", number, file);
	}
	return number;
}

/* NAME, "<" and an address in its module for each of the path. */
static void path_name(const char *name, const struct interpose_path *path, char out[NAME_BYTES])
{
	size_t at = strnlen(name, 63);

	memcpy(out, name, at);
	for (uint32_t i = 0; i < path->n; i++) {
		struct dl_find_object found;
		uintptr_t base = _dl_find_object((void *)path->at[i], &found) == 0 ? found.dlfo_link_map->l_addr : 0;
		char digits[24];
		const char *text = record_number(path->at[i] - base, 16, digits);
		size_t n = strlen(text);

		out[at++] = '<';
		memcpy(out + at, text, n);
		at += n;
	}
	out[at] = '\0';
}

/* "=NAME" of a module that has no build-id: of a library's path, or ("") of the program. */
static void file_id(const char *path, char out[RECORD_BUILD_ID_BYTES])
{
	char self[FILE_BYTES];
	const char *slash;
	size_t n;

	if (!*path) {
		long length = interpose_ask(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)self, sizeof(self) - 1);

		self[length > 0 && length < (long)sizeof(self) - 1 ? length : 0] = '\0';
		path = self;
	}
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	n = strcspn(path, " \n");
	if (!n || path[n] || n + 2 > RECORD_BUILD_ID_BYTES)
		return;
	*out = '=';
	memcpy(out + 1, path, n + 1);
}

/* The site's address in the module's file, and the module's build-id. */
static uint32_t site_name(struct record_writer *writer, uint64_t key, const char *name)
{
	uintptr_t address = key & ((1ull << INTERPOSE_ADDRESS_BITS) - 1), base = 0;
	char id[RECORD_BUILD_ID_BYTES] = "";
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) == 0) {
		const Elf64_Ehdr *elf = found.dlfo_map_start;

		base = found.dlfo_link_map->l_addr;
		if (memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0)
			record_module_id(base, (const Elf64_Phdr *)(const void *)((const char *)elf + elf->e_phoff), elf->e_phnum, id);
		if (!*id)
			file_id(found.dlfo_link_map->l_name, id);
	}
	return *id ? function_of(writer, address - base, id, name, found.dlfo_link_map->l_name)
		   : record_function(writer, address - base, "-", name);
}

uint32_t interpose_site_number(struct record_writer *writer, uint64_t key, const char *name, const struct interpose_path *path)
{
	uint64_t id = path ? path->hash : key;
	uint32_t at = (uint32_t)((id * 0x9e3779b97f4a7c15u) >> (64 - SITES_LOG2));

	for (uint32_t i = 0; i < SITES_MAX; i++, at = (at + 1) & (SITES_MAX - 1)) {
		struct shared_site *s = &shared_sites[at];
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(&s->key, &there, id, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			char text[NAME_BYTES];

			if (path)
				path_name(name, path, text);
			__atomic_store_n(&s->number_and_2, site_name(writer, key, path ? text : name) + 2, __ATOMIC_RELEASE);
			return s->number_and_2 - 2;
		}
		if (there == id)
			return __atomic_load_n(&s->number_and_2, __ATOMIC_ACQUIRE) - 2;
	}
	return INTERPOSE_NO_SITE;
}

/* ---- descriptors ---- */

/* The counter `kind` of each, in LOOK_MASK, and above it the ticks at which it was looked at. 0: it was not yet. */
static uint64_t known_files[FILES_MAX];

/* Pipes and connections by their inodes; an end's number is its place and 1. */
static struct {
	uint64_t keys[ENDS_MAX];
	uint32_t n; /* places that are taken */
} known_ends;

static enum interpose_kind kind_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return INTERPOSE_FILE;
	case S_IFIFO:
		return INTERPOSE_PIPE;
	case S_IFSOCK:
		return INTERPOSE_SOCKET;
	case S_IFCHR:
		return INTERPOSE_CHARACTER;
	case S_IFBLK:
		return INTERPOSE_BLOCK;
	default:
		return INTERPOSE_OTHER;
	}
}

/* " ADDRESS:PORT", of IPv6 in brackets, without leaving out zeroes; NULL: it is neither. */
static char *address_text(char *at, const struct sockaddr_in6 *six)
{
	const struct sockaddr_in *four = (const void *)six;
	const unsigned char *bytes = (const void *)&four->sin_addr;

	*at++ = ' ';
	if (six->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		bytes = six->sin6_addr.s6_addr + 12;
	else if (six->sin6_family == AF_INET6) {
		*at++ = '[';
		for (int i = 0; i < 16; i += 2)
			at = number_text(at, (uint64_t)six->sin6_addr.s6_addr[i] << 8 | six->sin6_addr.s6_addr[i + 1], 16,
					 i < 14 ? ':' : ']');
		*at++ = ':';
		return number_text(at, ntohs(six->sin6_port), 10, '\0') - 1;
	} else if (six->sin6_family != AF_INET)
		return NULL;
	for (int i = 0; i < 4; i++)
		at = number_text(at, bytes[i], 10, i < 3 ? '.' : ':');
	return number_text(at, ntohs(six->sin6_port), 10, '\0') - 1; /* at the same place in both */
}

/* "PID pipe DEVICE:INODE" or "PID inet LOCAL PEER", which both of its ends say; the process for a child, which has its parent's names but
 * not its numbers. False: it is not known who is at the other end. */
static bool end_text(int file, const struct stat *now, char out[END_BYTES])
{
	char *at = number_text(out, (uint64_t)interpose_ask(SYS_getpid, 0, 0, 0, 0), 10, ' ');

	if (S_ISFIFO(now->st_mode)) {
		memcpy(at, "pipe ", 5);
		at = number_text(at + 5, now->st_dev, 10, ':');
		number_text(at, now->st_ino, 10, '\0');
		return true;
	}
	memcpy(at, "inet", 4);
	at += 4;
	for (int peer = 0; at && peer < 2; peer++) {
		struct sockaddr_in6 address = { .sin6_family = AF_UNSPEC };
		socklen_t n = sizeof(address);

		if (interpose_ask(peer ? SYS_getpeername : SYS_getsockname, file, (long)&address, (long)&n, 0) != 0)
			return false;
		at = address_text(at, &address);
	}
	return at != NULL;
}

static uint32_t end_number(struct record_writer *writer, int file, const struct stat *now)
{
	uint64_t key = interpose_mix(interpose_mix(1, now->st_dev), now->st_ino) | 1;
	uint32_t n = __atomic_load_n(&known_ends.n, __ATOMIC_ACQUIRE), at = 0;
	char text[END_BYTES];

	while (at < n && __atomic_load_n(&known_ends.keys[at], __ATOMIC_RELAXED) != key)
		at++;
	if (at < n || n == ENDS_MAX || !end_text(file, now, text))
		return at < n ? at + 1 : 0;
	at = __atomic_fetch_add(&known_ends.n, 1, __ATOMIC_ACQ_REL); /* another thread may give it another number */
	if (at >= ENDS_MAX) {
		__atomic_store_n(&known_ends.n, ENDS_MAX, __ATOMIC_RELEASE);
		return 0;
	}
	interpose_say(writer, "end:", at + 1, text);
	__atomic_store_n(&known_ends.keys[at], key, __ATOMIC_RELEASE);
	return at + 1;
}

static uint32_t file_look(struct record_writer *writer, int file)
{
	struct stat now;
	enum interpose_kind kind;

	if (interpose_ask(SYS_fstat, file, (long)&now, 0, 0) != 0)
		return INTERPOSE_OTHER;
	kind = kind_of(now.st_mode);
	return kind | (kind == INTERPOSE_PIPE || kind == INTERPOSE_SOCKET ? end_number(writer, file, &now) << INTERPOSE_KIND_BITS : 0);
}

uint32_t interpose_kind_of(struct record_writer *writer, int file, uint64_t now)
{
	uint64_t known;

	if (file < 0)
		return (uint32_t)(file == INTERPOSE_NO_FILE ? INTERPOSE_NONE : (enum interpose_kind) - file);
	if ((uint32_t)file >= FILES_MAX)
		return file_look(writer, file);
	known = __atomic_load_n(&known_files[file], __ATOMIC_RELAXED);
	if (!known || now - (known & ~LOOK_MASK) > LOOK_TICKS) {
		known = (now & ~LOOK_MASK) | file_look(writer, file);
		__atomic_store_n(&known_files[file], known, __ATOMIC_RELAXED);
	}
	return known & LOOK_MASK;
}

void interpose_files_forked(void)
{
	memset(known_files, 0, sizeof(known_files));
	memset(&known_ends, 0, sizeof(known_ends));
}
