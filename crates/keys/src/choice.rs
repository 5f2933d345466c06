//! A choice among mechanisms: the name of one, with its defaults, or a table of that name with its keys.

use crate::Forms;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::fmt;

/// A family of mechanisms, declared by one list of names and parameters.
pub trait Choice: Sized {
    /// Accepted values, after "expected".
    const EXPECTED: &'static str;
    /// Names of all mechanisms.
    const NAMES: &'static [&'static str];
    /// Names of the mechanisms that have keys.
    const WITH_KEYS: &'static [&'static str];
    /// Path of a mechanism's table in a scenario, such as `switch.scheduler`.
    const TABLE: &'static str;

    /// Returns the mechanism of this name if it has no keys; otherwise `None`.
    fn plain(name: &str) -> Option<Self>;
    /// Reads the mechanism of this name, which has keys, from its table.
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Self, D::Error>;
}

impl<T: Choice> Forms for T {
    const EXPECTED: &'static str = <T as Choice>::EXPECTED;

    fn text<E: de::Error>(name: &str) -> Result<T, E> {
        if !T::NAMES.contains(&name) {
            return Err(E::unknown_variant(name, T::NAMES));
        }
        if let Some(plain) = T::plain(name) {
            return Ok(plain);
        }
        alone(name, Some(T::TABLE), |none| T::keyed(name, none)).map_err(E::custom)
    }

    fn table<'de, A: MapAccess<'de>>(mut table: A) -> Result<T, A::Error> {
        let Some(name) = table.next_key_seed(NameOf(T::WITH_KEYS))? else {
            return Err(de::Error::custom("wanted exactly 1 element, 0 elements"));
        };
        let chosen = table.next_value_seed(KeysOf::<T>(name, std::marker::PhantomData))?;
        match table.next_key::<de::IgnoredAny>()? {
            None => Ok(chosen),
            Some(_) => Err(de::Error::custom("wanted exactly 1 element, more than 1 element")),
        }
    }
}

/// Deserializer of a table without keys.
pub type NoKeys = MapDeserializer<'static, std::iter::Empty<(&'static str, &'static str)>, de::value::Error>;

/// Reads a mechanism that is given by name only, with the defaults of all its keys. `table` is the path of its table,
/// if known.
///
/// # Errors
/// If a key has no default; the message shows the text to write.
pub fn alone<T>(
    name: &str,
    table: Option<&str>,
    read: impl FnOnce(NoKeys) -> Result<T, de::value::Error>,
) -> Result<T, String> {
    read(MapDeserializer::new(std::iter::empty())).map_err(|why| {
        let why = why.to_string();
        let key = why.strip_prefix("missing field `").map(|rest| rest.trim_end_matches('`'));
        match (key, table) {
            (Some(key), Some(table)) => {
                format!("\"{name}\" needs its {key}; expected [{table}.{name}] with {key} = ...")
            }
            (Some(key), None) => {
                format!("\"{name}\" needs its {key}; expected a table, {{ {name} = {{ {key} = ... }} }}")
            }
            (None, _) => format!("\"{name}\" needs a value; expected a table, {{ {name} = ... }}"),
        }
    })
}

/// Reads one of these names, so that an error has the position of the name.
struct NameOf(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for NameOf {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}
impl Visitor<'_> for NameOf {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<&'static str, E> {
        let known = self.0.iter().find(|known| **known == name);
        known.copied().ok_or_else(|| E::unknown_variant(name, self.0))
    }
}

struct KeysOf<T>(&'static str, std::marker::PhantomData<T>);

impl<'de, T: Choice> DeserializeSeed<'de> for KeysOf<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::keyed(self.0, deserializer)
    }
}

/// Concatenates two lists of names, `N` names in total.
pub const fn joined<const N: usize>(first: &[&'static str], second: &[&'static str]) -> [&'static str; N] {
    let (mut all, mut n) = ([""; N], 0);
    while n < N {
        all[n] = if n < first.len() { first[n] } else { second[n - first.len()] };
        n += 1;
    }
    all
}

/// Returns the schema of the union of two choices, given by the schemas that derives create.
pub fn either(description: &str, choices: [Schema; 2]) -> Schema {
    let all: Vec<_> =
        choices.iter().filter_map(|one| one.get("oneOf")?.as_array().cloned()).flatten().collect();
    json_schema!({ "description": description, "oneOf": all })
}

/// Description of a mechanism with keys, for a schema.
pub struct Keyed {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// Schema of the keys, or a reference to it.
    pub keys: Schema,
    /// True if it has a key without a default.
    pub required: bool,
}

impl Keyed {
    /// Describes a mechanism with these parameters.
    pub fn new<P: JsonSchema>(
        name: &'static str,
        about: &'static str,
        generator: &mut SchemaGenerator,
    ) -> Keyed {
        let required = P::json_schema(generator).get("required").is_some();
        Keyed { name, about, keys: generator.subschema_for::<P>(), required }
    }
}

/// Returns the schema of a choice. `plain` has name and description of the mechanisms without keys.
pub fn schema(description: &str, plain: &[(&str, &str)], keyed: Vec<Keyed>) -> Schema {
    let name =
        |name: &str, about: &str| json_schema!({ "type": "string", "const": name, "description": about });
    let named = plain.iter().map(|(text, about)| name(text, about));
    // A table cannot be omitted if one of its keys is required.
    let optional = keyed.iter().filter(|one| !one.required);
    let names: Vec<Schema> = named.chain(optional.map(|one| name(one.name, one.about))).collect();
    let table = |Keyed { name, about, keys, .. }: Keyed| {
        json_schema!({
            "type": "object",
            "description": about,
            "properties": { name: keys },
            "required": [name],
            "additionalProperties": false
        })
    };
    let tables: Vec<Schema> = keyed.into_iter().map(table).collect();
    json_schema!({
        "description": description,
        "anyOf": [
            { "description": "A name: all defaults.", "oneOf": names },
            { "description": "A table with keys.", "oneOf": tables }
        ]
    })
}
