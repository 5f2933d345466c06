//! The keys of a conversation, and their validation.

use crate::application::ApplicationKeys;
use crate::messages::Messages;
use crate::rdma::Post;
use crate::transport::{Need, TransportSpec, Unit};
use crate::{ConversationSpec, Delay, Transport, with_transports};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Amount, Bytes};

/// Maximum number of outstanding exchanges.
const MOST_OUTSTANDING: u64 = 65_536;

with_transports! {
/// Exchanges of messages over one connection of TCP or RDMA; full segments or packets of either end are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationKeys {
    /// Messages of an exchange, which the two ends send alternately: a list of sizes, an even number of them, or the application "iscsi_read", "iscsi_write", "database_entry", "database_query", "ipc", "iwarp_read", "iwarp_write" or "iwarp_send", or a table of one of iSCSI or iWARP with its keys. Over RDMA, iSCSI is iSER; iWARP, which is RDMA over TCP, is rejected. Required.
    pub messages: Messages,
    /// Queue depth: number of exchanges in progress at the same time. A count, 1 to 65536. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65_536))]
    pub outstanding: u64,
    /// Think time of a slot, from the end of an exchange to the next one: a time with unit, or a table `exponential`. Default: "0 s".
    #[serde(default)]
    pub think: Delay,
    /// Service time, from the last message of the opener to its answer: a time with unit, or a table `exponential`. Other messages are answered immediately. Default: "0 s".
    #[serde(default)]
    pub service: Delay,
}
}

fn one() -> u64 {
    1
}

impl ApplicationKeys for Box<ConversationKeys> {
    type Spec = Arc<ConversationSpec>;

    fn fill(&mut self) {
        if !self.transports().is_any() {
            self.tcp.get_or_insert_default();
        }
    }
    /// Returns the conversation, with as many whole exchanges as fit `limit` bytes of the opener.
    fn spec(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<ConversationSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = self.check();
        let need = Need { frame, place: "in a conversation", one_sided: self.messages.is_iscsi() };
        let mut own = self.clone();
        own.fill();
        let transport = own.transports().lower(&need);
        // Errors of the messages are reported even if the transport is invalid.
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
        let unused = self.messages.unused(matches!(transport.unit(), Unit::Bytes(_))).into_iter();
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
        self.transports().jitter_key()
    }
}

/// Sizes of the messages of an exchange, and their RDMA operations; the latter are empty without RDMA.
type Lengths = (Vec<u64>, Vec<Box<[Post]>>);

impl ConversationKeys {
    fn lengths(&self, transport: Option<&Transport>, frame: u16) -> Result<Lengths, Remark> {
        let unit = transport.map(TransportSpec::unit).unwrap_or(Unit::Bytes(frame));
        match unit {
            Unit::Bytes(segment) => Ok((self.messages.sizes(segment.into())?, Vec::new())),
            Unit::Messages { operation, one_sided } => {
                let name = transport.map_or("", Transport::name);
                let posts = self.messages.posts(operation, name, one_sided)?;
                let bytes = |posts: &[Post]| posts.iter().map(|post| post.bytes).sum();
                Ok((posts.iter().map(|posts| bytes(posts)).collect(), posts))
            }
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
