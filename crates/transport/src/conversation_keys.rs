//! The keys of a conversation: what a scenario says, and what cannot be meant.

use crate::application::ApplicationKeys;
use crate::messages::Messages;
use crate::rdma::Post;
use crate::transport::Transport;
use crate::transport_keys::TransportKeys;
use crate::{ConversationSpec, Delay, RdmaKeys, TcpKeys};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Amount, Bytes};

/// Exchanges at a time at most.
const MOST_OUTSTANDING: u64 = 65_536;

/// Exchanges of messages over one connection of TCP or RDMA; full segments or packets of either end are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationKeys {
    /// The messages of an exchange, which the two ends send in turn: a list of sizes, an even number, or the application "iscsi_read", "iscsi_write", "database_entry", "database_query", "ipc", "iwarp_read", "iwarp_write" or "iwarp_send", or a table of one of iSCSI or iWARP with its keys. Over RDMA iSCSI is iSER, and iWARP, which is RDMA over TCP, is refused. Required.
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
    /// The keys of TCP in both directions, without `transfer`, `idle` and `reconnect`; at most one of `tcp` and `rdma`. Default: all those of the preset "rfc", without `rdma`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpKeys>,
    /// The keys of RDMA in both directions, a queue pair each way, without `message`, `queue_pairs` and `ack_priority`; a message is a SEND, with verb = "write" a WRITE with immediate data. Default: none (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<Box<RdmaKeys>>,
}

fn one() -> u64 {
    1
}

impl ApplicationKeys for Box<ConversationKeys> {
    type Spec = Arc<ConversationSpec>;

    fn fill(&mut self) {
        if self.rdma.is_none() {
            self.tcp.get_or_insert_default();
        }
    }
    /// Whole exchanges with at most `limit` bytes of the opener.
    fn spec(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<ConversationSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = self.check();
        let keys =
            TransportKeys { tcp: self.tcp.as_ref(), rdma: self.rdma.as_deref(), place: "in a conversation" };
        let transport = keys.spec(frame, &|verb| self.messages.operations(verb));
        // Without a transport what is wrong with the messages is told all the same.
        let known = transport.as_ref().ok().map(|(transport, _)| transport);
        let messages = self.lengths(known, frame).map_err(|why| wrong.push(why.within("messages")));
        let transport = transport.map_err(|all| wrong.extend(all));
        let (Ok((messages, posts)), Ok((transport, mut warnings)), true) =
            (messages, transport, wrong.is_empty())
        else {
            return Err(wrong);
        };
        let own: u64 = messages.iter().step_by(2).sum();
        if let Some(limit) = limit.filter(|limit| limit.get() > 0 && limit.get() < own) {
            let [own, limit] = Amount::alike([own, limit.get()].map(Amount::Bytes));
            let message = format!("{own} of the opener in an exchange, but a limit of {limit}");
            let help = "nothing would be sent; expected a limit of one exchange at least";
            return Err(vec![Remark::about("messages", message, help)]);
        }
        let unused = self.messages.unused(transport.queue_pairs().is_none()).into_iter();
        warnings.extend(unused.map(|one| one.within("messages")));
        let spec = ConversationSpec {
            messages: messages.into(),
            posts: posts.into(),
            markers: self.messages.have_markers(),
            outstanding: self.outstanding as u32,
            exchanges: limit.map(|limit| limit.get() / own),
            think: self.think,
            service: self.service,
            transport,
        };
        Ok((spec.into(), warnings))
    }
    fn jitter_key(&self) -> Option<&'static str> {
        self.rdma.is_none().then_some("tcp.send_jitter")
    }
}

/// Bytes of the messages of an exchange, and what they are over RDMA, if they are.
type Lengths = (Vec<u64>, Vec<Box<[Post]>>);

impl ConversationKeys {
    fn lengths(&self, transport: Option<&Transport>, frame: u16) -> Result<Lengths, Remark> {
        match (&self.rdma, transport) {
            (Some(keys), _) => {
                let posts = self.messages.posts(keys.verb)?;
                let bytes = |posts: &[Post]| posts.iter().map(|post| post.bytes).sum();
                Ok((posts.iter().map(|posts| bytes(posts)).collect(), posts))
            }
            (None, Some(Transport::Tcp(tcp))) => Ok((self.messages.sizes(tcp.segment.into())?, Vec::new())),
            (None, _) => Ok((self.messages.sizes(frame.into())?, Vec::new())),
        }
    }

    fn check(&self) -> Vec<Remark> {
        let mut wrong = vec![];
        if !(1..=MOST_OUTSTANDING).contains(&self.outstanding) {
            let message = format!("{} outstanding exchanges", self.outstanding);
            wrong.push(Remark::about("outstanding", message, format!("expected 1 to {MOST_OUTSTANDING}")));
        }
        wrong.extend(self.think.check("think").err());
        wrong.extend(self.service.check("service").err());
        wrong
    }
}
