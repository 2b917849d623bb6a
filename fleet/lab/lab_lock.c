#include "fleet/lab/lab_lock.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define HOLDER_BYTES_MAX 128                     /* "PID MILLISECONDS COMMAND\n" */
#define MS_MAX           INT64_C(253402300799999) /* the end of the year 9999 */

char *lab_lock_holder(char *text)
{
	char date[TEXT_DATE_BYTES], shown[TEXT_SHOWN_BYTES];
	char *since, *command;
	int64_t pid, since_ms;

	text[strcspn(text, "\n")] = '\0';
	since = strchr(text, ' ');
	command = since ? strchr(since + 1, ' ') : NULL;
	if (!command || !command[1])
		return NULL;
	*since++ = *command++ = '\0';
	if (!text_int64(text, &pid) || pid < 1 || pid > INT32_MAX || !text_int64(since, &since_ms) || since_ms < 0 || since_ms > MS_MAX ||
	    !text_is_utf8(command, strlen(command)) || (kill((pid_t)pid, 0) && errno != EPERM))
		return NULL;
	return mem_format("'%s', process %" PRId64 ", since %s", text_shown(command, shown), pid, text_from_ms(since_ms, date));
}

static enum assay_status refuse(const char *directory, int fd, struct assay_error *err)
{
	char text[HOLDER_BYTES_MAX + 1];
	ssize_t n = pread(fd, text, HOLDER_BYTES_MAX, 0);
	char *who;

	text[n < 0 ? 0 : n] = '\0';
	who = lab_lock_holder(text);
	assay_fail(err, ASSAY_E_BUSY, "another assay is writing to the laboratory '%s'%s%s%s: wait until it has ended", directory, who ? " (" : "",
		   who ? who : "", who ? ")" : "");
	free(who);
	return err->status;
}

enum assay_status lab_lock(const char *directory, int *fd, struct assay_error *err)
{
	char *path = mem_format("%s/.assay/lock", directory);
	enum assay_status st = ASSAY_OK;
	int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (lock < 0) {
		st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	} else if (flock(lock, LOCK_EX | LOCK_NB)) {
		st = refuse(directory, lock, err);
		close(lock);
		lock = -1;
	} else {
		lab_lock_sign(lock, "assay");
	}
	*fd = lock;
	free(path);
	return st;
}

void lab_lock_sign(int fd, const char *command)
{
	char text[HOLDER_BYTES_MAX];
	struct timespec now;
	int n;

	clock_gettime(CLOCK_REALTIME, &now);
	n = snprintf(text, sizeof(text), "%d %" PRId64 " %s\n", (int)getpid(), (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, command);
	/* A reader in between sees the end of the last holder's line at most, behind ours. */
	if (n < 0 || n >= (int)sizeof(text) || pwrite(fd, text, (size_t)n, 0) != n || ftruncate(fd, n))
		return;
}
