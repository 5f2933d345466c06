//! Transfers: converts each sender and priority of an entry of `[[transfers]]` to one flow with a list of transfers.

use super::receivers::{self, Ends, Pair};
use super::topology::Fabric;
use super::{Context, carriers, files, flows, ports, transfer_files, unused};
use crate::model::{Model, Transfers};
use crate::place::Place;
use fabric::spec::{FlowSpec, TransferRef, TransferWait, Way};
use flow_control::FlowControl;
use frame::{NodeId, PRIORITIES, Ports, Priority};
use std::collections::BTreeSet;
use std::sync::Arc;
use transport::ConnectionSpec;
use units::Time;
use workload::{
    Arrivals, ArrivalsText, Destinations, FrameSizes, Framing, Incast, PoissonTransfers, RateBasis,
    Receivers, ReceiversTable, ServiceOrder, SizesText, SourceSpec, Transfer, TransferList, TransferSizes,
    read_size_points,
};

/// Maximum number of transfers.
pub const MAX_TRANSFERS: f64 = 1e8;

/// Converts the flows of all entries, which follow `first` other flows, and the dependencies between transfers. Returns
/// `None` after an error.
pub fn lower(
    model: &Model,
    fabric: &Fabric,
    first: usize,
    context: &mut Context<'_>,
) -> Option<(Vec<FlowSpec>, Vec<TransferWait>)> {
    let mut names: BTreeSet<&str> = model.flows.iter().map(|flow| flow.name.as_str()).collect();
    context.clean(|context| {
        let (mut made, mut waits) = (Vec::new(), Vec::new());
        for (i, entry) in model.transfers.iter().enumerate() {
            let at = Place::of("transfers").index(i);
            if !flows::is_flow_name(&entry.name) || entry.name.contains('[') {
                let help =
                    "expected letters and digits, without brackets, quotes, commas or control characters";
                context.error(
                    &at.key("name"),
                    format!("\"{}\" is not a name for transfers", entry.name),
                    help,
                );
            } else if !names.insert(&entry.name) {
                let message = format!("the name \"{}\" is used twice", entry.name);
                context.error(&at.key("name"), message, "names of flows and transfers must differ");
            }
            let lists = context.clean(|context| one(entry, model, &at, fabric, context)).flatten();
            if let Some(mut lists) = lists {
                waits.extend(lists.take_waits((first + made.len()) as u32));
                made.extend(lists.flows(entry, model, fabric));
            }
            if context.full() {
                break;
            }
        }
        (made, waits)
    })
}

/// Checks that defaults of flow control do not depend on priorities that only a file names. These are known too late,
/// so that the scenario has to give them.
pub fn check_lossless(model: &Model, flows: &[FlowSpec], context: &mut Context<'_>) {
    let named = model.used_priorities();
    let used: BTreeSet<u32> = flows.iter().map(|flow| flow.priority.0.into()).collect();
    let Some(late) = used.iter().find(|priority| !named.contains(priority)) else { return };
    let tables = ["host", "switch"].map(|of| Place::of(of).key("flow_control"));
    for table in [Place::of("flow_control")].into_iter().chain(tables) {
        for (kind, key) in FlowControl::FROM_FLOWS.iter().filter_map(|&(kind, key)| Some((kind, key?))) {
            let at = table.key(kind);
            let written = |place: Place| context.first_written(&[place]).is_some();
            if written(at.clone()) && !written(at.key(key)) {
                let all = used.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                let message = format!(
                    "priority {late} occurs only in a file of transfers, and by default it would not be lossless"
                );
                context.error(
                    &at,
                    message,
                    format!("write {key} = [{all}], or those that are to be lossless"),
                );
            }
        }
    }
}

/// Transfers of an entry, by sender and priority. Destinations are nodes.
pub struct Lists {
    framing: Framing,
    pub connection: Option<Arc<ConnectionSpec>>,
    entry_order: ServiceOrder,
    /// Ports of all transfers; 0 if not given.
    ports: Ports,
    start: Time,
    pub stop: Time,
    lists: Vec<Option<Box<TransferList>>>,
    /// Dependencies between transfers, by number of their list instead of their flow.
    pub waits: Vec<TransferWait>,
}

