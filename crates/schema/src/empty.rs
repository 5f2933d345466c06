//! The part of schemars' interface that parameters use, without the schemas of derived types.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A type with a JSON Schema.
pub trait JsonSchema {
    /// Returns true if the schema is included in the schemas that refer to it.
    fn inline_schema() -> bool {
        false
    }
    /// Returns the name in the definitions of the schema.
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("")
    }
    /// Returns an identifier that distinguishes types of the same name.
    fn schema_id() -> Cow<'static, str> {
        Self::schema_name()
    }
    /// Returns the schema.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

impl JsonSchema for u64 {}
impl JsonSchema for u32 {}
impl JsonSchema for f64 {}
impl JsonSchema for bool {}
impl JsonSchema for String {}
impl<T> JsonSchema for Vec<T> {}
impl<T> JsonSchema for Option<T> {}

/// A schema: a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema(Value);

impl Schema {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
    /// Sets a key. Returns its previous value.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.ensure_object().insert(key, value)
    }
    /// Returns the keys.
    pub fn ensure_object(&mut self) -> &mut Map<String, Value> {
        if !self.0.is_object() {
            self.0 = Value::Object(Map::new());
        }
        match &mut self.0 {
            Value::Object(keys) => keys,
            _ => unreachable!("made an object above"),
        }
    }
}

impl From<Value> for Schema {
    fn from(keys: Value) -> Self {
        Schema(keys)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Collects definitions; always empty here.
#[derive(Debug, Default)]
pub struct SchemaGenerator(Map<String, Value>);

impl SchemaGenerator {
    /// Returns a reference to the schema of a type.
    pub fn subschema_for<T>(&mut self) -> Schema {
        Schema::default()
    }
    /// Returns the definitions collected so far, by name.
    pub fn definitions_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }
}
