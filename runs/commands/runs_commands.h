/* Subcommands of this folder, for the table in main.c. */
#ifndef RUNS_COMMANDS_H
#define RUNS_COMMANDS_H

#include "base/command.h"

extern const struct command changes_command, build_command, inspect_command, counters_command, record_command, prune_command,
    host_import_command, result_import_command, run_command, result_list_command, result_show_command, result_export_command;

/* Imports the fingerprints of a CSV file. */
enum assay_status import_machines(struct lab *lab, const char *file, struct document *d, struct assay_error *err);

/* Runs the compiler by whose name this program was called (runs/inside/variants/compiler_wrapper.h). Returns the exit status for main(). */
int build_run_compiler(int argc, char **argv);

#endif
