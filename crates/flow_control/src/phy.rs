//! PHYs: maximum delay of a frame in the interface of a station.
//!
//! IEEE 802.3 limits the delay of each sublayer, for the transmit and receive paths of one station together. The
//! interface delay of a station is the sum over the sublayers of its PHY and the MAC, MAC Control and reconciliation
//! sublayers above it. A frame passes the transmit path of one station and the receive path of the other. If both ends
//! have the same PHY, the total is this sum once.
//!
//! | PHY | sublayers, in bit times at the rate | sum |
//! |---|---|---|
//! | 10GBASE-R | MAC 8,192, PCS 3,584, PMA and PMD 512 | 12,288 |
//! | 10GBASE-X | MAC 8,192, PCS and PMA 2,048, PMD 512 | 10,752 |
//! | 10GBASE-T | MAC 8,192, PHY 25,600 | 33,792 |
//! | 25GBASE-R | MAC 8,192, PCS 3,584, PMA 4,096, PMD 512 | 16,384 |
//! | 25GBASE-R FEC | and BASE-R FEC 6,144 | 22,528 |
//! | 25GBASE-R RS-FEC | and RS-FEC 24,576 | 40,960 |
//! | 40GBASE-R | MAC 16,384, PCS 11,264, PMA 4,096, PMD 1,024 | 32,768 |
//! | 40GBASE-R FEC | and BASE-R FEC 24,576 | 57,344 |
//! | 50GBASE-R | all sublayers together 75,264 | 75,264 |
//! | 100GBASE-R | MAC 24,576, PCS 35,328, PMA 9,216, PMD 2,048 | 71,168 |
//! | 100GBASE-R RS-FEC | and RS-FEC 40,960 | 112,128 |
//! | 100GBASE-R FEC | and BASE-R FEC 122,880 | 194,048 |
//! | 200GBASE-R | MAC 49,152, PCS with FEC 160,256, PMA 18,432, PMD 4,096 | 231,936 |
//! | 400GBASE-R | MAC 98,304, PCS with FEC 320,000, PMA 36,864, PMD 8,192 | 463,360 |
//!
//! A port type is mapped to its PHY: 10GBASE-SR, -LR and -ER to 10GBASE-R, 10GBASE-CX4 and -LX4 to 10GBASE-X,
//! 25GBASE-CR, -SR and -LR to 25GBASE-R RS-FEC, 100GBASE-SR4 and -CR4 to 100GBASE-R RS-FEC, and so on. If a type
//! allows operation without FEC, or has two FECs (25GBASE-CR, 40GBASE-CR4), it is mapped to the slower variant,
//! because the headroom must suffice for both.
//!
//! Source: IEEE 802.3, the delay constraints of each sublayer's clause, as collected in the tables of clauses 44, 80,
//! 105 and 116.
//!
//! *Not verified.* The text of the standard was not available. 8,192 and 25,600 at 10 Gb/s are the values in the Linux
//! driver of Intel's NICs. 6,144, 24,576 and 122,880 of BASE-R FEC at 25, 40 and 100 Gb/s are published, but as bounds
//! of whole interfaces. All other values are recalled. Their sums support them: in quanta of 512 bit times they are 80
//! for 25GBASE-R with RS-FEC, 453 for 200GBASE-R and 905 for 400GBASE-R, exactly the published limits of the pause
//! response at these rates. 10GBASE-T plus the 8 quanta of a XAUI is 74, its published limit. At 40 and 100 Gb/s the
//! sums are below the limits (112 of 118 and 379 of 394), as required. For 50GBASE-R the sum is its limit (147),
//! because its sublayers are not known here.
//!
//! Not modelled: XAUI, XGXS and other extenders, WAN PHYs, different PHYs at the two ends of a link, and the PMDs of
//! backplanes and copper cables, whose delay may exceed the values in the table.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::{BitRate, Time};

