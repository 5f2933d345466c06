//! MAC addresses.

use crate::view::Field;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A MAC address. Addresses are ordered by their octets as a big-endian number; agents break ties in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Destination of PAUSE and PFC frames (IEEE 802.3 annex 31B). Bridges do not forward it.
    pub const CONTROL: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
    /// Nearest bridge: destination of LLDP frames with DCBX TLVs.
    pub const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E]);
    /// Nearest bridge that is not a two-port MAC relay.
    pub const NEAREST_NON_TPMR_BRIDGE: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x03]);
    /// The nearest customer bridge.
    pub const NEAREST_CUSTOMER_BRIDGE: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x00]);

    /// Returns true for an individual (unicast) address.
    pub const fn is_individual(self) -> bool {
        self.0[0] & 1 == 0
    }
}

impl Field for Mac {
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Mac(Field::read(bytes))
    }
    fn put(self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Error for a text that is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no MAC address; accepted are six pairs of hexadecimal digits, such as 02:00:00:00:00:0a")]
pub struct ParseMacError(String);

impl FromStr for Mac {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Mac, ParseMacError> {
        let wrong = || ParseMacError(text.into());
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2 && !part.starts_with('+'));
            *octet = u8::from_str_radix(part.ok_or_else(wrong)?, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Mac(octets)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let mac: Mac = "02:00:00:00:00:0a".parse().unwrap();
        assert_eq!(mac, Mac([2, 0, 0, 0, 0, 10]));
        assert_eq!("01-80-C2-00-00-0E".parse(), Ok(Mac::NEAREST_BRIDGE));
        assert_eq!(mac.to_string(), "02:00:00:00:00:0a");
        assert!(mac.is_individual() && !Mac::CONTROL.is_individual());
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:0a:0b",
            "02:00:00:00:00:zz",
            "2:0:0:0:0:a",
            "02:+1:00:00:00:0a",
        ] {
            let error = wrong.parse::<Mac>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("accepted"), "{error}");
        }
    }

    #[test]
    fn order_is_that_of_numbers() {
        assert!(Mac([2, 0, 0, 0, 0, 0x0B]) > Mac([2, 0, 0, 0, 0, 0x0A]));
        assert!(Mac([2, 0, 0, 0, 1, 0]) > Mac([2, 0, 0, 0, 0, 0xFF]));
    }
}
