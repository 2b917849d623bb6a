/* Names that the linker redirects with --wrap. The program's calls of NAME reach __wrap_NAME, and the emulation's calls of __real_NAME
 * reach NAME. This library and the command that links programs with it share these lists. */
#ifndef RUNS_EMULATE_WRAPPED_H
#define RUNS_EMULATE_WRAPPED_H

/* clang-format off */

/* Wrapped in wrap_calls.c: C library functions that make one system call. The call is counted, whatever its arguments and result. */
#define WRAPPED_CALLS(X) \
	X("read") X("write") X("pread") X("pwrite") X("pread64") X("pwrite64") X("readv") X("writev") X("preadv") X("pwritev") \
	X("open") X("open64") X("openat") X("openat64") X("creat") X("creat64") X("close") X("lseek") X("lseek64") X("fsync") \
	X("fdatasync") X("sync") X("truncate") X("ftruncate") X("truncate64") X("ftruncate64") X("fallocate") \
	X("posix_fallocate") X("stat") X("fstat") X("lstat") X("stat64") X("fstat64") X("lstat64") X("fstatat") X("statx") \
	X("access") X("faccessat") X("unlink") X("unlinkat") X("rename") X("renameat") X("link") X("symlink") X("readlink") \
	X("mkdir") X("rmdir") X("chdir") X("fchdir") X("getcwd") X("chmod") X("fchmod") X("chown") X("fchown") X("umask") \
	X("utimensat") X("futimens") X("flock") X("fcntl") X("fcntl64") X("ioctl") X("dup") X("dup2") X("dup3") X("pipe") \
	X("pipe2") X("poll") X("ppoll") X("select") X("pselect") X("epoll_create1") X("epoll_ctl") X("epoll_wait") \
	X("epoll_pwait") X("eventfd") X("timerfd_create") X("timerfd_settime") X("signalfd") X("socket") X("socketpair") \
	X("bind") X("listen") X("accept") X("accept4") X("connect") X("shutdown") X("getsockname") X("getpeername") \
	X("getsockopt") X("setsockopt") X("send") X("sendto") X("sendmsg") X("sendmmsg") X("recv") X("recvfrom") X("recvmsg") \
	X("recvmmsg") X("sendfile") X("sendfile64") X("splice") X("copy_file_range") X("mprotect") \
	X("madvise") X("msync") X("mremap") X("mlock") X("munlock") X("mincore") X("brk") X("sbrk") X("shmget") \
	X("shmdt") X("getpid") X("getppid") X("gettid") X("getuid") X("geteuid") X("getgid") X("getegid") X("getpgid") \
	X("setpgid") X("setsid") X("kill") X("tgkill") X("fork") X("vfork") X("execve") X("waitpid") X("wait") X("wait4") \
	X("nanosleep") X("clock_nanosleep") X("usleep") X("sleep") X("pause") X("sched_setaffinity") \
	X("sched_getaffinity") X("getrusage") X("times") X("getrlimit") X("setrlimit") X("prlimit") X("uname") X("sysinfo") \
	X("getrandom") X("sigaction") X("sigprocmask") X("pthread_sigmask") X("sigsuspend") X("sigaltstack") X("setitimer") \
	X("getitimer") X("alarm") X("syscall") X("__read_chk") X("__pread_chk") X("__recv_chk") X("__open_2") X("__open64_2") \
	X("__openat_2") X("__poll_chk")

/* Wrapped in wrap_calls.c: C library functions, which no compiler instruments, grouped by their approximate time per call in ns
 * (tests/bench/library_calls.py). A call counts as that many basic blocks. */
#define WRAPPED_WORK_4(X) \
	X("floor") X("floorf") X("ceil") X("ceilf") X("round") X("roundf") X("trunc") X("truncf") X("rint") X("rintf") X("nearbyint") \
	X("nearbyintf") X("lround") X("lroundf") X("llround") X("lrint") X("lrintf") X("llrint") X("ldexp") X("frexp") X("modf") \
	X("expf") X("exp2f") X("logf") X("log2f") X("sinf") X("cosf") X("hypotf") X("fputc") X("putc") X("putchar") X("fgetc") X("getc") \
	X("getchar") X("ungetc") X("time") X("strcasecmp") X("strncasecmp") X("strspn") X("strcspn") X("strpbrk") X("bsearch")
#define WRAPPED_WORK_8(X) \
	X("exp") X("exp2") X("log") X("log2") X("log10") X("log10f") X("sin") X("cos") X("tan") X("tanf") X("sincos") X("asin") X("asinf") \
	X("acos") X("acosf") X("atan") X("atanf") X("coshf") X("cosh") X("expm1") X("expm1f") X("log1p") X("log1pf") X("erf") X("erff") \
	X("erfc") X("erfcf") X("powf") X("hypot") X("strtol") X("strtoul") X("strtoll") X("strtoull") X("atoi") X("atol") X("atoll") \
	X("fputs") X("puts") X("fwrite") X("rand") X("random") X("rand_r") X("drand48") X("lrand48") X("getenv")
#define WRAPPED_WORK_16(X) \
	X("pow") X("atan2") X("atan2f") X("fmod") X("fmodf") X("remainder") X("sinh") X("sinhf") X("tanh") X("tanhf") X("cbrt") X("cbrtf") \
	X("lgamma") X("lgammaf") X("fgets") X("fread") X("getline") X("strtok") X("strtok_r") X("gettimeofday") X("clock_gettime")
