/* Status codes and error texts. Three kinds of trouble are kept apart. A bug of the caller aborts (ASSAY_BUG_IF). A failure of the
 * environment returns a status and an error text. A legitimate answer such as "inconclusive" is a field of the result. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* Rows: name of a status code, and exit status of a command that returns this code (docs/reference/README.md). Each comment has the
 * meaning. */
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

/* An error, usually on the caller's stack. If a text is too long, its middle is replaced by " ... ". */
struct assay_error {
	enum assay_status status;
	char text[ASSAY_ERROR_BYTES];
};

int assay_status_exit_code(enum assay_status status);

/* Fills *err, unless `err` is NULL, and returns `status`. Usage: `return assay_fail(...)`, or `st = assay_fail(...); goto out;`. */
enum assay_status assay_fail(struct assay_error *err, enum assay_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Fills *err like assay_fail() after a failed system call: appends ": " and the text of `errnum` to the message. Returns ASSAY_E_IO. */
enum assay_status assay_fail_errno(struct assay_error *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text in *err. Returns err->status, which is unchanged. `err` must not be NULL. */
enum assay_status assay_add_context(struct assay_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* If `condition` holds, which is a bug of the caller, prints it with its file and line and aborts. Release builds do this, too. */
#define ASSAY_BUG_IF(condition)                                                                                                            \
	do {                                                                                                                               \
		if (condition)                                                                                                             \
			assay_bug(#condition, __FILE__, __LINE__);                                                                         \
	} while (0)
_Noreturn void assay_bug(const char *condition, const char *file, int line);

#endif
