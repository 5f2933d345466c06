//! Virtual channels by kind: bypassable, ordered and multicast ones.
//!
//! Advanced Switching has up to 20 channels of three kinds: 8 bypassable ones, "B0" to "B7", 8 ordered ones, "O0" to "O7",
//! and 4 multicast ones, "M0" to "M3". The bypassable channel of the highest number is the *Fabric Management Channel*.
//!
//! An ordered channel is one queue. A bypassable one has a *bypass queue* beside it, and credits for each of the two. A
//! flow with `bypassable = true` sends frames that may be bypassed; such a frame takes credits of the bypass queue, any other
//! credits of the ordered one. All frames come to the ordered queue. A bypassable frame that gets to its head without
//! credits, or while others wait in the bypass queue, moves there, and what is behind it goes on. The bypass queue goes
//! first as soon as its head has credits. So:
//!
//! - ordered frames keep their order, and bypassable ones theirs;
//! - a bypassable frame passes no ordered one that came before it;
//! - an ordered frame passes a bypassable one only where that lacks credits, and never waits for one.
//!
//! It is what PCI asks for so that reads, which wait for completions, cannot stop the writes and completions that they wait
//! for: posted writes and completions are ordered frames, reads bypassable ones. A circle of channels that is
//! closed only by bypassable frames waiting for ordered ones is no deadlock.
//!
//! Source: Martinez 2006 §2 (20 channels of three kinds, the highest bypassable one for management). The rules of the
//! bypass are not in it. They are recalled from the Advanced Switching core specification and the PCI ordering
//! rules, not read: bypassable channels have an ordered and a bypass queue with credits of their own; two bits of the
//! header say which kind of channel a frame takes and whether it may be bypassed; the bypass queue takes what
//! reaches the head of the ordered one without credits. Public descriptions (US patent applications
//! 2004/0128410 and 2006/0140126) are known by title and opening only.
//!
//! Not modelled: more than eight channels at a link at once, as a frame has one of eight priorities, of the 20 that there
//! are. Frames that switches copy to several destinations: a multicast channel would carry nothing, and is refused.
//! A bypass queue beside a crossbar or virtual output queues is refused. A scheduler that tags each frame when it
//! comes (wfq, scfq) gives the tag of a bypassed frame to the one that goes in its place.

use frame::PRIORITIES;
use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// What is accepted for the channels of priorities.
const HELP: &str = "expected eight, one for each priority: numbers, 0 to 7, or names, \"B0\" to \"B7\" (bypassable) and \"O0\" to \"O7\" (ordered)";

/// How frames of a channel may pass each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bypassable,
    Ordered,
    Multicast,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Bypassable, Kind::Ordered, Kind::Multicast];

    fn letter(self) -> char {
        ['B', 'O', 'M'][self as usize]
    }
    /// How many channels there can be of it.
    fn count(self) -> u32 {
        [8, 8, 4][self as usize]
    }
    fn name(self) -> &'static str {
        ["bypassable", "ordered", "multicast"][self as usize]
    }
}

/// The channel of a priority, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelKey {
    /// A channel that keeps the order of all of its frames.
    Number(u32),
    /// One of a kind.
    Name(String),
}

impl From<u32> for ChannelKey {
    fn from(number: u32) -> ChannelKey {
        ChannelKey::Number(number)
    }
}

impl Forms for ChannelKey {
    const EXPECTED: &'static str = "a channel: a number, 0 to 7, or a name like \"B0\" or \"O0\"";
    fn text<E: serde::de::Error>(text: &str) -> Result<ChannelKey, E> {
        Ok(ChannelKey::Name(text.to_string()))
    }
    fn number<E: serde::de::Error>(number: i64) -> Result<ChannelKey, E> {
        let range = |_| E::invalid_value(serde::de::Unexpected::Signed(number), &ChannelKey::EXPECTED);
        u32::try_from(number).map(ChannelKey::Number).map_err(range)
    }
}
by_form!(ChannelKey);

impl Serialize for ChannelKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ChannelKey::Number(number) => serializer.serialize_u32(*number),
            ChannelKey::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl JsonSchema for ChannelKey {
    fn schema_name() -> Cow<'static, str> {
        "ChannelKey".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A virtual channel by number or by name.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 7 },
                { "type": "string", "pattern": "^([BO][0-7]|M[0-3])$" }
            ]
        })
    }
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    kind: Option<Kind>,
    number: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{}{}", kind.letter(), self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

/// The channels of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    /// By index. Those by number have it as their index; those by name are in the order of kind and number.
    names: Vec<Name>,
    /// The index of each priority's channel.
    of_priority: [u8; PRIORITIES],
}

