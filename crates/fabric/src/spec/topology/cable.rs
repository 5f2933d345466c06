//! Description of links in a scenario: the keys that all topologies share, their errors, and the resulting cable.

use flow_control::phy::{Phy, PhyName};
use keys::{Remark, Remarks};
use units::{BitRate, Bytes, Length, LineCode, Time, WireClock};

/// Minimum rate of a link. `FASTEST` is the maximum.
const SLOWEST: BitRate = BitRate::from_bps(1_000_000);
const FASTEST: BitRate = BitRate::from_gbps(1600);
/// Maximum delay, more than to the moon and back: a longer one is probably an error of the unit.
const LONGEST_DELAY: Time = Time::from_ms(10_000);
/// Default length: a cable within a rack.
pub(super) const DEFAULT_LENGTH: Length = Length::from_m(2);

/// Line overhead of Ethernet: preamble and start delimiter (8 B), minimum gap (12 B).
pub(super) const fn ethernet_overhead() -> Bytes {
    Bytes::new(frame::LINE_OVERHEAD_BYTES)
}

/// Rate, delay and overhead of links, as configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// Rate in each direction.
    pub rate: BitRate,
    /// Line code, with which the rate is a signalling rate.
    pub line_code: Option<LineCode>,
    /// One-way delay of the cable.
    pub delay: Option<Time>,
    /// Length of the cable.
    pub length: Option<Length>,
    /// Delay of the two interfaces together, if configured.
    pub interface_delay: Option<Time>,
    /// PHY, which determines the interface delay instead.
    pub phy: Option<PhyName>,
    /// Overhead bytes per frame.
    pub overhead: Bytes,
}

impl Cable {
    /// Creates an Ethernet cable of this rate, with this delay of cable and interfaces.
    pub const fn new(rate: BitRate, delay: Time) -> Cable {
        Cable {
            rate,
            line_code: None,
            delay: Some(delay),
            length: None,
            interface_delay: None,
            phy: None,
            overhead: ethernet_overhead(),
        }
    }
    /// Returns the cable with another rate, if given.
    #[must_use]
    pub fn at(self, rate: Option<BitRate>) -> Cable {
        Cable { rate: rate.unwrap_or(self.rate), ..self }
    }
    /// Returns the cable with another length, if given.
    #[must_use]
    pub fn of_length(self, length: Option<Length>) -> Cable {
        if length.is_some() { Cable { delay: None, length, ..self } } else { self }
    }
    /// Returns the cable with other PHYs, if given; their delay replaces that of the interfaces.
    #[must_use]
    pub fn between(self, phy: Option<PhyName>) -> Cable {
        if phy.is_some() { Cable { interface_delay: None, phy, ..self } } else { self }
    }
    /// Returns true if neither a PHY nor an interface delay is configured: scenarios then use the default PHY.
    pub fn leaves_out_phy(&self) -> bool {
        self.phy.is_none() && self.interface_delay.is_none()
    }
    /// The data rate.
    pub fn data_rate(&self) -> BitRate {
        data_rate(self.rate, self.line_code)
    }
    /// One-way delay of cable and interfaces, without the delay of a PHY.
    pub fn delay(&self) -> Time {
        self.cable_delay().saturating_add(self.interface_delay.unwrap_or_default())
    }
    /// One-way delay of the cable alone.
    pub fn cable_delay(&self) -> Time {
        // 5 ps per millimetre; a length near the end of the range would overflow.
        let of_fibre = |length: Length| {
            if length.mm() > u64::MAX / 16 { LONGEST_DELAY * 2 } else { length.fibre_delay() }
        };
        self.delay.or(self.length.map(of_fibre)).unwrap_or_default()
    }
    /// The PHY at both ends.
    pub fn phy(&self) -> Option<&'static Phy> {
        self.phy.and_then(|name| name.at(self.data_rate()))
    }

    /// Returns the errors of the cable. Paths begin in the table with its keys; the argument holds the keys of its
    /// rate, length and PHY.
    pub(super) fn errors(&self, [rate_key, length_key, phy_key]: [&str; 3]) -> Vec<Remark> {
        let mut errors = Vec::new();
        let wrong_rate = check_rate(self.rate, self.line_code).err();
        let rate_is_wrong = wrong_rate.is_some();
        errors.extend(wrong_rate.map(|why| why.within(rate_key)));
        if self.delay.is_some() && self.length.is_some() {
            errors.push(Remark::about(
                "length",
                "both delay and length are given",
                "keep one of them: a length is 5 ns/m of delay",
            ));
        }
        if self.phy.is_some() && self.interface_delay.is_some_and(|delay| delay != Time::ZERO) {
            errors.push(Remark::about(
                "interface_delay",
                "both phy and interface_delay are given",
                "keep one of them: a PHY is a delay of the interfaces",
            ));
        }
        if self.delay() > LONGEST_DELAY {
            errors.push(Remark::about(
                if self.length.is_some() { length_key } else { "delay" },
                format!("a one-way delay of {} is too long", self.delay()),
                format!("expected at most \"{LONGEST_DELAY}\""),
            ));
        }
        if u16::try_from(self.overhead.get()).is_err() {
            errors.push(Remark::about(
                "overhead",
                format!("overhead {} is too large", self.overhead),
                "expected 0 B to 65535 B; Ethernet has \"20 B\"",
            ));
        }
        let is_known = self.phy.is_none_or(|name| name == PhyName::Absent) || self.phy().is_some();
        if !is_known && !rate_is_wrong {
            errors.push(self.no_phy(phy_key));
        }
        errors
    }

    fn no_phy(&self, key: &str) -> Remark {
        let rate = self.data_rate();
        let known: Vec<String> = Phy::at(rate).map(|phy| format!("\"{}\"", phy.name)).collect();
        let help = match known.as_slice() {
            [] => format!("none of this rate is known: expected {key} = \"none\", or an interface_delay"),
            known => format!("expected {key} = {} or \"slowest\"", known.join(", ")),
        };
        Remark::about(key, format!("this is not a PHY of a link of {rate}"), help)
    }
}

