//! UDP and TCP ports.

/// Source and destination port of a flow; 0 if not specified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// Port of the sender.
    pub source: u16,
    /// Port of the receiver.
    pub destination: u16,
}

impl Ports {
    /// First dynamic port (RFC 6335 section 6). Operating systems choose client ports from here on.
    pub const FIRST_DYNAMIC: u16 = 49_152;
    /// Port of the discard protocol (RFC 863).
    pub const DISCARD: u16 = 9;

    /// Returns the ports with unspecified ones filled in: a dynamic source port, selected by the high bits of `bits`,
    /// and the destination port of discard.
    pub const fn or_drawn(self, bits: u64) -> Ports {
        let source = if self.source == 0 { Ports::FIRST_DYNAMIC | (bits >> 50) as u16 } else { self.source };
        let destination = if self.destination == 0 { Ports::DISCARD } else { self.destination };
        Ports { source, destination }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_stays() {
        let given = Ports { source: 1_234, destination: 4_791 };
        assert_eq!(given.or_drawn(u64::MAX), given);
        let drawn = |bits| Ports::default().or_drawn(bits);
        assert_eq!(drawn(0), Ports { source: 49_152, destination: 9 });
        assert_eq!(drawn(u64::MAX), Ports { source: 65_535, destination: 9 });
    }
}
