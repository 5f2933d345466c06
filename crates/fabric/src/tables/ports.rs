//! The UDP and TCP ports of frames.

use super::View;
use super::transfers::Released;
use crate::run::state::frame_log::Row;
use frame::{FrameKind, Ports};
use std::collections::BTreeMap;
use transport::TransferOutcome;
use units::Time;
use workload::Transfer;

/// Ports by path, looked up once each.
#[derive(Default)]
pub(super) struct KnownPorts {
    paths: BTreeMap<usize, OfPath>,
    released: Option<Released>,
}

/// The ports of the frames of a path.
enum OfPath {
    /// All frames have the same ports.
    One(Ports),
    /// Ports by transfer.
    ByTransfer(Vec<Ports>),
    /// Ports by connection, and by the time from which they apply.
    ByConnection(BTreeMap<(u32, Time), Ports>),
}

impl OfPath {
    fn of(&self, row: &Row) -> Ports {
        match self {
            OfPath::One(ports) => *ports,
            OfPath::ByTransfer(list) => {
                // Messages of switches about a path belong to no transfer.
                let nth = if row.frame.flags.kind() == FrameKind::Part { row.frame.word as usize } else { 0 };
                list.get(nth).copied().unwrap_or_default()
            }
            OfPath::ByConnection(known) => {
                let (connection, at) = (row.connection, row.frame.created);
                let before = known.range((connection, Time::ZERO)..=(connection, at)).next_back();
                before.map_or_else(Ports::default, |(_, ports)| *ports)
            }
        }
    }
}

/// Returns the ports of each transfer of a path over TCP: those of its connection, or its own if it has not started.
pub(super) fn of_connections(
    transfers: &[Transfer],
    outcomes: &[TransferOutcome],
    drawn: bool,
) -> Vec<Ports> {
    let mut known: BTreeMap<u32, Ports> = BTreeMap::new();
    let mut ports: Vec<Ports> = transfers.iter().map(|transfer| transfer.ports).collect();
    let begun = |(_, (transfer, _)): &(usize, (&Transfer, &TransferOutcome))| transfer.start < Time::NEVER;
    let mut begun: Vec<_> = transfers.iter().zip(outcomes).enumerate().filter(begun).collect();
    // Transfers that have waited for others are at the end of the list, but may have started earlier.
    begun.sort_by_key(|(_, (transfer, _))| transfer.start);
    for (nth, (transfer, outcome)) in begun {
        // A reused connection keeps its first ports, unless the transfer sets its own.
        let own = known.entry(outcome.connection).or_insert(transfer.ports);
        if !(drawn && outcome.reused) {
            *own = transfer.ports;
        }
        ports[nth] = *own;
    }
    ports
}

/// Lowest port number that may be drawn.
const FIRST_DRAWN: u16 = 49_152;

/// Returns the source port of a frame that contains an entropy value, as in RoCEv2. A drawn port stays in the range of
/// drawn ports.
fn with_entropy(source: u16, entropy: u16) -> u16 {
    match source.checked_sub(FIRST_DRAWN) {
        Some(drawn) => FIRST_DRAWN + (drawn.wrapping_add(entropy) & (u16::MAX - FIRST_DRAWN)),
        None => source.wrapping_add(entropy),
    }
}

impl View<'_> {
    /// Returns the ports of a logged frame in its direction of travel; 0 for a pause frame.
    pub(super) fn ports_of(&self, row: &Row, known: &mut KnownPorts) -> Ports {
        if row.is_pause() {
            return Ports::default();
        }
        let path = row.frame.path.at();
        let KnownPorts { paths, released } = known;
        let find = || self.of_path_ports(path, released.get_or_insert_with(|| self.released()));
        let Ports { source, destination } = paths.entry(path).or_insert_with(find).of(row);
        let source = with_entropy(source, row.frame.route.entropy());
        if row.back {
            Ports { source: destination, destination: source }
        } else {
            Ports { source, destination }
        }
    }

    fn of_path_ports(&self, path: usize, released: &Released) -> OfPath {
        let number = self.s.path_flow[path];
        let flow = &self.s.spec.flows[number as usize];
        let Some(list) = flow.source.transfers() else {
            // Different for each flow between two hosts, while port numbers are available.
            let destination = flow.transport.as_ref().and_then(|connection| connection.known_port());
            let known = Ports { source: 0, destination: destination.unwrap_or(0) };
            let drawn = known.or_drawn(u64::from(number & 0x3FFF) << 50);
            return OfPath::One(flow.ports.unwrap_or(drawn));
        };
        let nth = path as u32 - self.s.source(number as usize).first_path;
        let transfers: Vec<Transfer> =
            View::begun(released, number, list).filter(|transfer| transfer.destination == nth).collect();
        let Some(near) = self.s.transfer_ends(path) else {
            return OfPath::ByTransfer(transfers.iter().map(|transfer| transfer.ports).collect());
        };
        let outcomes = near.outcomes();
        let ports = of_connections(&transfers, &outcomes, list.draws_ports());
        let of = transfers.iter().zip(outcomes).zip(ports);
        let begun = of.filter(|((transfer, _), _)| transfer.start < Time::NEVER);
        OfPath::ByConnection(
            begun.map(|((transfer, of), ports)| ((of.connection, transfer.start), ports)).collect(),
        )
    }
}
