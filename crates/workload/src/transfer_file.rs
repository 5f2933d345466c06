//! Reads transfers from a file as a stream, one per line.
//!
//! The columns may have any order and are named in a header:
//! - `time` with a unit in each value, or a number in `time_s`, `time_ms`, `time_us`, `time_ns` or `time_ps`;
//! - `from`, `to` and `bytes`;
//! - optionally `priority`, and `from_port` and `to_port` (of UDP or TCP);
//! - optionally `id`, the name of a transfer, and `after`, the names of the transfers that it waits for, separated by
//!   blanks. A transfer that waits has no time.
//!
//! Lines are in order of time. Blank lines, lines that begin with `#`, a byte-order mark and Windows line endings are
//! accepted. Other columns are an error, so that a misspelt name is detected.

use std::io::BufRead;
use std::ops::Range;
use units::Time;

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Start time; [`Time::NEVER`] if the transfer starts when those of `after` have ended.
    pub start: Time,
    /// Name of the sender.
    pub from: &'a str,
    /// Name of the receiver.
    pub to: &'a str,
    /// Bytes to transfer, at least one.
    pub bytes: u64,
    /// Priority, 0 to 7, if the file has that column.
    pub priority: Option<u8>,
    /// Ports of the sender and the receiver, if the file has those columns.
    pub ports: [Option<ListedPort<'a>>; 2],
    /// Name by which `after` of other transfers refers to this one; empty if it has none.
    pub id: &'a str,
    /// Names of the transfers that this one waits for, separated by blanks; empty if it does not wait.
    pub after: &'a str,
    /// Text of the line, and its number.
    pub line: (&'a str, usize),
}

/// A port number and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedPort<'a> {
    /// Text of the port in the file.
    pub text: &'a str,
    /// Port number, at least 1.
    pub number: u16,
}

/// An error in a file of transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line number from 1; 0 if the error concerns the whole file.
    pub line: usize,
    /// Text of the line.
    pub text: String,
    /// Erroneous part of the line.
    pub span: Range<usize>,
    /// The problem.
    pub message: String,
    /// The accepted values.
    pub help: String,
}

/// A value that the consumer of the lines rejects, with the problem and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit<'a> {
    /// The value, a field of [`Listed`].
    pub value: &'a str,
    /// The problem.
    pub message: String,
    /// The accepted values.
    pub help: String,
}

/// Required columns, for messages.
const HEADER: &str = "time_us,from,to,bytes (and priority, from_port, to_port, if transfers differ in them; id and after, if some wait for others)";
/// Known columns; some are optional.
const COLUMNS: [&str; 8] = ["from", "to", "bytes", "priority", "from_port", "to_port", "id", "after"];
/// Names of the time columns, each with the power of ten that converts its numbers to picoseconds.
const TIMES: [(&str, i32); 5] =
    [("time_s", 12), ("time_ms", 9), ("time_us", 6), ("time_ns", 3), ("time_ps", 0)];

/// Names of other columns that `penstock import` reads, without the units of times.
const FOREIGN: [&str; 17] = [
    "start",
    "start_time",
    "timestamp",
    "arrival",
    "src",
    "source",
    "sender",
    "dst",
    "dest",
    "destination",
    "receiver",
    "size",
    "size_bytes",
    "flow_size",
    "length",
    "prio",
    "pg",
];

/// Returns true if this first line is of a format that `penstock import` reads: a table with other names or separators,
/// a connection matrix of htsim, or the number of flows at the beginning of some simulators' files.
fn is_foreign(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_known = |name: &str| {
        let name = name.trim().trim_matches('"').to_ascii_lowercase();
        let stem = name.rsplit_once('_').map_or("", |(stem, _)| stem);
        FOREIGN.contains(&name.as_str()) || FOREIGN.contains(&stem)
    };
    is_number(line.trim())
        || line.strip_prefix("Nodes").is_some_and(|rest| is_number(rest.trim()))
        || line.split([',', ';', '\t']).any(is_known)
        || line.split([';', '\t']).filter(|name| COLUMNS.contains(&name.trim())).count() > 1
}