/// Returns the data rate for a configured rate.
pub fn data_rate(rate: BitRate, line_code: Option<LineCode>) -> BitRate {
    line_code.map_or(rate, |code| code.data_rate(rate))
}

/// Returns the default PHY of links of a rate: the usual one, if any is known.
pub fn default_phy(rate: BitRate) -> PhyName {
    Phy::usual_at(rate).map_or(PhyName::Absent, |phy| PhyName::Named(phy.name))
}

/// Checks the rate of a link, which is the rate on the wire if there is a line code. Returns errors, or warnings.
pub fn check_rate(rate: BitRate, line_code: Option<LineCode>) -> Remarks {
    let data = data_rate(rate, line_code);
    let accepted = "expected a rate from \"1 Mb/s\" to \"1.6 Tb/s\"";
    if rate.bps() == 0 {
        return Err(Remark::new("the rate of a link is 0", accepted));
    }
    if rate < SLOWEST || rate > FASTEST {
        return Err(Remark::new(format!("a link of {rate} is outside the range"), accepted));
    }
    if !WireClock::supports(data) {
        let rounded = BitRate::from_bps(rate.bps() / 1000 * 1000);
        let help = format!("expected a rate with fewer digits, like \"{rounded}\"");
        return Err(Remark::new(format!("a link of {rate} has no exact byte time"), help));
    }
    if line_code == Some(LineCode::SixtyFourSixtySix) && Phy::at(rate).next().is_some() {
        let wire = BitRate::from_bps(rate.bps() / 64 * 66);
        return Ok(vec![Remark::new(
            format!("a link of {rate} on the wire carries {data} with 64b/66b"),
            format!("the {rate} of Ethernet are the rate of data: expected \"{wire}\", or no line_code"),
        )]);
    }
    Ok(Vec::new())
}

