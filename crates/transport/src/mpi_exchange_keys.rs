//! The keys of an exchange of MPI: what a scenario says, and what cannot be meant.

use crate::application::{ApplicationKeys, ApplicationSpec, Random};
use crate::conversation_keys::one_connection;
use crate::mpi_exchange::{MpiExchange, MpiExchangeSpec};
use crate::settings::ack_bytes;
use crate::{Delay, Endpoint, TcpKeys, TcpSpec, Train, TransferSpec, Turn};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Bytes, Time};

/// Bytes of a message at most.
const LARGEST: Bytes = Bytes::new(1 << 40);
/// The longest time of a copy.
const SLOWEST: Time = Time::from_ms(1000);

/// Steps of ranks in a ring, over TCP; full segments have the length `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MpiExchangeKeys {
    /// Bytes that each rank sends to each neighbour in a step. A size with unit, at most 1024 GiB; "0 B": a message without data. Required.
    pub message: Bytes,
    /// Ranks of each host: 1, or 2 that are neighbours and exchange through memory. A count, 1 or 2. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub ranks: u64,
    /// Steps of each rank. A count above 0. Default: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub steps: Option<u64>,
    /// The longest message that is sent without asking. A size with unit. Default: "64 KiB" (`btl_tcp_eager_limit` of Open MPI 1.4).
    #[serde(default = "eager")]
    pub eager: Bytes,
    /// What a copy from one rank of a host to the other takes beside its bytes. A time with unit, at most 1 s. Default: "1 us" (a choice).
    #[serde(default = "copy_time")]
    pub copy_time: Time,
    /// How fast the bytes of a copy are. A rate with unit, above 0. Default: "40 Gb/s" (a choice).
    #[serde(default = "copy_rate")]
    pub copy_rate: BitRate,
    /// The keys of both directions, without `transfer`, `idle`, `reconnect` and `handshake`. Default: all those of the preset "rfc".
    #[serde(default)]
    pub tcp: TcpKeys,
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
        let within = |all: Vec<Remark>| all.into_iter().map(|why| why.within("tcp")).collect::<Vec<_>>();
        let mut wrong = self.check(limit);
        let ack = ack_bytes(self.tcp.ack);
        let least = ack.as_ref().map_or(frame, |(bytes, _)| *bytes);
        let tcp = self.tcp.sized(Some(Bytes::new(0)), frame, least);
        let warnings = match ack {
            Ok((_, warnings)) => within(warnings),
            Err(why) => {
                wrong.extend(within(why));
                vec![]
            }
        };
        let tcp = tcp.map_err(|all| wrong.extend(within(all)));
        let (Ok(tcp), true) = (tcp, wrong.is_empty()) else { return Err(wrong) };
        let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
        let bytes = self.copy_rate.time_for_bits_ceil(self.message.get() * 8);
        let spec = MpiExchangeSpec {
            message: self.message.get(),
            eager: self.eager.get(),
            steps: self.steps,
            copy: (self.ranks == 2).then(|| self.copy_time.saturating_add(bytes)),
            tcp: TcpSpec { transfers, ..tcp }.into(),
        };
        Ok((spec.into(), warnings))
    }
    fn needs_ring(&self) -> bool {
        true
    }
    fn jitter_key(&self) -> Option<&'static str> {
        Some("tcp.send_jitter")
    }
}

impl MpiExchangeKeys {
    fn check(&self, limit: Option<Bytes>) -> Vec<Remark> {
        let mut wrong = one_connection(&self.tcp, "in an exchange of MPI");
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
        if self.tcp.handshake {
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
    fn ends(&self, start: Time, stop: Option<Time>, near: Random, far: Random) -> (Endpoint, Endpoint) {
        let end =
            |opens, rng| Endpoint::MpiExchange(Box::new(MpiExchange::new(self, opens, start, stop, rng)));
        (end(true, near), end(false, far))
    }
    fn frames(&self) -> (u16, u16) {
        (self.tcp.shortest_frame(), self.tcp.longest_frame())
    }
    fn turn(&self) -> Turn {
        let said = Train::messages(&self.tcp, self.parts().into_iter());
        Turn { out: said, back: said, answers: 1.0 }
    }
    /// Both directions are under way at once, each for half of the time of a turn.
    fn most_bps(&self, turn_secs: f64) -> f64 {
        2.0 * self.turn().out.bytes as f64 * 8.0 / turn_secs
    }
    fn check(&self) -> Result<(), String> {
        MpiExchangeSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        self.tcp.ecn != crate::EcnMode::Off
    }
}
