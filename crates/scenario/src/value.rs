//! Deserializes TOML values as a scenario requires, where derived deserialization is lenient or has poor messages.
//!
//! - A table must be a table. By default, serde also accepts a list of the values in the order of declaration.
//! - A list of fixed length must have that length. By default, serde ignores further entries.
//! - A choice may be given by name only, with the defaults of all its keys; if one has no default, the message shows
//!   the required table.
//!
//! The deserializer is one concrete type with one map and one list type, so that each `Deserialize` is compiled once. A
//! deserializer that wraps another one is compiled once for each way in which values nest: 256 times, taking 90 s, in
//! this crate.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::vec::IntoIter;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// An error of deserialization, with its position in the text.
#[derive(Debug)]
pub struct ValueError {
    /// Message of serde.
    pub message: String,
    /// Byte range of the innermost invalid value or key.
    pub span: Option<Range<usize>>,
}

impl ValueError {
    #[cold]
    fn at(mut self, span: Range<usize>) -> ValueError {
        self.span.get_or_insert(span);
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

impl Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> ValueError {
        ValueError { message: message.to_string(), span: None }
    }
}

/// A TOML value with its position in the text.
pub struct Value<'i> {
    value: DeValue<'i>,
    span: Range<usize>,
}

impl<'i> From<Spanned<DeValue<'i>>> for Value<'i> {
    fn from(value: Spanned<DeValue<'i>>) -> Self {
        let span = value.span();
        Value { value: value.into_inner(), span }
    }
}

impl<'i> Value<'i> {
    /// Returns the empty table of a choice that is given by name only.
    fn no_keys() -> Value<'i> {
        Value { value: DeValue::Table(DeTable::new()), span: 0..0 }
    }

    /// Deserializes the value. An error without a position, such as that of a conversion, gets the position of the
    /// value.
    fn read<S: DeserializeSeed<'i>>(self, seed: S) -> Result<S::Value, ValueError> {
        let span = self.span.clone();
        seed.deserialize(self).map_err(|why| why.at(span))
    }

    /// Visits a value that is neither a list nor a table; these are errors.
    fn scalar<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let read = match self.value {
            DeValue::String(text) => visitor.visit_str(&text),
            DeValue::Integer(text) => match integer(text.as_str(), text.radix()) {
                Ok(Integer::Signed(number)) => visitor.visit_i64(number),
                Ok(Integer::Unsigned(number)) => visitor.visit_u64(number),
                Err(number) => Err(wrong_type(Unexpected::Other(&number), &visitor)),
            },
            DeValue::Float(text) => float(text.as_str()).and_then(|number| visitor.visit_f64(number)),
            DeValue::Boolean(is) => visitor.visit_bool(is),
            DeValue::Array(_) => Err(wrong_type(Unexpected::Seq, &visitor)),
            DeValue::Table(_) | DeValue::Datetime(_) => Err(wrong_type(Unexpected::Map, &visitor)),
        };
        read.map_err(|why| why.at(self.span))
    }
}

enum Integer {
    Signed(i64),
    Unsigned(u64),
}

/// Parses an integer of at most 64 bits; otherwise returns a description of the larger one.
fn integer(text: &str, radix: u32) -> Result<Integer, String> {
    i64::from_str_radix(text, radix)
        .map(Integer::Signed)
        .or_else(|_| u64::from_str_radix(text, radix).map(Integer::Unsigned))
        .map_err(|_| format!("integer `{text}`: more than fits"))
}

fn float(text: &str) -> Result<f64, ValueError> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() || text.contains("inf") || text.contains("nan") => Ok(number),
        _ => Err(ValueError::custom("floating-point number overflowed")),
    }
}

#[cold]
fn wrong_type(value: Unexpected<'_>, expected: &dyn Expected) -> ValueError {
    ValueError::invalid_type(value, expected)
}

impl<'i> Deserializer<'i> for Value<'i> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.value {
            DeValue::Array(_) => self.deserialize_seq(visitor),
            DeValue::Table(_) => self.deserialize_map(visitor),
            _ => self.scalar(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let Value { value, span } = self;
        match value {
            DeValue::Table(table) => visitor.visit_map(Map::new(table)).map_err(|why| why.at(span)),
            value => Value { value, span }.scalar(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let Value { value, span } = self;
        let DeValue::Array(list) = value else { return Value { value, span }.scalar(visitor) };
        let mut list = List::new(list.into_iter().collect());
        let read = visitor.visit_seq(&mut list).and_then(|value| list.end().map(|()| value));
        read.map_err(|why| why.at(span))
    }

    fn deserialize_tuple<V: Visitor<'i>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let Value { value, span } = self;
        let read = match value {
            DeValue::String(name) => visitor.visit_enum(NamedAlone(&name)),
            DeValue::Table(table) => visitor.visit_enum(WithKeys(Map::new(table))),
            value => Value { value, span: span.clone() }.scalar(NoChoice(PhantomData)),
        };
        read.map_err(|why| why.at(span))
    }

    serde::forward_to_deserialize_any! {
        <W: Visitor<'i>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple_struct identifier ignored_any
    }
}

/// Rejects a value that is neither a text nor a table where a choice is expected.
struct NoChoice<T>(PhantomData<T>);

impl<T> Visitor<'_> for NoChoice<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name in quotes, or a table with keys")
    }
}