#define WRAPPED_WORK_32(X) \
	X("tgamma") X("tgammaf") X("strtod") X("strtof") X("atof") X("localtime_r") X("gmtime_r") X("strftime") X("memmem") X("strcasestr")
#define WRAPPED_WORK_64(X) \
	X("printf") X("fprintf") X("sprintf") X("snprintf") X("vprintf") X("vfprintf") X("vsprintf") X("vsnprintf") X("dprintf") \
	X("asprintf") X("__printf_chk") X("__fprintf_chk") X("__sprintf_chk") X("__snprintf_chk") X("__vfprintf_chk") X("__vsnprintf_chk") \
	X("sscanf") X("fscanf") X("scanf") X("__isoc99_sscanf") X("__isoc99_fscanf") X("__isoc99_scanf")
#define WRAPPED_WORK_128(X) X("regexec")
#define WRAPPED_WORK(X) \
	WRAPPED_WORK_4(X) WRAPPED_WORK_8(X) WRAPPED_WORK_16(X) WRAPPED_WORK_32(X) WRAPPED_WORK_64(X) WRAPPED_WORK_128(X)

/* Wrapped in wrap.c: sorting functions. */
#define WRAPPED_SORTS(X) X("qsort") X("qsort_r")

/* Wrapped in wrap.c: memory and string functions. */
#define WRAPPED_MEMORY(X) \
	X("memcpy") X("memmove") X("memset") X("mempcpy") X("memcmp") X("bcmp") X("memchr") X("strlen") X("strnlen") X("strcpy") \
	X("stpcpy") X("strncpy") X("strcat") X("strncat") X("strcmp") X("strncmp") X("strchr") X("strrchr") X("strstr") \
	X("__memcpy_chk") X("__memmove_chk") X("__memset_chk") X("__strcpy_chk") X("__stpcpy_chk") X("__strncpy_chk") \
	X("__strcat_chk") X("__strncat_chk")

/* Wrapped in wrap.c: allocation and mapping. The mangled names are C++'s operators new and delete. */
#define WRAPPED_HEAP(X) \
	X("malloc") X("calloc") X("realloc") X("reallocarray") X("free") X("memalign") X("posix_memalign") X("aligned_alloc") \
	X("strdup") X("strndup") X("mmap") X("mmap64") X("munmap") X("shmat") X("_Znwm") X("_Znam") X("_ZnwmRKSt9nothrow_t") X("_ZnamRKSt9nothrow_t") \
	X("_ZnwmSt11align_val_t") X("_ZnamSt11align_val_t") X("_ZdlPvm") X("_ZdaPvm") X("_ZdlPvmSt11align_val_t") \
	X("_ZdaPvmSt11align_val_t")

/* Wrapped in wrap.c: lock functions. */
#define WRAPPED_LOCKS(X) \
	X("pthread_mutex_lock") X("pthread_mutex_trylock") X("pthread_mutex_unlock") X("pthread_spin_lock") \
	X("pthread_spin_trylock") X("pthread_spin_unlock") X("pthread_rwlock_rdlock") X("pthread_rwlock_wrlock") \
	X("pthread_rwlock_unlock")

/* Wrapped in waiting.c: functions that a thread calls repeatedly while it waits for another thread. */
#define WRAPPED_WAITS(X) \
	X("sched_yield") X("thrd_yield")

/* Wrapped in threads.c: parallel regions and barriers of gcc's OpenMP library. */
#define WRAPPED_OPENMP(X) \
	X("GOMP_parallel") X("GOMP_parallel_loop_static") X("GOMP_parallel_loop_dynamic") X("GOMP_parallel_loop_guided") \
	X("GOMP_parallel_loop_runtime") X("GOMP_parallel_loop_nonmonotonic_dynamic") \
	X("GOMP_parallel_loop_nonmonotonic_guided") X("GOMP_parallel_loop_nonmonotonic_runtime") \
	X("GOMP_parallel_loop_maybe_nonmonotonic_runtime") X("GOMP_parallel_sections") X("GOMP_barrier") X("GOMP_loop_end") \
	X("GOMP_sections_end")

/* Wrapped in runtime.c: functions that end the process without running destructors. */
#define WRAPPED_EXITS(X) \
	X("_exit") X("_Exit")

#define WRAPPED_NAMES(X) WRAPPED_CALLS(X) WRAPPED_WORK(X) WRAPPED_SORTS(X) WRAPPED_MEMORY(X) WRAPPED_HEAP(X) WRAPPED_LOCKS(X) WRAPPED_WAITS(X) WRAPPED_OPENMP(X) WRAPPED_EXITS(X)

/* Names that the emulation defines for the program and all its libraries, also those loaded later. The dynamic linker must see them. */
#define REPLACED_NAMES(X) \
	X("pthread_create") X("pthread_join") X("thrd_create") X("thrd_join") X("pthread_barrier_init") \
	X("pthread_barrier_wait") X("ompt_start_tool") \
	X("prctl") X("syscall") X("mlockall") \
	X("__tsan_*") X("__sanitizer_cov_trace_pc") X("__wrap_*")

#endif
