//! The keys of exchanges over FCoE, and their validation.

use crate::application::ApplicationKeys;
use crate::fcoe_spec::{FCOE_OVERHEAD, LARGEST_DATA_FIELD, MOST_EXCHANGES};
use crate::{Delay, FcoeSpec};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Amount, Bytes, Or, Time, Unlimited};

/// Maximum number of bytes of an exchange: FCP_DL has 4 octets.
const LARGEST_BLOCK: u64 = u32::MAX as u64;
/// Minimum data field, which every Fibre Channel port accepts (FC-LS: the receive data field size is 256 to 2,112 B).
const LEAST_DATA_FIELD: u16 = 256;
/// Data field that many ports negotiate at login. Smaller ones need no mini-jumbo frames.
const USUAL_DATA_FIELD: u16 = 2_048;
/// Unit of MAXIMUM BURST SIZE.
const LEAST_BURST: Bytes = Bytes::new(512);

/// Kind of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FcpOperation {
    /// The initiator reads a block: data come from the target.
    Read,
    /// The initiator writes a block, as the target requests it.
    Write,
}

/// Exchanges of Fibre Channel over Ethernet, without TCP: `from` is the initiator, `to` the target. Frames are as long as `frame` allows, at most 2180 B, with 68 B beside the data.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FcoeKeys {
    /// Operation: "read" or "write". Required.
    pub operation: FcpOperation,
    /// Block size: bytes of data of an exchange (FCP_DL). A size with unit, 1 B to 4294967295 B. Default: "1 MiB" (Hagen 2012, section 4.2).
    #[serde(default = "one_mebibyte")]
    pub block: Bytes,
    /// Maximum bytes of data of one sequence; for a write, bytes that one FCP_XFER_RDY requests (MAXIMUM BURST SIZE of SPC). A size with unit, at least 512 B; or "unlimited". Default: "unlimited".
    #[serde(default)]
    pub max_burst: Or<Bytes, Unlimited>,
    /// Queue depth: number of exchanges in progress at the same time. A count, 1 to 128. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub outstanding: u64,
    /// Think time of a slot, from the end of an exchange to the next one: a time with unit, or a table `exponential`. Default: "0 s".
    #[serde(default)]
    pub think: Delay,
    /// Service time of the target, before the data of a read or the response to a write: a time with unit, or a table `exponential`. Default: "0 s".
    #[serde(default)]
    pub service: Delay,
    /// Time after which an unfinished exchange is aborted and repeated (ULP_TOV). A time with unit, above the longest exchange without a loss. Default: "30 s" (a usual timeout of SCSI disks; FCP-4 leaves it to the upper level).
    #[serde(default = "thirty_seconds")]
    pub ulp_tov: Time,
    /// If true, an end sends only while flow control is in force for its priority at the port of its host (T11), which DCBX may negotiate; if false, it always sends (IEEE 802.1, best effort). Default: true (FC-BB-5; Hagen 2012, section 3.3).
    #[serde(default = "always")]
    pub requires_lossless: bool,
}

fn one_mebibyte() -> Bytes {
    Bytes::new(1 << 20)
}
fn one() -> u64 {
    1
}
fn thirty_seconds() -> Time {
    Time::from_ms(30_000)
}
fn always() -> bool {
    true
}

impl ApplicationKeys for FcoeKeys {
    type Spec = Arc<FcoeSpec>;

    /// Returns the exchanges, whose blocks have at most `limit` bytes in total.
    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Arc<FcoeSpec>, Vec<Remark>), Vec<Remark>> {
        let wrong = self.check(limit, frame);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let room = (frame - FCOE_OVERHEAD).min(LARGEST_DATA_FIELD);
        let data_field = room - room % 4;
        let burst = self.max_burst.value().map_or(self.block.get(), Bytes::get);
        let spec = FcoeSpec {
            writes: self.operation == FcpOperation::Write,
            block: self.block.get(),
            burst: burst.min(self.block.get()),
            data_field,
            outstanding: self.outstanding as u16,
            exchanges: limit.map(|limit| limit.get() / self.block.get()),
            think: self.think,
            service: self.service,
            ulp_tov: self.ulp_tov,
            requires_lossless: self.requires_lossless,
        };
        let defaults = FcoeKeys { max_burst: Or::word(), ..self.clone() };
        let unused = Unused::of(self, &defaults).unless(
            burst < self.block.get(),
            "a `block` above it",
            &["max_burst"],
        );
        let short = (data_field < USUAL_DATA_FIELD).then(|| {
            let message = format!("frames of {frame} B leave {data_field} B of data in each");
            let help = "frames of Fibre Channel have up to 2112 B: expected frame = \"2180 B\", a mini-jumbo";
            Remark::new(message, help)
        });
        Ok((spec.into(), unused.remarks().into_iter().chain(short).collect()))
    }
}

impl FcoeKeys {
    fn check(&self, limit: Option<Bytes>, frame: u16) -> Vec<Remark> {
        let mut wrong = vec![];
        let block = self.block.get();
        if block == 0 || block > LARGEST_BLOCK {
            let help = format!("expected 1 B to {LARGEST_BLOCK} B");
            wrong.push(Remark::about("block", format!("a block of {}", self.block), help));
        }
        if let Some(burst) = self.max_burst.value().filter(|&burst| burst < LEAST_BURST) {
            let help = format!("expected at least {LEAST_BURST}, or \"unlimited\"");
            wrong.push(Remark::about("max_burst", format!("a max_burst of {burst}"), help));
        }
        if !(1..=u64::from(MOST_EXCHANGES)).contains(&self.outstanding) {
            let message = format!("{} outstanding exchanges", self.outstanding);
            wrong.push(Remark::about("outstanding", message, format!("expected 1 to {MOST_EXCHANGES}")));
        }
        wrong.extend(self.think.check("think").err());
        wrong.extend(self.service.check("service").err());
        if self.ulp_tov == Time::ZERO {
            let help = "expected a time above the longest exchange, like \"1 s\"";
            wrong.push(Remark::about("ulp_tov", "a timeout of 0", help));
        }
        if frame < FCOE_OVERHEAD + LEAST_DATA_FIELD {
            let message = format!("frames of {frame} B with fcoe");
            let help = format!(
                "{FCOE_OVERHEAD} B beside at least {LEAST_DATA_FIELD} B of data; expected frame = \"2180 B\""
            );
            wrong.push(Remark::new(message, help));
        }
        if let Some(limit) = limit.filter(|limit| limit.get() > 0 && limit.get() < block) {
            let [block, limit] = Amount::alike([block, limit.get()].map(Amount::Bytes));
            let message = format!("a block of {block}, but a limit of {limit}");
            let help = "nothing would be sent; expected a limit of one block at least";
            wrong.push(Remark::about("block", message, help));
        }
        wrong
    }
}
