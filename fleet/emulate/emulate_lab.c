/* What a laboratory of emulated hosts is told of them: lab.yaml and known_hosts. */
#include "fleet/emulate/emulate.h"
#include "fleet/emulate/emulate_host.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/yaml.h"

#define MARK "# Written by 'assay fleet up'"

enum assay_status emulate_lab_check(const char *directory, bool made, struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", directory);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	else if (!st && !made && strncmp(text.bytes ? text.bytes : "", MARK, strlen(MARK)) != 0)
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"'%s' was not written by 'assay fleet up', which would replace it: name another directory for "
				"the emulated fleet",
				path);
	buf_release(&text);
	free(path);
	return st;
}

static void add_host(struct buf *out, const struct emulate_site *site, const struct emulate_host *host)
{
	buf_format(out, "  - name: %s\n    address: %s\n    port: %d\n    user: \"%s\"\n", host->name, host->address, host->port,
		   site->user);
	buf_text(out, "    identity_file: .assay/emulated/id_ed25519\n");
	buf_format(out, "    env: { ASSAY_EMULATED: \"%s\" }\n    profile: \"%s\"\n    type: \"%s\"\n    on: %s\n",
		   host->profile->name, host->profile->name, host->profile->name, EMULATE_BOX);
}

static enum assay_status write_inventory(const struct emulate_site *site, const struct emulate_host *hosts, size_t n,
					 struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", site->directory);
	struct buf text = BUF_INIT;
	enum assay_status st;

	buf_text(&text,
		 MARK " and replaced by each: changes are lost. All hosts are emulated on one machine, so they measure one\n"
		      "# after another; 'assay fleet down' ends them.\nname: emulated\nhosts:\n");
	for (size_t i = 0; i < n; i++)
		add_host(&text, site, &hosts[i]);
	st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

static enum assay_status write_known_hosts(const struct emulate_site *site, const struct emulate_host *hosts, size_t n,
					   struct assay_error *err)
{
	char *path = mem_format("%s/known_hosts", site->directory);
	struct buf text = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < n; i++) {
		if (hosts[i].port == 22)
			buf_format(&text, "%s %s\n", hosts[i].address, hosts[i].key_line);
		else
			buf_format(&text, "[%s]:%d %s\n", hosts[i].address, hosts[i].port, hosts[i].key_line);
	}
	st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

enum assay_status emulate_lab_write(const struct emulate_site *site, const struct emulate_host *hosts, size_t n,
				    struct assay_error *err)
{
	enum assay_status st = write_known_hosts(site, hosts, n, err);

	return st ? st : write_inventory(site, hosts, n, err);
}
