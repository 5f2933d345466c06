//! The JSON Schema of scenarios, for editors (taplo, Even Better TOML) and for the documentation.

use crate::model::Model;
use schemars::generate::SchemaSettings;

/// The JSON Schema of a scenario: each key with its meaning, unit, range and default.
pub fn json_schema() -> String {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Model>();
    schema.insert("title".into(), "Penstock scenario".into());
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}
