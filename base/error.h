/* One status scheme for every folder. Three kinds of trouble, never mixed: a caller's bug aborts (ASSAY_BUG_IF), a fault of
 * the world is a status with an error text, a legitimate answer ("inconclusive") is a field of the result. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* Name, and exit status of a command that ends with it (docs/formats.md). */
#define ASSAY_STATUS_ROWS(X)                                                                                                               \
	X(ASSAY_OK, 0)	       /* ok */                                                                                                    \
	X(ASSAY_E_IO, 1)       /* input or output failed */                                                                                \
	X(ASSAY_E_USAGE, 2)    /* wrong usage */                                                                                           \
	X(ASSAY_E_FORMAT, 2)   /* malformed input */                                                                                       \
	X(ASSAY_E_LIMIT, 2)    /* input beyond a limit */                                                                                  \
	X(ASSAY_E_NOTFOUND, 2) /* no such thing */                                                                                         \
	X(ASSAY_E_CONFLICT, 2) /* contradicts what is stored */                                                                            \
	X(ASSAY_E_BUSY, 1)     /* in use by another process */                                                                             \
	X(ASSAY_E_VERSION, 1)  /* made by another version */                                                                               \
	X(ASSAY_E_CORRUPT, 1)  /* stored data are damaged */                                                                               \
	X(ASSAY_E_NODATA, 6)   /* nothing measured that could be used */

#define ASSAY_STATUS_ENUM(name, exit_status) name,
enum assay_status { ASSAY_STATUS_ROWS(ASSAY_STATUS_ENUM) };
#undef ASSAY_STATUS_ENUM

#define ASSAY_ERROR_BYTES 1024

/* On the caller's stack. Of longer texts the middle is excluded. */
struct assay_error {
	enum assay_status status;
	char text[ASSAY_ERROR_BYTES];
};

int assay_status_exit(enum assay_status status);

/* Fills *err (which may be NULL) and returns `status`, so that `return assay_fail(...)` and
 * `st = assay_fail(...); goto out;` both read well. */
enum assay_status assay_fail(struct assay_error *err, enum assay_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As assay_fail, for a failed system call: appends ": " and the text of `errnum`. */
enum assay_status assay_fail_errno(struct assay_error *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text that is there; the status stays. Returns err->status (err must not be NULL). */
enum assay_status assay_context(struct assay_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A caller's bug: prints the condition and its place, then aborts. In release builds too. */
#define ASSAY_BUG_IF(condition)                                                                                                            \
	do {                                                                                                                               \
		if (condition)                                                                                                             \
			assay_bug(#condition, __FILE__, __LINE__);                                                                         \
	} while (0)
_Noreturn void assay_bug(const char *condition, const char *file, int line);

#endif
