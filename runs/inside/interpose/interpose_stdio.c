/* Calls of the C library's own streams. What it does with their buffers below, by system calls, is not seen apart. Single characters are
 * not recorded: they are cheaper than recording them. */
#define _FORTIFY_SOURCE 0 /* the functions themselves, not their inline forms */
#include <stdarg.h>
#include <stdio.h>

#define FUNCTIONS 128
#include "runs/inside/interpose/interpose_wrap.h"

/* fileno() may change errno. */
static int file_of(const FILE *stream)
{
	return stream ? stream->_fileno : NO_FILE;
}

#define LINE_SIZE (r < 0 ? NO_SIZE : (uint64_t)r)

CALL(size_t, fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), file_of(f), size *n, NO_ARGS)
CALL_OF(NULL, size_t, fread_unlocked, "fread", (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), file_of(f), size *n, NO_ARGS)
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *f); /* what _FORTIFY_SOURCE makes of it */
CALL_OF(NULL, size_t, __fread_chk, "fread", (void *to, size_t room, size_t size, size_t n, FILE *f), (to, room, size, n, f), file_of(f),
	size *n, NO_ARGS)
CALL(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f), file_of(f), size *n, NO_ARGS)
CALL_OF(NULL, size_t, fwrite_unlocked, "fwrite", (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f), file_of(f),
	size *n, NO_ARGS)
CALL(char *, fgets, (char *to, int n, FILE *f), (to, n, f), file_of(f), (uint64_t)n, NO_ARGS)
CALL_OF(NULL, char *, fgets_unlocked, "fgets", (char *to, int n, FILE *f), (to, n, f), file_of(f), (uint64_t)n, NO_ARGS)
char *__fgets_chk(char *to, size_t room, int n, FILE *f);
CALL_OF(NULL, char *, __fgets_chk, "fgets", (char *to, size_t room, int n, FILE *f), (to, room, n, f), file_of(f), (uint64_t)n, NO_ARGS)
CALL(ssize_t, getline, (char **line, size_t *room, FILE *f), (line, room, f), file_of(f), LINE_SIZE, NO_ARGS)
CALL(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *f), (line, room, end, f), file_of(f), LINE_SIZE, ARG(end))
ssize_t __getdelim(char **line, size_t *room, int end, FILE *f); /* what getline() is when inlined */
CALL_OF(NULL, ssize_t, __getdelim, "getdelim", (char **line, size_t *room, int end, FILE *f), (line, room, end, f), file_of(f), LINE_SIZE,
	ARG(end))
CALL(int, fputs, (const char *text, FILE *f), (text, f), file_of(f), NO_SIZE, NO_ARGS)
CALL_OF(NULL, int, fputs_unlocked, "fputs", (const char *text, FILE *f), (text, f), file_of(f), NO_SIZE, NO_ARGS)
CALL(int, puts, (const char *text), (text), file_of(stdout), LINE_SIZE, NO_ARGS)
CALL(int, fflush, (FILE * f), (f), file_of(f), NO_SIZE, NO_ARGS)
CALL_OF(NULL, int, fflush_unlocked, "fflush", (FILE * f), (f), file_of(f), NO_SIZE, NO_ARGS)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), file_of(r), NO_SIZE, NO_ARGS)
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode), file_of(r), NO_SIZE, NO_ARGS)
CALL(int, fclose, (FILE * f), (f), NO_FILE, NO_SIZE, NO_ARGS)

/* ---- what is printed ---- */

CALL(int, vprintf, (const char *format, va_list list), (format, list), file_of(stdout), LINE_SIZE, NO_ARGS)
CALL(int, vfprintf, (FILE * f, const char *format, va_list list), (f, format, list), file_of(f), LINE_SIZE, NO_ARGS)
CALL(int, vdprintf, (int fd, const char *format, va_list list), (fd, format, list), fd, LINE_SIZE, NO_ARGS)
int __vprintf_chk(int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vprintf_chk, "vprintf", (int flag, const char *format, va_list list), (flag, format, list), file_of(stdout), LINE_SIZE,
	NO_ARGS)
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vfprintf_chk, "vfprintf", (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list), file_of(f),
	LINE_SIZE, NO_ARGS)
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vdprintf_chk, "vdprintf", (int fd, int flag, const char *format, va_list list), (fd, flag, format, list), fd,
	LINE_SIZE, NO_ARGS)

/* A function with any number of arguments, by the one that takes them as a list. */
#define FORMAT(name, by, label, parameters, list_parameters, arguments, file)                                                              \
	SLOW(NULL, int, name, by, label, list_parameters, arguments, file, LINE_SIZE, NO_ARGS)                                             \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
		va_list list;                                                                                                              \
		int r;                                                                                                                     \
                                                                                                                                           \
		va_start(list, format);                                                                                                    \
		r = INTERPOSE_JUMPS(key, next_##name) ? next_##name arguments : slow_##name(key, WORDS arguments);                         \
		va_end(list);                                                                                                              \
		return r;                                                                                                                  \
	}

FORMAT(printf, "vprintf", "printf", (const char *format, ...), (const char *format, va_list list), (format, list), file_of(stdout))
FORMAT(fprintf, "vfprintf", "fprintf", (FILE * f, const char *format, ...), (FILE * f, const char *format, va_list list), (f, format, list),
       file_of(f))
FORMAT(dprintf, "vdprintf", "dprintf", (int fd, const char *format, ...), (int fd, const char *format, va_list list), (fd, format, list),
       fd)
int __printf_chk(int flag, const char *format, ...);
FORMAT(__printf_chk, "__vprintf_chk", "printf", (int flag, const char *format, ...), (int flag, const char *format, va_list list),
       (flag, format, list), file_of(stdout))
int __fprintf_chk(FILE *f, int flag, const char *format, ...);
FORMAT(__fprintf_chk, "__vfprintf_chk", "fprintf", (FILE * f, int flag, const char *format, ...),
       (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list), file_of(f))
int __dprintf_chk(int fd, int flag, const char *format, ...);
FORMAT(__dprintf_chk, "__vdprintf_chk", "dprintf", (int fd, int flag, const char *format, ...),
       (int fd, int flag, const char *format, va_list list), (fd, flag, format, list), fd)
