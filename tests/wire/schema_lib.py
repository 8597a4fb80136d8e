"""Holds JSON against the schemas of /openapi.json: as much of JSON Schema as stands there.

A keyword that is not known is an error, so that no part of a schema is passed over.
"""

import re

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict,
         "null": type(None)}
KNOWN = {"$ref", "type", "enum", "format", "properties", "required", "additionalProperties",
         "items", "minItems", "maxItems", "anyOf", "description"}


class Schemas:
    """check(value, schema) -> the faults, each with its place."""

    def __init__(self, openapi):
        self.openapi = openapi
        self.used = set()

    def resolve(self, schema):
        while "$ref" in schema:
            place = self.openapi
            for step in schema["$ref"].removeprefix("#/").split("/"):
                place = place[step]
            self.used.add(schema["$ref"])
            schema = place
        return schema

    def check(self, value, schema, path="$"):
        schema = self.resolve(schema)
        unknown = set(schema) - KNOWN
        if unknown:
            return ["%s: the checker does not know %s" % (path, sorted(unknown))]
        if "anyOf" in schema:
            tries = [self.check(value, each, path) for each in schema["anyOf"]]
            return [] if [] in tries else tries[0]
        faults = self.check_type(value, schema, path)
        if faults:
            return faults
        if isinstance(value, dict):
            return self.check_object(value, schema, path)
        if isinstance(value, list):
            return self.check_list(value, schema, path)
        return []

    def check_type(self, value, schema, path):
        wanted = schema.get("type", [])
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if wanted and not any(self.is_of(value, each) for each in wanted):
            return ["%s: %r is not %s" % (path, value, wanted)]
        if "enum" in schema and value not in schema["enum"]:
            return ["%s: %r is not one of %s" % (path, value, schema["enum"])]
        if schema.get("format") == "date-time" and value is not None and not TIME.fullmatch(value):
            return ["%s: %r is no time" % (path, value)]
        return []

    @staticmethod
    def is_of(value, name):
        if isinstance(value, bool) and name != "boolean":
            return False
        return isinstance(value, TYPES[name])

    def check_object(self, value, schema, path):
        members = schema.get("properties", {})
        faults = ["%s: %s is missing" % (path, name) for name in schema.get("required", [])
                  if name not in value]
        for name, each in value.items():
            where = "%s.%s" % (path, name)
            if name in members:
                faults += self.check(each, members[name], where)
            elif schema.get("additionalProperties", True) is False:
                faults.append("%s is not foreseen" % where)
            elif isinstance(schema.get("additionalProperties"), dict):
                faults += self.check(each, schema["additionalProperties"], where)
        return faults

    def check_list(self, value, schema, path):
        faults = []
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            faults.append("%s: %d items" % (path, len(value)))
        for index, each in enumerate(value):
            faults += self.check(each, schema.get("items", {}), "%s[%d]" % (path, index))
        return faults