/// Delay limit of one sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sublayer {
    /// Name of the sublayer in the standard.
    pub name: &'static str,
    /// Delay of the transmit and receive side of one station together, in bit times at the rate of the PHY.
    pub bits: u64,
    /// Clause of IEEE 802.3 that limits the delay.
    pub clause: &'static str,
    /// True if the number has also been published elsewhere. If false it is from memory, see the page of this module.
    pub published: bool,
}

/// A PHY and the delays of its sublayers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// Name, like "25GBASE-R RS-FEC".
    pub name: &'static str,
    /// Rate of the PHY.
    pub rate: BitRate,
    /// Sublayers, including MAC, MAC Control and reconciliation.
    pub sublayers: &'static [Sublayer],
    /// Limit of the response to a pause in quanta of 512 bit times, if it differs from that of the rate.
    pub response_quanta: Option<u64>,
}

/// The PHY at both ends of a link, for the computation of its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyName {
    /// The PHY of the link's rate with the longest delay.
    Slowest,
    /// An explicit choice of no PHY delay.
    Absent,
    /// One of [`PHYS`], by name.
    Named(&'static str),
}

impl PhyName {
    const SLOWEST: &str = "slowest";
    const ABSENT: &str = "none";

    fn all() -> impl Iterator<Item = &'static str> {
        let port_types = PORT_TYPES.iter().flat_map(|(_, types)| types.iter().copied());
        [PhyName::SLOWEST, PhyName::ABSENT]
            .into_iter()
            .chain(PHYS.iter().map(|phy| phy.name))
            .chain(port_types)
    }
    /// Returns the PHY of a link with this rate; `None` if there is no PHY of this name and rate, or if there is to be
    /// no PHY delay.
    pub fn at(self, rate: BitRate) -> Option<&'static Phy> {
        match self {
            PhyName::Named(name) => Phy::named(name).filter(|phy| phy.rate == rate),
            PhyName::Slowest => Phy::slowest_at(rate),
            PhyName::Absent => None,
        }
    }
}

impl Serialize for PhyName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            PhyName::Slowest => PhyName::SLOWEST,
            PhyName::Absent => PhyName::ABSENT,
            PhyName::Named(name) => name,
        })
    }
}
impl<'de> Deserialize<'de> for PhyName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PhyName, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            PhyName::SLOWEST => return Ok(PhyName::Slowest),
            PhyName::ABSENT => return Ok(PhyName::Absent),
            _ => {}
        }
        let known = PhyName::all().find(|name| *name == text).and_then(Phy::named);
        known.map(|phy| PhyName::Named(phy.name)).ok_or_else(|| {
            let names: Vec<String> = PhyName::all().map(|name| format!("`{name}`")).collect();
            de::Error::custom(format!("unknown variant `{text}`, expected one of {}", names.join(", ")))
        })
    }
}
impl JsonSchema for PhyName {
    fn schema_name() -> Cow<'static, str> {
        "PhyName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The PHY at both ends of a link, as far as its delay goes.",
            "type": "string",
            "enum": PhyName::all().collect::<Vec<_>>()
        })
    }
}

const fn gbps(rate: u64) -> BitRate {
    BitRate::from_gbps(rate)
}
const fn published(name: &'static str, bits: u64, clause: &'static str) -> Sublayer {
    Sublayer { name, bits, clause, published: true }
}
const fn recalled(name: &'static str, bits: u64, clause: &'static str) -> Sublayer {
    Sublayer { name, bits, clause, published: false }
}
const fn phy(name: &'static str, rate: u64, sublayers: &'static [Sublayer]) -> Phy {
    Phy { name, rate: gbps(rate), sublayers, response_quanta: None }
}

