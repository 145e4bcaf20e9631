//! References in the JSON Schema to the parts of a definition that only rollouts read.

use schemars::{Schema, SchemaGenerator, json_schema};

pub(super) fn health_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"$ref": "#/$defs/Health"}, {"type": "null"}]})
}

pub(super) fn checks_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"$ref": "#/$defs/Checks"}, {"type": "null"}]})
}

pub(super) fn workflows_schema(_: &mut SchemaGenerator) -> Schema {
    let steps = json_schema!({"type": "array", "items": {"$ref": "#/$defs/WorkflowStep"}});
    json_schema!({"type": "object", "additionalProperties": steps})
}
