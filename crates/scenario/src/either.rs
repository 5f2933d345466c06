//! Values that are a text, a list or a table, with errors specific to the given form.
//!
//! The derived deserializer of an untagged enum discards the reason and the position of each alternative's error. Here
//! the given form selects the alternative, and its own error is reported.

use crate::model::{
    FaultLink, HeaderPreset, HeaderText, PathSeed, PathSeedWord, Probes, ProbesText, Queues, QueuesWord,
    WhichText,
};
use keys::{Forms, by_form};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess, SeqAccess};
use units::Bytes;

by_form!(PathSeed, Queues, FaultLink, ProbesText, WhichText, HeaderText);

impl Forms for ProbesText {
    const EXPECTED: &'static str =
        "a table with bin and pauses, or a list of tables, each of which begins with [[probes]]";
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ProbesText::Chosen)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Probes::deserialize(MapAccessDeserializer::new(table)).map(ProbesText::All)
    }
}

impl Forms for HeaderText {
    const EXPECTED: &'static str = "a size with unit, like \"18 B\", or a preset, like \"esun\"";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        if text.trim_start().starts_with(|first: char| first.is_ascii_alphabetic()) {
            return HeaderPreset::deserialize(StrDeserializer::new(text)).map(HeaderText::Preset);
        }
        Bytes::deserialize(StrDeserializer::new(text)).map(HeaderText::Size)
    }
}

impl Forms for WhichText {
    const EXPECTED: &'static str =
        "a name, a pattern with *, \"all\", \"the 20 busiest\", or a list of names and patterns";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Ok(WhichText::One(text.to_string()))
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(WhichText::Several)
    }
}

impl Forms for PathSeed {
    const EXPECTED: &'static str = "a whole number, 0 or more, or \"seed\"";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        PathSeedWord::deserialize(StrDeserializer::new(text)).map(PathSeed::Word)
    }
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        let wrong = || E::invalid_value(de::Unexpected::Signed(number), &Self::EXPECTED);
        u64::try_from(number).map(PathSeed::Own).map_err(|_| wrong())
    }
}

impl Forms for FaultLink {
    const EXPECTED: &'static str = "the names of its two ends, \"any\" or \"all\"";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Deserialize::deserialize(StrDeserializer::new(text)).map(FaultLink::Word)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(FaultLink::Between)
    }
}

impl Forms for Queues {
    const EXPECTED: &'static str = "\"per_priority\", \"shared\", or a list of eight class numbers";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        QueuesWord::deserialize(StrDeserializer::new(text)).map(Queues::Named)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Queues::Classes)
    }
}