const MAC: &str = "MAC, MAC Control and reconciliation";
const MAC_10G: Sublayer = published(MAC, 8_192, "46");
const MAC_25G: Sublayer = recalled(MAC, 8_192, "106");
const PCS_25G: Sublayer = recalled("PCS", 3_584, "107");
const PMA_25G: Sublayer = recalled("PMA", 4_096, "109");
const PMD_25G: Sublayer = recalled("PMD", 512, "110 to 112");
const MAC_40G: Sublayer = recalled(MAC, 16_384, "81");
const PCS_40G: Sublayer = recalled("PCS", 11_264, "82");
const PMA_40G: Sublayer = recalled("PMA", 4_096, "83");
const PMD_40G: Sublayer = recalled("PMD", 1_024, "86, 87");
const MAC_100G: Sublayer = recalled(MAC, 24_576, "81");
const PCS_100G: Sublayer = recalled("PCS", 35_328, "82");
const PMA_100G: Sublayer = recalled("PMA", 9_216, "83");
const PMD_100G: Sublayer = recalled("PMD", 2_048, "86, 88, 95");

/// All known PHYs, in order of rate.
pub const PHYS: &[Phy] = &[
    phy(
        "10GBASE-R",
        10,
        &[MAC_10G, recalled("PCS", 3_584, "49"), recalled("PMA and PMD, serial", 512, "51, 52")],
    ),
    phy("10GBASE-X", 10, &[MAC_10G, recalled("PCS and PMA", 2_048, "48"), recalled("PMD", 512, "53, 54")]),
    Phy {
        response_quanta: Some(crate::headroom::RESPONSE_QUANTA_10GBASE_T),
        ..phy("10GBASE-T", 10, &[MAC_10G, published("PCS and PMA", 25_600, "55")])
    },
    phy("25GBASE-R", 25, &[MAC_25G, PCS_25G, PMA_25G, PMD_25G]),
    phy("25GBASE-R FEC", 25, &[MAC_25G, PCS_25G, published("BASE-R FEC", 6_144, "74"), PMA_25G, PMD_25G]),
    phy("25GBASE-R RS-FEC", 25, &[MAC_25G, PCS_25G, recalled("RS-FEC", 24_576, "108"), PMA_25G, PMD_25G]),
    phy("40GBASE-R", 40, &[MAC_40G, PCS_40G, PMA_40G, PMD_40G]),
    phy("40GBASE-R FEC", 40, &[MAC_40G, PCS_40G, published("BASE-R FEC", 24_576, "74"), PMA_40G, PMD_40G]),
    phy("50GBASE-R", 50, &[recalled("all sublayers, MAC to PMD", 75_264, "132 to 140")]),
    phy("100GBASE-R", 100, &[MAC_100G, PCS_100G, PMA_100G, PMD_100G]),
    phy(
        "100GBASE-R RS-FEC",
        100,
        &[MAC_100G, PCS_100G, recalled("RS-FEC", 40_960, "91"), PMA_100G, PMD_100G],
    ),
    phy(
        "100GBASE-R FEC",
        100,
        &[MAC_100G, PCS_100G, published("BASE-R FEC", 122_880, "74"), PMA_100G, PMD_100G],
    ),
    phy(
        "200GBASE-R",
        200,
        &[
            recalled(MAC, 49_152, "117"),
            recalled("PCS with FEC", 160_256, "119"),
            recalled("PMA", 18_432, "120"),
            recalled("PMD", 4_096, "121, 122, 138"),
        ],
    ),
    phy(
        "400GBASE-R",
        400,
        &[
            recalled(MAC, 98_304, "117"),
            recalled("PCS with FEC", 320_000, "119"),
            recalled("PMA", 36_864, "120"),
            recalled("PMD", 8_192, "122 to 124, 138"),
        ],
    ),
];

/// The usual PHY of each rate: that of 10GBASE-SR, 25GBASE-SR and -CR, 40GBASE-SR4, 100GBASE-SR4 and -CR4.
const USUAL: [&str; 7] = [
    "10GBASE-R",
    "25GBASE-R RS-FEC",
    "40GBASE-R",
    "50GBASE-R",
    "100GBASE-R RS-FEC",
    "200GBASE-R",
    "400GBASE-R",
];

