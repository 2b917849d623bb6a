/* Wrappers of MPI calls, by MPI's profiling interface: one row per call, for C and Fortran. Neither building nor linking needs MPI, because
 * the wrappers find the functions in the program's own MPI library.
 *
 * All arguments of MPI are integers, handles or addresses, each in its own register or stack slot (System V ABI). The wrappers pass them on
 * as words, for any library. A handle is an address in Open MPI, and an int in MPICH and libraries with its ABI. In Fortran, all arguments
 * are addresses, and handles are ints. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_system.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX     13 /* maximum number of arguments: the twelve of MPI_Sendrecv(), and Fortran's error code */
#define REQUESTS_LOG2 10
#define LISTED_MAX    64 /* maximum number of a call's requests that are read */
#define COMMS_MAX     32
#define COMM_WORLD    0x44000000u /* value of MPI_COMM_WORLD in MPICH */
#define MPI_NUMBERS   0x100u	  /* number of the first of these functions in a site's key, after those of interpose_calls.c */
#define CLASS_BITS    58	  /* first bit of the message's size class in a site's key */

typedef uintptr_t word;
typedef int function(word, word, word, word, word, word, word, word, word, word, word, word, word);

/* The real functions of one call. */
struct real_functions {
	function *next[2]; /* [0] for C, [1] for Fortran; NULL until the first call */
};

/* Description of a call. Numbers are positions of arguments, from 1; 0 if the call has no such argument. */
struct row {
	const char *name, *fortran;
	struct real_functions *found;
	uint8_t count, type, in_place, peer, tag, comm, status;
	uint8_t makes;		      /* new request */
	uint8_t requests, listed;     /* requests, and their number; listed is 0 if the call has one request */
	uint8_t window, makes_window; /* window of memory that other ranks can access, and new window */
	bool frees, starts;	      /* true if the call frees a communicator; true if it starts or ends MPI */
	bool frees_window;
	enum interpose_kind kind;
};

/* ---- functions of the MPI library ---- */

static struct {
	bool known, open_mpi;
	word world;
	function *type_size, *comm_size, *comm_group, *comm_test_inter, *group_translate_ranks, *group_free;
	word (*comm_f2c)(int), (*type_f2c)(int);
} mpi;

static function *find_function(const char *name, uintptr_t caller)
{
	void *at = interpose_find(name, caller);
	function *f;

	__builtin_memcpy(&f, &at, sizeof(f));
	return f;
}

static void mpi_find(uintptr_t caller)
{
	void *world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"); /* the program itself may define this symbol */

	if (!world)
		world = interpose_find("ompi_mpi_comm_world", caller);
	mpi.open_mpi = world != NULL;
	mpi.world = world ? (word)world : COMM_WORLD;
	mpi.type_size = find_function("PMPI_Type_size", caller);
	mpi.comm_size = find_function("PMPI_Comm_size", caller);
	mpi.comm_group = find_function("PMPI_Comm_group", caller);
	mpi.comm_test_inter = find_function("PMPI_Comm_test_inter", caller);
	mpi.group_translate_ranks = find_function("PMPI_Group_translate_ranks", caller);
	mpi.group_free = find_function("PMPI_Group_free", caller);
	if (world) {
		*(void **)&mpi.comm_f2c = interpose_find("PMPI_Comm_f2c", caller);
		*(void **)&mpi.type_f2c = interpose_find("PMPI_Type_f2c", caller);
	}
	mpi.known = mpi.type_size && mpi.comm_size && mpi.comm_group && mpi.comm_test_inter && mpi.group_translate_ranks && mpi.group_free;
}

__attribute__((noinline, cold)) static function *next_find(const struct row *row, bool fortran, uintptr_t caller)
{
	int before = errno;
	function *next = find_function(fortran ? row->fortran : row->name, caller);

	if (!next)
		abort(); /* unreachable, because the program was linked with this function */
	if (!mpi.known)
		mpi_find(caller);
	errno = before;
	return row->found->next[fortran] = next;
}

