//! Priorities and sets of priorities.

use crate::Error;
use serde::{Serialize, Serializer};
use std::fmt;

/// A priority code point of IEEE 802.1Q: 0 to 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Pcp(u8);

impl Pcp {
    /// Creates a priority from 0 to 7.
    pub fn new(value: u8) -> Result<Pcp, Error> {
        if usize::from(value) < frame::PRIORITIES {
            Ok(Pcp(value))
        } else {
            Err(Error::Value { what: "a priority", accepted: "0 to 7", got: value.into() })
        }
    }
    /// Returns the priority in the top three bits of an octet.
    pub const fn of_top_bits(octet: u8) -> Pcp {
        Pcp(octet >> 5)
    }
    /// Returns the priority, 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }
    /// Returns an octet with the priority in its top three bits.
    pub const fn top_bits(self) -> u8 {
        self.0 << 5
    }
}

impl fmt::Display for Pcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of priorities; bit n is priority n.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrioritySet(pub u8);

impl PrioritySet {
    /// Returns true if the set contains this priority.
    pub const fn has(self, priority: Pcp) -> bool {
        self.0 >> priority.0 & 1 == 1
    }
    /// Returns the number of priorities.
    pub const fn len(self) -> u8 {
        self.0.count_ones() as u8
    }
    /// Returns true if the set contains no priority.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for PrioritySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return write!(f, "none");
        }
        let names: Vec<String> = frame::members(self.0).map(|priority| priority.to_string()).collect();
        write!(f, "{}", names.join(","))
    }
}
impl fmt::Debug for PrioritySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
impl Serialize for PrioritySet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(frame::members(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let set = PrioritySet(0b1000_1001);
        assert_eq!((set.to_string(), set.len()), ("0,3,7".into(), 3));
        assert!(set.has(Pcp::new(3).unwrap()) && !set.has(Pcp::new(4).unwrap()));
        assert_eq!(PrioritySet(0).to_string(), "none");
        assert!(Pcp::new(8).is_err());
        assert_eq!(Pcp::of_top_bits(0b1011_1111).get(), 5);
    }
}
