//! Files of messages with given start times.

use super::topology::Fabric;
use super::{Context, files};
use crate::diagnostics::{Severity, Source};
use crate::place::Place;
use ::jobs::Request;
use frame::NodeId;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use units::{Bytes, Time};

const HEADER: &str = "start,from,to,bytes,compute";
/// Maximum size of a message.
const LARGEST: Bytes = Bytes::new(1 << 44);

/// An invalid value of a line, with message and remedy.
type Wrong<'a> = (&'a str, String, String);

/// The ranks of a job, by host name.
struct Ranks<'a> {
    by_host: BTreeMap<&'a str, u32>,
}

/// Reads the requests of a file: rank, time and request, in the order of the lines. Returns `None` after an error,
/// which is reported.
pub fn read(
    named: &str,
    at: &Place,
    (fabric, hosts): (&Fabric, &[NodeId]),
    context: &mut Context<'_>,
) -> Option<Vec<(u32, Time, Request)>> {
    let file = match context.path(named).and_then(|path| files::open(&path)) {
        Ok(file) => file,
        Err(why) => {
            let help = context.expects("a CSV file");
            context.error(at, format!("cannot read \"{named}\": {why}"), help);
            return None;
        }
    };
    let ranks = Ranks { by_host: hosts.iter().map(|&host| fabric.name(host)).zip(0..).collect() };
    let (mut requests, mut has_header) = (Vec::new(), false);
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = match line {
            Ok(line) => line,
            Err(why) => {
                let message = format!("cannot read line {number} of \"{named}\": {why}");
                context.error(at, message, "expected text in UTF-8");
                return None;
            }
        };
        let text = line.trim_start_matches('\u{feff}').trim_end();
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        let read = if has_header { ranks.request(text).map(Some) } else { header(text).map(|()| None) };
        has_header = true;
        match read {
            Ok(request) => requests.extend(request),
            Err((value, message, help)) => {
                let begin = value.as_ptr() as usize - text.as_ptr() as usize;
                let source = Source { file: named, text };
                let finding = source.at(Severity::Error, begin..begin + value.len(), message, help);
                context.errors += 1;
                context.findings.push(finding.at_line(number));
                return None;
            }
        }
    }
    if requests.is_empty() {
        let message = format!("\"{named}\" has no messages");
        context.error(at, message, format!("expected the line {HEADER}, and a line for each message"));
        return None;
    }
    Some(requests)
}

fn header(line: &str) -> Result<(), Wrong<'_>> {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    if names == HEADER.split(',').collect::<Vec<_>>() {
        return Ok(());
    }
    Err((line, "not the columns of messages".to_string(), format!("expected {HEADER}")))
}

impl Ranks<'_> {
    /// Parses the request of a line.
    fn request<'l>(&self, line: &'l str) -> Result<(u32, Time, Request), Wrong<'l>> {
        let values: Vec<&str> = line.split(',').map(str::trim).collect();
        let [start, from, to, bytes, compute] = values[..] else {
            let message = format!("{} values in a line", values.len());
            return Err((
                line,
                message,
                format!("expected five, {HEADER}; `to` and `bytes`, or `compute`, are empty"),
            ));
        };
        let rank = self.rank(from)?;
        let at = time(start)?;
        if !compute.is_empty() {
            if let Some(value) = [to, bytes].into_iter().find(|value| !value.is_empty()) {
                let message = format!("\"{value}\" beside a computation");
                return Err((value, message, "expected no `to` and no `bytes`, or no `compute`".to_string()));
            }
            return Ok((rank, at, Request::Compute { time: time(compute)? }));
        }
        let to = self.rank(to)?;
        let bytes = match bytes.parse::<Bytes>() {
            Ok(size) if size > LARGEST => {
                return Err((bytes, format!("a message of {size}"), format!("expected at most {LARGEST}")));
            }
            Ok(size) => size.get(),
            Err(why) => {
                return Err((bytes, why.to_string(), "expected a size with unit, like 1 MB".to_string()));
            }
        };
        Ok((rank, at, Request::Send { to, bytes }))
    }

    fn rank<'l>(&self, host: &'l str) -> Result<u32, Wrong<'l>> {
        self.by_host.get(host).copied().ok_or_else(|| {
            let names = self.by_host.keys().copied();
            let near = keys::nearest(host, names).map(|near| format!("; did you mean \"{near}\"?"));
            let help = format!("expected a host of `ranks`{}", near.unwrap_or_default());
            (host, format!("\"{host}\" has no rank of the job"), help)
        })
    }
}

fn time(text: &str) -> Result<Time, Wrong<'_>> {
    text.parse().map_err(|why: units::ParseUnitError| {
        (text, why.to_string(), "expected a time with unit, like 1.5 us".to_string())
    })
}
