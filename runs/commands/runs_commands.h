/* Sub-commands of this folder, for the table in main.c. */
#ifndef RUNS_COMMANDS_H
#define RUNS_COMMANDS_H

struct command;
extern const struct command changes_command, build_command, inspect_command, counters_command, probe_command, emulate_run_command,
    features_run_command, features_show_command, record_command, samples_command, prune_command, import_machines_command,
    result_import_command, run_command, result_list_command, result_show_command, result_export_command;

/* Executes the compiler in whose place the program was called (runs/inside/variants/compiler_wrapper.h), for main(). Returns the exit
 * status if that cannot be. */
int build_as_compiler(int argc, char **argv);

#endif
