/* Tests the hosts of lab.yaml: parsed hosts, refused entries, and the selection by -w and -x. */
#include "fleet/inventory/inventory.h"

#include "tests/scratch.h"

static enum assay_status parse(const char *text, struct inventory *out, struct assay_error *err)
{
	struct yaml_node root;
	enum assay_status st;

	check(yaml_parse("f", text, strlen(text), &root, err), err);
	st = inventory_parse("f", yaml_get(&root, "hosts"), out, err);
	yaml_release(&root);
	return st;
}

static void test_all_keys(void **state)
{
	static const char text[] = "hosts:\n"
				   " - name: node[08-10]\n"
				   "   id: xeon-[1-3]\n"
				   "   address: 10.0.0.[8-10]\n"
				   "   port: '[2201-2203]'\n"
				   "   identity_file: ~/.ssh/key[1-3]\n"
				   "   on: box[1-2,2]\n"
				   "   type: Xeon [1-3] sockets\n"
				   "   user: bench\n"
				   "   groups: [big, rack1]\n"
				   "   env: {A: 1, B_2: \"two words\", C: \"\"}\n"
				   "   transport: ssh\n"
				   "   profile: io\n";
	struct inventory inventory;
	struct assay_error err;
	const struct host *host;

	(void)state;
	check(parse(text, &inventory, &err), &err);
	assert_int_equal(inventory.n, 3);
	host = &inventory.hosts[2];
	assert_string_equal(host->name, "node10");
	assert_string_equal(host->id, "xeon-3");
	assert_string_equal(host->address, "10.0.0.10");
	assert_int_equal(host->port, 2203);
	assert_string_equal(host->identity_file, "~/.ssh/key3");
	assert_string_equal(host->box, "box2");
	assert_string_equal(inventory.hosts[1].box, "box2");
	assert_string_equal(host->type, "Xeon 3 sockets");
	assert_string_equal(host->user, "bench");
	assert_int_equal(host->n_groups, 2);
	assert_string_equal(host->groups[1], "rack1");
	assert_int_equal(host->n_environment, 3);
	assert_string_equal(host->environment[0], "A=1");
	assert_string_equal(host->environment[1], "B_2=two words");
	assert_string_equal(host->environment[2], "C=");
	assert_string_equal(host->profile, "io");
	assert_false(host->local);
	assert_int_equal(host->line, 2);
	assert_ptr_equal(inventory_find(&inventory, "xeon-2"), &inventory.hosts[1]);
	assert_null(inventory_find(&inventory, "node08"));
	inventory_release(&inventory);
	assert_int_equal(inventory.n, 0);
}

static void test_defaults(void **state)
{
	static const char text[] = "hosts:\n"
				   " - id: a\n"
				   " - name: b[1-2]\n"
				   "   address: gate\n"
				   "   port: '[22,23]'\n"
				   "   on: box\n"
				   "   type: t, u\n"
				   " - {name: here, id: 'some id, other id', transport: local}\n"
				   " - {name: emu, profile: slow}\n";
	struct inventory inventory;
	const struct host *hosts;
	struct assay_error err;

	(void)state;
	check_fails("one name, two ids", parse(text, &inventory, &err), ASSAY_E_FORMAT, &err, "f:8: the range of 'id' has the length 2");
	check(parse("hosts:\n - id: a\n - name: b[1-2]\n   address: gate\n   port: '[22,23]'\n   on: box\n   type: t, u\n"
		    " - {name: here, transport: local}\n - {name: emu, profile: slow}\n - {name: fast, profile: slow, type: quick}\n",
		    &inventory, &err),
	      &err);
	hosts = inventory.hosts;
	assert_int_equal(inventory.n, 6);
	assert_string_equal(hosts[0].name, "a");
	assert_string_equal(hosts[0].address, "a");
	assert_string_equal(hosts[0].box, "a");
	assert_int_equal(hosts[0].port, 0);
	assert_null(hosts[0].user);
	assert_null(hosts[0].identity_file);
	assert_null(hosts[0].type);
	assert_null(hosts[0].profile);
	assert_int_equal(hosts[0].n_groups + hosts[0].n_environment, 0);
	assert_string_equal(hosts[2].id, "b2");
	assert_string_equal(hosts[2].address, "gate");
	assert_int_equal(hosts[1].port, 22);
	assert_int_equal(hosts[2].port, 23);
	assert_string_equal(hosts[1].box, "box");
	assert_string_equal(hosts[1].type, "t, u"); /* a comma without brackets is no range, but part of the type */
	assert_true(hosts[3].local);
	assert_string_equal(hosts[4].type, "slow"); /* the type of an emulated host is its profile */
	assert_string_equal(hosts[5].type, "quick");
	inventory_release(&inventory);
}

