//! Parsing of quantities: "10 Gb/s", "300 m", "1.5 us", "64 KiB", "100 frames".
//!
//! A quantity is a decimal number and a unit; the unit is required, and parsing is exact.

use crate::{BitRate, Bytes, ClockTolerance, Length, Time};
use std::fmt;
use std::str::FromStr;

/// A quantity counted in bytes or in whole frames, as switch buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Number of bytes, without line overhead.
    Bytes(u64),
    /// Number of frames, of any length.
    Frames(u64),
}

impl Amount {
    /// Returns true if both amounts are bytes, or both are frames.
    pub fn comparable(self, other: Amount) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
    /// Returns true if this amount exceeds the other; false if they are not comparable.
    pub fn exceeds(self, other: Amount) -> bool {
        match (self, other) {
            (Amount::Bytes(a), Amount::Bytes(b)) | (Amount::Frames(a), Amount::Frames(b)) => a > b,
            _ => false,
        }
    }
    /// Formats amounts for a comparison in one sentence: amounts in bytes use the largest unit of which all of them are
    /// multiples.
    pub fn alike<const N: usize>(amounts: [Amount; N]) -> [String; N] {
        let of_all = |amount: &Amount| match amount {
            Amount::Bytes(bytes) => *bytes,
            Amount::Frames(_) => 0,
        };
        let bits = amounts.iter().fold(0, |bits, amount| bits | of_all(amount));
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let (shift, unit) = units
            .into_iter()
            .find(|(shift, _)| bits > 0 && bits.trailing_zeros() >= *shift)
            .unwrap_or((0, "B"));
        amounts.map(|amount| match amount {
            Amount::Bytes(bytes) => format!("{} {unit}", bytes >> shift),
            Amount::Frames(_) => amount.to_string(),
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(n) => Bytes::new(*n).fmt(f),
            Amount::Frames(n) => write!(f, "{n} frames"),
        }
    }
}

/// Reason why a text is not a valid quantity. The message lists the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    message: String,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for ParseUnitError {}

/// Maximum clock offset: 1,000 parts per million.
const MOST_PPB: u32 = 1_000_000;

/// Units of one dimension: name, and size in base units. The first is the most likely unit of a bare number.
struct Dimension {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
}

const TIME: Dimension = Dimension {
    what: "time",
    example: "1.5 us",
    units: &[
        ("us", 1_000_000),
        ("ps", 1),
        ("ns", 1_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
};
const RATE: Dimension = Dimension {
    what: "rate",
    example: "10 Gb/s",
    units: &[
        ("Gb/s", 1_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Tb/s", 1_000_000_000_000),
    ],
};
const BYTES: Dimension = Dimension {
    what: "size",
    example: "1522 B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
    ],
};
const LENGTH: Dimension = Dimension {
    what: "length",
    example: "300 m",
    units: &[("m", 1_000), ("mm", 1), ("cm", 10), ("km", 1_000_000)],
};
const TOLERANCE: Dimension =
    Dimension { what: "tolerance", example: "100 ppm", units: &[("ppm", 1_000), ("ppb", 1)] };
const FRAMES: Dimension =
    Dimension { what: "size", example: "100 frames", units: &[("frames", 1), ("frame", 1)] };

impl FromStr for Time {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Time, ParseUnitError> {
        read(text, &TIME).map(Time::from_ps)
    }
}
impl FromStr for BitRate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<BitRate, ParseUnitError> {
        read(text, &RATE).map(BitRate::from_bps)
    }
}
impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        read(text, &BYTES).map(Bytes::new)
    }
}
impl FromStr for Length {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Length, ParseUnitError> {
        read(text, &LENGTH).map(Length::from_mm)
    }
}
impl FromStr for ClockTolerance {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<ClockTolerance, ParseUnitError> {
        let ppb = read(text, &TOLERANCE)?;
        match u32::try_from(ppb) {
            Ok(ppb) if ppb <= MOST_PPB => Ok(ClockTolerance::from_ppb(ppb)),
            _ => Err(ParseUnitError {
                message: format!(
                    "\"{text}\": no clock is that wrong; expected at most \"{}\", like the \"100 ppm\" of IEEE 802.3",
                    ClockTolerance::from_ppb(MOST_PPB)
                ),
            }),
        }
    }
}
impl FromStr for Amount {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Amount, ParseUnitError> {
        if text.trim_end().ends_with("frames") || text.trim_end().ends_with("frame") {
            read(text, &FRAMES).map(Amount::Frames)
        } else {
            read(text, &BYTES).map(Amount::Bytes).map_err(|e| ParseUnitError {
                message: format!("{e}; a number of frames (\"100 frames\") is accepted too"),
            })
        }
    }
}