impl Channels {
    /// The channels of all priorities.
    ///
    /// # Errors
    /// Not one for each priority, a number outside of the range of its kind, or a kind that carries nothing.
    pub fn new(keys: &[ChannelKey]) -> Result<Channels, Remark> {
        let wrong = |message: String| Remark::about("channels", message, HELP);
        if keys.len() != PRIORITIES {
            return Err(wrong(format!("{} channels of priorities", keys.len())));
        }
        let mut of_priorities: Vec<Name> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let name = read(key).map_err(|message| wrong(message).entry(at))?;
            let first = *of_priorities.first().unwrap_or(&name);
            if name.kind == Some(Kind::Multicast) {
                let message = format!("channel {name} is for frames that switches copy, and none do");
                return Err(wrong(message).entry(at));
            }
            if name.kind.is_some() != first.kind.is_some() {
                return Err(
                    wrong(format!("channel {name} beside {first}: some by number, some by name")).entry(at)
                );
            }
            of_priorities.push(name);
        }
        let mut names: Vec<Name> = of_priorities.clone();
        if of_priorities[0].kind.is_none() {
            names = (0..PRIORITIES as u32).map(|number| Name { kind: None, number }).collect();
        }
        names.sort_unstable();
        names.dedup();
        let index = |name: &Name| names.partition_point(|other| other < name) as u8;
        let of_priority = std::array::from_fn(|priority| index(&of_priorities[priority]));
        Ok(Channels { names, of_priority })
    }
    /// A channel for each priority, by number.
    pub(crate) fn separate() -> Channels {
        let names = (0..PRIORITIES as u32).map(|number| Name { kind: None, number }).collect();
        Channels { names, of_priority: std::array::from_fn(|priority| priority as u8) }
    }
    /// The index of each priority's channel.
    pub fn of_priority(&self) -> [u8; PRIORITIES] {
        self.of_priority
    }
    /// The channels with a bypass queue, bit n for index n.
    pub fn bypassable(&self) -> u8 {
        let bypassable = |&at: &usize| self.names[at].kind == Some(Kind::Bypassable);
        (0..self.names.len()).filter(bypassable).fold(0, |set, at| set | 1 << at)
    }
    /// The Fabric Management Channel: the index of the bypassable channel of the highest number.
    pub fn management(&self) -> Option<usize> {
        self.names.iter().rposition(|name| name.kind == Some(Kind::Bypassable))
    }
    /// The name of a channel, in words.
    pub fn name(&self, index: usize) -> String {
        self.names.get(index).map_or_else(|| index.to_string(), Name::to_string)
    }
}

/// Reads a channel.
fn read(key: &ChannelKey) -> Result<Name, String> {
    let text = match key {
        ChannelKey::Number(number) if (*number as usize) < PRIORITIES => {
            return Ok(Name { kind: None, number: *number });
        }
        ChannelKey::Number(number) => return Err(format!("channel {number}")),
        ChannelKey::Name(text) => text,
    };
    let mut letters = text.chars();
    let kind = letters.next().and_then(|first| Kind::ALL.into_iter().find(|kind| kind.letter() == first));
    let (Some(kind), Ok(number)) = (kind, letters.as_str().parse::<u32>()) else {
        return Err(format!("no channel is called \"{text}\""));
    };
    if number >= kind.count() {
        let (name, last) = (kind.name(), Name { kind: Some(kind), number: kind.count() - 1 });
        return Err(format!("channel \"{text}\": the {name} ones end with \"{last}\""));
    }
    Ok(Name { kind: Some(kind), number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: [&str; PRIORITIES]) -> Result<Channels, Remark> {
        Channels::new(&names.map(|name| ChannelKey::Name(name.to_string())))
    }

    #[test]
    fn numbers_are_channels_of_their_own() {
        let channels = Channels::new(&[7, 0, 0, 3, 3, 3, 5, 5].map(ChannelKey::Number)).unwrap();
        assert_eq!(channels.of_priority(), [7, 0, 0, 3, 3, 3, 5, 5]);
        assert_eq!(
            (channels.bypassable(), channels.management(), channels.name(5)),
            (0, None, "5".to_string())
        );
    }

    #[test]
    fn names_are_in_the_order_of_kind_and_number() {
        let channels = named(["O1", "B0", "B7", "O1", "O0", "B3", "B3", "O7"]).unwrap();
        assert_eq!(channels.of_priority(), [4, 0, 2, 4, 3, 1, 1, 5]);
        assert_eq!((channels.bypassable(), channels.management()), (0b111, Some(2)));
        let names: Vec<String> = (0..6).map(|index| channels.name(index)).collect();
        assert_eq!(names, ["B0", "B3", "B7", "O0", "O1", "O7"]);
    }

    #[test]
    fn each_kind_has_its_range() {
        let first = |name| named([name, "B0", "B0", "B0", "B0", "B0", "B0", "B0"]).map_err(|why| why.message);
        for name in ["B0", "B7", "O0", "O7"] {
            assert!(first(name).is_ok(), "{name}");
        }
        for (name, end) in [("B8", "B7"), ("O8", "O7"), ("M4", "M3")] {
            let message = first(name).unwrap_err();
            assert!(message.contains(&format!("end with \"{end}\"")), "{message}");
        }
        assert!(first("M3").unwrap_err().contains("for frames that switches copy"));
        for name in ["", "B", "P0", "b0", "B-1"] {
            assert!(first(name).unwrap_err().contains("no channel is called"), "{name}");
        }
        let mut mixed = [0; PRIORITIES].map(ChannelKey::Number);
        mixed[2] = ChannelKey::Name("O0".to_string());
        assert!(Channels::new(&mixed).unwrap_err().contains("channel O0 beside 0"));
    }
}