/// Positions of the columns.
struct Columns {
    count: usize,
    time: usize,
    /// Power of ten of the time column's numbers; `None` if each value has a unit.
    power: Option<i32>,
    from: usize,
    to: usize,
    bytes: usize,
    priority: Option<usize>,
    ports: [Option<usize>; 2],
    id: Option<usize>,
    after: Option<usize>,
}

/// Reads transfers and passes each to the callback.
///
/// # Errors
/// The first error, with its line.
pub fn read_transfers(
    mut input: impl BufRead,
    each: &mut dyn for<'a> FnMut(Listed<'a>) -> Result<(), Unfit<'a>>,
) -> Result<(), Wrong> {
    let (mut bytes, mut number) = (Vec::new(), 0);
    let mut columns: Option<Columns> = None;
    let mut last = Time::ZERO;
    let mut any = false;
    loop {
        bytes.clear();
        number += 1;
        match input.read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(why) => return Err(whole(format!("cannot be read: {why}"), String::new())),
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            let help = "expected text in UTF-8".to_string();
            return Err(Wrong { line: number, ..whole("this line is not text".into(), help) });
        };
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        let line = line.trim_end_matches(['\n', '\r']);
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let at_line = |(span, message, help): Unread| Wrong {
            line: number,
            text: line.to_string(),
            span,
            message,
            help,
        };
        let Some(columns) = &columns else {
            columns = Some(Columns::read(line).map_err(at_line)?);
            continue;
        };
        let listed = columns.listed((line, number), last).map_err(at_line)?;
        any = true;
        if listed.start < Time::NEVER {
            last = listed.start;
        }
        each(listed).map_err(|Unfit { value, message, help }| {
            let begin = value.as_ptr() as usize - line.as_ptr() as usize;
            at_line((begin..begin + value.len(), message, help))
        })?;
    }
    if columns.is_none() {
        return Err(whole("the file is empty".into(), format!("expected a first line like {HEADER}")));
    }
    if !any {
        return Err(whole("no transfer below the header".into(), "expected a line for each transfer".into()));
    }
    Ok(())
}

/// An error in a line: its position, the problem, and the accepted values.
type Unread = (Range<usize>, String, String);

fn whole(message: String, help: String) -> Wrong {
    Wrong { line: 0, text: String::new(), span: 0..0, message, help }
}

/// Returns the values of a line and their places, without surrounding blanks and quotes.
fn values(line: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    line.split(',').map(move |value| {
        let value = value.trim();
        let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        let begin = inner.as_ptr() as usize - line.as_ptr() as usize;
        (begin..begin + inner.len(), inner)
    })
}

impl Columns {
    fn read(line: &str) -> Result<Columns, Unread> {
        let expected = || {
            let import =
                if is_foreign(line) { "; or make a list of this file: penstock import FILE" } else { "" };
            format!(
                "expected the header {HEADER}; the unit of a time is part of its name: s, ms, us, ns or ps{import}"
            )
        };
        let names: Vec<(Range<usize>, &str)> = values(line).collect();
        for (n, (span, name)) in names.iter().enumerate() {
            let known =
                COLUMNS.contains(name) || *name == "time" || TIMES.iter().any(|(time, _)| time == name);
            if !known {
                return Err((span.clone(), format!("unknown column \"{name}\""), expected()));
            }
            if names[..n].iter().any(|(_, before)| before == name) {
                return Err((span.clone(), format!("the column \"{name}\" is there twice"), expected()));
            }
        }
        let find = |wanted: &str| names.iter().position(|(_, name)| *name == wanted);
        let missing = |what: &str| (0..line.len(), format!("no column \"{what}\""), expected());
        let need = |what: &str| find(what).ok_or_else(|| missing(what));
        let timed = TIMES.iter().filter_map(|&(name, power)| Some((find(name)?, Some(power))));
        let timed: Vec<(usize, Option<i32>)> = timed.chain(find("time").map(|at| (at, None))).collect();
        let (time, power) = match timed[..] {
            [one] => one,
            [] => return Err(missing("time_us")),
            [_, (second, _), ..] => {
                return Err((names[second].0.clone(), "two columns of times".into(), expected()));
            }
        };
        Ok(Columns {
            count: names.len(),
            time,
            power,
            from: need("from")?,
            to: need("to")?,
            bytes: need("bytes")?,
            priority: find("priority"),
            ports: ["from_port", "to_port"].map(find),
            id: find("id"),
            after: find("after"),
        })
    }

