//! Values that accept several forms (text, number, list, table), with errors specific to the given form.
//!
//! The derived deserializer of an untagged enum discards the reason and the position of each alternative's error. Here
//! the given form selects the alternative, and its own error is reported.

use serde::Deserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads a value from each form that it accepts. Forms with the default method are not accepted.
pub trait Forms: Sized {
    /// Accepted forms, after "expected".
    const EXPECTED: &'static str;
    /// Reads a text.
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Err(de::Error::invalid_type(de::Unexpected::Str(text), &Self::EXPECTED))
    }
    /// Reads a whole number.
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        Err(de::Error::invalid_type(de::Unexpected::Signed(number), &Self::EXPECTED))
    }
    /// Reads a list.
    fn list<'de, A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(de::Unexpected::Seq, &Self::EXPECTED))
    }
    /// Reads a table.
    fn table<'de, A: MapAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(de::Unexpected::Map, &Self::EXPECTED))
    }
}

/// Reads a value according to the given form.
pub fn read_by_form<'de, T: Forms, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(FormsVisitor(PhantomData))
}

/// Implements `Deserialize` for types with [`Forms`].
#[macro_export]
macro_rules! by_form {
    ($($type:ty),* $(,)?) => {$(
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read_by_form(deserializer)
            }
        }
    )*};
}

struct FormsVisitor<T>(PhantomData<T>);

impl<'de, T: Forms> Visitor<'de> for FormsVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::text(text)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::number(number)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        T::table(table)
    }
}
