/* Sub-commands of this folder, for the table in main.c. */
#ifndef RUNS_CMD_H
#define RUNS_CMD_H

int cmd_import_quiho(int argc, char **argv, const char *directory);
int cmd_runs_list(int argc, char **argv, const char *directory);
int cmd_runs_show(int argc, char **argv, const char *directory);
int cmd_runs_export(int argc, char **argv, const char *directory);

#endif
