//! Converts bytes to the typed model: UTF-8, TOML, keys and forms of values.
//!
//! Each table and each flow is read independently, so that one mistake does not hide mistakes in others.

use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Source};
use crate::model::{Model, ProbesText};
use crate::place::Place;
use crate::value::{Value, ValueError};
use flow_control::FlowControl;
use keys::nearest;
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum size of a scenario. Larger ones are rejected before they are parsed.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum number of reported errors of a scenario.
pub const MAX_ERRORS: usize = 100;

const TABLES: [&str; 15] = [
    "simulation",
    "probes",
    "topology",
    "host",
    "hosts",
    "switch",
    "switches",
    "link",
    "links",
    "flow_control",
    "watchdog",
    "flows",
    "transfers",
    "jobs",
    "faults",
];

/// Returns the text of a scenario, after checks of its size and of UTF-8.
pub fn text<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, Diagnostics> {
    let refuse = |one: Diagnostic| Err(Diagnostics(vec![one]));
    let no_text = |text: &str, at: usize, message: String| {
        let help = "a scenario is a TOML file in UTF-8".to_string();
        refuse(Source { file, text }.at(Severity::Error, at..at, message, help))
    };
    if bytes.len() > MAX_BYTES {
        let message =
            format!("the scenario has {} bytes: at most {MAX_BYTES} (16 MiB) are read", bytes.len());
        let help = "list hosts by patterns like \"h*\", and flows by several senders";
        return refuse(Diagnostic::whole_file(file, message, help));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(why) => {
            let valid = std::str::from_utf8(&bytes[..why.valid_up_to()]).unwrap_or_default();
            return no_text(valid, valid.len(), format!("byte {} is not UTF-8 text", valid.len()));
        }
    };
    match text.find('\0') {
        None => Ok(text),
        Some(at) => no_text(text, at, "a NUL byte: this is not a text file".into()),
    }
}

/// Parses the document to a tree with positions.
pub fn document<'a>(source: &Source<'a>) -> Result<DeTable<'a>, Vec<Diagnostic>> {
    let (document, errors) = DeTable::parse_recoverable(source.text);
    if errors.is_empty() {
        return Ok(document.into_inner());
    }
    let report = |why: &toml::de::Error| {
        let span = why.span().unwrap_or(0..0);
        let (message, mut help) = explain(why.message());
        if message == "duplicate key"
            && source.text.get(span.start..).is_some_and(|key| key.starts_with("probes"))
        {
            help += ": beside other [[probes]], those of the time series have `every` in place of `bin` in [probes]";
        }
        source.at(Severity::Error, span, format!("not TOML: {message}"), help)
    };
    Err(errors.iter().take(MAX_ERRORS).map(report).collect())
}

/// Converts a document to the typed model.
pub fn model(document: &DeTable<'_>, source: &Source<'_>) -> Result<Model, Vec<Diagnostic>> {
    let mut reader = Reader { document, source, errors: Vec::new() };
    for (key, _) in document.iter() {
        if !TABLES.contains(&key.get_ref().as_ref()) {
            let help = expected("", &TABLES, nearest(key.get_ref(), TABLES), "");
            reader.error(key.span(), format!("unknown table `{}`", key.get_ref()), help);
        }
    }
    let model = reader.all();
    match (model, reader.errors) {
        (Some(model), errors) if errors.is_empty() => Ok(model),
        (_, errors) => Err(errors),
    }
}

/// Reads a document as a single table.
pub fn whole<T: DeserializeOwned>(source: &Source<'_>) -> Result<T, Vec<Diagnostic>> {
    let document = document(source)?;
    let all = Spanned::new(0..0, DeValue::Table(document.clone()));
    let mut reader = Reader { document: &document, source, errors: Vec::new() };
    reader.read(all).ok_or(reader.errors)
}

struct Reader<'r, 'i> {
    document: &'r DeTable<'i>,
    source: &'r Source<'r>,
    errors: Vec<Diagnostic>,
}