fn read(text: &str, dimension: &Dimension) -> Result<u64, ParseUnitError> {
    let error = |message: String| Err(ParseUnitError { message });
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_' || c == '-' || c == '+'));
    let (number, unit) = match split {
        Some(at) => (&trimmed[..at], trimmed[at..].trim_start()),
        None => (trimmed, ""),
    };
    if number.is_empty() {
        return error(format!(
            "\"{text}\" is not a {}: expected a number and a unit, like \"{}\"",
            dimension.what, dimension.example
        ));
    }
    if number.starts_with('-') {
        return error(format!(
            "\"{text}\": a {} cannot be negative; expected one like \"{}\"",
            dimension.what, dimension.example
        ));
    }
    let accepted = || dimension.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return error(format!(
            "\"{text}\" has no unit: expected one of {}; did you mean \"{number} {}\"?",
            accepted(),
            dimension.units[0].0
        ));
    }
    let Some(&(name, scale)) = dimension.units.iter().find(|(name, _)| *name == unit) else {
        let (what, meant) = meant(number, unit, dimension);
        return error(format!(
            "\"{text}\": {what}; expected one of {}; did you mean \"{meant}\"?",
            accepted()
        ));
    };
    exact_product(number, scale)
        .map_err(|why| match why {
            TOO_LARGE => {
                format!("\"{text}\" {why}; expected at most \"{} {name}\"", (u64::MAX / 2 - 1) / scale)
            }
            why => format!("\"{text}\" {why}"),
        })
        .map_err(|message| ParseUnitError { message })
}

/// Returns a message about an unknown unit, and the text that was probably meant.
fn meant(number: &str, unit: &str, dimension: &Dimension) -> (String, String) {
    let nearest = |unit: &str| {
        let names = dimension.units.iter().map(|(name, _)| *name);
        names.min_by_key(|name| unlikeness(name, unit)).unwrap_or_default()
    };
    if let Some(rest) = unit.strip_prefix(',') {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let text = format!("{number}.{} {}", &rest[..digits], nearest(rest[digits..].trim()));
        return ("a comma in a number".to_string(), text);
    }
    if let Some((digits, rest)) = exponential(number, unit) {
        return ("a number with an exponent".to_string(), format!("{digits} {}", nearest(rest)));
    }
    let unknown = format!("unknown {} unit \"{unit}\"", dimension.what);
    let longer = LONGER.iter().find(|(names, _)| dimension.what == TIME.what && names.contains(&unit));
    match longer.map(|&(_, seconds)| exact_product(number, seconds)) {
        Some(Ok(seconds)) => (unknown, format!("{seconds} s")),
        _ => (unknown, format!("{number} {}", nearest(unit))),
    }
}

/// Units of time that are not accepted, in seconds.
const LONGER: &[(&[&str], u64)] = &[
    (&["min", "mins", "minute", "minutes"], 60),
    (&["h", "hr", "hour", "hours"], 3_600),
    (&["d", "day", "days"], 86_400),
];

/// Returns the value of a number with an exponent, and its unit. In "1e+06 Mb/s", `number` is "1" and `unit` is "e+06
/// Mb/s".
fn exponential<'a>(number: &str, unit: &'a str) -> Option<(String, &'a str)> {
    let power = unit.strip_prefix(['e', 'E'])?;
    let end = power.find(|c: char| !(c.is_ascii_digit() || c == '+' || c == '-')).unwrap_or(power.len());
    let value: f64 = format!("{number}e{}", &power[..end]).parse().ok()?;
    (1e-12..1e18).contains(&value).then(|| (format!("{value}"), power[end..].trim_start()))
}

const TOO_LARGE: &str = "is too large";

/// Returns `number` (decimal digits, at most one point) times `scale`. An error if the product is not a whole number of
/// base units.
fn exact_product(number: &str, scale: u64) -> Result<u64, &'static str> {
    if !groups_digits(number) {
        return Err("has a `_` that is not between two digits");
    }
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() && fraction.is_empty()
        || !(whole.chars().chain(fraction.chars())).all(|c| c.is_ascii_digit())
    {
        return Err("does not start with a decimal number");
    }
    if fraction.len() > 18 {
        return Err("has more decimals than the smallest unit");
    }
    let denominator = 10u128.pow(fraction.len() as u32);
    let mantissa: u128 = format!("{whole}{fraction}").parse().map_err(|_| TOO_LARGE)?;
    let product = mantissa.checked_mul(u128::from(scale)).ok_or(TOO_LARGE)?;
    if product % denominator != 0 {
        return Err("is not a whole number of the smallest unit (1 ps, 1 b/s, 1 B, 1 mm, 1 ppb)");
    }
    // Half of the range is kept free, so that the sum of two quantities cannot overflow.
    u64::try_from(product / denominator).ok().filter(|&v| v < u64::MAX / 2).ok_or(TOO_LARGE)
}