/// The port types of each PHY, as in IEEE 802.3 and on the labels of transceivers.
pub const PORT_TYPES: &[(&str, &[&str])] = &[
    ("10GBASE-R", &["10GBASE-SR", "10GBASE-LR", "10GBASE-ER"]),
    ("10GBASE-X", &["10GBASE-CX4", "10GBASE-LX4"]),
    ("25GBASE-R FEC", &["25GBASE-CR-S", "25GBASE-KR-S"]),
    ("25GBASE-R RS-FEC", &["25GBASE-CR", "25GBASE-KR", "25GBASE-SR", "25GBASE-LR", "25GBASE-ER"]),
    ("40GBASE-R", &["40GBASE-SR4", "40GBASE-LR4", "40GBASE-ER4", "40GBASE-FR"]),
    ("40GBASE-R FEC", &["40GBASE-CR4", "40GBASE-KR4"]),
    ("50GBASE-R", &["50GBASE-CR", "50GBASE-KR", "50GBASE-SR", "50GBASE-FR", "50GBASE-LR", "50GBASE-ER"]),
    ("100GBASE-R", &["100GBASE-SR10", "100GBASE-LR4", "100GBASE-ER4"]),
    (
        "100GBASE-R RS-FEC",
        &[
            "100GBASE-SR4",
            "100GBASE-CR4",
            "100GBASE-KR4",
            "100GBASE-SR2",
            "100GBASE-CR2",
            "100GBASE-KR2",
            "100GBASE-DR",
            "100GBASE-FR1",
            "100GBASE-LR1",
        ],
    ),
    ("100GBASE-R FEC", &["100GBASE-CR10"]),
    (
        "200GBASE-R",
        &[
            "200GBASE-SR4",
            "200GBASE-CR4",
            "200GBASE-KR4",
            "200GBASE-DR4",
            "200GBASE-FR4",
            "200GBASE-LR4",
            "200GBASE-ER4",
        ],
    ),
    (
        "400GBASE-R",
        &[
            "400GBASE-SR16",
            "400GBASE-SR8",
            "400GBASE-SR4.2",
            "400GBASE-DR4",
            "400GBASE-FR4",
            "400GBASE-FR8",
            "400GBASE-LR4-6",
            "400GBASE-LR8",
            "400GBASE-ER8",
        ],
    ),
];

