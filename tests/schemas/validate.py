#!/usr/bin/python3
"""Validates files against a JSON schema: validate.py SCHEMA FILE...

Exit code 0 when every file is valid, 1 when one is not, 2 on wrong use, and 77 (skipped, as ctest's SKIP_RETURN_CODE) when the
jsonschema module is absent. On Debian it is the package python3-jsonschema, seen by /usr/bin/python3.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python module jsonschema is absent (Debian: python3-jsonschema)")
    sys.exit(77)


def place(error):
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return path.lstrip(".") or "the document"


def main(arguments):
    if len(arguments) < 2:
        print("usage: validate.py SCHEMA FILE...", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    bad = 0
    for name in arguments[1:]:
        with open(name, encoding="utf-8") as file:
            document = json.load(file)
        errors = sorted(validator.iter_errors(document), key=lambda error: [str(part) for part in error.absolute_path])
        for error in errors[:5]:
            print(f"{name}: {place(error)}: {error.message[:200]}")
        bad += bool(errors)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