impl<'i> Reader<'_, 'i> {
    fn error(&mut self, span: Range<usize>, message: String, help: String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(self.source.at(Severity::Error, span, message, help));
        }
    }

    fn all(&mut self) -> Option<Model> {
        let simulation = self.required("simulation", "[simulation] with duration = \"10 ms\"");
        let probes: Option<ProbesText> = self.optional("probes");
        let one_topology = self.one_choice("topology", "one kind of topology");
        let one_flow_control = self.one_choice("flow_control", &FlowControl::NAMES.join(", "));
        let topology =
            if one_topology { self.required("topology", "one topology, like [topology.star]") } else { None };
        let host = self.optional("host");
        let hosts = self.optional("hosts");
        let switch = self.optional("switch");
        let switches = self.optional("switches");
        let link = self.optional("link");
        let links = self.optional("links");
        let flow_control = if one_flow_control { self.optional("flow_control") } else { None };
        let watchdog: Option<Option<_>> = self.optional("watchdog");
        let flows = self.list("flows", "flow");
        let transfers = self.list("transfers", "entry");
        let jobs = self.list("jobs", "job");
        let faults = self.list("faults", "fault");
        Some(Model {
            simulation: simulation?,
            probes: probes?,
            topology: topology?,
            host: host?,
            hosts: hosts?,
            switch: switch?,
            switches: switches?,
            link: link?,
            links: links?,
            flow_control: flow_control?,
            watchdog: watchdog?,
            flows: flows?,
            transfers: transfers?,
            jobs: jobs?,
            faults: faults?,
        })
    }

    /// Checks that a table of alternatives has at most one key. Reports the last one if there are several.
    fn one_choice(&mut self, key: &str, what: &str) -> bool {
        let found = self.document.iter().find(|(name, _)| name.get_ref() == key);
        let Some(table) = found.and_then(|(_, value)| value.get_ref().as_table()) else { return true };
        let mut keys: Vec<(usize, Range<usize>, &str)> =
            table.iter().map(|(name, _)| (name.span().start, name.span(), name.get_ref().as_ref())).collect();
        keys.sort_by_key(|&(start, ..)| start);
        let [(.., first), .., (_, span, last)] = keys.as_slice() else { return true };
        self.error(
            span.clone(),
            format!("[{key}.{last}] beside [{key}.{first}]: more than one choice"),
            format!("expected exactly one table: {what}"),
        );
        false
    }

    /// Reads the table `key`. Returns `None`, with an error, if it is missing or invalid.
    fn required<T: DeserializeOwned>(&mut self, key: &str, what: &str) -> Option<T> {
        if let Some(value) = self.value(key) {
            return self.read(value);
        }
        self.error(0..0, format!("missing table [{key}]"), format!("a scenario needs {what}"));
        None
    }
    /// Reads the table `key`, or returns its default. Returns `None`, with an error, if it is invalid.
    fn optional<T: DeserializeOwned + Default>(&mut self, key: &str) -> Option<T> {
        match self.value(key) {
            Some(value) => self.read(value),
            None => Some(T::default()),
        }
    }
    fn value(&self, key: &str) -> Option<Spanned<DeValue<'i>>> {
        self.document.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value.clone())
    }
    fn list<T: DeserializeOwned>(&mut self, key: &str, what: &str) -> Option<Vec<T>> {
        let Some(value) = self.value(key) else { return Some(Vec::new()) };
        let DeValue::Array(entries) = value.into_inner() else {
            self.error(
                Place::of(key).span(self.document),
                format!("{key} is not a list of tables"),
                format!("each {what} begins with [[{key}]], in two pairs of brackets"),
            );
            return None;
        };
        let read: Vec<Option<T>> = entries.into_iter().map(|entry| self.read(entry)).collect();
        read.into_iter().collect()
    }
    fn read<T: DeserializeOwned>(&mut self, value: Spanned<DeValue<'i>>) -> Option<T> {
        let around = value.span();
        T::deserialize(Value::from(value)).map_err(|why| self.wrong(why, around)).ok()
    }
    fn wrong(&mut self, why: ValueError, around: Range<usize>) {
        let span = why.span.unwrap_or(around);
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let (message, help) = explain(&retold(&why.message, written));
        self.error(span, message, help);
    }
}

/// Former names of keys.
const RENAMED: &[(&str, &str)] = &[
    ("bills", "accounted_length"),
    ("keep_target", "extra_fast_recovery"),
    ("least_factor", "min_decrease_factor"),
    ("most", "max_rows"),
    ("to_hosts", "ports"),
];

/// Rephrases a message of serde or toml about a value of the wrong type, or with a wrong number of elements.
fn retold(raw: &str, written: &str) -> String {
    let is_date = written.starts_with(|c: char| c.is_ascii_digit()) && written.contains(['-', ':']);
    let kind = if is_date { "a date".to_string() } else { format!("{written} without quotes") };
    if let Some(rest) = raw.strip_prefix("invalid type: map")
        && is_date
    {
        return format!("{kind} in place of text: {written}{rest}");
    }
    if raw.starts_with("invalid type: ") && raw.ends_with(", expected a name in quotes, or a table with keys")
    {
        return format!("{kind} where a choice belongs; expected a name in quotes, or a table with keys");
    }
    if raw == "invalid type: map, expected enum" {
        // A table of alternatives without any.
        return "wanted exactly 1 element, found 0 elements".to_string();
    }
    raw.replace("invalid type: map", "a table in place of a value")
        .replace("invalid type: sequence, expected struct", "a list in place of a table, expected struct")
        .replace("invalid type: sequence", "a list in place of a value")
}

