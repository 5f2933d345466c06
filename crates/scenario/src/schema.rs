//! The JSON Schema of scenarios, generated from the types that deserialize them.

use crate::model::Model;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Generates [`crate::JSON_SCHEMA`].
pub fn json_schema() -> String {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Model>();
    schema.insert("title".into(), "Penstock scenario".into());
    let mut schema = schema.to_value();
    if let Some(definitions) = schema.get("definitions").and_then(Value::as_object).cloned() {
        for (name, definition) in &definitions {
            let alone = names_alone(definition, &definitions);
            let kinds = schema["definitions"][name].get_mut("oneOf");
            if let Some(kinds) = kinds.and_then(Value::as_array_mut) {
                kinds.extend(alone);
            }
        }
    }
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Returns the names of the kinds that may be given without a table, because all of their keys have defaults. `value`
/// accepts them, but derives do not describe them.
fn names_alone(definition: &Value, definitions: &Map<String, Value>) -> Vec<Value> {
    // If the keys have no definition of their own, at least one of them is required.
    let has_defaults = |keys: &Value| {
        let target = keys["$ref"].as_str().and_then(|path| path.strip_prefix("#/definitions/"));
        let keys = target.map(|name| &definitions[name]);
        keys.is_some_and(|keys| keys["type"] == "object" && keys.get("required").is_none())
    };
    let alone = |kind: &Value| {
        let [name] = kind["required"].as_array()?.as_slice() else { return None };
        let name = name.as_str()?;
        has_defaults(&kind["properties"][name])
            .then(|| json!({ "description": kind["description"].clone(), "type": "string", "const": name }))
    };
    definition["oneOf"].as_array().into_iter().flatten().filter_map(alone).collect()
}
