//! Virtual channels of three kinds: bypassable, ordered and multicast channels.
//!
//! Advanced Switching has up to 20 virtual channels of three kinds: 8 bypassable ones, "B0" to "B7", 8 ordered ones,
//! "O0" to "O7", and 4 multicast ones, "M0" to "M3". The bypassable channel with the highest number is the *Fabric
//! Management Channel*.
//!
//! An ordered channel is one queue. A bypassable channel also has a *bypass queue*; each of its two queues has its own
//! credits. A flow with `bypassable = true` sends bypassable frames, which consume credits of the bypass queue. All
//! other frames consume credits of the ordered queue. All frames are enqueued in the ordered queue. If a bypassable
//! frame reaches the head of the queue without credits, or while other frames wait in the bypass queue, it moves to
//! the bypass queue, and the frames behind it proceed. The bypass queue is served first as soon as there are credits
//! for its head. Therefore:
//!
//! - ordered frames keep their order, and so do bypassable frames;
//! - a bypassable frame never passes an ordered frame that arrived before it;
//! - an ordered frame passes a bypassable frame only if that lacks credits, and never waits for a bypassable frame.
//!
//! PCI requires this so that reads, which wait for completions, cannot block the writes and completions on which they
//! depend: posted writes and completions are ordered frames, reads are bypassable frames. A cycle of channels that is
//! closed only by bypassable frames waiting for ordered ones is not a deadlock.
//!
//! Source: Martinez 2006 §2 (20 channels of three kinds, the highest bypassable one for management). It does not
//! contain the rules of the bypass. They are recalled from the Advanced Switching core specification and the PCI
//! ordering rules, and have not been checked against their text: bypassable channels have an ordered and a bypass
//! queue with credits of their own; two bits of the header select the kind of channel and mark the frame as
//! bypassable; a frame that reaches the head of the ordered queue without credits moves to the bypass queue. Of the
//! public descriptions (US patent applications 2004/0128410 and 2006/0140126) only the titles and openings were
//! available.
//!
//! The same rules apply at the inputs of a switch, where free space at an output takes the role of credits. Each
//! virtual output queue of a bypassable channel has an ordered and a bypass queue, and an output has a buffer for each
//! kind.
//!
//! Eight priorities select up to eight channels. With `channels = "all"` a link has all 20 channels, each with a queue
//! at every port, and a flow selects its channel (`channel = "O3"`). A flow without this key uses the bypassable
//! channel of its priority. As traffic classes, in result tables and in schedulers, "B0" to "B7" then have the numbers
//! 0 to 7, "O0" to "O7" 8 to 15, and "M0" to "M3" 16 to 19.
//!
//! A multicast channel carries, in order, the frames of flows with `to = { multicast = [...] }` and of any others. A
//! switch copies a frame where the paths to its receivers diverge, and each copy consumes credits of its own output.
//! The frame occupies the receive buffer of its ingress port once, until the transmission of its last copy begins. The
//! slowest branch therefore stops the sender, and with it the other branches, as soon as the buffers in between are
//! full. Two rules are recalled, like those of the bypass: a switch copies by a table of groups, and each copy leaves
//! independently of the others. No available source specifies how long the buffer is occupied.
//!
//! Not modelled: groups that change during a run, and multicast transfers in a crossbar, where the copies of a frame
//! are transferred one after another. With a scheduler that assigns a tag to each arriving frame (wfq, scfq), the tag
//! of a bypassed frame passes to the frame sent in its place.

use frame::{CHANNELS, ClassMap, PRIORITIES, TrafficClass};
use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Help text: the accepted values of a list of channels.
const HELP: &str = "expected \"all\", or eight, one for each priority: numbers, 0 to 7, or names, \"B0\" to \"B7\" (bypassable), \"O0\" to \"O7\" (ordered) and \"M0\" to \"M3\" (multicast)";

/// The ordering rule of a channel: which of its frames may pass each other.
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
    /// Returns the maximum number of channels of this kind.
    fn count(self) -> u32 {
        [8, 8, 4][self as usize]
    }
    fn name(self) -> &'static str {
        ["bypassable", "ordered", "multicast"][self as usize]
    }
}

/// The channel of a priority, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelKey {
    /// An ordered channel, by number.
    Number(u32),
    /// A channel of any kind, by name.
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

/// The channels of a link, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelList {
    /// All channels of all kinds.
    All,
    /// One channel per priority.
    Each(Vec<ChannelKey>),
}

