//! The keys of a conversation: what a scenario says, and what cannot be meant.

use crate::application::ApplicationKeys;
use crate::messages::Messages;
use crate::settings::ack_bytes;
use crate::{ConversationSpec, Delay, TcpKeys, TcpSpec, TransferSpec};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Amount, Bytes, Or};

/// Exchanges at a time at most.
const MOST_OUTSTANDING: u64 = 65_536;

/// Exchanges of messages over one TCP connection; full segments of either end have the length `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationKeys {
    /// The messages of an exchange, which the two ends send in turn: a list of sizes, an even number, or the application "iscsi_read", "iscsi_write", "database_entry", "database_query", "ipc", "iwarp_read", "iwarp_write" or "iwarp_send", or a table of one of iSCSI or iWARP with its keys. Required.
    pub messages: Messages,
    /// Exchanges in progress at the same time: the queue depth. A count, 1 to 65536. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65_536))]
    pub outstanding: u64,
    /// From the end of an exchange to the next one in its place: a time with unit, or a table `exponential`. Default: "0 s".
    #[serde(default)]
    pub think: Delay,
    /// Time from the last message of the opener to its answer: a time with unit, or a table `exponential`. Other messages are answered at once. Default: "0 s".
    #[serde(default)]
    pub service: Delay,
    /// The keys of both directions, without `transfer`, `idle` and `reconnect`. Default: all those of the preset "rfc".
    #[serde(default)]
    pub tcp: TcpKeys,
}

fn one() -> u64 {
    1
}

impl ApplicationKeys for Box<ConversationKeys> {
    type Spec = Arc<ConversationSpec>;

    fn spec(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<ConversationSpec>, Vec<Remark>), Vec<Remark>> {
        let within = |all: Vec<Remark>| all.into_iter().map(|why| why.within("tcp")).collect::<Vec<_>>();
        let ack = ack_bytes(self.tcp.ack);
        let spec = self.sized(limit, frame, ack.as_ref().map_or(frame, |(bytes, _)| *bytes));
        match (ack, spec) {
            (Ok((_, mut warnings)), Ok(spec)) => {
                warnings.extend(self.tcp.unused());
                let of_messages = self.messages.unused().into_iter().map(|one| one.within("messages"));
                Ok((spec.into(), within(warnings).into_iter().chain(of_messages).collect()))
            }
            (ack, spec) => Err([ack.err().map(within), spec.err()].into_iter().flatten().flatten().collect()),
        }
    }
    fn jitter_key(&self) -> Option<&'static str> {
        Some("tcp.send_jitter")
    }
}

impl ConversationKeys {
    /// Whole exchanges with at most `limit` bytes of the opener, over TCP in frames of at most `frame` bytes, with
    /// acknowledgements of `ack_bytes` at least. Or all that is wrong.
    pub fn sized(
        &self,
        limit: Option<Bytes>,
        frame: u16,
        ack_bytes: u16,
    ) -> Result<ConversationSpec, Vec<Remark>> {
        let mut wrong = self.check();
        let tcp = self.tcp.sized(Some(Bytes::new(0)), frame, ack_bytes);
        let tcp = tcp.map_err(|all| wrong.extend(all.into_iter().map(|why| why.within("tcp"))));
        // Without a segment what is wrong with the messages is told all the same.
        let segment = tcp.as_ref().map_or(frame, |tcp| tcp.segment);
        let messages = self.messages.sizes(segment.into()).map_err(|why| wrong.push(why.within("messages")));
        let (Ok(messages), Ok(tcp), true) = (messages, tcp, wrong.is_empty()) else { return Err(wrong) };
        let own: u64 = messages.iter().step_by(2).sum();
        if let Some(limit) = limit.filter(|limit| limit.get() > 0 && limit.get() < own) {
            let [own, limit] = Amount::alike([own, limit.get()].map(Amount::Bytes));
            let message = format!("{own} of the opener in an exchange, but a limit of {limit}");
            let help = "nothing would be sent; expected a limit of one exchange at least";
            return Err(vec![Remark::about("messages", message, help)]);
        }
        let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
        Ok(ConversationSpec {
            messages: messages.into(),
            markers: self.messages.have_markers(),
            outstanding: self.outstanding as u32,
            exchanges: limit.map(|limit| limit.get() / own),
            think: self.think,
            service: self.service,
            tcp: TcpSpec { transfers, ..tcp }.into(),
        })
    }

    fn check(&self) -> Vec<Remark> {
        let mut wrong = vec![];
        if !(1..=MOST_OUTSTANDING).contains(&self.outstanding) {
            let message = format!("{} outstanding exchanges", self.outstanding);
            wrong.push(Remark::about("outstanding", message, format!("expected 1 to {MOST_OUTSTANDING}")));
        }
        wrong.extend(self.think.check("think").err());
        wrong.extend(self.service.check("service").err());
        wrong.extend(one_connection(&self.tcp, "in a conversation"));
        wrong
    }
}

/// What says, in the keys of TCP, that there are transfers where an application sends messages over one connection.
pub(crate) fn one_connection(tcp: &TcpKeys, place: &str) -> Vec<Remark> {
    let others = [
        ("transfer", tcp.transfer != Or::word()),
        ("idle", tcp.idle != Delay::default()),
        ("reconnect", tcp.reconnect),
    ];
    let help = "its messages say what is sent and when, over one connection; expected none of it";
    let remark = |key: &'static str| Remark::about(key, format!("{key} {place}"), help).within("tcp");
    others.into_iter().filter(|&(_, is_set)| is_set).map(|(key, _)| remark(key)).collect()
}
