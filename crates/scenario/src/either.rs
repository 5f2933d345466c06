//! Values that are text or a list or a table, with errors that say which.
//!
//! The derived reading of an untagged enum forgets why each alternative failed, and where. Here the
//! form that was written decides the alternative, and its own error is the one reported.

use crate::model::{
    FaultLink, FrameTable, FrameText, FrameWord, Nodes, PathSeed, PathSeedWord, Permutation, Probes,
    ProbesText, Queues, QueuesWord, Receivers, ReceiversTable, SizesTable, SizesText, WhichText,
};
use keys::{Forms, by_form};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess, SeqAccess};
use workload::PublishedSizes;

by_form!(
    PathSeed,
    Nodes,
    Receivers,
    Queues,
    Permutation,
    FrameText,
    FaultLink,
    SizesText,
    ProbesText,
    WhichText
);

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

impl Forms for Nodes {
    const EXPECTED: &'static str = "the name of a host, \"all\", a pattern with *, or a list of these";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Ok(Nodes::One(text.to_string()))
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Nodes::Several)
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
    const EXPECTED: &'static str = "a size like \"1522 B\", \"imix\", or a table with uniform, bimodal, exponential, log_normal or empirical";
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

impl Forms for SizesText {
    const EXPECTED: &'static str = "a size like \"1 MB\", the name of a published distribution like \"web_search\", or a table with uniform, pareto, log_normal or points";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        // A size begins with a digit, a name does not.
        if text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return PublishedSizes::deserialize(StrDeserializer::new(text)).map(SizesText::Published);
        }
        text.parse().map(SizesText::Fixed).map_err(|why| {
            E::custom(format!("{why}; a published distribution like \"web_search\" is accepted too"))
        })
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        SizesTable::deserialize(MapAccessDeserializer::new(table)).map(SizesText::Table)
    }
}