bool interpose_is_mpi(uintptr_t address)
{
	static const char *const beginnings[] = { "libmpi.",  "libmpi_",  "libmpich", "libopen-",  "mca_",   "libpmi",	  "libprrte",
						  "libevent", "libhwloc", "libuc",    "libfabric", "libpsm", "libibverbs" };
	struct dl_find_object found;
	const char *name, *slash;

	if (!mpi.known || _dl_find_object((void *)address, &found) != 0)
		return false;
	name = found.dlfo_link_map->l_name;
	slash = strrchr(name, '/');
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(slash ? slash + 1 : name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static int call_2(function *f, word a, word b)
{
	return f(a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/* ---- arguments ---- */

struct arguments {
	const word *at;
	bool fortran;
};

static int read_int_argument(const struct arguments *a, uint8_t place)
{
	return a->fortran ? *(const int *)a->at[place - 1] : (int)a->at[place - 1];
}

static word handle(const struct arguments *a, uint8_t place, word (*of_fortran)(int))
{
	word at = a->at[place - 1];

	if (!a->fortran)
		return mpi.open_mpi ? at : (uint32_t)at;
	return of_fortran ? of_fortran(*(const int *)at) : (uint32_t) * (const int *)at;
}

/* Returns element i of the array of handles in argument `place`. */
static word handle_at(const struct arguments *a, uint8_t place, int i)
{
	word at = a->at[place - 1];

	return mpi.open_mpi && !a->fortran ? ((const word *)at)[i] : ((const uint32_t *)at)[i];
}

/* Returns the message size, bytes; INTERPOSE_NO_SIZE if unknown. With MPI_IN_PLACE, the type may be invalid. From Fortran, calls that allow
 * MPI_IN_PLACE have an unknown size, because its address differs between Fortran libraries. */
static uint64_t message_bytes(const struct row *row, const struct arguments *a)
{
	int size = 0, count = row->count ? read_int_argument(a, row->count) : 0;
	word buffer = row->in_place ? a->at[row->in_place - 1] : 0;

	if (!row->count)
		return INTERPOSE_NO_SIZE;
	if (count <= 0)
		return 0;
	if (row->in_place && (a->fortran || buffer == 1 || buffer == (word)-1))
		return INTERPOSE_NO_SIZE;
	if (call_2(mpi.type_size, handle(a, row->type, mpi.type_f2c), (word)&size) || size < 0)
		return INTERPOSE_NO_SIZE;
	return (uint64_t)count * (uint64_t)size;
}

/* ---- communicators and their ranks in MPI_COMM_WORLD ---- */

struct comm {
	word handle; /* 0 if the entry is free */
	uint32_t id; /* hash of the communicator's ranks, equal in all these ranks */
	int n;
	int *world; /* [n] ranks in MPI_COMM_WORLD; NULL if unknown */
};

static struct comm comms[COMMS_MAX];
static unsigned comms_next;
static bool comms_locked;

static void comm_inspect(struct comm *c)
{
	int inter = 0, n = 0, *ranks;
	word group = 0, world = 0;

	c->n = 0;
	c->world = NULL;
	c->id = 0;
	if (call_2(mpi.comm_test_inter, c->handle, (word)&inter) || inter || call_2(mpi.comm_size, c->handle, (word)&n) || n <= 0)
		return;
	ranks = malloc(2 * (size_t)n * sizeof(*ranks));
	if (!ranks)
		return;
	for (int i = 0; i < n; i++)
		ranks[n + i] = i;
	if (call_2(mpi.comm_group, c->handle, (word)&group) == 0 && call_2(mpi.comm_group, mpi.world, (word)&world) == 0 &&
	    mpi.group_translate_ranks(group, (word)n, (word)(ranks + n), world, (word)ranks, 0, 0, 0, 0, 0, 0, 0, 0) == 0) {
		uint64_t hash = 0;

		for (int i = 0; i < n; i++)
			hash = interpose_hash_argument(hash, (uint64_t)ranks[i] + 1);
		c->id = (uint32_t)(hash >> (64 - INTERPOSE_COMM_BITS));
		c->n = n;
		c->world = ranks;
	} else {
		free(ranks);
	}
	call_2(mpi.group_free, (word)&group, 0);
	call_2(mpi.group_free, (word)&world, 0);
}

static void comms_take(void)
{
	while (__atomic_test_and_set(&comms_locked, __ATOMIC_ACQUIRE))
		record_pause();
}

static void comms_leave(void)
{
	__atomic_clear(&comms_locked, __ATOMIC_RELEASE);
}

static struct comm *comm_find(word h)
{
	for (unsigned i = 0; i < COMMS_MAX; i++)
		if (comms[i].handle == h)
			return &comms[i];
	return NULL;
}

static void comm_forget(word h)
{
	struct comm *c;

	comms_take();
	c = comm_find(h);
	if (c) {
		free(c->world);
		*c = (struct comm){ .handle = 0 };
	}
	comms_leave();
}

/* Returns the entry of a communicator. Adds the entry if it is missing. The caller has called comms_take(). */
static struct comm *comm_get(word h)
{
	struct comm *c = comm_find(h);

	if (!c) {
		c = &comms[comms_next++ % COMMS_MAX];
		free(c->world);
		c->handle = h;
		comm_inspect(c);
	}
	return c;
}

static uint64_t world_rank(const struct comm *c, int peer)
{
	uint64_t args = (uint64_t)c->id << (INTERPOSE_PEER_BITS + INTERPOSE_TAG_BITS);

	if (peer >= 0 && peer < c->n && c->world[peer] >= 0 && c->world[peer] < (1 << INTERPOSE_PEER_BITS) - 1)
		args |= (uint64_t)c->world[peer] + 1;
	return args;
}

/* Returns the counter `args` for a partner, communicator and tag. A negative tag means none. */
static uint64_t hash_partner(word h, int peer, int tag)
{
	uint64_t args;

	comms_take();
	args = world_rank(comm_get(h), peer);
	comms_leave();
	return args | ((uint64_t)(tag < 0 ? 0 : tag) & ((1u << INTERPOSE_TAG_BITS) - 1)) << INTERPOSE_PEER_BITS;
}

/* Stores a window in the same table, with a copy of its communicator's ranks. The program may free the communicator before the window. */
static void window_remember(word window, word comm)
{
	const struct comm *of;
	struct comm *c;

	comms_take();
	of = comm_get(comm);
	c = &comms[comms_next++ % COMMS_MAX];
	if (c == of)
		c = &comms[comms_next++ % COMMS_MAX];
	free(c->world);
	*c = (struct comm){ .handle = window, .id = of->id, .world = of->world ? malloc((size_t)of->n * sizeof(*c->world)) : NULL };
	if (c->world) {
		memcpy(c->world, of->world, (size_t)of->n * sizeof(*c->world));
		c->n = of->n;
	}
	comms_leave();
}

/* Returns `args` for a partner in a window; 0 if the window is no longer in the table. */
static uint64_t window_partner(word window, int peer)
{
	const struct comm *c;
	uint64_t args;

	comms_take();
	c = comm_find(window);
	args = c ? world_rank(c, peer) : 0;
	comms_leave();
	return args;
}

/* ---- requests, and the messages that they represent ---- */

static struct {
	word handle;
	uint64_t args;
} requests[1u << REQUESTS_LOG2]; /* hash table that keeps only the latest request at each place; `handle` identifies it */

static unsigned request_place(word h)
{
	return (unsigned)((h * 0x9e3779b97f4a7c15u) >> (64 - REQUESTS_LOG2));
}

static void request_remember(word h, uint64_t args)
{
	unsigned at = request_place(h);

	__atomic_store_n(&requests[at].args, args, __ATOMIC_RELAXED);
	__atomic_store_n(&requests[at].handle, h, __ATOMIC_RELEASE);
}

/* Returns `args` of the first known request of a call; 0 if none is known, or if known requests have different partners. */
static uint64_t requests_args(const struct row *row, const struct arguments *a)
{
	int n = row->listed ? read_int_argument(a, row->listed) : 1;
	uint64_t args = 0;

	for (int i = 0; i < n && i < LISTED_MAX; i++) {
		word h = handle_at(a, row->requests, i);
		unsigned at = request_place(h);

		if (__atomic_load_n(&requests[at].handle, __ATOMIC_ACQUIRE) != h)
			continue;
		if (!args)
			args = requests[at].args;
		else if ((args ^ requests[at].args) & ((1u << INTERPOSE_PEER_BITS) - 1))
			return 0;
	}
	return args;
}

/* ---- calls ---- */

static uint64_t hash_arguments(const struct row *row, const struct arguments *a)
{
	if (row->requests)
		return requests_args(row, a);
	if (row->window)
		return window_partner(handle(a, row->window, NULL), row->peer ? read_int_argument(a, row->peer) : -1);
	if (!row->comm)
		return 0;
	return hash_partner(handle(a, row->comm, mpi.comm_f2c), row->peer ? read_int_argument(a, row->peer) : -1,
			    row->tag ? read_int_argument(a, row->tag) : -1);
}

/* Returns `args` with the actual sender if the call accepted any. Unchanged for Fortran and for MPI_STATUS_IGNORE, which is 0 or 1. */
static uint64_t hash_arguments_after(const struct row *row, const struct arguments *a, uint64_t args)
{
	const int *status = row->status && !a->fortran ? (const int *)a->at[row->status - 1] : NULL;

	if (!row->comm || read_int_argument(a, row->peer) >= 0 || (word)status <= 1)
		return args;
	return hash_partner(handle(a, row->comm, NULL), status[mpi.open_mpi ? 0 : 2], row->tag ? read_int_argument(a, row->tag) : -1);
}

/* Returns the bits of a key for the message's size class. Calls are chosen for timing per class, because longer messages take more time. */
static inline uint64_t call_class(const struct row *row, const word *words, bool fortran)
{
	const struct arguments a = { words, fortran };
	int count = row->count ? read_int_argument(&a, row->count) : 0;

	return count > 0 ? (uint64_t)(32 - __builtin_clz((unsigned)count)) / 2 << CLASS_BITS : 0;
}

/* Reports whether the wrapper has nothing to do for a call that is not timed. */
static inline bool is_quick(const struct row *row)
{
	return !row->makes && !row->makes_window && !row->frees && !row->frees_window && !row->starts;
}

/* Makes and records a call. Excludes calls that the MPI library makes within it, and threads that it creates in calls with `starts`. */
static int call_wrapped(const struct row *row, uint64_t key, const word *words, bool fortran)
{
	struct arguments a = { words, fortran };
	function *next = row->found->next[fortran];
	struct interpose_call call;
	uint64_t size = 0, args = 0;
	bool timed, hidden;
	int r;

	if (!next)
		next = next_find(row, fortran, key & ((1ull << INTERPOSE_ADDRESS_BITS) - 1));
	timed = !interpose_skip_timing(key) && interpose_enter(&call, key, row->name + 1) && mpi.known;
	hidden = interpose_hide(true);
	if (row->starts)
		__atomic_store_n(&interpose_threads_hidden, true, __ATOMIC_RELAXED);
	if (timed || row->makes)
		args = hash_arguments(row, &a);
	if (timed)
		size = message_bytes(row, &a);
	if (row->frees)
		comm_forget(fortran ? (mpi.comm_f2c ? mpi.comm_f2c(*(const int *)words[0]) : (uint32_t) * (const int *)words[0])
				    : handle_at(&a, 1, 0));
	if (row->frees_window)
		comm_forget(handle_at(&a, 1, 0));
	r = next(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9], words[10], words[11],
		 words[12]);
	if (row->starts)
		__atomic_store_n(&interpose_threads_hidden, false, __ATOMIC_RELAXED);
	if (row->makes)
		request_remember(handle_at(&a, row->makes, 0), args);
	if (row->makes_window && mpi.known && (fortran || r == 0))
		window_remember(handle_at(&a, row->makes_window, 0), handle(&a, row->comm, mpi.comm_f2c));
	if (timed && row->status)
		args = hash_arguments_after(row, &a, args);
	interpose_hide(hidden);
	if (timed)
		interpose_leave(&call, row->kind ? -(int)row->kind : INTERPOSE_NO_FILE, size, args, fortran || r == 0 ? 0 : -1);
	return r;
}

/* ---- wrappers ---- */

#define WORDS(...) __VA_ARGS__
#define P1	   word a
#define P2	   P1, word b
#define P3	   P2, word c
#define P4	   P3, word d
#define P5	   P4, word e
#define P6	   P5, word f
#define P7	   P6, word g
#define P8	   P7, word h
#define P9	   P8, word i
#define P10	   P9, word j
#define P11	   P10, word k
#define P12	   P11, word l
#define A1	   a
#define A2	   A1, b
#define A3	   A2, c
#define A4	   A3, d
#define A5	   A4, e
#define A6	   A5, f
#define A7	   A6, g
#define A8	   A7, h
#define A9	   A8, i
#define A10	   A9, j
#define A11	   A10, k
#define A12	   A11, l
#define EXPORT	   __attribute__((visibility("default")))
#define KEY	   interpose_key(__builtin_return_address(0), MPI_NUMBERS + __COUNTER__)

#define ROW(NAME, name, KIND, ...)                                                                                                         \
	static struct real_functions found_##NAME;                                                                                         \
	static const struct row row_##NAME = { "PMPI_" #NAME, "pmpi_" #name "_", &found_##NAME, .kind = INTERPOSE_##KIND, __VA_ARGS__ };
/* Defines a C wrapper. It jumps to the real function if the call is not timed, as in interpose_calls.c. The jump keeps polling loops so
 * short that the CPU can fetch several iterations at once. interpose_is_mpi() excludes calls that the MPI library itself makes. */
#define IN_C(NAME, parameters, ...)                                                                                                        \
	__attribute__((noinline)) static int slow_##NAME(uint64_t key, WORDS parameters)                                                   \
	{                                                                                                                                  \
		return call_wrapped(&row_##NAME, key, (const word[WORDS_MAX]){ __VA_ARGS__ }, false);                                      \
	}                                                                                                                                  \
	EXPORT int MPI_##NAME parameters;                                                                                                  \
	EXPORT int MPI_##NAME parameters                                                                                                   \
	{                                                                                                                                  \
		const uint64_t key = KEY | call_class(&row_##NAME, (const word[]){ __VA_ARGS__ }, false);                                  \
                                                                                                                                           \
		if (!(is_quick(&row_##NAME) && interpose_skip_timing(key)) && !(interpose_disabled && found_##NAME.next[0]))               \
			return slow_##NAME(key, __VA_ARGS__);                                                                              \
		return ((int(*) parameters)(void (*)(void))found_##NAME.next[0])(__VA_ARGS__);                                             \
	}
#define IN_FORTRAN(NAME, name, parameters, ...)                                                                                            \
	EXPORT void mpi_##name##_ parameters;                                                                                              \
	EXPORT void mpi_##name##_ parameters                                                                                               \
	{                                                                                                                                  \
		const word words[WORDS_MAX] = { __VA_ARGS__ };                                                                             \
                                                                                                                                           \
		if (interpose_disabled && found_##NAME.next[1])                                                                            \
			((void(*) parameters)(void (*)(void))found_##NAME.next[1])(__VA_ARGS__);                                           \
		else                                                                                                                       \
			call_wrapped(&row_##NAME, KEY | call_class(&row_##NAME, words, true), words, true);                                \
	}
/* Defines the C and Fortran wrappers of a call with N arguments. In Fortran, an argument for the error code is added. */
#define CALL(NAME, name, N, KIND, ...)                                                                                                     \
	ROW(NAME, name, KIND, __VA_ARGS__) IN_C(NAME, (P##N), A##N) IN_FORTRAN(NAME, name, (P##N, word error), A##N, error)

ROW(Init, init, NONE, .starts = true)
IN_C(Init, (P2), A2)
IN_FORTRAN(Init, init, (word error), error)
ROW(Init_thread, init_thread, NONE, .starts = true)
IN_C(Init_thread, (P4), A4)
IN_FORTRAN(Init_thread, init_thread, (P2, word error), A2, error)
ROW(Finalize, finalize, NONE, .starts = true)
EXPORT int MPI_Finalize(void);
EXPORT int MPI_Finalize(void)
{
	return call_wrapped(&row_Finalize, KEY, (const word[WORDS_MAX]){ 0 }, false);
}
IN_FORTRAN(Finalize, finalize, (word error), error)

#define SENDS	 .count = 2, .type = 3, .peer = 4, .tag = 5, .comm = 6
#define REDUCES	 .count = 3, .type = 4
#define GATHERS	 .in_place = 1, .count = 2, .type = 3
#define SCATTERS .in_place = 4, .count = 5, .type = 6

/* Point-to-point messages. SENDING also defines nonblocking and persistent sends. */
#define SENDING(NAME, name)                                                                                                                \
	CALL(NAME, name, 6, MESSAGE, SENDS)                                                                                                \
	CALL(I##name, i##name, 7, MESSAGE, SENDS, .makes = 7) CALL(NAME##_init, name##_init, 7, MESSAGE, SENDS, .makes = 7)
SENDING(Send, send)
SENDING(Bsend, bsend)
SENDING(Ssend, ssend)
SENDING(Rsend, rsend)
CALL(Recv, recv, 7, MESSAGE, SENDS, .status = 7)
CALL(Irecv, irecv, 7, MESSAGE, SENDS, .makes = 7)
CALL(Recv_init, recv_init, 7, MESSAGE, SENDS, .makes = 7)
CALL(Sendrecv, sendrecv, 12, MESSAGE, .count = 2, .type = 3, .peer = 9, .tag = 10, .comm = 11, .status = 12)
CALL(Sendrecv_replace, sendrecv_replace, 9, MESSAGE, .count = 2, .type = 3, .peer = 6, .tag = 7, .comm = 8, .status = 9)
CALL(Probe, probe, 4, MESSAGE, .peer = 1, .tag = 2, .comm = 3, .status = 4)
CALL(Iprobe, iprobe, 5, MESSAGE, .peer = 1, .tag = 2, .comm = 3)
CALL(Mprobe, mprobe, 5, MESSAGE, .peer = 1, .tag = 2, .comm = 3, .status = 5)
CALL(Improbe, improbe, 6, MESSAGE, .peer = 1, .tag = 2, .comm = 3)
CALL(Mrecv, mrecv, 5, MESSAGE, .count = 2, .type = 3)
CALL(Imrecv, imrecv, 5, MESSAGE, .count = 2, .type = 3)
CALL(Start, start, 1, MESSAGE, .requests = 1)
CALL(Startall, startall, 2, MESSAGE, .requests = 2, .listed = 1)

/* Completion of requests. */
CALL(Wait, wait, 2, MESSAGE, .requests = 1)
CALL(Test, test, 3, MESSAGE, .requests = 1)
CALL(Waitall, waitall, 3, MESSAGE, .requests = 2, .listed = 1)
CALL(Waitany, waitany, 4, MESSAGE, .requests = 2, .listed = 1)
CALL(Waitsome, waitsome, 5, MESSAGE, .requests = 2, .listed = 1)
CALL(Testall, testall, 4, MESSAGE, .requests = 2, .listed = 1)
CALL(Testany, testany, 5, MESSAGE, .requests = 2, .listed = 1)
CALL(Testsome, testsome, 5, MESSAGE, .requests = 2, .listed = 1)

/* Collective calls. COLLECTIVES also defines nonblocking calls. */
#define COLLECTIVES(NAME, name, N, MORE, ...)                                                                                              \
	CALL(NAME, name, N, COLLECTIVE, __VA_ARGS__) CALL(I##name, i##name, MORE, COLLECTIVE, __VA_ARGS__, .makes = MORE)
COLLECTIVES(Barrier, barrier, 1, 2, .comm = 1)
COLLECTIVES(Bcast, bcast, 5, 6, .count = 2, .type = 3, .peer = 4, .comm = 5)
COLLECTIVES(Gather, gather, 8, 9, GATHERS, .peer = 7, .comm = 8)
COLLECTIVES(Gatherv, gatherv, 9, 10, GATHERS, .peer = 8, .comm = 9)
COLLECTIVES(Scatter, scatter, 8, 9, SCATTERS, .peer = 7, .comm = 8)
COLLECTIVES(Scatterv, scatterv, 9, 10, .in_place = 5, .count = 6, .type = 7, .peer = 8, .comm = 9)
COLLECTIVES(Allgather, allgather, 7, 8, GATHERS, .comm = 7)
COLLECTIVES(Allgatherv, allgatherv, 8, 9, GATHERS, .comm = 8)
COLLECTIVES(Alltoall, alltoall, 7, 8, GATHERS, .comm = 7)
COLLECTIVES(Alltoallv, alltoallv, 9, 10, .comm = 9)
COLLECTIVES(Alltoallw, alltoallw, 9, 10, .comm = 9)
COLLECTIVES(Reduce, reduce, 7, 8, REDUCES, .peer = 6, .comm = 7)
COLLECTIVES(Allreduce, allreduce, 6, 7, REDUCES, .comm = 6)
COLLECTIVES(Reduce_scatter, reduce_scatter, 6, 7, .comm = 6)
COLLECTIVES(Reduce_scatter_block, reduce_scatter_block, 6, 7, REDUCES, .comm = 6)
COLLECTIVES(Scan, scan, 6, 7, REDUCES, .comm = 6)
COLLECTIVES(Exscan, exscan, 6, 7, REDUCES, .comm = 6)
COLLECTIVES(Neighbor_allgather, neighbor_allgather, 7, 8, .count = 2, .type = 3, .comm = 7)
COLLECTIVES(Neighbor_allgatherv, neighbor_allgatherv, 8, 9, .count = 2, .type = 3, .comm = 8)
COLLECTIVES(Neighbor_alltoall, neighbor_alltoall, 7, 8, .count = 2, .type = 3, .comm = 7)
COLLECTIVES(Neighbor_alltoallv, neighbor_alltoallv, 9, 10, .comm = 9)
COLLECTIVES(Neighbor_alltoallw, neighbor_alltoallw, 9, 10, .comm = 9)

/* Communicators. */
CALL(Comm_dup, comm_dup, 2, COLLECTIVE, .comm = 1)
CALL(Comm_create, comm_create, 3, COLLECTIVE, .comm = 1)
CALL(Comm_split, comm_split, 4, COLLECTIVE, .comm = 1)
CALL(Comm_split_type, comm_split_type, 5, COLLECTIVE, .comm = 1)
CALL(Comm_free, comm_free, 1, COLLECTIVE, .frees = true)
CALL(Comm_disconnect, comm_disconnect, 1, COLLECTIVE, .frees = true)

/* One-sided communication: windows, accesses to windows of other ranks, synchronization. */
#define RMA_CALLS .count = 2, .type = 3, .peer = 4
CALL(Win_create, win_create, 6, COLLECTIVE, .comm = 5, .makes_window = 6)
CALL(Win_create_dynamic, win_create_dynamic, 3, COLLECTIVE, .comm = 2, .makes_window = 3)
CALL(Win_allocate, win_allocate, 6, COLLECTIVE, .comm = 4, .makes_window = 6)
CALL(Win_allocate_shared, win_allocate_shared, 6, COLLECTIVE, .comm = 4, .makes_window = 6)
CALL(Win_free, win_free, 1, COLLECTIVE, .frees_window = true)
CALL(Put, put, 8, MESSAGE, RMA_CALLS, .window = 8)
CALL(Get, get, 8, MESSAGE, RMA_CALLS, .window = 8)
CALL(Accumulate, accumulate, 9, MESSAGE, RMA_CALLS, .window = 9)
CALL(Get_accumulate, get_accumulate, 12, MESSAGE, .count = 2, .type = 3, .peer = 7, .window = 12)
CALL(Fetch_and_op, fetch_and_op, 7, MESSAGE, .peer = 4, .window = 7)
CALL(Compare_and_swap, compare_and_swap, 7, MESSAGE, .peer = 5, .window = 7)
CALL(Rput, rput, 9, MESSAGE, RMA_CALLS, .window = 8, .makes = 9)
CALL(Rget, rget, 9, MESSAGE, RMA_CALLS, .window = 8, .makes = 9)
CALL(Raccumulate, raccumulate, 10, MESSAGE, RMA_CALLS, .window = 9, .makes = 10)
CALL(Win_fence, win_fence, 2, COLLECTIVE, .window = 2)
CALL(Win_start, win_start, 3, MESSAGE, .window = 3)
CALL(Win_complete, win_complete, 1, MESSAGE, .window = 1)
CALL(Win_post, win_post, 3, MESSAGE, .window = 3)
CALL(Win_wait, win_wait, 1, MESSAGE, .window = 1)
CALL(Win_test, win_test, 2, MESSAGE, .window = 1)
CALL(Win_lock, win_lock, 4, MESSAGE, .peer = 2, .window = 4)
CALL(Win_lock_all, win_lock_all, 2, MESSAGE, .window = 2)
CALL(Win_unlock, win_unlock, 2, MESSAGE, .peer = 1, .window = 2)
CALL(Win_unlock_all, win_unlock_all, 1, MESSAGE, .window = 1)
CALL(Win_flush, win_flush, 2, MESSAGE, .peer = 1, .window = 2)
CALL(Win_flush_all, win_flush_all, 1, MESSAGE, .window = 1)
CALL(Win_flush_local, win_flush_local, 2, MESSAGE, .peer = 1, .window = 2)
CALL(Win_flush_local_all, win_flush_local_all, 1, MESSAGE, .window = 1)
CALL(Win_sync, win_sync, 1, MESSAGE, .window = 1)

/* Files. */
CALL(File_open, file_open, 5, FILE, .comm = 1)
CALL(File_close, file_close, 1, FILE, .count = 0)
CALL(File_sync, file_sync, 1, FILE, .count = 0)
CALL(File_set_size, file_set_size, 2, FILE, .count = 0)
CALL(File_preallocate, file_preallocate, 2, FILE, .count = 0)
CALL(File_set_view, file_set_view, 6, FILE, .count = 0)
#define RMA_ACCESSES(way)                                                                                                                  \
	CALL(File_##way, file_##way, 5, FILE, .count = 3, .type = 4)                                                                       \
	CALL(File_##way##_all, file_##way##_all, 5, FILE, .count = 3, .type = 4)                                                           \
	CALL(File_##way##_shared, file_##way##_shared, 5, FILE, .count = 3, .type = 4)                                                     \
	CALL(File_##way##_ordered, file_##way##_ordered, 5, FILE, .count = 3, .type = 4)                                                   \
	CALL(File_##way##_at, file_##way##_at, 6, FILE, .count = 4, .type = 5)                                                             \
	CALL(File_##way##_at_all, file_##way##_at_all, 6, FILE, .count = 4, .type = 5)                                                     \
	CALL(File_i##way, file_i##way, 5, FILE, .count = 3, .type = 4)                                                                     \
	CALL(File_i##way##_all, file_i##way##_all, 5, FILE, .count = 3, .type = 4)                                                         \
	CALL(File_i##way##_shared, file_i##way##_shared, 5, FILE, .count = 3, .type = 4)                                                   \
	CALL(File_i##way##_at, file_i##way##_at, 6, FILE, .count = 4, .type = 5)                                                           \
	CALL(File_i##way##_at_all, file_i##way##_at_all, 6, FILE, .count = 4, .type = 5)                                                   \
	CALL(File_##way##_all_begin, file_##way##_all_begin, 4, FILE, .count = 3, .type = 4)                                               \
	CALL(File_##way##_all_end, file_##way##_all_end, 3, FILE, .count = 0)                                                              \
	CALL(File_##way##_ordered_begin, file_##way##_ordered_begin, 4, FILE, .count = 3, .type = 4)                                       \
	CALL(File_##way##_ordered_end, file_##way##_ordered_end, 3, FILE, .count = 0)                                                      \
	CALL(File_##way##_at_all_begin, file_##way##_at_all_begin, 5, FILE, .count = 4, .type = 5)                                         \
	CALL(File_##way##_at_all_end, file_##way##_at_all_end, 3, FILE, .count = 0)
RMA_ACCESSES(read)
RMA_ACCESSES(write)
