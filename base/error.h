/* Defines the status codes of all folders. Three kinds of trouble are never mixed. A caller's bug aborts (ASSAY_BUG_IF). A fault of the
 * world returns a status with an error text. A legitimate answer such as "inconclusive" is a field of the result. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* Name of each status, and exit status of a command that ends with it (docs/reference/README.md). */
#define ASSAY_STATUS_ROWS(X)                                                                                                               \
	X(ASSAY_OK, 0)	       /* ok */                                                                                                    \
	X(ASSAY_E_IO, 1)       /* input or output failed */                                                                                \
	X(ASSAY_E_USAGE, 2)    /* wrong usage */                                                                                           \
	X(ASSAY_E_FORMAT, 2)   /* malformed input */                                                                                       \
	X(ASSAY_E_LIMIT, 2)    /* input beyond a limit */                                                                                  \
	X(ASSAY_E_NOTFOUND, 2) /* not found */                                                                                             \
	X(ASSAY_E_CONFLICT, 2) /* contradicts stored data */                                                                               \
	X(ASSAY_E_BUSY, 1)     /* in use by another process */                                                                             \
	X(ASSAY_E_VERSION, 1)  /* made by another version */                                                                               \
	X(ASSAY_E_CORRUPT, 1)  /* stored data are damaged */                                                                               \
	X(ASSAY_E_NODATA, 6)   /* no usable measurements */

#define ASSAY_STATUS_ENUM(name, exit_status) name,
enum assay_status { ASSAY_STATUS_ROWS(ASSAY_STATUS_ENUM) };
#undef ASSAY_STATUS_ENUM

#define ASSAY_ERROR_BYTES 1024

/* An error, on the caller's stack. A text that is too long loses its middle. */
struct assay_error {
	enum assay_status status;
	char text[ASSAY_ERROR_BYTES];
};

int assay_status_exit(enum assay_status status);

/* Fills *err, if `err` is not NULL, and returns `status`, for `return assay_fail(...)` and `st = assay_fail(...); goto out;`. */
enum assay_status assay_fail(struct assay_error *err, enum assay_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Does the same for a failed system call: appends ": " and the text of `errnum`, and returns ASSAY_E_IO. */
enum assay_status assay_fail_errno(struct assay_error *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text in *err. Returns the unchanged err->status. `err` must not be NULL. */
enum assay_status assay_context(struct assay_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints `condition` and its place and aborts if it holds, which is a caller's bug; in release builds, too. */
#define ASSAY_BUG_IF(condition)                                                                                                            \
	do {                                                                                                                               \
		if (condition)                                                                                                             \
			assay_bug(#condition, __FILE__, __LINE__);                                                                         \
	} while (0)
_Noreturn void assay_bug(const char *condition, const char *file, int line);

#endif
