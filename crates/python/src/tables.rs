//! Declarations of the result tables, which are available without a run.

use fabric::TABLES;
use measure::{ColumnSpec, TableSpec};
use serde_json::{Value, json};

/// Returns all tables with their columns, as `penstock._core.tables` does.
pub fn declared() -> Value {
    let column = |column: &ColumnSpec| {
        json!({
            "name": column.name,
            "kind": column.kind.name(),
            "nullable": column.is_nullable,
            "unit": column.unit,
            "about": column.about,
        })
    };
    let table = |table: &&TableSpec| {
        let columns: Vec<Value> = table.columns().map(column).collect();
        json!({"name": table.name, "about": table.about, "columns": columns})
    };
    TABLES.iter().map(table).collect()
}

/// Returns units and descriptions by table, as in `description.json` of a result.
pub fn description() -> Value {
    let column =
        |column: &ColumnSpec| json!({"name": column.name, "unit": column.unit, "about": column.about});
    let table = |table: &&TableSpec| {
        let columns: Vec<Value> = table.columns().map(column).collect();
        (table.name.to_string(), json!({"about": table.about, "columns": columns}))
    };
    Value::Object(TABLES.iter().map(table).collect())
}