    fn listed<'a>(&self, (line, number): (&'a str, usize), last: Time) -> Result<Listed<'a>, Unread> {
        let mut found: [(Range<usize>, &str); 16] = std::array::from_fn(|_| (0..0, ""));
        let mut count = 0;
        for value in values(line) {
            if let Some(place) = found.get_mut(count) {
                *place = value;
            }
            count += 1;
        }
        if count != self.count {
            let message = format!("{count} values");
            return Err((0..line.len(), message, format!("expected {}, as the header has", self.count)));
        }
        let value = |at: usize| (found[at].0.clone(), found[at].1);
        let of = |column: Option<usize>| column.map_or("", |at| value(at).1);
        let after = of(self.after);
        let start = self.start(value(self.time), after, last)?;
        let (span, text) = value(self.bytes);
        let bytes = bytes(text).map_err(|(message, help)| (span, message, help))?;
        let priority = self.priority.map(|at| {
            let (span, text) = value(at);
            let fits = text.parse::<u8>().ok().filter(|&priority| usize::from(priority) < frame::PRIORITIES);
            fits.ok_or_else(|| {
                (span, format!("priority \"{text}\""), "expected 0 to 7 (IEEE 802.1Q)".to_string())
            })
        });
        let port = |at: Option<usize>| {
            let Some((span, text)) = at.map(value) else { return Ok(None) };
            let fits = text.parse::<u16>().ok().filter(|&port| port > 0);
            let listed = fits.map(|number| Some(ListedPort { text, number }));
            listed.ok_or_else(|| (span, format!("port \"{text}\""), "expected 1 to 65535".to_string()))
        };
        Ok(Listed {
            start,
            from: value(self.from).1,
            to: value(self.to).1,
            bytes,
            priority: priority.transpose()?,
            ports: [port(self.ports[0])?, port(self.ports[1])?],
            id: of(self.id),
            after,
            line: (line, number),
        })
    }

    /// Reads the start time of a transfer; `last` is the start time on the line above.
    fn start(&self, (span, text): (Range<usize>, &str), after: &str, last: Time) -> Result<Time, Unread> {
        if !after.is_empty() {
            if text.is_empty() {
                return Ok(Time::NEVER);
            }
            let message = format!("a time beside after = \"{after}\"");
            return Err((span, message, "expected one of them: it begins when those have ended".into()));
        }
        let start = self.time(text).map_err(|(message, help)| (span.clone(), message, help))?;
        if start < last {
            let message = format!("{start} is before the transfer above, which begins at {last}");
            return Err((span, message, "expected transfers in order of time".into()));
        }
        Ok(start)
    }

    fn time(&self, text: &str) -> Result<Time, (String, String)> {
        let Some(power) = self.power else {
            return text.parse::<Time>().map_err(|why| (why.to_string(), "like \"1.5 us\"".to_string()));
        };
        let ps = decimal(text, power).ok_or_else(|| {
            (format!("\"{text}\" is not a time"), "expected a number, 0 or more, like 1.5".to_string())
        })?;
        Ok(Time::from_ps(ps))
    }
}