/// Entries of a list.
struct List<'i> {
    entries: IntoIter<Spanned<DeValue<'i>>>,
    len: usize,
}

impl<'i> List<'i> {
    fn new(entries: Vec<Spanned<DeValue<'i>>>) -> Self {
        List { len: entries.len(), entries: entries.into_iter() }
    }
    /// Checks that all entries have been read.
    fn end(&self) -> Result<(), ValueError> {
        match self.entries.len() {
            0 => Ok(()),
            more => Err(ValueError::custom(format!(
                "a list of {} entries, expected {}",
                self.len,
                self.len - more
            ))),
        }
    }
}

impl<'i> SeqAccess<'i> for List<'i> {
    type Error = ValueError;
    fn next_element_seed<T: DeserializeSeed<'i>>(&mut self, seed: T) -> Result<Option<T::Value>, ValueError> {
        self.entries.next().map(|value| Value::from(value).read(seed)).transpose()
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// Keys of a table, in the order of the text.
struct Map<'i> {
    entries: IntoIter<(Spanned<DeString<'i>>, Spanned<DeValue<'i>>)>,
    /// Value of the key that was read last.
    value: Option<Value<'i>>,
}

impl<'i> Map<'i> {
    fn new(table: DeTable<'i>) -> Self {
        Map { entries: table.into_iter().collect::<Vec<_>>().into_iter(), value: None }
    }
    fn next_key(&mut self) -> Option<Spanned<DeString<'i>>> {
        let (key, value) = self.entries.next()?;
        self.value = Some(value.into());
        Some(key)
    }
    fn next_value(&mut self) -> Result<Value<'i>, ValueError> {
        self.value.take().ok_or_else(|| ValueError::custom("a value was read before its key"))
    }
}

impl<'i> MapAccess<'i> for Map<'i> {
    type Error = ValueError;
    fn next_key_seed<K: DeserializeSeed<'i>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        let Some(key) = self.next_key() else { return Ok(None) };
        let read: Result<_, ValueError> = seed.deserialize(StrDeserializer::new(key.get_ref()));
        read.map(Some).map_err(|why| why.at(key.span()))
    }
    fn next_value_seed<T: DeserializeSeed<'i>>(&mut self, seed: T) -> Result<T::Value, ValueError> {
        self.next_value()?.read(seed)
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A choice that is named without keys.
struct NamedAlone<'n>(&'n str);

impl NamedAlone<'_> {
    /// Returns the message for a choice with a key that has no default.
    #[cold]
    fn incomplete(&self, why: ValueError) -> ValueError {
        let message = keys::alone::<()>(self.0, None, |_| Err(Error::custom(why.message)));
        ValueError::custom(message.err().unwrap_or_default())
    }
}

impl<'i> EnumAccess<'i> for NamedAlone<'_> {
    type Error = ValueError;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'i>>(self, seed: S) -> Result<(S::Value, Self), ValueError> {
        Ok((seed.deserialize(StrDeserializer::<ValueError>::new(self.0))?, self))
    }
}

impl<'i> VariantAccess<'i> for NamedAlone<'_> {
    type Error = ValueError;
    fn unit_variant(self) -> Result<(), ValueError> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'i>>(self, seed: S) -> Result<S::Value, ValueError> {
        seed.deserialize(Value::no_keys()).map_err(|why| self.incomplete(why))
    }
    fn tuple_variant<V: Visitor<'i>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        Err(wrong_type(Unexpected::UnitVariant, &visitor))
    }
    fn struct_variant<V: Visitor<'i>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        Value::no_keys().deserialize_map(visitor).map_err(|why| self.incomplete(why))
    }
}

/// A choice that is the only key of a table.
struct WithKeys<'i>(Map<'i>);

impl WithKeys<'_> {
    /// Checks that the table has no further key.
    fn end(mut self) -> Result<(), ValueError> {
        match MapAccess::next_key::<IgnoredAny>(&mut self.0)? {
            None => Ok(()),
            Some(IgnoredAny) => Err(ValueError::custom("wanted exactly 1 element, more than 1 element")),
        }
    }
}

impl<'i> EnumAccess<'i> for WithKeys<'i> {
    type Error = ValueError;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'i>>(mut self, seed: S) -> Result<(S::Value, Self), ValueError> {
        match self.0.next_key_seed(seed)? {
            Some(name) => Ok((name, self)),
            None => Err(ValueError::custom("wanted exactly 1 element, found 0 elements")),
        }
    }
}

/// The keys of a choice without keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

impl<'i> VariantAccess<'i> for WithKeys<'i> {
    type Error = ValueError;
    fn unit_variant(mut self) -> Result<(), ValueError> {
        let NoKeys {} = NoKeys::deserialize(self.0.next_value()?)?;
        self.end()
    }
    fn newtype_variant_seed<S: DeserializeSeed<'i>>(mut self, seed: S) -> Result<S::Value, ValueError> {
        let value = self.0.next_value()?.read(seed)?;
        self.end().map(|()| value)
    }
    fn tuple_variant<V: Visitor<'i>>(mut self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        let value = self.0.next_value()?.deserialize_seq(visitor)?;
        self.end().map(|()| value)
    }
    fn struct_variant<V: Visitor<'i>>(
        mut self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let value = self.0.next_value()?.deserialize_map(visitor)?;
        self.end().map(|()| value)
    }
}
