/* What an instrumented program has left, and what can be done with it. */
#include "runs/commands/cmd_made.h"

#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/samples/samples.h"

#include <string.h>
#include <sys/stat.h>

struct outcome {
	size_t files, samples;
	double bytes;		 /* of the disk */
	uint64_t dropped, calls; /* of those that were only counted, too */
	uint64_t unseen;	 /* threads */
	bool unfinished;	 /* processes of the emulation, which write at their end */
	bool shares;		 /* memory with other processes */
	char *why;		 /* of the first file that says why some were dropped */
};

static void count_file(const char *directory, const char *name, struct outcome *outcome)
{
	char *path = mem_format("%s/%s", directory, name);
	struct samples samples;
	struct assay_error err;
	enum assay_status st = samples_read(path, &samples, &err);
	struct stat info = { .st_blocks = 0 };

	if (!st)
		stat(path, &info);
	free(path);
	if (st) {
		cli_remark("%s", err.text);
		return;
	}
	outcome->files++;
	outcome->bytes += 512 * (double)info.st_blocks;
	outcome->unfinished |= samples.back_end == RECORD_EMULATED && !samples.finished;
	outcome->samples += samples.n;
	outcome->dropped += samples.dropped;
	for (size_t i = 0; i < samples.n_calls; i++)
		outcome->calls += samples.calls[i].calls;
	if (samples.dropped && !outcome->why && samples_info(&samples, "dropped"))
		outcome->why = mem_string(samples_info(&samples, "dropped"));
	outcome->shares |= samples_info_number(&samples, SAMPLES_SHARED_BYTES) > 0;
	outcome->unseen += samples_info_number(&samples, SAMPLES_THREADS_UNSEEN);
	samples_release(&samples);
}

enum assay_status cmd_made_none_yet(const char *directory, struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st = ASSAY_OK;
	char **names = NULL;
	size_t n = 0;

	file_names(directory, ".samples", &names, &n, &ignored);
	if (n)
		st =
		    assay_fail(err, ASSAY_E_USAGE,
			       "'%s' has %zu sample file%s of an earlier run, and what a directory holds is taken as one run: name another "
			       "one (-o), or remove the files",
			       directory, n, text_plural(n));
	file_names_free(names, n);
	return st;
}

static const char *why_nothing(const struct outcome *outcome, const char *no_file, const char *no_call)
{
	if (outcome->dropped)
		return "no sample could be kept";
	if (!outcome->files)
		return no_file;
	return outcome->unfinished ? "the program's samples are lost or still to come: it did not end in order, went on as another program "
				     "(exec*()), or left a process that runs on and writes them at its end (daemon())"
				   : no_call;
}

enum assay_status cmd_made(const char *directory, const char *no_file, const char *no_call, struct assay_error *err)
{
	struct outcome outcome = { 0 };
	struct assay_error ignored;
	char **names = NULL, *command;
	size_t n = 0;

	file_names(directory, ".samples", &names, &n, &ignored);
	for (size_t i = 0; i < n; i++)
		count_file(directory, names[i], &outcome);
	file_names_free(names, n);
	if (outcome.dropped)
		cli_remark("%llu samples were dropped: %s (docs/probe.md)", (unsigned long long)outcome.dropped,
			   outcome.why ? outcome.why : "the file does not say why");
	if (outcome.shares)
		cli_remark("the program maps memory that other processes may share: sharing between processes is not simulated");
	if (outcome.unseen)
		cli_remark(
		    "%llu thread%s not simulated: there were more at a time than the emulation follows, and nothing of them is counted",
		    (unsigned long long)outcome.unseen, outcome.unseen > 1 ? "s were" : " was");
	free(outcome.why);
	if (!outcome.samples && !outcome.dropped && outcome.calls)
		return assay_fail(err, ASSAY_E_NODATA,
				  "%llu call%s of selected functions, of which none could be measured (docs/probe.md says which cannot be)",
				  (unsigned long long)outcome.calls, text_plural(outcome.calls));
	if (!outcome.samples)
		return foreground_left_nothing(directory, why_nothing(&outcome, no_file, no_call), err);
	command = text_command((const char *const[]){ "samples", directory, NULL });
	cli_remark("%zu sample%s in %zu file%s of '%s', %.1f MiB: %s shows them, 'assay detect OLD NEW' compares those of two builds",
		   outcome.samples, text_plural(outcome.samples), outcome.files, text_plural(outcome.files), directory,
		   outcome.bytes / (1 << 20), command);
	free(command);
	return ASSAY_OK;
}