impl Lists {
    /// Adds a transfer. Returns the number of its list, in place of a flow, and its row in the list.
    pub fn push(&mut self, from: NodeId, priority: u8, transfer: Transfer) -> TransferRef {
        let Ports { source, destination } = transfer.ports;
        let ports = Ports {
            source: source.max(self.ports.source),
            destination: destination.max(self.ports.destination),
        };
        let transfer = Transfer { ports, ..transfer };
        let at = from.at() * PRIORITIES + usize::from(priority);
        let list =
            self.lists[at].get_or_insert_with(|| Box::new(TransferList::new(self.framing, self.entry_order)));
        list.push(transfer);
        TransferRef { flow: at as u32, row: list.len() as u32 - 1 }
    }

    /// Adds a transfer with an id from a file.
    pub fn push_named(&mut self, from: NodeId, priority: u8, transfer: Transfer, id: &str) -> TransferRef {
        let place = self.push(from, priority, transfer);
        if let Some(list) = &mut self.lists[place.flow as usize] {
            list.name_last(id);
        }
        place
    }

    /// Takes the dependencies, converted to flows. The first flow of this entry is `first`.
    fn take_waits(&mut self, first: u32) -> Vec<TransferWait> {
        let mut waits = std::mem::take(&mut self.waits);
        if !waits.is_empty() {
            let mut next = first;
            let flows: Vec<u32> = self
                .lists
                .iter()
                .map(|list| {
                    let own = next;
                    next += u32::from(list.is_some());
                    own
                })
                .collect();
            for wait in &mut waits {
                for of in std::iter::once(&mut wait.transfer).chain(&mut wait.after) {
                    of.flow = flows[of.flow as usize];
                }
            }
        }
        waits
    }

    /// Creates a flow for each sender and priority with transfers.
    fn flows(self, entry: &Transfers, model: &Model, fabric: &Fabric) -> Vec<FlowSpec> {
        let used =
            |priority: usize| self.lists.iter().skip(priority).step_by(PRIORITIES).any(Option::is_some);
        let several = (0..PRIORITIES).filter(|&priority| used(priority)).count() > 1;
        let mut numbers = vec![u32::MAX; fabric.graph.nodes.len()];
        let (start, stop) = (self.start, self.stop);
        let flow = |(at, list): (usize, Option<Box<TransferList>>)| {
            let (mut list, from, priority) = (list?, NodeId((at / PRIORITIES) as u32), at % PRIORITIES);
            let mut to: Vec<u32> = list.iter().map(|transfer| transfer.destination).collect();
            to.sort_unstable();
            to.dedup();
            (0..).zip(&to).for_each(|(number, &node)| numbers[node as usize] = number);
            list.renumber(&numbers);
            let suffix = if several { format!(".{priority}") } else { String::new() };
            let to: Vec<NodeId> = to.into_iter().map(NodeId).collect();
            Some(FlowSpec {
                name: format!("{}[{}]{suffix}", entry.name, fabric.name(from)),
                from,
                priority: Priority(priority as u8),
                source: SourceSpec {
                    sizes: FrameSizes::Fixed(list.framing().frame),
                    arrivals: Arrivals::Transfers(Arc::new(*list)),
                    rate_basis: RateBasis::Frame,
                    destinations: if to.len() == 1 {
                        Destinations::Fixed(to[0])
                    } else {
                        Destinations::Uniform(to)
                    },
                    start,
                    stop: Some(stop),
                    script: Vec::new(),
                    limit: None,
                    jitter: Time::ZERO,
                },
                color: model.color(entry.color, entry.dscp.filter(|_| priority as u64 == entry.priority)),
                way: Way::Shortest,
                transport: self.connection.clone(),
                ports: None,
                tuples: Vec::new(),
                bypassable: false,
            })
        };
        self.lists.into_iter().enumerate().filter_map(flow).collect()
    }
}