/// Splits a message of serde or toml into the problem and the accepted values.
fn explain(raw: &str) -> (String, String) {
    if let Some((name, candidates)) = unknown(raw, "unknown field `") {
        if let Some((_, new)) =
            RENAMED.iter().find(|(old, new)| *old == name && candidates.iter().any(|one| one == new))
        {
            return (format!("unknown key `{name}`"), format!("it is called `{new}` now"));
        }
        let hint = nearest(&name, candidates.iter().map(String::as_str));
        if hint.is_none() && TABLES.contains(&name.as_str()) {
            let help =
                format!("write [{name}] on a line of its own, or `{name}` above the first table of the file");
            return (format!("`{name}` is a table of the file, not a key of this one"), help);
        }
        return (format!("unknown key `{name}`"), expected("", &candidates, hint, ""));
    }
    if let Some((name, candidates)) = unexpected(raw) {
        let hint = nearest(name, candidates.iter().copied());
        return (format!("unknown key `{name}`"), expected("", &candidates, hint, ""));
    }
    if let Some((name, candidates)) = unknown(raw, "unknown variant `") {
        let hint = nearest(&name, candidates.iter().map(String::as_str));
        return (format!("unknown value `{name}`"), expected("", &candidates, hint, "\""));
    }
    if let Some(name) = raw.strip_prefix("missing field `") {
        let name = name.trim_end_matches('`');
        return (format!("missing key `{name}`"), format!("`{name}` is required here"));
    }
    if raw.starts_with("wanted exactly 1 element") {
        let found = if raw.ends_with("0 elements") { "nothing" } else { "more than one choice" };
        return (
            format!("{found} where exactly one choice belongs"),
            "keep exactly one key in this table".into(),
        );
    }
    if raw == "duplicate key" {
        let help = "it is also defined above; a table [name] and entries [[name]] are two forms of one key";
        return (raw.into(), help.into());
    }
    let whole = numbers(raw)
        .replace("expected a sequence", "expected a list in [ ]")
        .replace("expected a string", "expected text in quotes")
        .replace("expected a boolean", "expected true or false");
    let whole = match whole.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table with keys"),
        None => whole,
    };
    for separator in [": expected ", "; expected ", ", expected "] {
        if let Some((message, rest)) = whole.split_once(separator) {
            return (message.to_string(), format!("expected {rest}"));
        }
    }
    match whole.split_once("; ") {
        Some((message, help)) => (message.to_string(), help.to_string()),
        None => (whole, String::new()),
    }
}

/// Replaces the names of Rust's integer and float types by the values that they accept.
fn numbers(raw: &str) -> String {
    let whole = raw.replace("expected f64", "expected a number");
    let natural = "expected a whole number that is not negative";
    let whole = whole.replace("expected u64", natural).replace("expected usize", natural);
    [("u8", u64::from(u8::MAX)), ("u16", u16::MAX.into()), ("u32", u32::MAX.into())]
        .iter()
        .fold(whole, |text, (of, most)| {
            text.replace(&format!("expected {of}"), &format!("{natural}, at most {most}"))
        })
}

/// Parses the unknown name and the accepted ones in serde's "unknown field `x`, expected one of `a`, `b`".
fn unknown(raw: &str, prefix: &str) -> Option<(String, Vec<String>)> {
    let (name, rest) = raw.strip_prefix(prefix)?.rsplit_once("`, ").and_then(|_| {
        let rest = raw.strip_prefix(prefix)?;
        rest.split_once("`, expected ").or_else(|| rest.split_once("`, there are no "))
    })?;
    let candidates = rest.split('`').skip(1).step_by(2).map(str::to_string).collect();
    Some((name.to_string(), candidates))
}

/// Parses the first unknown name and the accepted ones in toml's "unexpected keys in table: x, y, available keys: a,
/// b".
fn unexpected(raw: &str) -> Option<(&str, Vec<&str>)> {
    let (names, candidates) =
        raw.strip_prefix("unexpected keys in table: ")?.split_once(", available keys: ")?;
    Some((names.split(", ").next()?, candidates.split(", ").collect()))
}

/// Formats "expected one of a, b; did you mean a?".
pub fn expected(before: &str, candidates: &[impl AsRef<str>], hint: Option<&str>, quote: &str) -> String {
    let list =
        candidates.iter().map(|c| format!("{quote}{}{quote}", c.as_ref())).collect::<Vec<_>>().join(", ");
    let list = match candidates.len() {
        0 => "nothing here".to_string(),
        1 => format!("expected {list}"),
        _ => format!("expected one of {list}"),
    };
    let hint = hint.map_or(String::new(), |hint| format!("; did you mean {quote}{hint}{quote}?"));
    format!("{before}{list}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_libraries_become_ours() {
        let (message, help) = explain("unknown field `sped`, expected one of `speed`, `k`");
        assert_eq!(message, "unknown key `sped`");
        assert_eq!(help, "expected one of speed, k; did you mean speed?");
        let (message, help) = explain("unexpected keys in table: sped, y, available keys: speed, k");
        assert_eq!(message, "unknown key `sped`");
        assert_eq!(help, "expected one of speed, k; did you mean speed?");
        let (message, help) = explain("unknown variant `cut`, expected `cut_through` or `store_and_forward`");
        assert_eq!(message, "unknown value `cut`");
        assert!(help.starts_with("expected one of \"cut_through\", "), "{help}");
        assert_eq!(explain("missing field `x`").0, "missing key `x`");
        let (message, help) = explain("\"10\" has no unit: expected one of us, s; did you mean \"10 us\"?");
        assert_eq!(message, "\"10\" has no unit");
        assert_eq!(help, "expected one of us, s; did you mean \"10 us\"?");
    }
}