impl Phy {
    /// Returns the PHY of this name, or the PHY of the port type of this name. Case is ignored.
    pub fn named(name: &str) -> Option<&'static Phy> {
        let name = name.trim();
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        let of_type = PORT_TYPES.iter().find(|(_, types)| types.iter().any(|known| is_it(known)));
        PHYS.iter().find(|phy| is_it(phy.name) || of_type.is_some_and(|(known, _)| *known == phy.name))
    }
    /// Returns the port types that have this PHY.
    pub fn port_types(&self) -> &'static [&'static str] {
        PORT_TYPES.iter().find(|(name, _)| *name == self.name).map_or(&[], |(_, types)| types)
    }
    /// Returns the PHYs of a rate.
    pub fn at(rate: BitRate) -> impl Iterator<Item = &'static Phy> {
        PHYS.iter().filter(move |phy| phy.rate == rate)
    }
    /// Returns the PHY with the longest delay of a rate, if any is known.
    pub fn slowest_at(rate: BitRate) -> Option<&'static Phy> {
        Phy::at(rate).max_by_key(|phy| phy.interface_bits())
    }
    /// Returns the usual PHY of a rate, if any is known: that of the short-range optical and twinaxial port types.
    pub fn usual_at(rate: BitRate) -> Option<&'static Phy> {
        USUAL.iter().find_map(|name| Phy::named(name).filter(|phy| phy.rate == rate))
    }
    /// Returns the interface delay of one station in bit times: the sum of its sublayers.
    pub fn interface_bits(&self) -> u64 {
        self.sublayers.iter().map(|sublayer| sublayer.bits).sum()
    }
    /// Returns the interface delay of one station, rounded up. It is also the delay that the interfaces add to one
    /// direction of a link.
    pub fn interface_delay(&self) -> Time {
        self.rate.time_for_bits_ceil(self.interface_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headroom::response_quanta;
    use crate::pause::QUANTUM_BITS;

    fn bits(name: &str) -> u64 {
        Phy::named(name).unwrap_or_else(|| panic!("{name}")).interface_bits()
    }

    #[test]
    fn the_table_of_the_page_is_that_of_the_code() {
        let page = include_str!("phy.rs");
        let number = |text: &str| text.trim().replace(',', "").parse::<u64>();
        let rows: Vec<(String, u64)> = page
            .lines()
            .filter_map(|line| {
                let cells: Vec<&str> = line.strip_prefix("//! |")?.split('|').collect();
                Some((cells[0].trim().to_string(), number(cells[2]).ok()?))
            })
            .collect();
        let code: Vec<(String, u64)> =
            PHYS.iter().map(|phy| (phy.name.to_string(), phy.interface_bits())).collect();
        assert_eq!(rows, code);
    }

    #[test]
    fn sums_are_the_limits_of_the_response() {
        // The limits of clause 31B.3.7 are published; they support the numbers that are from memory.
        let quanta = |name| bits(name) as f64 / QUANTUM_BITS as f64;
        for (name, limit) in [("25GBASE-R RS-FEC", 80.0), ("200GBASE-R", 453.0), ("400GBASE-R", 905.0)] {
            assert_eq!(quanta(name), limit, "{name}");
            assert_eq!(limit, response_quanta(Phy::named(name).unwrap().rate) as f64);
        }
        assert_eq!(quanta("10GBASE-T") + 8.0, 74.0);
        // No PHY has a delay above the response limit of its station.
        for phy in PHYS {
            let limit = phy.response_quanta.unwrap_or(response_quanta(phy.rate));
            assert!(phy.interface_bits() <= limit * QUANTUM_BITS, "{}", phy.name);
        }
    }

    #[test]
    fn names_and_the_slowest() {
        assert_eq!(Phy::named(" 25gbase-r rs-fec").map(|phy| phy.name), Some("25GBASE-R RS-FEC"));
        for (port_type, name) in [
            ("10GBASE-SR", "10GBASE-R"),
            ("10gbase-lr", "10GBASE-R"),
            ("10GBASE-CX4", "10GBASE-X"),
            ("25GBASE-CR", "25GBASE-R RS-FEC"),
            ("100GBASE-SR4", "100GBASE-R RS-FEC"),
        ] {
            assert_eq!(Phy::named(port_type).map(|phy| phy.name), Some(name));
        }
        assert_eq!(Phy::named("10GBASE-SR4"), None);
        // Each port type has one PHY, of the rate in its name.
        let types: Vec<_> =
            PORT_TYPES.iter().flat_map(|(phy, types)| types.iter().map(move |one| (phy, one))).collect();
        for (nth, (phy, one)) in types.iter().enumerate() {
            let named = Phy::named(one).unwrap();
            assert_eq!(named.name, **phy);
            assert!(one.starts_with(&format!("{}GBASE-", named.rate.bps() / 1_000_000_000)), "{one}");
            assert!(types[..nth].iter().all(|(_, before)| before != one), "{one}");
        }
        let slowest = |rate| Phy::slowest_at(gbps(rate)).map(|phy| phy.name);
        assert_eq!([10, 25, 100].map(slowest), ["10GBASE-T", "25GBASE-R RS-FEC", "100GBASE-R FEC"].map(Some));
        assert_eq!(slowest(56), None);
        let usual = |phy: &&Phy| Phy::usual_at(phy.rate).is_some_and(|usual| usual.name == phy.name);
        let usual: Vec<_> = PHYS.iter().filter(usual).map(|phy| phy.name).collect();
        assert_eq!(usual, USUAL, "there is one usual PHY per rate");
        assert!(PHYS.iter().all(|phy| Phy::usual_at(phy.rate).is_some()));
        // 71,168 bit times at 100 Gb/s.
        assert_eq!(Phy::named("100GBASE-R").unwrap().interface_delay(), Time::from_ps(711_680));
    }
}