fn bytes(text: &str) -> Result<u64, (String, String)> {
    let help = || format!("expected a whole number of bytes, 1 to {}", crate::transfer_sizes::MOST_BYTES);
    // Some programs write whole numbers in the form 1500.0.
    let digits = text
        .split_once('.')
        .filter(|(_, rest)| rest.bytes().all(|c| c == b'0'))
        .map_or(text, |(whole, _)| whole);
    match digits.parse::<u64>() {
        Ok(0) => Err(("a transfer of 0 B".into(), help())),
        Ok(bytes) if bytes <= crate::transfer_sizes::MOST_BYTES => Ok(bytes),
        _ if text.is_empty() => Err(("no bytes".into(), help())),
        _ => Err((format!("\"{text}\" is not a number of bytes"), help())),
    }
}

/// Parses a decimal number, with or without an exponent, times a power of ten, rounded to an integer. The result is
/// exact, unlike that of a double. Returns `None` if the text is not a number, or the number is below 0 or above 2⁶³.
fn decimal(text: &str, power: i32) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|c| c.is_ascii_digit()) {
        return None;
    }
    // Number of digits before the decimal point of the result. The digit after them determines the rounding.
    let places = i64::from(exponent) + i64::from(power) + whole.len() as i64;
    let (mut value, mut seen) = (0u64, 0i64);
    for digit in digits().map(|c| u64::from(c - b'0')) {
        if seen >= places {
            return Some(value + u64::from(seen == places && digit >= 5));
        }
        value = value.checked_mul(10)?.checked_add(digit)?;
        seen += 1;
    }
    while seen < places && value > 0 {
        value = value.checked_mul(10)?;
        seen += 1;
    }
    (value < 1 << 63).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (u64, String, String, u64, Option<u8>);

    fn read(text: &str) -> Result<Vec<Row>, Wrong> {
        let mut rows = Vec::new();
        read_transfers(text.as_bytes(), &mut |listed| {
            if listed.from == listed.to {
                let (message, help) = ("itself".to_string(), String::new());
                return Err(Unfit { value: listed.to, message, help });
            }
            let Listed { start, from, to, bytes, priority, .. } = listed;
            rows.push((start.ps(), from.to_string(), to.to_string(), bytes, priority));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn forms_that_are_accepted() {
        let row = |ps, from: &str, to: &str, bytes, priority| {
            (ps, from.to_string(), to.to_string(), bytes, priority)
        };
        let plain = [row(0, "h0", "h1", 1, None), row(1_500_000, "h1", "h0", 9_000, None)];
        assert_eq!(read("time_us,from,to,bytes\n0,h0,h1,1\n1.5,h1,h0,9000\n").unwrap(), plain);
        let other =
            "\u{feff}# made by hand\r\n\"bytes\", to,from,time\r\n1,h1,h0,0 s\r\n\r\n9000.0,\"h0\",h1,1.5 us";
        assert_eq!(read(other).unwrap(), plain);
        let marked = "time_s,from,to,bytes,priority\n1e-6,a,b,5,7\n2.5E-06,b,a,5,0\n";
        assert_eq!(
            read(marked).unwrap(),
            [row(1_000_000, "a", "b", 5, Some(7)), row(2_500_000, "b", "a", 5, Some(0))]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let head = "time_ns,from,to,bytes,priority\n5,a,b,10,0\n";
        for (line, what, column) in [
            ("4.999,a,b,10,0", "is before the transfer above", 0),
            ("nan,a,b,10,0", "\"nan\" is not a time", 0),
            ("-1,a,b,10,0", "\"-1\" is not a time", 0),
            ("inf,a,b,10,0", "\"inf\" is not a time", 0),
            (",a,b,10,0", "\"\" is not a time", 0),
            ("6,a,b,0,0", "a transfer of 0 B", 6),
            ("6,a,b,,0", "no bytes", 6),
            ("6,a,b,nan,0", "\"nan\" is not a number of bytes", 6),
            ("6,a,b,1.5,0", "\"1.5\" is not a number of bytes", 6),
            ("6,a,b,10,8", "priority \"8\"", 9),
            ("6,a,b,10,", "priority \"\"", 9),
            ("6,a,a,10,0", "itself", 4),
            ("6,a,b,10", "4 values", 0),
            ("6,a,b,10,0,1", "6 values", 0),
        ] {
            let wrong = read(&format!("{head}{line}\n")).unwrap_err();
            assert!(wrong.message.contains(what), "{line}: {}", wrong.message);
            assert_eq!((wrong.line, wrong.span.start, wrong.text.as_str()), (3, column, line), "{line}");
        }
    }

    #[test]
    fn ports_are_read() {
        let read = |line: &str| {
            let text = format!("time_us,from,from_port,to,to_port,bytes\n{line}\n");
            let mut found = Vec::new();
            read_transfers(text.as_bytes(), &mut |listed| {
                found.extend(listed.ports.into_iter().flatten().map(|port| port.number));
                Ok(())
            })
            .map(|()| found)
        };
        assert_eq!(read("0,a,1234,b,65535,1").unwrap(), [1_234, 65_535]);
        for (line, column) in
            [("0,a,0,b,80,1", 4), ("0,a,80,b,65536,1", 9), ("0,a,,b,80,1", 4), ("0,a,-1,b,80,1", 4)]
        {
            let wrong = read(line).unwrap_err();
            assert_eq!(
                (wrong.line, wrong.span.start, wrong.help.as_str()),
                (2, column, "expected 1 to 65535"),
                "{line}"
            );
        }
    }

    #[test]
    fn wrong_headers_and_empty_files() {
        for (text, line, what) in [
            ("", 0, "the file is empty"),
            ("# nothing\n", 0, "the file is empty"),
            ("time_us,from,to,bytes\n", 0, "no transfer"),
            ("time_us,from,to\n", 1, "no column \"bytes\""),
            ("from,to,bytes\n", 1, "no column \"time_us\""),
            ("time_us,time_s,from,to,bytes\n", 1, "two columns of times"),
            ("time_us,from,to,bytes,bytes\n", 1, "twice"),
            ("time_us,from,to,size\n", 1, "unknown column \"size\""),
            ("0,h0,h1,1\n", 1, "unknown column \"0\""),
        ] {
            let wrong = read(text).unwrap_err();
            assert!((wrong.line, wrong.message.contains(what)) == (line, true), "{text}: {wrong:?}");
        }
        let mut no_text = b"time_us,from,to,bytes\n0,\xFF,b,1\n".as_slice();
        let wrong = read_transfers(&mut no_text, &mut |_| Ok(())).unwrap_err();
        assert_eq!((wrong.line, wrong.message.as_str()), (2, "this line is not text"));
    }

    #[test]
    fn a_header_that_import_knows_names_it() {
        for (text, knows) in [
            ("start_us,src,dst,size\n", true),
            ("Timestamp_ns,Sender,Receiver,flow_size\n", true),
            ("time_us;from;to;bytes\n", true),
            ("time_us\tfrom\tto\tbytes\n", true),
            ("Nodes 128\n", true),
            ("12\n", true),
            ("time_us,from,to,byte\n", false),
            ("time_us,form,to,bytes\n", false),
            ("0,h0,h1,1\n", false),
            ("time_us,from,to\n", false),
        ] {
            let wrong = read(text).unwrap_err();
            assert_eq!(wrong.help.contains("penstock import"), knows, "{text}: {wrong:?}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, power, value) in [
            ("0", 12, Some(0)),
            ("1.000000000001", 12, Some(1_000_000_000_001)),
            ("0.30000000000000004", 12, Some(300_000_000_000)),
            ("0.0000000000005", 12, Some(1)),
            ("0.00000000000049", 12, Some(0)),
            ("9.9999999999995", 12, Some(10_000_000_000_000)),
            ("1e-12", 12, Some(1)),
            ("12.5e3", 0, Some(12_500)),
            ("1e30", 12, None),
            ("0e999", 12, Some(0)),
            (".5", 3, Some(500)),
            ("5.", 3, Some(5_000)),
            (".", 3, None),
            ("1_0", 3, None),
            ("", 3, None),
        ] {
            assert_eq!(decimal(text, power), value, "{text}");
        }
    }
}