/// Declares a table with these keys and the keys of its links. Keys after `optional` have no value by default.
macro_rules! with_cable {
    (
        $(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty,)* }
        $(optional { $($(#[$other_doc:meta])* $other:ident: $other_type:ty,)* })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$key_doc])* pub $key: $type,)*
            $($($(#[$other_doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $other: Option<$other_type>,)*)?
            /// Rate of each link, per direction. A rate with unit, 1 Mb/s to 1.6 Tb/s. Required.
            pub rate: units::BitRate,
            /// Line code of each link: "8b/10b", "64b/66b" or "128b/130b". With a line code, `rate` is the signalling rate, as stated for PCI Express (GT/s), InfiniBand and Advanced Switching, and the data rate is 8/10, 64/66 or 128/130 of it. Default: none (`rate` is the data rate, as stated for Ethernet).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub line_code: Option<units::LineCode>,
            /// One-way propagation delay of each cable. A time with unit. Not together with `length`. Default: computed from `length`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub delay: Option<units::Time>,
            /// Length of each cable; the propagation delay is 5 ns/m, as in fibre (the figure with which vendors size PFC buffers). A length with unit. Default: "2 m" (a cable in a rack).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub length: Option<units::Length>,
            /// Delay of the two interfaces of a link together, in addition to the delay of the cable. A time with unit. Not together with `phy`. Default: the delay of `phy`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub interface_delay: Option<units::Time>,
            /// PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that rate with the largest delay, or "none" for no delay. It adds the delay that IEEE 802.3 allows for its sublayers to the delay of the cable (`penstock explain phy`), and sets the "standard" response time to pauses. Default: the usual PHY of the rate (`penstock check` names it); "none" with an `interface_delay`, and at a rate for which no PHY is known.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub phy: Option<flow_control::phy::PhyName>,
            /// Line overhead: bytes around each frame on the wire. A size with unit, 0 to 65535 B. Default: "20 B" (IEEE 802.3: preamble 7, start delimiter 1, gap 12).
            #[serde(default = "crate::spec::topology::cable::ethernet_overhead")]
            pub overhead: units::Bytes,
        }

        impl $name {
            /// Creates the table with these keys and this cable.
            pub fn new($($key: $type,)* cable: crate::spec::topology::Cable) -> $name {
                let crate::spec::topology::Cable { rate, line_code, delay, length, interface_delay, phy, overhead } = cable;
                $name { $($key,)* $($($other: None,)*)? rate, line_code, delay, length, interface_delay, phy, overhead }
            }
        }

        impl crate::spec::topology::Cabled for $name {
            fn cable(&self) -> crate::spec::topology::Cable {
                let &$name { rate, line_code, delay, length, interface_delay, phy, overhead, .. } = self;
                crate::spec::topology::Cable { rate, line_code, delay, length, interface_delay, phy, overhead }
            }
            fn fill_cable(&mut self) -> bool {
                if self.delay.is_none() && self.length.is_none() {
                    self.length = Some(crate::spec::topology::cable::DEFAULT_LENGTH);
                }
                let cable = crate::spec::topology::Cabled::cable(self);
                if cable.leaves_out_phy() {
                    self.phy = Some(crate::spec::topology::cable::default_phy(cable.data_rate()));
                }
                if self.phy == Some(flow_control::phy::PhyName::Absent) {
                    self.interface_delay.get_or_insert_default();
                }
                cable.leaves_out_phy()
            }
        }
    };
}
pub(super) use with_cable;

/// Creates the links of a tier from three keys of a table: rate, length and PHY.
macro_rules! tier {
    ($keys:expr, $rate:ident, $length:ident, $phy:ident) => {
        crate::spec::topology::OtherLinks {
            rate: (stringify!($rate), $keys.$rate),
            length: (stringify!($length), $keys.$length),
            phy: (stringify!($phy), $keys.$phy),
        }
    };
}
pub(super) use tier;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_delay() {
        let mut cable = Cable { delay: None, length: Some(Length::from_m(100)), ..at_gbps(10) };
        assert_eq!(cable.delay(), Time::from_ns(500));
        cable.interface_delay = Some(Time::from_ns(7));
        assert_eq!(cable.delay(), Time::from_ns(507));
        cable.length = Some(Length::from_m(u64::MAX / 1000));
        assert!(cable.errors(["rate", "length", "phy"])[0].contains("too long"));
    }

    #[test]
    fn a_line_code_leaves_a_part() {
        let cable = Cable { line_code: Some(LineCode::EightTen), ..at_gbps(10) };
        assert_eq!(cable.data_rate(), BitRate::from_gbps(8));
        assert_eq!(cable.at(Some(BitRate::from_gbps(5))).data_rate(), BitRate::from_gbps(4));
    }

    #[test]
    fn all_errors_of_a_cable_are_told_at_once() {
        let cable = Cable { length: Some(Length::from_m(1)), overhead: Bytes::new(1 << 20), ..at_gbps(2000) };
        let errors: Vec<String> = cable
            .errors(["uplink_rate", "uplink_length", "uplink_phy"])
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].starts_with("a link of 2 Tb/s is outside the range"), "{errors:?}");
    }

    fn at_gbps(rate: u64) -> Cable {
        Cable::new(BitRate::from_gbps(rate), Time::from_ns(10))
    }
}
