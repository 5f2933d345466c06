//! Files of transfers, and of sizes of transfers.

use super::topology::Fabric;
use super::transfers::{Lists, MAX_TRANSFERS};
use super::{Context, files};
use crate::diagnostics::{Diagnostic, Severity, Source};
use crate::model::Transfers;
use crate::place::Place;
use fabric::spec::{TransferEnds, TransferRef, TransferWait};
use fabric::topology::NodeRole;
use frame::{NodeId, Ports};
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::ops::Range;
use workload::{Listed, Transfer, Unfit, Wrong, read_transfers};

/// Number of bytes of a file that are read at once.
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
            let help = context.expects("a CSV or Parquet file");
            context.error(at, format!("cannot read \"{path}\": {why}"), help);
            return;
        }
    };
    let is_one_piece = fabric.is_one_piece();
    let mut taker = Taker {
        entry,
        fabric,
        is_one_piece,
        lists,
        read: 0,
        taken: 0,
        named: BTreeMap::new(),
        waits: Vec::new(),
    };
    let done = read_transfers(BufReader::with_capacity(BUFFER, input), &mut |listed| taker.take(listed));
    let done = done.and_then(|()| taker.join());
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

/// Opens a file. A Parquet file is read as CSV, with a header and one line per row.
fn open(path: &str, context: &Context<'_>) -> Result<Box<dyn Read>, String> {
    let full = context.path(path)?;
    if full.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) {
        files::open(&full)?;
        return (context.files.parquet)(&full);
    }
    Ok(Box::new(files::open(&full)?))
}

fn finding(path: &str, Wrong { line, text, span, message, help }: Wrong) -> Diagnostic {
    if line == 0 {
        return Diagnostic::whole_file(path, message, help);
    }
    Source { file: path, text: &text }.at(Severity::Error, span, message, help).at_line(line)
}

/// Converts lines to transfers of an entry.
struct Taker<'a> {
    entry: &'a Transfers,
    fabric: &'a Fabric,
    is_one_piece: bool,
    lists: &'a mut Lists,
    read: u64,
    taken: u64,
    /// Transfers by name.
    named: BTreeMap<String, Named>,
    waits: Vec<Waits>,
}

/// A transfer with a name.
#[derive(Clone, Copy)]
struct Named {
    ends: [NodeId; 2],
    /// Position of the transfer; `None` if it waits for others, or is not sent.
    place: Option<TransferRef>,
    /// Index among the transfers that wait, if it does.
    waits: Option<usize>,
}

/// A transfer that waits for others.
struct Waits {
    id: String,
    number: usize,
    line: String,
    after: Range<usize>,
    priority: u8,
    from: NodeId,
    transfer: Transfer,
}

impl Waits {
    fn wrong(&self, span: Range<usize>, message: String, help: &str) -> Wrong {
        Wrong { line: self.number, text: self.line.clone(), span, message, help: help.to_string() }
    }
    /// Returns the names of the transfers that it waits for, with their ranges in the line.
    fn names(&self) -> impl Iterator<Item = (Range<usize>, &str)> {
        let names = self.line[self.after.clone()].split_whitespace();
        names.map(|name| {
            let begin = name.as_ptr() as usize - self.line.as_ptr() as usize;
            (begin..begin + name.len(), name)
        })
    }
}