fn one(
    entry: &Transfers,
    model: &Model,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<Lists> {
    let carrier = carriers::of_transfers(entry, at, context);
    let stop = times(entry, model.simulation.duration, at, context);
    flows::priority(entry.priority, at, context);
    flows::dscp(entry.dscp, entry.priority, model, at, context);
    let ports =
        entry.ports.as_ref().map(|keys| ports::lower(keys, &at.key("ports"), context)).unwrap_or_default();
    let sizes = match &entry.sizes {
        Some(text) => self::sizes(text, &at.key("sizes"), context),
        None => None,
    };
    let (framing, connection) = carrier?;
    let ports = with_known_port(ports, connection.as_deref());
    let mut lists = Lists {
        framing,
        connection,
        entry_order: entry.order,
        ports,
        start: entry.start,
        stop,
        lists: vec![None; fabric.graph.nodes.len() * PRIORITIES],
        waits: Vec::new(),
    };
    if let ArrivalsText::File(path) = &entry.arrivals {
        for (key, written) in
            [("from", entry.from.is_some()), ("to", entry.to.is_some()), ("sizes", entry.sizes.is_some())]
        {
            if written {
                let help = "the file names senders, receivers and bytes of all transfers; leave this key out";
                context.error(&at.key(key), format!("{key} beside a file of transfers"), help);
            }
        }
        let at = at.key("arrivals").key("file");
        transfer_files::read(path, entry, &at, fabric, &mut lists, context);
        return Some(lists);
    }
    for (key, missing) in
        [("from", entry.from.is_none()), ("to", entry.to.is_none()), ("sizes", entry.sizes.is_none())]
    {
        if missing {
            let help = format!("`{key}` is required here, unless arrivals come from a file");
            context.error(&at.key(key), format!("missing key `{key}`"), help);
        }
    }
    let (from, to) = (entry.from.as_ref()?, entry.to.as_ref()?);
    let ends = Ends { name: &entry.name, from, from_switches: false, to };
    match entry.arrivals.check() {
        Ok(warnings) => warnings.into_iter().for_each(|why| context.beware(why, &at.key("arrivals"))),
        Err(why) => {
            context.refuse(why, &at.key("arrivals"));
            return None;
        }
    }
    unused::of_once(entry, model.simulation.duration, at, context);
    let draw = Draw { entry, seed: model.simulation.seed, at, fabric, sizes: &sizes? };
    if let ArrivalsText::Incast { every, senders } = &entry.arrivals {
        draw.incast(*every, *senders, &ends, &mut lists, context);
    } else {
        draw.by_sender(&ends, &mut lists, context);
    }
    Some(lists)
}

/// Fills in the well-known port of the protocol at the receiver, unless a port is given.
fn with_known_port(ports: Ports, connection: Option<&ConnectionSpec>) -> Ports {
    let known = connection.and_then(|connection| connection.known_port()).filter(|_| ports.destination == 0);
    let destination = known.unwrap_or(ports.destination);
    Ports { destination, ..ports }
}

/// Inputs for drawing transfers.
struct Draw<'a> {
    entry: &'a Transfers,
    seed: u64,
    at: &'a Place,
    fabric: &'a Fabric,
    sizes: &'a TransferSizes,
}

