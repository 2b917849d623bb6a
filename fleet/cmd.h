/* Sub-commands of this folder, for the table in main.c. */
#ifndef FLEET_CMD_H
#define FLEET_CMD_H

int cmd_init(int argc, char **argv, const char *directory);
int cmd_fleet_up(int argc, char **argv, const char *directory);
int cmd_fleet_down(int argc, char **argv, const char *directory);
int cmd_fleet_list(int argc, char **argv, const char *directory);
int cmd_fleet_trust(int argc, char **argv, const char *directory);
int cmd_fleet_check(int argc, char **argv, const char *directory);
int cmd_fleet_put(int argc, char **argv, const char *directory);
int cmd_fleet_get(int argc, char **argv, const char *directory);
int cmd_fleet_exec(int argc, char **argv, const char *directory);

#endif
