//! Files of transfers and of their sizes.

use super::topology::Fabric;
use super::transfers::{Lists, MAX_TRANSFERS};
use super::{Context, files};
use crate::diagnostics::{Diagnostic, Severity, Source};
use crate::model::Transfers;
use crate::place::Place;
use fabric::topology::NodeRole;
use frame::{NodeId, Ports};
use std::io::{BufReader, Read};
use workload::{Listed, Transfer, Unfit, Wrong, read_transfers};

/// So much of a file is read at once.
const BUFFER: usize = 1 << 18;

/// Reads the transfers of an entry from a file, as a stream.
pub fn read(
    path: &str,
    entry: &Transfers,
    at: &Place,
    fabric: &Fabric,
    lists: &mut Lists,
    context: &mut Context<'_>,
) {
    let input = match open(path, context) {
        Ok(input) => input,
        Err(why) => {
            let help = format!("expected a CSV or Parquet file, relative to {}", context.directory());
            context.error(at, format!("cannot read \"{path}\": {why}"), help);
            return;
        }
    };
    let is_one_piece = fabric.is_one_piece();
    let mut taker = Taker { entry, fabric, is_one_piece, lists, read: 0, taken: 0 };
    let done = read_transfers(BufReader::with_capacity(BUFFER, input), &mut |listed| taker.take(listed));
    let (read, taken) = (taker.read, taker.taken);
    match done {
        Err(wrong) => {
            context.errors += 1;
            context.findings.push(finding(path, wrong));
        }
        Ok(()) if taken == 0 => {
            let message = format!("none of the {read} transfers of \"{path}\" begins before the end");
            context.warn(at, message, "they are sent up to `stop` and the end of the simulation");
        }
        Ok(()) => {}
    }
}

/// A file that is opened; a Parquet file reads as CSV, with a line for each row below the header.
fn open(path: &str, context: &Context<'_>) -> Result<Box<dyn Read>, String> {
    let full = context.path(path);
    if full.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) {
        files::open(&full)?;
        return (context.parquet)(&full);
    }
    Ok(Box::new(files::open(&full)?))
}

fn finding(path: &str, Wrong { line, text, span, message, help }: Wrong) -> Diagnostic {
    if line == 0 {
        return Diagnostic::whole_file(path, message, help);
    }
    Source { file: path, text: &text }.at(Severity::Error, span, message, help).at_line(line)
}

/// Takes lines as transfers of an entry.
struct Taker<'a> {
    entry: &'a Transfers,
    fabric: &'a Fabric,
    is_one_piece: bool,
    lists: &'a mut Lists,
    read: u64,
    taken: u64,
}

impl Taker<'_> {
    fn take<'l>(&mut self, listed: Listed<'l>) -> Result<(), Unfit<'l>> {
        let Listed { start, from, to, bytes, priority, ports } = listed;
        let (sender, receiver) = (self.host(from)?, self.host(to)?);
        let unfit = |message: String, help: &str| Err(Unfit { value: to, message, help: help.to_string() });
        if sender == receiver {
            return unfit(format!("\"{from}\" sends to itself"), "expected another host");
        }
        if !self.is_one_piece && !self.fabric.reaches(sender, receiver) {
            let message = format!("\"{to}\" cannot be reached from \"{from}\"");
            return unfit(message, "expected a way through switches: hosts do not forward");
        }
        let given = self.entry.ports.map_or([None; 2], |given| [given.from, given.to]);
        for (key, (listed, given)) in ["from", "to"].into_iter().zip(ports.iter().zip(given)) {
            if let Some((listed, given)) = listed.zip(given) {
                let message =
                    format!("port {} beside {key} = {given} in `ports`: it is given twice", listed.text);
                let help = format!("expected the column {key}_port or the key ports.{key}, not both");
                return Err(Unfit { value: listed.text, message, help });
            }
        }
        let [source, destination] = ports.map(|port| port.map_or(0, |port| port.number));
        self.read += 1;
        let start = start.saturating_add(self.entry.start);
        if start >= self.lists.stop {
            return Ok(());
        }
        self.taken += 1;
        if self.taken as f64 > MAX_TRANSFERS {
            return unfit(
                format!("more than {MAX_TRANSFERS:.0} transfers"),
                "expected fewer, or an earlier stop",
            );
        }
        let priority = priority.unwrap_or(self.entry.priority.min(7) as u8);
        self.lists.push(
            sender,
            priority,
            Transfer { start, destination: receiver.0, bytes, ports: Ports { source, destination } },
        );
        Ok(())
    }

    fn host<'l>(&self, name: &'l str) -> Result<NodeId, Unfit<'l>> {
        match self.fabric.find(name) {
            Some(node) if self.fabric.is_host(node) => Ok(node),
            found => {
                let what = if found.is_some() { "is a switch" } else { "is not a host" };
                let help = self.fabric.hint(name, Some(NodeRole::Host));
                Err(Unfit { value: name, message: format!("\"{name}\" {what}"), help })
            }
        }
    }
}
