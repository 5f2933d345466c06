//! Dynamic thresholds: queues share one memory, and the limit of each queue is a multiple of the free memory.
//!
//! The memory of a switch is partitioned into a reserved minimum for each queue, a headroom pool, and a shared part,
//! which is the rest. The limit of a queue beyond its minimum is T = α · (free part of the shared memory). A frame is
//! charged to its queue if the queue stays within this limit. Otherwise it is charged to the headroom pool, if its
//! class is lossless and the pool has room. A frame that fits in neither is dropped. A departing frame frees headroom
//! first, then shared memory, then the minimum.
//!
//! In the steady state each of n busy queues holds α / (1 + n α) of the shared memory. The remaining 1 / (1 + n α)
//! stays free for queues that become active.
//!
//! A lossy queue is an egress queue. A lossless queue is an ingress queue, as in PFC: the buffered frames of one class
//! that arrived through one port. It sends XOFF when one more byte would exceed T, or when it uses headroom. It sends
//! XON when it holds no headroom and its shared part is at most T less `resume_offset`. Lossy and lossless queues
//! compete for the same free memory.
//!
//! Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998; minima, headroom and the order of release follow merchant switches as
//! modelled in public RDMA simulators.
//!
//! Not modelled: memory cells (a frame occupies exactly its own length); a frame split between two parts of the
//! memory, other than between the minimum and the shared part of one queue.

use keys::{Remark, Unused};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::{Amount, Bytes};

/// Dynamic thresholds (Choudhury and Hahne 1998): the `total` of the buffer is one memory that all queues share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicThreshold {
    /// Threshold of a queue, as a multiple of the free shared memory. A number, 1/1024 to 1024, in steps of 1/1024. Default: 1.0.
    pub alpha: Alpha,
    /// Memory reserved for each queue: each traffic class of each egress port and, if flow control counts at the ingress, each lossless priority of each ingress port (with PAUSE, all priorities of the port together). A size. Default: "0 B".
    pub minimum: Bytes,
    /// Memory reserved for lossless classes above the threshold, for the data in flight on all links of the switch after XOFF. A size. Default: "0 B".
    pub headroom: Bytes,
    /// Distance of the XON level below the threshold of a queue. A size. Default: "0 B".
    pub resume_offset: Bytes,
}

impl Default for DynamicThreshold {
    fn default() -> DynamicThreshold {
        let none = Bytes::new(0);
        DynamicThreshold { alpha: Alpha::ONE, minimum: none, headroom: none, resume_offset: none }
    }
}

impl DynamicThreshold {
    /// Returns the rules of a switch's memory with this limit, and warnings. `lossless` is true if some classes are
    /// counted at ingress.
    ///
    /// # Errors
    /// The memory is not given in bytes.
    pub fn spec(
        &self,
        total: Option<Amount>,
        lossless: bool,
    ) -> Result<(SharedMemorySpec, Vec<Remark>), Remark> {
        let Some(Amount::Bytes(bytes)) = total else {
            let given = total.map_or("unlimited".to_string(), |total| total.to_string());
            let message = format!("a dynamic threshold without a shared memory: total is {given}");
            let help =
                "expected a total of the same buffer in bytes, like total = \"12 MB\": what queues share";
            return Err(Remark::new(message, help));
        };
        let unused = Unused::of(self, &DynamicThreshold::default())
            .unless(lossless, "flow control that counts at the ingress", &["headroom", "resume_offset"])
            .remarks();
        Ok((self.of(bytes), unused))
    }
    /// Returns the rules of a memory of `total` bytes.
    pub fn of(&self, total: u64) -> SharedMemorySpec {
        SharedMemorySpec {
            total,
            alpha: self.alpha,
            minimum: self.minimum.get(),
            headroom: self.headroom.get(),
            resume_offset: self.resume_offset.get(),
        }
    }
}

