//! The transport of an application that sends messages in both directions: what a scenario says, and what cannot be meant.

use crate::rdma::{Operation, RdmaKeys, RdmaVerb};
use crate::settings::ack_bytes;
use crate::transport::Transport;
use crate::{Delay, TcpKeys, TcpSpec, TransferSpec};
use keys::Remark;
use units::{Bytes, Or};

/// The keys of at most one transport; without any it is TCP with its defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransportKeys<'a> {
    pub tcp: Option<&'a TcpKeys>,
    pub rdma: Option<&'a RdmaKeys>,
    /// How messages speak of the application, as in "in a conversation".
    pub place: &'a str,
}

/// What came of them: the transport, and what to beware of; or all that is wrong.
pub(crate) type Lowered = Result<(Transport, Vec<Remark>), Vec<Remark>>;

impl TransportKeys<'_> {
    /// The transport in frames of at most `frame` bytes, whose messages are these operations over RDMA.
    pub fn spec(&self, frame: u16, operations: &dyn Fn(RdmaVerb) -> Vec<Operation>) -> Lowered {
        match (self.tcp, self.rdma) {
            (Some(_), Some(_)) => {
                let message = format!("tcp and rdma {}", self.place);
                Err(vec![Remark::about("rdma", message, "messages have one transport; expected one of them")])
            }
            (_, Some(rdma)) => {
                self.rdma(rdma, frame, &operations(rdma.verb)).map_err(|all| within("rdma", all))
            }
            (tcp, None) => {
                let default = TcpKeys::default();
                self.tcp(tcp.unwrap_or(&default), frame).map_err(|all| within("tcp", all))
            }
        }
    }

    fn tcp(&self, tcp: &TcpKeys, frame: u16) -> Lowered {
        let (ack, mut wrong) = (ack_bytes(tcp.ack), self.one_connection(tcp));
        let least = ack.as_ref().map_or(frame, |(bytes, _)| *bytes);
        let spec = tcp.sized(Some(Bytes::new(0)), frame, least).map_err(|all| wrong.extend(all));
        match (ack, spec) {
            (Ok((_, mut warnings)), Ok(spec)) if wrong.is_empty() => {
                warnings.extend(tcp.unused());
                let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
                let spec = TcpSpec { transfers, ..spec };
                Ok((Transport::Tcp(spec.into()), within("tcp", warnings)))
            }
            (ack, _) => Err(ack.err().into_iter().flatten().chain(wrong).collect()),
        }
    }

    fn rdma(&self, rdma: &RdmaKeys, frame: u16, operations: &[Operation]) -> Lowered {
        let mut wrong = Vec::new();
        if rdma.verb == RdmaVerb::Read {
            let message = format!("verb = \"read\" {}", self.place);
            let help = "the application whose memory is read does not notice a READ, and would not answer; expected \"send\", or \"write\", which has immediate data";
            wrong.push(Remark::about("verb", message, help));
        }
        if rdma.verb == RdmaVerb::Write && operations.contains(&Operation::ReadRequest) {
            let help = "iSER sends its PDUs, and its data are WRITEs and READs anyway; expected \"send\"";
            wrong.push(Remark::about("verb", "verb = \"write\" with messages of iSCSI", help));
        }
        if rdma.ack_priority.is_some() {
            let message = format!("ack_priority {}", self.place);
            let help =
                "either end sends data and acknowledgements through one class of its NIC; expected none";
            wrong.push(Remark::about("ack_priority", message, help));
        }
        match rdma.duplex(operations, frame) {
            Ok((spec, warnings)) if wrong.is_empty() => Ok((Transport::Rdma(spec), within("rdma", warnings))),
            spec => Err(wrong.into_iter().chain(spec.err().into_iter().flatten()).collect()),
        }
    }

    /// Keys of TCP that describe transfers, where an application sends messages over one connection.
    fn one_connection(&self, tcp: &TcpKeys) -> Vec<Remark> {
        let others = [
            ("transfer", tcp.transfer != Or::word()),
            ("idle", tcp.idle != Delay::default()),
            ("reconnect", tcp.reconnect),
        ];
        let help = "its messages say what is sent and when, over one connection; expected none of it";
        let remark = |key: &'static str| Remark::about(key, format!("{key} {}", self.place), help);
        others.into_iter().filter(|&(_, is_set)| is_set).map(|(key, _)| remark(key)).collect()
    }
}

/// Remarks about keys of this table.
fn within(table: &str, all: Vec<Remark>) -> Vec<Remark> {
    all.into_iter().map(|why| why.within(table)).collect()
}
