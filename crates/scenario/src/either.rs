//! Values that are text or a list or a table, with errors that say which.
//!
//! The derived reading of an untagged enum forgets why each alternative failed, and where. Here the
//! form that was written decides the alternative, and its own error is the one reported.

use crate::model::{
    DelayText, FaultLink, FrameTable, FrameText, FrameWord, Nodes, Permutation, Queues, QueuesWord,
    RateOrShare, Receivers, ReceiversTable, Scheduler, SchedulerTable, SchedulerWord, ShapedScheduler,
    ShapedTable, TableEntry, Weights,
};
use crate::quantity::{RateText, TimeText};
use scheduling::SchedulerSpec;
use serde::de::value::{I64Deserializer, MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// How a value reads from each form it accepts; a form that is not accepted stays at its default.
trait Forms: Sized {
    const EXPECTED: &'static str;
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Err(de::Error::invalid_type(de::Unexpected::Str(text), &Self::EXPECTED))
    }
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        Err(de::Error::invalid_type(de::Unexpected::Signed(number), &Self::EXPECTED))
    }
    fn list<'de, A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(de::Unexpected::Seq, &Self::EXPECTED))
    }
    fn table<'de, A: MapAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(de::Unexpected::Map, &Self::EXPECTED))
    }
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

macro_rules! by_form {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(FormsVisitor(PhantomData))
            }
        }
    )*};
}
by_form!(
    Nodes,
    Receivers,
    Queues,
    Permutation,
    FrameText,
    DelayText,
    FaultLink,
    Scheduler,
    ShapedScheduler,
    Weights,
    RateOrShare,
    TableEntry
);

impl Forms for Nodes {
    const EXPECTED: &'static str = "the name of a host, \"all\", a pattern with *, or a list of these";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Ok(Nodes::One(text.to_string()))
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Nodes::Several)
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

impl Forms for Receivers {
    const EXPECTED: &'static str =
        "the name of a host, \"all\", a list of hosts, or a table with uniform, hot_spot or permutation";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Nodes::text(text).map(Receivers::Nodes)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Nodes::list(list).map(Receivers::Nodes)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        ReceiversTable::deserialize(MapAccessDeserializer::new(table)).map(Receivers::Table)
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

impl Forms for Permutation {
    const EXPECTED: &'static str = "\"random\", or a table with shift";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Deserialize::deserialize(StrDeserializer::new(text)).map(Permutation::Word)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(Permutation::Shift)
    }
}

impl Forms for FrameText {
    const EXPECTED: &'static str =
        "a size like \"1522 B\", \"imix\", or a table with uniform, bimodal or empirical";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        match text {
            "imix" => Ok(FrameText::Word(FrameWord::Imix)),
            _ => text
                .parse()
                .map(FrameText::Fixed)
                .map_err(|why| E::custom(format!("{why}; \"imix\" is accepted too"))),
        }
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        FrameTable::deserialize(MapAccessDeserializer::new(table)).map(FrameText::Table)
    }
}

impl Forms for DelayText {
    const EXPECTED: &'static str = "a time as text with a unit, like \"1.5 us\", or a table with exponential";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        TimeText::deserialize(StrDeserializer::new(text)).map(DelayText::Fixed)
    }
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        TimeText::deserialize(I64Deserializer::new(number)).map(DelayText::Fixed)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(DelayText::Table)
    }
}

/// A scheduler by its name alone.
fn scheduler_word<E: de::Error>(text: &str) -> Result<SchedulerWord, E> {
    SchedulerWord::deserialize(StrDeserializer::<E>::new(text)).map_err(|_| match text {
        "vc_table" | "dtable" => E::custom(format!(
            "\"{text}\" needs its table; expected [switch.scheduler.{text}] with entries = [...]"
        )),
        "ets" => E::custom("\"ets\" needs its classes; expected [switch.scheduler.ets] with classes = [...]"),
        "shaper" => {
            E::custom("\"shaper\" needs its shapers; expected [switch.scheduler.shaper] with port or classes")
        }
        _ => E::unknown_variant(text, SchedulerSpec::NAMES),
    })
}

/// The one table of a choice between tables.
fn one_table<'de, T: Deserialize<'de>, A: MapAccess<'de>>(mut table: A) -> Result<T, A::Error> {
    let chosen = T::deserialize(MapAccessDeserializer::new(&mut table))?;
    match table.next_key::<de::IgnoredAny>()? {
        None => Ok(chosen),
        Some(_) => Err(de::Error::custom("wanted exactly 1 element, more than 1 element")),
    }
}

impl Forms for Scheduler {
    const EXPECTED: &'static str = "the name of a scheduler, or a table of that name with its keys";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        scheduler_word(text).map(Scheduler::Named)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        one_table::<SchedulerTable, A>(table).map(|table| Scheduler::Table(Box::new(table)))
    }
}

impl Forms for ShapedScheduler {
    const EXPECTED: &'static str = Scheduler::EXPECTED;
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        scheduler_word(text).map(ShapedScheduler::Named)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        one_table::<ShapedTable, A>(table).map(ShapedScheduler::Table)
    }
}

impl Forms for Weights {
    const EXPECTED: &'static str = "\"equal\", or a list of weights, one for each traffic class";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Deserialize::deserialize(StrDeserializer::new(text)).map(Weights::Word)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Weights::Each)
    }
}

impl Forms for RateOrShare {
    const EXPECTED: &'static str = "a rate like \"10 Gb/s\", or { share = 0.25 } of the link";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        RateText::deserialize(StrDeserializer::new(text)).map(RateOrShare::Rate)
    }
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        RateText::deserialize(I64Deserializer::new(number)).map(RateOrShare::Rate)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(RateOrShare::Share)
    }
}

impl Forms for TableEntry {
    const EXPECTED: &'static str = "a class number, or a table with class and weight";
    fn number<E: de::Error>(number: i64) -> Result<Self, E> {
        u64::deserialize(I64Deserializer::new(number)).map(TableEntry::Class)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(TableEntry::Own)
    }
}
