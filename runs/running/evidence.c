#include "runs/running/evidence.h"

#include "base/mem.h"

enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st = fingerprint_load(&lab->store, &evidence.fingerprints, err);

	if (!st)
		st = catalog_load(lab->machines, NULL, &evidence.catalog, err);
	if (!st)
		types_of(&evidence.catalog, &lab->config, &evidence.types);
	*out = evidence;
	if (st)
		evidence_release(out);
	return st;
}

void evidence_release(struct evidence *evidence)
{
	types_release(&evidence->types);
	catalog_release(&evidence->catalog);
	fingerprint_set_release(&evidence->fingerprints);
}

enum assay_status evidence_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL, *resolved = NULL;
	enum assay_status st = run_selector(selector, &application, &version, err);

	if (!st)
		st = run_resolve(&lab->store, application, version, &resolved, err);
	if (!st)
		st = run_load(&lab->store, application, resolved, out, err);
	free(application);
	free(version);
	free(resolved);
	return st;
}
