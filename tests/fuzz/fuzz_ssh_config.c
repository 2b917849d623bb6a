/* Whatever configuration is taken: a block behind it gives only what it has not said itself; errors name a line of it. */
#include "base/buf.h"
#include "base/mem.h"
#include "fleet/ssh/ssh_config.h"

#include <stdbool.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char behind[] = "\nHost *\n Port 77\n User behind\n HostName behind\n ProxyJump behind\n IdentityFile /behind\n"
			     " UserKnownHostsFile /behind\n";

static void check_error(const struct assay_error *err, const char *text, size_t size)
{
	unsigned long line, lines = 1;
	char *end;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	ASSAY_BUG_IF(strncmp(err->text, "fuzz:", 5) != 0 || strchr(err->text, '\n'));
	line = strtoul(err->text + 5, &end, 10);
	ASSAY_BUG_IF(*end != ':' || line < 1 || line > lines);
}

/* `filled` is what `said` was before the block behind, and that block where `said` has nothing. A jump may be "none". */
static void check_text(const char *said, const char *filled, bool may_be_none)
{
	ASSAY_BUG_IF(said ? !filled || strcmp(said, filled) != 0 : filled ? strcmp(filled, "behind") != 0 : !may_be_none);
}

static void check_filled(const struct ssh_settings *said, const struct ssh_settings *filled)
{
	size_t n = said->n_identity_files;

	ASSAY_BUG_IF(said->port < 0 || said->port > 65535 || filled->port != (said->port ? said->port : 77));
	check_text(said->user, filled->user, false);
	check_text(said->host_name, filled->host_name, false);
	check_text(said->proxy_jump, filled->proxy_jump, true);
	/* Files may change with the name and the user that the block gives (%h, %r). */
	ASSAY_BUG_IF(filled->n_identity_files == 0 || filled->n_identity_files > n + 1);
	ASSAY_BUG_IF(filled->n_known_hosts_files != (said->n_known_hosts_files ? said->n_known_hosts_files : 1));
}

static void check_look_up(const char *text, size_t size, const char *host)
{
	struct ssh_config *config, *longer;
	struct ssh_settings said, filled;
	struct assay_error err = { .text = "" };
	struct buf both = BUF_INIT;

	if (ssh_config_parse("fuzz", text, size, &config, &err)) {
		ASSAY_BUG_IF(config);
		check_error(&err, text, size);
		return;
	}
	buf_add(&both, text, size);
	buf_text(&both, behind);
	ASSAY_BUG_IF(ssh_config_parse("fuzz", both.bytes, both.size, &longer, &err));
	if (ssh_config_look_up(config, host, &said, &err)) {
		check_error(&err, text, size);
		ASSAY_BUG_IF(!ssh_config_look_up(longer, host, &filled, &err));
	} else {
		ASSAY_BUG_IF(ssh_config_look_up(longer, host, &filled, &err));
		check_filled(&said, &filled);
		ssh_settings_release(&said);
		ssh_settings_release(&filled);
	}
	buf_release(&both);
	ssh_config_free(config);
	ssh_config_free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);

	setenv("HOME", "/home/me", 1);
	if (size < SSH_CONFIG_BYTES_MAX / 2) {
		check_look_up(text, size, "a");
		check_look_up(text, size, "node01.example.org");
	}
	free(text);
	return 0;
}