static void test_refused(void **state)
{
	static const struct {
		const char *what, *text; /* the text after "hosts:\n" */
		enum assay_status status;
		const char *part;
	} rows[] = {
		{ "unknown key", " - nmae: a\n", ASSAY_E_FORMAT, "f:2: unknown key 'nmae' in host (did you mean 'name'?)" },
		{ "nearest key", " - name: a\n   identity: k\n", ASSAY_E_FORMAT, "f:3: unknown key 'identity'" },
		{ "no name", " - port: 22\n", ASSAY_E_FORMAT, "f:2: this host has neither name nor id" },
		{ "name twice", " - name: a\n - name: b\n - name: a\n", ASSAY_E_FORMAT, "f:4: host 'a' is listed twice (first in line 2)" },
		{ "the first that repeats is named", " - name: b\n - name: a\n - name: b\n - name: a\n - name: a\n", ASSAY_E_FORMAT,
		  "f:4: host 'b' is listed twice (first in line 2)" },
		{ "also when it is the first by name", " - name: a\n - name: b\n - name: a\n - name: b\n", ASSAY_E_FORMAT,
		  "f:4: host 'a' is listed twice (first in line 2)" },
		{ "name twice in one range", " - name: a[1,1]\n", ASSAY_E_FORMAT, "f:2: host 'a1' is listed twice (first in line 2)" },
		{ "ranges that meet", " - name: a[1-5]\n - name: a[5-9]\n", ASSAY_E_FORMAT,
		  "f:3: host 'a5' is listed twice (first in line 2)" },
		{ "id twice", " - name: a\n   id: x\n - name: b\n   id: x\n", ASSAY_E_FORMAT,
		  "f:4: host id 'x' is listed twice (first in line 2)" },
		{ "id like another's name", " - name: a\n - name: b\n   id: a\n", ASSAY_E_FORMAT, "f:3: host id 'a' is listed twice" },
		{ "one id for two", " - name: a[1-2]\n   id: x\n", ASSAY_E_FORMAT, "f:3: the range of 'id' has the length 1" },
		{ "too few addresses", " - name: a[1-3]\n   address: 10.0.0.[1-2]\n", ASSAY_E_FORMAT,
		  "f:3: the range of 'address' has the length 2" },
		{ "too many ports", " - name: a\n   port: 22,23\n", ASSAY_E_FORMAT, "f:3: the range of 'port' has the length 2" },
		{ "too many types", " - name: a[1-3]\n   type: t[1-4]\n", ASSAY_E_FORMAT, "f:3: the range of 'type' has the length 4" },
		{ "port 0", " - name: a\n   port: 0\n", ASSAY_E_FORMAT, "f:3: 'port' must be an integer from 1 to 65535, not '0'" },
		{ "port 65536", " - name: a\n   port: 65536\n", ASSAY_E_FORMAT, "not '65536'" },
		{ "a port that is a word", " - name: a\n   port: ssh\n", ASSAY_E_FORMAT, "not 'ssh'" },
		{ "a port out of a range", " - name: a[1-2]\n   port: '[65535-65536]'\n", ASSAY_E_FORMAT, "not '65536'" },
		{ "a range that YAML takes", " - name: a[1-2]\n   port: [22-23]\n", ASSAY_E_FORMAT,
		  "f:3: 'port' is a list in YAML: put a range that starts with '[' in quotes" },
		{ "a broken range", " - name: a[1-\n", ASSAY_E_FORMAT, "f:2: name: 'a[1-', character 5: ']' is missing" },
		{ "a huge range", " - name: a[1-10001]\n", ASSAY_E_LIMIT, "f:2: more than 10000 hosts" },
		{ "more than fits", " - name: a[1-10000]\n - name: b\n", ASSAY_E_LIMIT, "f:3: more than 10000 hosts" },
		{ "a range beyond all", " - name: a[1-99999999]\n", ASSAY_E_LIMIT, "f:2: name: 'a[1-99999999]', character 1" },
		{ "a slash in a name", " - name: a/b\n", ASSAY_E_FORMAT, "f:2: 'a/b' cannot be the name of a host" },
		{ "an option as a name", " - name: -x\n", ASSAY_E_FORMAT, "f:2: '-x' cannot be the name" },
		{ "dots as a name", " - name: ..\n", ASSAY_E_FORMAT, "f:2: '..' cannot be the name" },
		{ "a group as a name", " - name: '@a'\n", ASSAY_E_FORMAT, "f:2: '@a' cannot be the name" },
		{ "a blank in a name", " - name: a b\n", ASSAY_E_FORMAT, "f:2: 'a b' cannot be the name" },
		{ "an id that is no name", " - id: a b\n", ASSAY_E_FORMAT, "f:2: 'a b' cannot be the name of a host (give it a 'name'" },
		{ "a user in the address", " - name: a\n   address: me@a\n", ASSAY_E_FORMAT, "f:3: 'me@a' cannot be the address" },
		{ "a box with a slash", " - name: a\n   on: ../x\n", ASSAY_E_FORMAT, "f:3: '../x' cannot be the physical host" },
		{ "an empty user", " - name: a\n   user: ''\n", ASSAY_E_FORMAT, "f:3: user must have 1 to 200 bytes" },
		{ "a user with a blank", " - name: a\n   user: a b\n", ASSAY_E_FORMAT, "f:3: 'user' has a space" },
		{ "a user that is a list", " - name: a\n   user: [b]\n", ASSAY_E_FORMAT, "f:3: 'user' must be a text" },
		{ "an escape in a type", " - name: a\n   type: \"\\e[2J\"\n", ASSAY_E_FORMAT, "f:3: type: " },
		{ "an escape in a type without range", " - name: a\n   type: \"\\eM\"\n", ASSAY_E_FORMAT,
		  "f:3: type has a control character" },
		{ "an escape in a name", " - name: \"a\\eM\"\n", ASSAY_E_FORMAT, "a control character" },
		{ "transport", " - name: a\n   transport: rsh\n", ASSAY_E_FORMAT,
		  "f:3: 'transport' must be ssh, local, command or slurm, not 'rsh'" },
		{ "a command without words", " - name: a\n   transport: command\n", ASSAY_E_FORMAT,
		  "f:2: 'transport: command' needs the command that reaches the host" },
		{ "no words", " - name: a\n   transport: command\n   launcher: []\n", ASSAY_E_FORMAT, "needs the command" },
		{ "a launcher for a shell", " - name: a\n   transport: command\n   launcher: rsh a\n", ASSAY_E_FORMAT,
		  "f:4: 'launcher' must be a list" },
		{ "a launcher of ssh", " - name: a\n   launcher: [rsh]\n", ASSAY_E_FORMAT, "f:3: 'launcher' needs 'transport: command'" },
		{ "an option as a launcher", " - name: a\n   transport: command\n   launcher: [-x]\n", ASSAY_E_FORMAT,
		  "must be a program" },
		{ "a job of nobody", " - name: a\n   transport: command\n   launcher: [rsh, '{job}']\n", ASSAY_E_FORMAT,
		  "f:4: {job} is known only" },
		{ "a launcher of Slurm", " - name: a\n   transport: slurm\n   launcher: [rsh]\n", ASSAY_E_FORMAT,
		  "f:4: 'launcher' has no effect on a host with 'transport: slurm'" },
		{ "a queue without Slurm", " - name: a\n   transport: command\n   launcher: [rsh]\n   queue_limit: 4h\n", ASSAY_E_FORMAT,
		  "f:5: 'queue_limit' has no effect" },
		{ "a limit of seconds", " - name: a\n   transport: slurm\n   queue_limit: 4\n", ASSAY_E_FORMAT,
		  "f:4: 'queue_limit' must be a time of at least a minute" },
		{ "a port of no login", " - name: a\n   transport: slurm\n   login: me@front:99999\n", ASSAY_E_FORMAT,
		  "f:4: 'login' must be [user@]host[:port]" },
		{ "a login without a host", " - name: a\n   transport: slurm\n   login: me@\n", ASSAY_E_FORMAT,
		  "f:4: 'login' must be [user@]host[:port]" },
		{ "a place that is misspelt", " - name: a\n   transport: command\n   launcher: [rsh, '{hots}']\n", ASSAY_E_FORMAT,
		  "f:4: '{hots}': available placeholders: {host}, the host's address" },
		{ "options without a batch system", " - name: a\n   options: [-p, x]\n", ASSAY_E_FORMAT,
		  "f:3: 'options' needs 'transport: slurm'" },
		{ "a login that is an option", " - name: a\n   transport: slurm\n   login: -oProxyCommand=x\n", ASSAY_E_FORMAT,
		  "f:4: 'login' must be [user@]host[:port]" },
		{ "a port of Slurm", " - name: a\n   transport: slurm\n   port: 22\n", ASSAY_E_FORMAT, "f:4: 'port' has no effect" },
		{ "a local port", " - name: a\n   transport: local\n   port: 22\n", ASSAY_E_FORMAT, "f:4: 'port' has no effect" },
		{ "a local user", " - name: a\n   transport: local\n   user: b\n", ASSAY_E_FORMAT, "f:4: 'user' has no effect" },
		{ "two boxes that are one", " - {name: a, transport: local}\n - name: b\n - {name: c, transport: local}\n", ASSAY_E_FORMAT,
		  "f:4: 'a' and 'c' are both this machine" },
		{ "groups that are a word", " - name: a\n   groups: big\n", ASSAY_E_FORMAT, "f:3: 'groups' must be a list" },
		{ "a group with its sign", " - name: a\n   groups: ['@b']\n", ASSAY_E_FORMAT, "f:3: write groups without '@': [b]" },
		{ "a group with a comma", " - name: a\n   groups: ['a,b']\n", ASSAY_E_FORMAT, "f:3: 'a,b' cannot be the name of a group" },
		{ "a group that is reserved", " - name: a\n   groups: [all]\n", ASSAY_E_FORMAT, "f:3: '@all' is every host already" },
		{ "a group that is a list", " - name: a\n   groups: [[b]]\n", ASSAY_E_FORMAT, "f:3: " },
		{ "env that is a list", " - name: a\n   env: [A=1]\n", ASSAY_E_FORMAT, "f:3: 'env' must be a map" },
		{ "a variable with a sign", " - name: a\n   env: {A=B: 1}\n", ASSAY_E_FORMAT,
		  "f:3: 'A=B' cannot be the name of an environment variable" },
		{ "a secret in the place of its name", " - name: a\n   env: {A_TOKEN=value: 1}\n", ASSAY_E_FORMAT,
		  "f:3: 'A_TOKEN=(hidden)' cannot be the name of an environment variable" },
		{ "a variable with a digit", " - name: a\n   env: {1A: 1}\n", ASSAY_E_FORMAT, "f:3: '1A' cannot be" },
		{ "a variable without value", " - name: a\n   env:\n     A:\n", ASSAY_E_FORMAT, "f:4: 'A' must be a text" },
		{ "a profile with a slash", " - name: a\n   profile: a/b\n", ASSAY_E_FORMAT, "f:3: 'a/b' cannot be the name of a profile" },
		{ "a host that is a word", " - a\n", ASSAY_E_FORMAT, "f:2: a host starts with its name: '- name: node01'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_format("hosts:\n%s", rows[i].text);
		struct inventory inventory;
		struct assay_error err;

		check_fails(rows[i].what, parse(text, &inventory, &err), rows[i].status, &err, rows[i].part);
		assert_null(inventory.hosts);
		free(text);
	}
}

static void test_two_local_on_one_box(void **state)
{
	struct inventory inventory;
	struct assay_error err;

	(void)state;
	check(parse("hosts:\n - {name: 'a[1-2]', transport: local, on: here}\n", &inventory, &err), &err);
	assert_string_equal(inventory.hosts[1].box, "here");
	inventory_release(&inventory);
}

static void test_large_environment(void **state)
{
	struct buf text = BUF_INIT;
	struct inventory inventory;
	struct assay_error err;

	(void)state;
	buf_text(&text, "hosts:\n - name: a\n   env:\n     A: ");
	for (int i = 0; i < 17000; i++)
		buf_char(&text, 'x');
	check_fails("17,000 bytes", parse(text.bytes, &inventory, &err), ASSAY_E_LIMIT, &err, "f:4: 'env' has more than 16384 bytes");
	buf_release(&text);
}

static void test_largest(void **state)
{
	struct inventory inventory;
	struct assay_error err;
	bool *selected;

	(void)state;
	check(parse("hosts:\n - name: n[00001-10000]\n   id: machine-[10000-19999]\n   groups: [g]\n", &inventory, &err), &err);
	assert_int_equal(inventory.n, INVENTORY_HOSTS_MAX);
	selected = mem_new(inventory.n, sizeof(bool));
	check(inventory_select(&inventory, "n[00001-10000]", "n[00002-10000]", NULL, selected, &err), &err);
	assert_true(selected[0]);
	for (size_t i = 1; i < inventory.n; i++)
		assert_false(selected[i]);
	free(selected);
	inventory_release(&inventory);
}

static void test_launchers(void **state)
{
	static const char text[] =
	    "hosts:\n"
	    " - {name: 'a[1-2]', address: 'n[1-2]', transport: command, launcher: [rsh, '{host}'], login: me@front:2200}\n"
	    " - {name: b, transport: slurm, options: [--partition=lab], time_limit: 30m}\n";
	struct inventory inventory;
	struct assay_error err;
	const struct launcher *launcher;

	(void)state;
	check(parse(text, &inventory, &err), &err);
	launcher = &inventory.hosts[1].launcher;
	assert_int_equal(launcher->n, 2);
	assert_string_equal(launcher->words[1], "{host}");
	assert_string_equal(launcher->login, "me@front:2200");
	assert_string_equal(inventory.hosts[1].address, "n2");
	assert_false(launcher->slurm);
	launcher = &inventory.hosts[2].launcher;
	assert_true(launcher->slurm);
	assert_string_equal(launcher->words[0], "srun");
	assert_string_equal(launcher->options[0], "--partition=lab");
	assert_true(launcher->time_limit_s == 1800);
	assert_true(launcher->queue_limit_s == 4 * 3600);
	inventory_release(&inventory);
}

static void test_select(void **state)
{
	static const char text[] = "hosts:\n"
				   " - name: node[01-04]\n   groups: [big, rack1]\n   type: rome\n"
				   " - name: guest[1-2]\n   groups: [rack2]\n   type: milan\n"
				   " - name: here\n";
	static const struct {
		const char *which, *excluded, *selected; /* one character per host, '#' if selected */
		const char *error;
		bool ranked; /* in the order of `rank` */
	} rows[] = {
		{ NULL, NULL, "#######", NULL, false },
		{ "node01", NULL, "#......", NULL, false },
		{ "node[01-02],here", NULL, "##....#", NULL, false },
		{ "here,node02", NULL, ".#....#", NULL, false },
		{ "@big", NULL, "####...", NULL, false },
		{ "@rack[1-2]", NULL, "######.", NULL, false },
		{ "@all", NULL, "#######", NULL, false },
		{ "@all", "@all", ".......", NULL, false },
		{ NULL, "@big", "....###", NULL, false },
		{ "@big", "node[02-03]", "#..#...", NULL, false },
		{ "@rack2,node04", "guest1,here", "...#.#.", NULL, false },
		{ "node01,node01", NULL, "#......", NULL, false },
		{ "nod01", NULL, NULL, "no host 'nod01' in lab.yaml (did you mean 'node01'?)", false },
		{ "node[04-05]", NULL, NULL, "no host 'node05' in lab.yaml (did you mean 'node01'?)", false },
		{ "somethingelse", NULL, NULL, "no host 'somethingelse' in lab.yaml ('assay host list'", false },
		{ "@bgi", NULL, NULL, "no group '@bgi' in lab.yaml (did you mean '@big'?)", false },
		{ "@somethingelse", NULL, NULL, "no group '@somethingelse' in lab.yaml ('assay host list'", false },
		{ "@", NULL, NULL, "no group '@'", false },
		{ "all", NULL, NULL, "no host 'all'", false },
		{ NULL, "node5", NULL, "no host 'node5'", false },
		{ "node[1-", NULL, NULL, "'node[1-', character 8", false },
		{ "", NULL, NULL, "a name is missing", false },
		{ "type:rome", NULL, "####...", NULL, false },
		{ "type:milan,here", "guest1", ".....##", NULL, false },
		{ NULL, "type:rome", "....###", NULL, false },
		{ "type:roma", NULL, NULL, "no hardware type 'type:roma' in lab.yaml (did you mean 'type:rome'?)", false },
		{ "any 3 of type:rome", NULL, "###....", NULL, false },
		{ " any  2  of @big , any 1 of type:milan", NULL, "##..#..", NULL, false },
		{ "any 3 of type:rome", "node02", "#.##...", NULL, false },
		{ "any 2 of node[02,04,03],here", NULL, ".##...#", NULL, false },
		{ "node04,any 2 of @big", NULL, "##.#...", NULL, false },
		{ "any 1 of @all", "@big", "....#..", NULL, false },
		{ "any 3 of type:rome", NULL, "##.#...", NULL, true },
		{ "any 1 of type:rome", NULL, ".#.....", NULL, true },
		{ "any 4 of type:rome", NULL, "####...", NULL, true },
		{ "any 4 of type:rome", "node02", NULL, "any 4 of 'type:rome' are requested, but lab.yaml has only 3 that are not excluded",
		  false },
		{ "any 0 of @big", NULL, NULL, "'any 0 of @big' is not a choice such as 'any 3 of type:rome'", false },
		{ "any of @big", NULL, NULL, "is not a choice", false },
		{ "any 3 @big", NULL, NULL, "is not a choice", false },
		{ "any 99999999999999999999 of @big", NULL, NULL, "is not a choice", false },
		{ "any 1 of @bgi", NULL, NULL, "no group '@bgi'", false },
		{ "any 1 of ", NULL, NULL, "is not a choice", false },
		{ "any 1 of any 1 of @big", NULL, NULL, "no host 'any 1 of @big'", false },
		{ "@big", "any 1 of @big", NULL, "'any' selects hosts and cannot exclude them", false },
		{ "@all!node03", NULL, "##.####", NULL, false },
		{ "!node[01-02]", NULL, "..#####", NULL, false },
		{ " ! @big , here", NULL, "......#", NULL, false },
		{ "node01,node02,!node01", NULL, ".#.....", NULL, false },
		{ "!node01,node02,node01", NULL, ".#.....", NULL, false },
		{ "@all!@big!guest1", NULL, ".....##", NULL, false },
		{ "@big!node01,guest1", NULL, ".####..", NULL, false },
		{ "@all!type:rome", "here", "....##.", NULL, false },
		{ "any 2 of @big!node01", NULL, ".##....", NULL, false },
		{ "!node[01-02],any 2 of @big", "node03", NULL, "any 2 of '@big' are requested, but lab.yaml has only 1", false },
		{ "node01!node01", NULL, ".......", NULL, false },
		{ NULL, "@all!node03", "..#....", NULL, false },
		{ "@big", "!node03", "..#....", NULL, false },
		{ "@all!", NULL, NULL, "a name is missing", false },
		{ "!", NULL, NULL, "a name is missing", false },
		{ "@all!!node01", NULL, NULL, "a name is missing", false },
		{ "@all!,node01", NULL, NULL, "a name is missing", false },
		{ "node01!node02,", NULL, NULL, "a name is missing", false },
		{ "@all!node05", NULL, NULL, "no host 'node05' in lab.yaml (did you mean 'node01'?)", false },
		{ "@all!any 1 of @big", NULL, NULL, "'any' selects hosts and cannot exclude them", false },
		{ "@all!node[01-", NULL, NULL, "'node[01-', character 9", false },
	};
	static const int rank[] = { 1, 0, 2, 1, 0, 0, 0 }; /* states from Slurm: busy, idle, down, busy */
	struct inventory inventory;
	struct assay_error err;

	(void)state;
	check(parse(text, &inventory, &err), &err);
	assert_int_equal(inventory.n, 7);
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool selected[7];
		char shown[8] = "";
		enum assay_status st =
		    inventory_select(&inventory, rows[i].which, rows[i].excluded, rows[i].ranked ? rank : NULL, selected, &err);

		check_fails(rows[i].which ? rows[i].which : "(all)", st, rows[i].error ? ASSAY_E_USAGE : ASSAY_OK, &err, rows[i].error);
		if (st)
			assert_int_equal(err.status, ASSAY_E_USAGE);
		for (size_t k = 0; !st && k < 7; k++)
			shown[k] = selected[k] ? '#' : '.';
		if (!st)
			assert_string_equal(shown, rows[i].selected);
	}
	inventory_release(&inventory);
}

int suite_inventory(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_keys),	  cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refused),		  cmocka_unit_test(test_two_local_on_one_box),
		cmocka_unit_test(test_large_environment), cmocka_unit_test(test_largest),
		cmocka_unit_test(test_launchers),	  cmocka_unit_test(test_select),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
