//! Checks of keys shared by the congestion points and reaction points of all schemes.

use keys::Remark;
use units::{BitRate, Bytes, Never, Or, Time, Unlimited};

/// Formats a key and its value for messages.
fn named(key: &str, value: impl std::fmt::Display) -> String {
    let article = if key.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {key} of {value}")
}

pub(crate) fn above_zero(key: &str, size: Bytes) -> Result<(), Remark> {
    if size.get() > 0 {
        return Ok(());
    }
    Err(Remark::about(key, named(key, 0), "expected a size with unit, at least \"1 B\""))
}

pub(crate) fn share(key: &str, value: f64) -> Result<(), Remark> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    Err(Remark::about(key, named(key, value), "expected a number from 0 to below 1, like 0.15"))
}

pub(crate) fn within(key: &str, value: f64, least: f64, most: f64) -> Result<(), Remark> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Remark::about(key, named(key, value), format!("expected a number, {least} to {most}")))
}

/// Checks that a value is above `least` and at most `most`.
pub(crate) fn above(key: &str, value: f64, least: f64, most: f64) -> Result<(), Remark> {
    if value > least && value <= most {
        return Ok(());
    }
    let help = format!("expected a number above {least}, at most {most}");
    Err(Remark::about(key, named(key, value), help))
}

pub(crate) fn message_priority(priority: u32) -> Result<(), Remark> {
    if priority <= 7 {
        return Ok(());
    }
    let message = format!("priority {priority}");
    Err(Remark::about("message_priority", message, "expected 0 to 7 (IEEE 802.1Q)"))
}

/// Checks a list of priorities, which must be distinct and not empty; returns them as a set, bit n for priority n.
pub(crate) fn distinct_priorities(key: &str, named: &[u32]) -> Result<u8, Remark> {
    if named.is_empty() {
        return Err(Remark::about(key, "no priority", "expected priorities, like [3]"));
    }
    let mut set = 0;
    for (index, &priority) in named.iter().enumerate() {
        let about = |message: String, help| Err(Remark::about(key, message, help).entry(index));
        if priority > 7 {
            return about(format!("priority {priority}"), "expected 0 to 7 (IEEE 802.1Q)");
        }
        if set >> priority & 1 != 0 {
            return about(format!("priority {priority} twice"), "expected each priority once");
        }
        set |= 1 << priority;
    }
    Ok(set)
}

pub(crate) fn tag_length(length: Bytes) -> Result<(), Remark> {
    if length.get() <= 64 {
        return Ok(());
    }
    Err(Remark::about("tag_length", format!("tags of {length}"), "expected at most \"64 B\", like \"12 B\""))
}

/// Checks an interval, which must be at least a microsecond: an interval shorter than a frame carries no information.
pub(crate) fn interval(key: &str, time: Time) -> Result<(), Remark> {
    if time >= Time::from_us(1) {
        return Ok(());
    }
    Err(Remark::about(key, named(key, time), "expected a time with unit, at least \"1 us\""))
}

/// Checks the short interval, the long interval for calm periods, and the threshold of calm.
pub(crate) fn intervals(short: Time, long: Or<Time, Never>, near: f64) -> Result<(), Remark> {
    interval("interval", short)?;
    if let Some(long) = long.value().filter(|&long| long < short) {
        let message = format!("a long_interval of {long}, and an interval of {short}");
        return Err(Remark::about("long_interval", message, "expected at least interval, or \"never\""));
    }
    within("near_share", near, 0.0, 1.0)
}

pub(crate) fn least_and_most(least: BitRate, most: Or<BitRate, Unlimited>) -> Result<(), Remark> {
    if least.bps() == 0 {
        let help = "expected a rate above 0, like \"5 Mb/s\": a limiter never stops";
        return Err(Remark::about("min_rate", "a rate of 0", help));
    }
    match most.value().filter(|&most| most < least) {
        None => Ok(()),
        Some(most) => {
            let message = format!("a rate of at most {most}, but of at least {least}");
            Err(Remark::about("max_rate", message, "expected a rate not below min_rate, or \"unlimited\""))
        }
    }
}

/// Minimum number of sources that can overload a queue.
const FEWEST: f64 = 2.0;

/// Warns of a gain with which one sampled cut reduces the load by more than twice the excess. `each` is the reduction
/// at a gain of 1, as a multiple of the excess, if a single source fills the link. If several sources fill it, each
/// sample cuts only one of them.
pub(crate) fn overshoots(key: &str, gain: f64, each: f64) -> Option<Remark> {
    let most = 2.0 * FEWEST / each;
    (gain >= most).then(|| {
        let message = format!("{}: the rates of two sources of a queue swing", named(key, gain));
        Remark::about(
            key,
            message,
            format!("stable is a {key} below {most:.3}, with these congestion points"),
        )
    })
}

/// Warns of a congestion point that considers only the length of its queue, not its growth.
pub(crate) fn no_weight(weight: f64) -> Option<Remark> {
    (weight == 0.0).then(|| {
        let message = "a weight of 0 at the congestion points: a queue that follows its length alone swings";
        Remark::new(message, "stable is a weight above 0, like 2")
    })
}
