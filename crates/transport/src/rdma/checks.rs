//! Range checks shared by the keys of several controls, and their messages.

use keys::Remark;
use units::{BitRate, Time};

/// Checks that a number is above 0 and at most `most`.
pub fn number(key: &str, value: f64, most: f64) -> Option<Remark> {
    let fits = value > 0.0 && value <= most;
    let help = if most.is_finite() {
        format!("expected a number above 0 and at most {most}")
    } else {
        "expected a number above 0".to_string()
    };
    (!(fits && value.is_finite()))
        .then(|| Remark::about(key, format!("{} of {value}", with_article(key)), help))
}

/// Checks that a time is above 0.
pub fn time(key: &str, value: Time) -> Option<Remark> {
    let help = "expected a time above 0, like \"50 us\"";
    (value == Time::ZERO).then(|| Remark::about(key, format!("{} of 0", with_article(key)), help))
}

/// Checks that a rate is above 0.
pub fn rate(key: &str, value: BitRate) -> Option<Remark> {
    let help = "expected a rate above 0, like \"100 Mb/s\"";
    (value.bps() == 0).then(|| Remark::about(key, format!("{} of 0", with_article(key)), help))
}

/// Checks that a count is from 0 to `most`.
pub fn count(key: &str, value: u64, most: u64) -> Option<Remark> {
    (value > most).then(|| {
        let message = format!("{} of {value}", with_article(key));
        Remark::about(key, message, format!("expected 0 to {most}"))
    })
}

/// Returns a key with its article.
pub fn with_article(key: &str) -> String {
    let vowel = key.starts_with(['a', 'e', 'i', 'o']) || key == "fs_min" || key == "fs_max";
    format!("{} {key}", if vowel { "an" } else { "a" })
}