const ALL: &str = "all";

impl Default for ChannelList {
    fn default() -> ChannelList {
        ChannelList::Each((0..PRIORITIES as u32).map(ChannelKey::Number).collect())
    }
}

impl Forms for ChannelList {
    const EXPECTED: &'static str = "\"all\", or a list of channels, one for each priority";
    fn text<E: serde::de::Error>(text: &str) -> Result<ChannelList, E> {
        if text == ALL { Ok(ChannelList::All) } else { Err(E::unknown_variant(text, &[ALL])) }
    }
    fn list<'de, A: serde::de::SeqAccess<'de>>(list: A) -> Result<ChannelList, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ChannelList::Each)
    }
}
by_form!(ChannelList);

impl Serialize for ChannelList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ChannelList::All => serializer.serialize_str(ALL),
            ChannelList::Each(list) => list.serialize(serializer),
        }
    }
}

impl JsonSchema for ChannelList {
    fn schema_name() -> Cow<'static, str> {
        "ChannelList".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<ChannelKey>>();
        json_schema!({
            "description": "All channels, or that of each priority.",
            "anyOf": [{ "const": ALL }, list]
        })
    }
}

/// A channel's kind and number.
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
    /// Names by index. A numbered channel has its number as index; named channels are ordered by kind and number.
    names: Vec<Name>,
    /// Index of each priority's channel; classes beyond the priorities map to the other channels.
    map: ClassMap,
}

impl Channels {
    /// Creates the channels of all priorities.
    ///
    /// # Errors
    /// The list does not have one channel per priority, or a number is outside the range of its kind.
    pub fn new(list: &ChannelList) -> Result<Channels, Remark> {
        let keys = match list {
            ChannelList::All => return Ok(Channels::all()),
            ChannelList::Each(keys) => keys,
        };
        let wrong = |message: String| Remark::about("channels", message, HELP);
        if keys.len() != PRIORITIES {
            return Err(wrong(format!("{} channels of priorities", keys.len())));
        }
        let mut of_priorities: Vec<Name> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let name = read(key).map_err(|message| wrong(message).entry(at))?;
            let first = *of_priorities.first().unwrap_or(&name);
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
        let map = ClassMap::new(std::array::from_fn(|priority| index(&of_priorities[priority])));
        Ok(Channels { names, map: map.unwrap_or(ClassMap::SEPARATE) })
    }
    /// Returns all channels, by kind and number. Priorities use the bypassable ones.
    fn all() -> Channels {
        let of_kind = |kind: Kind| (0..kind.count()).map(move |number| Name { kind: Some(kind), number });
        Channels { names: Kind::ALL.into_iter().flat_map(of_kind).collect(), map: ClassMap::CHANNELS }
    }
    /// Returns true if all channels are present, which are more than there are priorities.
    pub fn are_all(&self) -> bool {
        self.names.len() == CHANNELS
    }
    /// Returns the lowest number whose frames use the named channel. The number is a priority; with all channels
    /// present, it is the channel's own.
    pub fn number_of(&self, name: &str) -> Option<u8> {
        let index = self.names.iter().position(|known| known.to_string() == name)?;
        let numbers = self.map.numbers_of(TrafficClass(index as u8));
        (numbers != 0).then_some(numbers.trailing_zeros() as u8)
    }
    /// Returns the names of all channels, as text.
    pub fn list(&self) -> String {
        let quoted = |name: &Name| format!("\"{name}\"");
        self.names.iter().map(quoted).collect::<Vec<_>>().join(", ")
    }
    /// Returns one numbered channel per priority.
    pub(crate) fn separate() -> Channels {
        let names = (0..PRIORITIES as u32).map(|number| Name { kind: None, number }).collect();
        Channels { names, map: ClassMap::SEPARATE }
    }
    /// Returns the map from priorities to the indices of their channels, as classes.
    pub fn map(&self) -> ClassMap {
        self.map
    }
    /// Returns the channels with a bypass queue, bit n for index n. They all belong to priorities.
    pub fn bypassable(&self) -> u32 {
        let bypassable = |&at: &usize| self.names[at].kind == Some(Kind::Bypassable);
        (0..self.names.len()).filter(bypassable).fold(0, |set, at| set | 1 << at)
    }
    /// Returns true if the channel is multicast, that is, if switches replicate its frames.
    pub fn is_multicast(&self, index: usize) -> bool {
        self.names.get(index).is_some_and(|name| name.kind == Some(Kind::Multicast))
    }
    /// Returns the names of the multicast channels, as text.
    pub fn multicast(&self) -> String {
        let own = (0..self.names.len()).filter(|&index| self.is_multicast(index));
        own.map(|index| format!("\"{}\"", self.name(index))).collect::<Vec<_>>().join(", ")
    }
    /// Returns the index of the Fabric Management Channel, which is the bypassable channel with the highest number.
    pub fn management(&self) -> Option<usize> {
        self.names.iter().rposition(|name| name.kind == Some(Kind::Bypassable))
    }
    /// Returns the name of a channel.
    pub fn name(&self, index: usize) -> String {
        self.names.get(index).map_or_else(|| index.to_string(), Name::to_string)
    }
}

