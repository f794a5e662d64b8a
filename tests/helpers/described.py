"""Whether files are as src/discreet/schemas describes them, and hold nothing that is not described."""

import json
from functools import cache
from importlib import resources

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

SCHEMA = json.loads((resources.files("discreet") / "schemas" / "documents.json").read_text(encoding="utf-8"))


def closed(part):
    """The same schema, in which objects have described fields only; people's readers may ignore others."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: closed(one) for name, one in part.items()}
    listed = found.get("type") == "object" and "properties" in found and "$schema" not in found
    return found | ({"unevaluatedProperties": False} if listed else {})


@cache
def validator(name=None, *, strict=True):
    """Of all documents, or of one part of the schema."""
    schema = closed(SCHEMA) if strict else SCHEMA
    return Draft202012Validator(schema if name is None else {"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})


def assert_described(path):
    """Check a file, and return its body."""
    body = json.loads(path.read_text(encoding="utf-8"))
    wrong = best_match(validator().iter_errors(body))
    assert wrong is None, f"{path.name}: {wrong.json_path}: {wrong.message[:300]}"
    return body
