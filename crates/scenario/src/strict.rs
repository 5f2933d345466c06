//! Reads values as a scenario means them, where derived reading is lenient or says little.
//!
//! - A table is a table. By itself serde takes a list for it, value by value in the order of the declaration.
//! - A list of a fixed length has that length. By itself serde leaves what follows unread.
//! - A kind may be named alone, with all defaults of its keys; if one has none, the message shows the table to write.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use std::fmt;
use std::marker::PhantomData;

/// A deserializer that reads strictly, and so does all that is read inside of it.
pub struct Strict<D>(pub D);

macro_rules! forwarded {
    ($($method:ident($($arg:ident: $type:ty),*),)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($arg,)* Inside { visitor, is_table: false })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forwarded! {
        deserialize_any(), deserialize_bool(),
        deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(), deserialize_i128(),
        deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_u128(),
        deserialize_f32(), deserialize_f64(), deserialize_char(), deserialize_str(), deserialize_string(),
        deserialize_bytes(), deserialize_byte_buf(), deserialize_option(), deserialize_unit(),
        deserialize_unit_struct(name: &'static str), deserialize_newtype_struct(name: &'static str),
        deserialize_seq(), deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize), deserialize_map(),
        deserialize_identifier(), deserialize_ignored_any(),
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Inside { visitor, is_table: true })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Kind(visitor))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<T> {
    type Value = T::Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }
    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }
    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// What takes in a value, and whether only a table will do.
struct Inside<V> {
    visitor: V,
    is_table: bool,
}

macro_rules! visited {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Inside<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    visited! {
        visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128, visit_f64: f64,
        visit_str: &str, visit_borrowed_str: &'de str, visit_string: String,
    }
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Strict(inner))
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Strict(inner))
    }
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Strict(table))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        if self.is_table {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let entries = list.size_hint();
        let mut list = Strict(list);
        let value = self.visitor.visit_seq(&mut list)?;
        let mut more = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            more += 1;
        }
        match (more, entries) {
            (0, _) => Ok(value),
            (_, Some(all)) => {
                Err(A::Error::custom(format!("a list of {all} entries, expected {}", all - more)))
            }
            (_, None) => Err(A::Error::custom(format!("{more} entries too many, expected fewer"))),
        }
    }
}

/// Reads one of several kinds: a name, or a table with that name as its one key.
struct Kind<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Kind<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name in quotes, or a table with keys")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.0.visit_enum(Alone { name, error: PhantomData })
    }
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(WithKeys(table))
    }
}

/// A kind that is named without keys.
struct Alone<'n, E> {
    name: &'n str,
    error: PhantomData<E>,
}

impl<'de, E: Error> EnumAccess<'de> for Alone<'_, E> {
    type Error = E;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), E> {
        Ok((seed.deserialize(StrDeserializer::new(self.name))?, self))
    }
}

impl<'de, E: Error> VariantAccess<'de> for Alone<'_, E> {
    type Error = E;
    fn unit_variant(self) -> Result<(), E> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, E> {
        keys::alone(self.name, None, |none| seed.deserialize(Strict(none))).map_err(E::custom)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, E> {
        Err(E::invalid_type(Unexpected::UnitVariant, &visitor))
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, E> {
        keys::alone(self.name, None, |none| none.deserialize_any(visitor)).map_err(E::custom)
    }
}

/// A kind that is the one key of a table.
struct WithKeys<A>(A);

impl<'de, A: MapAccess<'de>> WithKeys<A> {
    fn only<T>(mut self, value: T) -> Result<T, A::Error> {
        match self.0.next_key::<IgnoredAny>()? {
            None => Ok(value),
            Some(IgnoredAny) => Err(A::Error::custom("wanted exactly 1 element, more than 1 element")),
        }
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for WithKeys<A> {
    type Error = A::Error;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.0.next_key_seed(seed)? {
            Some(name) => Ok((name, self)),
            None => Err(A::Error::custom("wanted exactly 1 element, found 0 elements")),
        }
    }
}

/// The keys of a kind that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

/// Takes in the keys of a kind whose fields are its own.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_struct("", &[], self.0)
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for WithKeys<A> {
    type Error = A::Error;
    fn unit_variant(mut self) -> Result<(), A::Error> {
        let NoKeys {} = self.0.next_value_seed(Strict(PhantomData::<NoKeys>))?;
        self.only(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.0.next_value_seed(Strict(seed))?;
        self.only(value)
    }
    fn tuple_variant<V: Visitor<'de>>(mut self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        let value = self.0.next_value_seed(Strict(Fields(visitor)))?;
        self.only(value)
    }
    fn struct_variant<V: Visitor<'de>>(
        mut self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let value = self.0.next_value_seed(Strict(Fields(visitor)))?;
        self.only(value)
    }
}