/// Parses a channel.
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
    use frame::Priority;

    fn named(names: [&str; PRIORITIES]) -> Result<Channels, Remark> {
        Channels::new(&ChannelList::Each(names.map(|name| ChannelKey::Name(name.to_string())).to_vec()))
    }
    fn of_priority(channels: &Channels) -> [u8; PRIORITIES] {
        std::array::from_fn(|priority| channels.map().class(Priority(priority as u8)).0)
    }

    #[test]
    fn numbers_are_channels_of_their_own() {
        let list = ChannelList::Each([7, 0, 0, 3, 3, 3, 5, 5].map(ChannelKey::Number).to_vec());
        let channels = Channels::new(&list).unwrap();
        assert_eq!(of_priority(&channels), [7, 0, 0, 3, 3, 3, 5, 5]);
        assert_eq!(
            (channels.bypassable(), channels.management(), channels.name(5)),
            (0, None, "5".to_string())
        );
    }

    #[test]
    fn names_are_in_the_order_of_kind_and_number() {
        let channels = named(["O1", "B0", "B7", "O1", "O0", "B3", "B3", "O7"]).unwrap();
        assert_eq!(of_priority(&channels), [4, 0, 2, 4, 3, 1, 1, 5]);
        assert_eq!((channels.bypassable(), channels.management()), (0b111, Some(2)));
        let names: Vec<String> = (0..6).map(|index| channels.name(index)).collect();
        assert_eq!(names, ["B0", "B3", "B7", "O0", "O1", "O7"]);
    }

    #[test]
    fn each_kind_has_its_range() {
        let first = |name| named([name, "B0", "B0", "B0", "B0", "B0", "B0", "B0"]).map_err(|why| why.message);
        for name in ["B0", "B7", "O0", "O7", "M0", "M3"] {
            assert!(first(name).is_ok(), "{name}");
        }
        for (name, end) in [("B8", "B7"), ("O8", "O7"), ("M4", "M3")] {
            let message = first(name).unwrap_err();
            assert!(message.contains(&format!("end with \"{end}\"")), "{message}");
        }
        for name in ["", "B", "P0", "b0", "B-1"] {
            assert!(first(name).unwrap_err().contains("no channel is called"), "{name}");
        }
        let mut mixed = [0; PRIORITIES].map(ChannelKey::Number);
        mixed[2] = ChannelKey::Name("O0".to_string());
        assert!(
            Channels::new(&ChannelList::Each(mixed.to_vec())).unwrap_err().contains("channel O0 beside 0")
        );
    }

    #[test]
    fn all_channels_have_numbers_of_their_own() {
        let all = Channels::new(&ChannelList::All).unwrap();
        assert_eq!((all.are_all(), all.bypassable(), all.management()), (true, 0xFF, Some(7)));
        let numbers = ["B0", "B7", "O0", "O7", "M0", "M3"].map(|name| all.number_of(name));
        assert_eq!(numbers, [0, 7, 8, 15, 16, 19].map(Some));
        assert_eq!((all.number_of("M4"), all.name(19)), (None, "M3".to_string()));
        assert_eq!(
            [0, 15, 16, 19, 20].map(|index| all.is_multicast(index)),
            [false, false, true, true, false]
        );
        assert_eq!(all.multicast(), "\"M0\", \"M1\", \"M2\", \"M3\"");
        let eight = named(["O1", "B0", "B7", "O1", "O0", "B3", "B3", "O7"]).unwrap();
        assert_eq!((eight.number_of("B3"), eight.number_of("B1"), eight.are_all()), (Some(5), None, false));
    }
}