/// Returns true if each `_` is between two digits, as TOML requires.
fn groups_digits(number: &str) -> bool {
    let ends_with_digit = |part: &&str| part.ends_with(|c: char| c.is_ascii_digit());
    let starts_with_digit = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let parts: Vec<&str> = number.split('_').collect();
    let last = parts.len() - 1;
    parts[..last].iter().all(ends_with_digit) && parts[1..].iter().all(starts_with_digit)
}

/// Returns the distance of two unit names: the case-insensitive edit distance, with ties decided in favour of the same
/// case.
fn unlikeness(a: &str, b: &str) -> (usize, usize) {
    let fold = |s: &str| s.to_lowercase().replace("bit", "b").replace("ps", "/s");
    (strsim::levenshtein(&fold(a), &fold(b)), strsim::levenshtein(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("10 Gb/s".parse(), Ok(BitRate::from_gbps(10)));
        assert_eq!("2.5Gb/s".parse(), Ok(BitRate::from_bps(2_500_000_000)));
        assert_eq!("1.5 us".parse(), Ok(Time::from_ns(1_500)));
        assert_eq!("6.785 us".parse(), Ok(Time::from_ps(6_785_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("300 m".parse(), Ok(Length::from_m(300)));
        assert_eq!("100 frames".parse(), Ok(Amount::Frames(100)));
        assert_eq!("1_000 B".parse(), Ok(Amount::Bytes(1_000)));
    }

    #[test]
    fn amounts_of_one_sentence_have_one_unit() {
        let texts = |amounts: [Amount; 3]| Amount::alike(amounts);
        let bytes = |sizes: [u64; 3]| texts(sizes.map(Amount::Bytes));
        assert_eq!(bytes([4 << 20, 2 << 30, 0]), ["4 MiB", "2048 MiB", "0 MiB"]);
        assert_eq!(bytes([4 << 20, 1_536, 1 << 10]), ["4194304 B", "1536 B", "1024 B"]);
        assert_eq!(bytes([0, 0, 0]), ["0 B", "0 B", "0 B"]);
        let mixed = [Amount::Bytes(1 << 20), Amount::Frames(3), Amount::Bytes(1 << 11)];
        assert_eq!(texts(mixed), ["1024 KiB", "3 frames", "2 KiB"]);
    }

    #[test]
    fn refuses_with_a_hint() {
        let message = |r: Result<BitRate, ParseUnitError>| r.unwrap_err().to_string();
        assert!(message("10 Gbit".parse()).contains("did you mean \"10 Gb/s\""));
        assert!(message("10 gbps".parse()).contains("did you mean \"10 Gb/s\""));
        assert!(message("10".parse()).contains("has no unit"));
        assert!(message("-1 Gb/s".parse()).contains("cannot be negative"));
        assert!(message("fast".parse()).contains("expected a number and a unit"));
        assert!("0.5 ps".parse::<Time>().unwrap_err().to_string().contains("not a whole number"));
        assert!("1.2.3 s".parse::<Time>().is_err());
        for text in ["1__0 ms", "_1 ms", "1_ ms", "1_.5 ms", "1._5 ms", "1_000_ ms", "__ ms"] {
            let why = text.parse::<Time>().unwrap_err().to_string();
            assert!(why.contains("not between two digits") && why.contains(text), "{why}");
        }
        assert!("99999999999999999999 s".parse::<Time>().unwrap_err().to_string().contains("too large"));
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_agree(ps in 0u64..u64::MAX / 2, bytes in 0u64..u64::MAX / 2, ppb in 0u32..=MOST_PPB) {
            let tolerance = ClockTolerance::from_ppb(ppb);
            proptest::prop_assert_eq!(tolerance.to_string().parse(), Ok(tolerance));
            proptest::prop_assert_eq!(Time::from_ps(ps).to_string().parse(), Ok(Time::from_ps(ps)));
            proptest::prop_assert_eq!(BitRate::from_bps(ps).to_string().parse(), Ok(BitRate::from_bps(ps)));
            proptest::prop_assert_eq!(Length::from_mm(ps).to_string().parse(), Ok(Length::from_mm(ps)));
            proptest::prop_assert_eq!(Bytes::new(bytes).to_string().parse(), Ok(Bytes::new(bytes)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = (text.parse::<Time>(), text.parse::<BitRate>(), text.parse::<Amount>(), text.parse::<Length>());
        }
    }
}