impl Draw<'_> {
    fn priority(&self) -> u8 {
        self.entry.priority.min(7) as u8
    }

    /// Draws transfers of each sender independently: one transfer, or a Poisson process.
    fn by_sender(&self, ends: &Ends<'_>, lists: &mut Lists, context: &mut Context<'_>) {
        if let Receivers::Table(ReceiversTable::Multicast(_)) = ends.to {
            let help = "expected one destination for each: copies are of frames of [[flows]]";
            let at = self.at.key("to").key("multicast");
            return context.error(&at, "transfers to several hosts at once", help);
        }
        let Some(pairs) = receivers::lower(ends, self.seed, self.at, self.fabric, context) else { return };
        flows::reachable(&pairs, self.at, self.fabric, context);
        let Some(gaps) = self.gaps(&pairs, lists.stop, context) else { return };
        let (start, stop) = (self.entry.start, lists.stop);
        for (pair, gap_ps) in pairs.iter().zip(gaps) {
            let stream = format!("transfers/{}/{}", self.entry.name, self.fabric.name(pair.from));
            let mut random = engine::stream(self.seed, &stream);
            let mut push = |transfer: Transfer| {
                let destination = pair.to.nth(transfer.destination).0;
                lists.push(pair.from, self.priority(), Transfer { destination, ..transfer });
            };
            let poisson = PoissonTransfers { gap_ps, to: &pair.to, sizes: self.sizes };
            if self.entry.arrivals == ArrivalsText::Once {
                let first = poisson.draw(Time::ZERO, Time::NEVER, &mut random).next();
                first.into_iter().for_each(|one| push(Transfer { start, ..one }));
            } else {
                poisson.draw(start, stop, &mut random).for_each(push);
            }
        }
    }

    /// Returns the mean interval of each sender in picoseconds; 1 if intervals are not random.
    fn gaps(&self, pairs: &[Pair], stop: Time, context: &mut Context<'_>) -> Option<Vec<f64>> {
        let mean_bytes = self.sizes.mean();
        let gap = |pair: &Pair| self.entry.arrivals.gap_ps(mean_bytes, self.fabric.rate[pair.from.at()]);
        let Some(gaps) = pairs.iter().map(gap).collect::<Option<Vec<f64>>>() else {
            return Some(vec![1.0; pairs.len()]);
        };
        let at = self.at.key("arrivals").key("poisson");
        let span = stop.saturating_sub(self.entry.start).ps() as f64;
        self.not_too_many(gaps.iter().map(|gap| span / gap).sum(), &at, context).then_some(gaps)
    }

    fn not_too_many(&self, expected: f64, at: &Place, context: &mut Context<'_>) -> bool {
        let few = expected <= MAX_TRANSFERS;
        if !few {
            let message = format!("about {expected:.0} transfers");
            context.error(
                at,
                message,
                format!("expected at most {MAX_TRANSFERS:.0}: fewer senders, or a shorter time"),
            );
        }
        few
    }

    fn incast(
        &self,
        every: Time,
        senders: Option<u64>,
        ends: &Ends<'_>,
        lists: &mut Lists,
        context: &mut Context<'_>,
    ) {
        let at = self.at.key("arrivals").key("incast");
        let Receivers::Nodes(to) = ends.to else {
            let help = "each round has one receiver; expected a host, a pattern or a list of hosts";
            context.error(&self.at.key("to"), "a table of destinations with incast", help);
            return;
        };
        let from = receivers::select(ends.from, false, &self.at.key("from"), self.fabric, context).nodes;
        let to = receivers::select(to, false, &self.at.key("to"), self.fabric, context).nodes;
        let Some(last) = lists.stop.saturating_sub(self.entry.start).ps().checked_sub(1) else { return };
        let Some(rounds) = last.checked_div(every.ps()).map(|rounds| rounds + 1) else { return };
        let available = |to: &NodeId| from.iter().filter(|from| *from != to).count() as u64;
        let most = to.iter().map(available).max().unwrap_or(0);
        if senders.is_some_and(|senders| senders > most) && most > 0 {
            let message = format!("{} of at most {most} senders", senders.unwrap_or_default());
            context.warn(&at.key("senders"), message, "all of them send: expected fewer, or more in `from`");
        }
        let senders = senders.map_or(from.len(), |senders| senders.min(from.len() as u64) as usize);
        if !self.not_too_many(rounds as f64 * senders as f64, &at, context) {
            return;
        }
        if !to.is_empty() && from.iter().all(|from| to[..] == [*from]) {
            context.error(&self.at.key("to"), "no sender beside the receiver", "expected another host");
        }
        let unreached =
            |to: &&NodeId| from.iter().any(|&from| from != **to && !self.fabric.reaches(from, **to));
        if let Some(&to) = to.iter().find(unreached).filter(|_| !self.fabric.is_one_piece()) {
            let message = format!("\"{}\" cannot be reached from all senders", self.fabric.name(to));
            context.error(
                &self.at.key("to"),
                message,
                "expected a way through switches: hosts do not forward",
            );
        }
        let mut random = engine::stream(self.seed, &format!("transfers/{}", self.entry.name));
        let incast = Incast { every, senders, from: &from, to: &to, sizes: self.sizes };
        incast.draw(self.entry.start, lists.stop, &mut random, &mut |one| {
            let (start, destination, bytes) = (one.start, one.to.0, one.bytes);
            let transfer = Transfer { start, destination, bytes, ports: Ports::default() };
            lists.push(one.from, self.priority(), transfer);
        });
    }
}

/// Returns the time before which the last transfer starts.
fn times(entry: &Transfers, end: Time, at: &Place, context: &mut Context<'_>) -> Time {
    let stop = entry.stop.unwrap_or(end).min(end);
    if entry.start >= end {
        let message = format!("transfers from {} on, after the end of the simulation", entry.start);
        context.warn(&at.key("start"), message, format!("none begins; the duration is {end}"));
    } else if stop <= entry.start {
        let message = format!("stop {stop} is not after start {}", entry.start);
        context.error(&at.key("stop"), message, "expected start < stop");
    }
    stop
}

/// Returns the checked distribution of sizes.
fn sizes(text: &SizesText, at: &Place, context: &mut Context<'_>) -> Option<TransferSizes> {
    if let Some((key, path)) = text.file() {
        let read = |text: &str, report: &mut files::Report<'_>| read_size_points(text, report);
        return files::table(path, "bytes,cdf", read, &at.key(key), context).map(TransferSizes::Points);
    }
    text.spec().map_err(|wrong| wrong.into_iter().for_each(|why| context.refuse(why, at))).ok()
}