impl Taker<'_> {
    fn take<'l>(&mut self, listed: Listed<'l>) -> Result<(), Unfit<'l>> {
        let Listed { start, from, to, bytes, priority, ports, id, after, line } = listed;
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
        let waits = !after.is_empty();
        let named = Named { ends: [sender, receiver], place: None, waits: waits.then_some(self.waits.len()) };
        self.name(id, named)?;
        let start = start.saturating_add(self.entry.start);
        if start >= self.lists.stop && !waits {
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
        let ports = Ports { source, destination };
        let transfer = Transfer { start, destination: receiver.0, bytes, ports };
        if waits {
            let (text, number) = line;
            let begin = after.as_ptr() as usize - text.as_ptr() as usize;
            let (line, after) = (text.to_string(), begin..begin + after.len());
            let id = id.to_string();
            self.waits.push(Waits { id, number, line, after, priority, from: sender, transfer });
            return Ok(());
        }
        let place = self.lists.push_named(sender, priority, transfer, id);
        if let Some(named) = self.named.get_mut(id) {
            named.place = Some(place);
        }
        Ok(())
    }

    /// Records the name of a transfer.
    fn name<'l>(&mut self, id: &'l str, named: Named) -> Result<(), Unfit<'l>> {
        let unfit = |message: String, help: &str| Unfit { value: id, message, help: help.to_string() };
        if id.contains(char::is_whitespace) {
            return Err(unfit(format!("a blank in the id \"{id}\""), "expected a word or a number"));
        }
        if !id.is_empty() && self.named.insert(id.to_string(), named).is_some() {
            return Err(unfit(
                format!("the id \"{id}\" is there twice"),
                "expected a name of its own for each",
            ));
        }
        Ok(())
    }

    /// Resolves the names of dependencies. A transfer that depends on one that starts too late to be sent is not sent
    /// either.
    fn join(&mut self) -> Result<(), Wrong> {
        let waits = std::mem::take(&mut self.waits);
        for at in self.order(&waits)? {
            let own = &waits[at];
            let after: Option<Vec<TransferRef>> =
                own.names().map(|(_, name)| self.named.get(name)?.place).collect();
            let Some(after) = after else { continue };
            let transfer = self.lists.push_named(own.from, own.priority, own.transfer, &own.id);
            self.lists.waits.push(TransferWait { transfer, after });
            if let Some(named) = self.named.get_mut(&own.id) {
                named.place = Some(transfer);
            }
        }
        Ok(())
    }

    /// Returns a topological order of the waiting transfers, with ties in the order of the file.
    fn order(&self, waits: &[Waits]) -> Result<Vec<usize>, Wrong> {
        let mut before = vec![0_usize; waits.len()];
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
        for (at, own) in waits.iter().enumerate() {
            for (span, name) in own.names() {
                let Some(other) = self.named.get(name) else {
                    let message = format!("no transfer has the id \"{name}\"");
                    return Err(own.wrong(
                        span,
                        message,
                        "expected names of the column `id`, with blanks between",
                    ));
                };
                self.check_known_to(own, other).map_err(|(message, help)| own.wrong(span, message, help))?;
                if let Some(other) = other.waits {
                    before[at] += 1;
                    behind[other].push(at);
                }
            }
        }
        let mut order: Vec<usize> = (0..waits.len()).filter(|&at| before[at] == 0).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for &other in &behind[at] {
                before[other] -= 1;
                if before[other] == 0 {
                    order.push(other);
                }
            }
        }
        match (0..waits.len()).find(|&at| before[at] > 0) {
            None => Ok(order),
            Some(mut at) => {
                // Transfers that depend on a cycle are left as well. Follows dependencies until one repeats, which is
                // within the cycle.
                let stuck = |&other: &usize| before[other] > 0;
                for _ in 0..waits.len() {
                    let names = waits[at].names().filter_map(|(_, name)| self.named.get(name)?.waits);
                    at = names.into_iter().find(stuck).unwrap_or(at);
                }
                let own = &waits[at];
                let message = format!("\"{}\" waits, over others, for itself", own.id);
                Err(own.wrong(own.after.clone(), message, "expected transfers that can all begin"))
            }
        }
    }

    /// Checks that the host of a waiting transfer can observe the end of the other transfer.
    fn check_known_to(&self, own: &Waits, other: &Named) -> Result<(), (String, &'static str)> {
        let carrier = self.lists.connection.as_deref();
        let (host, _) =
            TransferEnds { hosts: [own.from, NodeId(own.transfer.destination)], carrier }.begins_at();
        let Err((why, help)) = (TransferEnds { hosts: other.ends, carrier }).end_known_to(host) else {
            return Ok(());
        };
        let name = |node: NodeId| self.fabric.name(node);
        let [from, to] = other.ends.map(name);
        Err((format!("\"{}\" waits for a transfer from \"{from}\" to \"{to}\", {why}", name(host)), help))
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
