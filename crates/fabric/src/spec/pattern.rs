//! Patterns and ranges of names, such as `leaf0.*` or `h1..h32`.

use crate::spec::topology::MAX_NODES;

/// A pattern for names: a name in which `*` matches any characters, or an inclusive range of two names that end in
/// numbers, joined by `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates the pattern with this text.
    pub fn new(text: &str) -> Pattern {
        Pattern(text.to_string())
    }
    /// Returns the pattern as written in the scenario.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern matches this name.
    pub fn names(&self, name: &str) -> bool {
        match self.0.split_once("..") {
            Some((first, last)) => between(name, first, last),
            None => matches(&self.0, name),
        }
    }

    /// Returns true if the pattern matches a port, by its own name or that of its node.
    pub fn names_port(&self, port: &str) -> bool {
        self.names(port) || port.split_once('.').is_some_and(|(node, _)| self.names(node))
    }

    /// Returns true if the pattern matches a class of a port: as a queue ("sw.2->h1/3"), by its port, by its node, or
    /// by node and class ("sw/3").
    pub fn names_queue(&self, port: &str, class: &str) -> bool {
        let node = port.split_once('.').map_or(port, |(node, _)| node);
        self.names_port(port)
            || self.names(&format!("{port}/{class}"))
            || self.names(&format!("{node}/{class}"))
    }

    /// Returns true if the pattern matches a flow, by its own name or by the name that it shares with flows of other
    /// senders.
    pub fn names_flow(&self, flow: &str) -> bool {
        self.names(flow) || flow.split_once('[').is_some_and(|(group, _)| self.names(group))
    }
}

/// Returns true if a name is between `first` and `last`, which differ in their final number.
fn between(name: &str, first: &str, last: &str) -> bool {
    let parts = |name: &str| -> Option<(String, u64)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((stem.to_string(), name[stem.len()..].parse().ok()?))
    };
    match (parts(name), parts(first), parts(last)) {
        (Some(name), Some(first), Some(last)) => {
            name.0 == first.0 && first.0 == last.0 && (first.1..=last.1).contains(&name.1)
        }
        _ => false,
    }
}

/// Returns true if `name` matches `pattern`, in which each `*` matches any characters, including none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(found) = left.find(part) else { return false };
        left = &left[found + part.len()..];
    }
    left.ends_with(last)
}

/// Returns the names of a range; `None` if the text is not a range; an error if it resembles one and is invalid.
pub fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (first, last) = text.split_once("..")?;
    let help = || {
        format!(
            "\"{text}\" is not a range; expected one like \"h1..h32\", upwards, at most {MAX_NODES} names"
        )
    };
    Some(numbers(first, last).ok_or_else(help))
}

fn numbers(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |name: &'_ str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, from) = first.split_at(split(first));
    let (other, to) = last.split_at(split(last));
    let (low, high) = (from.parse::<u64>().ok()?, to.parse::<u64>().ok()?);
    let fits = prefix == other && low <= high && high - low < MAX_NODES;
    let width = if from.len() == to.len() { from.len() } else { 0 };
    fits.then(|| (low..=high).map(|n| format!("{prefix}{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let yes = [
            ("h1", "h1"),
            ("h*", "h1"),
            ("*", ""),
            ("*", "x"),
            ("leaf0.*->h*", "leaf0.3->h12"),
            ("*h1", "h1h1"),
            ("a**b", "axb"),
            ("h*.*1", "h0.11"),
            ("h*1", "h1"),
        ];
        let no =
            [("h1", "h11"), ("h*1", "h12"), ("leaf*.0", "leaf0.1"), ("", "x"), ("*a", "ab"), ("h1*1", "h1")];
        assert!(yes.iter().all(|(pattern, name)| matches(pattern, name)));
        assert!(no.iter().all(|(pattern, name)| !matches(pattern, name)));
    }

    #[test]
    fn ranges_count_numbers() {
        let hosts = Pattern::new("h9..h12");
        let named: Vec<_> =
            ["h8", "h9", "h10", "h12", "h13", "g10", "h", "h1"].map(|name| hosts.names(name)).into();
        assert_eq!(named, [false, true, true, true, false, false, false, false]);
    }

    #[test]
    fn queues_have_names_of_several_lengths() {
        let names = |pattern: &str| Pattern::new(pattern).names_queue("leaf0.0->h0", "3");
        assert!(
            ["leaf0", "leaf0.0->h0", "leaf0/3", "leaf*/3", "*/3", "*->h0/3", "leaf0..leaf4"]
                .iter()
                .all(|p| names(p))
        );
        assert!(!["leaf1", "leaf0/4", "h0", "leaf0.0->h0/2"].iter().any(|p| names(p)));
        assert!(Pattern::new("incast").names_flow("incast[h7]"));
    }

    #[test]
    fn ranges() {
        let names = |text: &str| range(text).map(|names| names.map(|names| names.join(" ")).map_err(|_| ()));
        assert_eq!(names("h9..h11"), Some(Ok("h9 h10 h11".into())));
        assert_eq!(names("h09..h11"), Some(Ok("h09 h10 h11".into())));
        assert_eq!(names("r1.0..r1.1"), Some(Ok("r1.0 r1.1".into())));
        assert_eq!(names("h3..h3"), Some(Ok("h3".into())));
        for wrong in ["h3..h2", "h1..g2", "h1..2", "h..h2", "h1..h99999999999", "..", "h1..h2..h3"] {
            assert_eq!(names(wrong), Some(Err(())), "{wrong}");
        }
        assert_eq!(names("h1"), None);
    }
}
