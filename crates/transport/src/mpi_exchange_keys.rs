//! The keys of an MPI exchange, and their validation.

use crate::application::{ApplicationKeys, ApplicationSpec, Opening};
use crate::mpi_exchange::{MpiExchange, MpiExchangeSpec};
use crate::rdma::Post;
use crate::transport::{Need, TransportSpec};
use crate::{Endpoint, Turn, with_transports};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Bytes, Time};

/// Maximum length of a message.
const LARGEST: Bytes = Bytes::new(1 << 40);
/// Maximum time of a copy.
const SLOWEST: Time = Time::from_ms(1000);

with_transports! {
/// Steps of ranks in a ring, over TCP or RDMA; full segments or packets are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MpiExchangeKeys {
    /// Bytes that each rank sends to each neighbour in a step. A size with unit, at most 1024 GiB; "0 B": a message without data. Required.
    pub message: Bytes,
    /// Ranks per host: 1, or 2 neighbouring ranks that exchange messages through memory. A count, 1 or 2. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub ranks: u64,
    /// Number of steps of each rank. A count above 0. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub steps: Option<u64>,
    /// Eager limit: maximum length of a message that is sent without a rendezvous. A size with unit. Default: "64 KiB" (`btl_tcp_eager_limit` of Open MPI 1.4).
    #[serde(default = "eager")]
    pub eager: Bytes,
    /// Fixed time of a copy from one rank of a host to the other, in addition to the time for its bytes. A time with unit, at most 1 s. Default: "1 us" (a choice).
    #[serde(default = "copy_time")]
    pub copy_time: Time,
    /// Rate of a copy through memory. A rate with unit, above 0. Default: "40 Gb/s" (a choice).
    #[serde(default = "copy_rate")]
    pub copy_rate: BitRate,
}
}

fn one() -> u64 {
    1
}
fn eager() -> Bytes {
    Bytes::new(64 << 10)
}
fn copy_time() -> Time {
    Time::from_us(1)
}
fn copy_rate() -> BitRate {
    BitRate::from_gbps(40)
}

impl ApplicationKeys for Box<MpiExchangeKeys> {
    type Spec = Arc<MpiExchangeSpec>;

    fn spec(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<MpiExchangeSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = self.check(limit);
        let need = Need { frame, place: "in an exchange of MPI", one_sided: false };
        let mut own = self.clone();
        own.fill();
        let transport = own.transports().lower(&need).map_err(|all| wrong.extend(all));
        let (Ok((transport, mut warnings)), true) = (transport, wrong.is_empty()) else { return Err(wrong) };
        warnings.extend(self.unused());
        let bytes = self.copy_rate.time_for_bits_ceil(self.message.get() * 8);
        let spec = MpiExchangeSpec {
            message: self.message.get(),
            eager: self.eager.get(),
            steps: self.steps,
            copy: (self.ranks == 2).then(|| self.copy_time.saturating_add(bytes)),
            transport,
        };
        Ok((spec.into(), warnings))
    }
    fn fill(&mut self) {
        if !self.transports().is_any() {
            self.tcp.get_or_insert_default();
        }
    }
    fn needs_ring(&self) -> bool {
        true
    }
    fn jitter_key(&self) -> Option<&'static str> {
        self.transports().jitter_key()
    }
}

impl MpiExchangeKeys {
    /// Returns the keys that have no effect.
    fn unused(&self) -> Vec<Remark> {
        let unused = |key, is_default: bool| {
            (self.ranks == 1 && !is_default)
                .then(|| keys::unused(key, "ranks = 2: one rank of a host copies nothing"))
        };
        let time = unused("copy_time", self.copy_time == copy_time());
        time.into_iter().chain(unused("copy_rate", self.copy_rate == copy_rate())).collect()
    }

    fn check(&self, limit: Option<Bytes>) -> Vec<Remark> {
        let mut wrong = Vec::new();
        if self.message > LARGEST {
            let message = format!("a message of {}", self.message);
            wrong.push(Remark::about("message", message, format!("expected at most \"{LARGEST}\"")));
        }
        if !(1..=2).contains(&self.ranks) {
            wrong.push(Remark::about("ranks", format!("{} ranks of a host", self.ranks), "expected 1 or 2"));
        }
        if self.steps == Some(0) {
            wrong.push(Remark::about("steps", "0 steps: nothing would be sent", "expected 1 or more"));
        }
        if self.copy_time > SLOWEST {
            let message = format!("a copy that takes {}", self.copy_time);
            wrong.push(Remark::about("copy_time", message, format!("expected at most \"{SLOWEST}\"")));
        }
        if self.copy_rate.bps() == 0 {
            wrong.push(Remark::about("copy_rate", "copies at 0 b/s", "expected a rate above 0"));
        }
        if self.tcp.as_ref().is_some_and(|tcp| tcp.handshake) {
            let help = "connections are open before the first step; expected none of it";
            wrong.push(Remark::about("handshake", "handshake in an exchange of MPI", help).within("tcp"));
        }
        if limit.is_some() {
            let help = "the ranks take the same steps; expected the key steps in its place";
            wrong.push(Remark::new("a limit of bytes with mpi_exchange", help));
        }
        wrong
    }
}

impl ApplicationSpec for Arc<MpiExchangeSpec> {
    fn ends(
        &self,
        Opening { start, stop, facts, random: [near, far], .. }: Opening<'_>,
    ) -> (Endpoint, Endpoint) {
        let end = |opens, facts, rng| {
            Endpoint::MpiExchange(Box::new(MpiExchange::new(self, opens, (start, stop), facts, rng)))
        };
        (end(true, facts[0], near), end(false, facts[1], far))
    }
    fn frames(&self) -> (u16, u16) {
        TransportSpec::frames(&self.transport)
    }
    fn turn(&self) -> Turn {
        let parts = self.parts();
        let posts: Vec<Option<Post>> = parts.iter().map(|&bytes| self.post(bytes).0).collect();
        let messages = parts.iter().zip(&posts).map(|(&bytes, post)| (bytes, post.as_slice()));
        let train = self.transport.train(&mut { messages });
        Turn { out: train, back: train, answers: 1.0 }
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        TransportSpec::round_trip_frames(&self.transport)
    }
    /// Returns the maximum rate: both directions are active at the same time, each for half of a turn.
    fn most_bps(&self, turn_secs: f64) -> f64 {
        2.0 * self.turn().out.bytes as f64 * 8.0 / turn_secs
    }
    fn check(&self) -> Result<(), String> {
        MpiExchangeSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        TransportSpec::understands_marks(&self.transport)
    }
}
