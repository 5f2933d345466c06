//! Transfers that start at the end of others.

use crate::spec::{FlowSpec, Spec};
use frame::NodeId;
use keys::Remark;
use std::collections::BTreeSet;
use transport::ConnectionSpec;
use workload::TransferList;

/// A transfer, identified by its flow and a row of the flow's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferRef {
    /// Index into [`Spec::flows`].
    pub flow: u32,
    /// Index into the list of the flow.
    pub row: u32,
}

/// A transfer that starts at the end of others, as observed by the host that starts it: its own transfers are
/// acknowledged, those of others to it are delivered. Transfers between other hosts cannot be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferWait {
    /// The waiting transfer, whose start in its list is [`units::Time::NEVER`].
    pub transfer: TransferRef,
    /// The transfers for which it waits; all of them have to end.
    pub after: Vec<TransferRef>,
}

/// End of its path at which a host observes the end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownEnd {
    /// The end that sends the frames.
    Near,
    /// The end that receives the frames.
    Far,
}

/// The ends of a transfer, and its transport.
#[derive(Clone, Copy, Debug)]
pub struct TransferEnds<'a> {
    /// Sender and receiver.
    pub hosts: [NodeId; 2],
    /// The transport; `None` if the transfer is pushed.
    pub carrier: Option<&'a ConnectionSpec>,
}

impl TransferEnds<'_> {
    fn is_read(&self) -> bool {
        self.carrier.is_some_and(ConnectionSpec::is_read)
    }
    /// Returns the host that starts the transfer, and the end of the path where that host is.
    pub fn begins_at(&self) -> (NodeId, KnownEnd) {
        let [from, to] = self.hosts;
        if self.is_read() { (to, KnownEnd::Far) } else { (from, KnownEnd::Near) }
    }
    /// Returns the end of the path at which a host observes the end of the transfer.
    ///
    /// # Errors
    /// If the host does not observe it: the reason, and the accepted values.
    pub fn end_known_to(&self, host: NodeId) -> Result<KnownEnd, (&'static str, &'static str)> {
        let [from, to] = self.hosts;
        if host == to {
            return Ok(KnownEnd::Far);
        }
        if host != from {
            return Err((
                "whose end it cannot observe",
                "expected transfers from or to the waiting host: it learns about others only from received frames",
            ));
        }
        if self.carrier.is_none() {
            return Err((
                "which is not acknowledged",
                "expected `over` with a transport, or transfers to the waiting host",
            ));
        }
        if self.is_read() {
            return Err((
                "whose end only the reading host can observe",
                "expected transfers that the waiting host reads",
            ));
        }
        Ok(KnownEnd::Near)
    }
}

/// The result of a transfer's look-up.
pub(crate) struct Known<'a> {
    pub flow: &'a FlowSpec,
    pub list: &'a TransferList,
    pub destination: u32,
    pub ends: TransferEnds<'a>,
}

impl Spec {
    /// Looks up a transfer; `None` if it does not exist.
    pub(crate) fn transfer(&self, of: TransferRef) -> Option<Known<'_>> {
        let flow = self.flows.get(of.flow as usize)?;
        let list: &TransferList = flow.source.transfers()?;
        let destination = list.get(of.row as usize)?.destination;
        let hosts = [flow.from, flow.source.destinations.nth(destination)];
        Some(Known {
            flow,
            list,
            destination,
            ends: TransferEnds { hosts, carrier: flow.transport.as_deref() },
        })
    }

    /// Returns the transfers for whose ends others wait.
    pub(crate) fn awaited(&self) -> BTreeSet<TransferRef> {
        self.waits.iter().flat_map(|wait| wait.after.iter().copied()).collect()
    }
}

/// Returns the flow of the first transfer that waits for an end that its host cannot observe, and the reason.
pub(crate) fn refusal(spec: &Spec) -> Option<(usize, Remark)> {
    spec.waits.iter().find_map(|wait| {
        let flow = wait.transfer.flow as usize;
        let remark = |message: String, help: &str| Some((flow, Remark::about("after", message, help)));
        let Some(own) = spec.transfer(wait.transfer) else {
            return remark("an unknown transfer waits for others".into(), "expected one of a list");
        };
        let (host, _) = own.ends.begins_at();
        wait.after.iter().find_map(|&other| {
            let Some(other) = spec.transfer(other) else {
                return remark("a transfer waits for an unknown one".into(), "expected one of a list");
            };
            let (why, help) = other.ends.end_known_to(host).err()?;
            let [from, to] = other.ends.hosts.map(|node| &spec.nodes[node.at()].name);
            let host = &spec.nodes[host.at()].name;
            remark(format!("a transfer of \"{host}\" waits for one from \"{from}\" to \"{to}\", {why}"), help)
        })
    })
}
