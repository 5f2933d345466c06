//! Pipelined messages from rank to rank: the stages of a pipeline.
//!
//! The first rank sends `chunks` messages, one for each micro-batch; each other rank receives a message and sends it
//! on. With two ranks it is a stream of messages from one to the other.
//!
//! Source: Huang et al., GPipe (2019), section 2.2 (micro-batches).
//!
//! Not modelled: the backward pass.

use crate::schedule::{Action, Schedule, part};

/// A pipeline of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipeline {
    pub n: u32,
    /// Bytes that pass each boundary between stages, in total.
    pub bytes: u64,
    pub chunks: u32,
}

impl Schedule for Pipeline {
    fn lanes(&self) -> u32 {
        1
    }
    fn action(&self, rank: u32, _lane: u32, at: u32) -> Option<Action> {
        let (receives, sends) = (rank > 0, rank + 1 < self.n);
        let each = u32::from(receives) + u32::from(sends);
        let chunk = at / each;
        if chunk >= self.chunks {
            return None;
        }
        let bytes = part(self.bytes, self.chunks, chunk);
        Some(if receives && at.is_multiple_of(each) {
            Action::Receive { from: rank - 1, bytes, tag: 0 }
        } else {
            Action::Send { to: rank + 1, bytes, tag: 0 }
        })
    }
}
