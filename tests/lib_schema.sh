# fits: the answer in $tmp/out is what docs/schema/decision.json says; by Debian's python3-jsonschema.
fits() {
	cases=$((cases + 1))
	/usr/bin/python3 -c '
import json, sys, jsonschema
with open(sys.argv[1]) as schema, open(sys.argv[2]) as answer:
    schema = json.load(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.load(answer))' "$ASSAY_SOURCE/docs/schema/decision.json" "$tmp/out" 2>"$tmp/schema" ||
		fail "not as docs/schema/decision.json says: $(tail -n 2 "$tmp/schema")"
}
