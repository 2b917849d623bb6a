/* Sub-commands of this folder, for the table in main.c. */
#ifndef GATE_CMD_H
#define GATE_CMD_H

#include "base/command.h"

extern const struct command profile_command, predict_command, catalog_suggest_command, gate_command, compare_command, evaluate_command,
    detect_command, model_train_command, model_show_command;
int cmd_explore(int argc, char **argv, const char *directory);
int cmd_report(int argc, char **argv, const char *directory);

#endif