/// The rules of a memory that is one shared pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemorySpec {
    /// Total memory in bytes.
    pub total: u64,
    /// Limit of a queue, as a multiple of the free memory. Default 1.
    pub alpha: Alpha,
    /// Bytes reserved for each queue, egress or lossless. Default 0.
    pub minimum: u64,
    /// Bytes above the threshold that only lossless classes may use. Default 0.
    pub headroom: u64,
    /// Distance below the threshold in bytes at which a lossless queue sends XON. Default 0.
    pub resume_offset: u64,
}

impl SharedMemorySpec {
    /// Returns the shared memory in bytes with this number of queues; `None` if minima and headroom exceed the total.
    pub fn shared(&self, queues: u64) -> Option<u64> {
        self.total.checked_sub(self.headroom)?.checked_sub(self.minimum.checked_mul(queues)?)
    }
}

/// A multiple of the free memory, in steps of 1/1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(u32);

impl Alpha {
    /// Alpha of 1: a queue may hold as many bytes as are free.
    pub const ONE: Alpha = Alpha(1 << Alpha::FRACTION_BITS);
    const FRACTION_BITS: u32 = 10;
    const LARGEST: f64 = 1024.0;

    /// Converts a number from 1/1024 to 1024; `None` if it is not a multiple of 1/1024.
    pub fn new(alpha: f64) -> Option<Alpha> {
        let steps = alpha * f64::from(1 << Alpha::FRACTION_BITS);
        let fits = steps >= 1.0 && alpha <= Alpha::LARGEST && steps.fract() == 0.0;
        fits.then_some(Alpha(steps as u32))
    }
    /// Returns the multiple as a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(1 << Alpha::FRACTION_BITS)
    }
    #[inline]
    pub(crate) fn of(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.0)) >> Alpha::FRACTION_BITS) as u64
    }
    /// Returns the bytes to which each of n = `queues` busy queues converges in a shared memory of `bytes`: its share α
    /// / (1 + n α), in whole bytes.
    pub fn share(self, bytes: u64, queues: u64) -> u64 {
        let (alpha, one) = (u128::from(self.0), 1u128 << Alpha::FRACTION_BITS);
        (u128::from(bytes) * alpha / (one + u128::from(queues) * alpha)) as u64
    }
    /// Returns the highest marking threshold of an egress queue with which marks come before pauses, however the frames
    /// are distributed over the ingress ports: α / (ports (1 + classes α)) of the shared memory. This is the bound of
    /// the DCQCN paper, whose β is classes times α.
    pub fn marks_before_pauses(self, bytes: u64, ports: u64, classes: u64) -> u64 {
        let (alpha, one) = (u128::from(self.0), 1u128 << Alpha::FRACTION_BITS);
        let parts = u128::from(ports.max(1)) * (one + u128::from(classes) * alpha);
        (u128::from(bytes) * alpha / parts) as u64
    }
}

impl Serialize for Alpha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}
impl<'de> Deserialize<'de> for Alpha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Alpha, D::Error> {
        let alpha = f64::deserialize(deserializer)?;
        Alpha::new(alpha).ok_or_else(|| {
            let step = f64::from(Alpha::ONE.0);
            let nearest = ((alpha * step).round() / step).clamp(1.0 / step, Alpha::LARGEST);
            let nearest = if nearest.is_nan() { 1.0 } else { nearest };
            de::Error::custom(format!(
                "alpha is {alpha}; expected 1/1024 to 1024 in steps of 1/1024, such as {nearest}"
            ))
        })
    }
}
impl JsonSchema for Alpha {
    fn schema_name() -> Cow<'static, str> {
        "Alpha".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 1.0 / 1024.0, "maximum": Alpha::LARGEST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_the_free_memory() {
        assert_eq!(Alpha::new(0.0078125).map(Alpha::get), Some(1.0 / 128.0));
        assert_eq!([0.0, -1.0, 0.1, 2_000.0, f64::NAN, f64::INFINITY].map(Alpha::new), [None; 6]);
    }
}
