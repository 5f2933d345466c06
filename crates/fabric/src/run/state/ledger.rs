//! The ledger: frames created, copied, delivered and lost. The sums must balance, even after other counters are reset.

use crate::run::state::losses::Cause;
use crate::run::state::outcome::Failure;
use crate::run::state::trimming::Trims;
use crate::spec::OnLosslessDrop;
use frame::{Frame, PathId, PortId, TrafficClass};
use std::collections::BTreeMap;

/// Losses by port, class, path, part of the flow and cause: frames and bytes.
pub(crate) type Drops = BTreeMap<(PortId, TrafficClass, PathId, Part, Cause), (u64, u64)>;

/// Part of a flow to which a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Data of the flow for its destination: counted by its source.
    Sent,
    /// Everything else: acknowledgements, responses, tags, messages.
    Beside,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Part::Sent => "sent",
            Part::Beside => "beside",
        }
    }
}

/// Frames since time zero, losses since measurement started, and the violated guarantee that stops the run, if any.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub made: u64,
    /// Copies made by switches, without the originals.
    pub copied: u64,
    pub delivered: u64,
    pub lost: u64,
    pub drops: Drops,
    /// Frames trimmed since measurement started, by port, original class, and path.
    pub trims: BTreeMap<(PortId, TrafficClass, PathId), Trims>,
    /// By path, trimmed frames that have reached its end since measurement started, and their bytes.
    pub trimmed: BTreeMap<PathId, (u64, u64)>,
    pub on_lossless_drop: OnLosslessDrop,
    pub failure: Option<Failure>,
}

impl Ledger {
    /// Counts a frame lost at a port.
    pub fn count_loss(&mut self, port: PortId, class: TrafficClass, frame: &Frame, part: Part, cause: Cause) {
        let entry = self.drops.entry((port, class, frame.path, part, cause)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(frame.bytes);
        self.lost += 1;
    }

    /// Counters of the trimmed frames of a path at a queue.
    pub fn trims_at(&mut self, port: u32, class: TrafficClass, path: PathId) -> &mut Trims {
        self.trims.entry((PortId(port), class, path)).or_default()
    }

    /// Counts a trimmed frame that has reached the end of its path.
    pub fn count_trimmed(&mut self, frame: &Frame) {
        let entry = self.trimmed.entry(frame.path).or_default();
        entry.0 += 1;
        entry.1 += u64::from(frame.bytes);
    }

    /// Restarts measurement.
    pub fn restart(&mut self) {
        self.drops.clear();
        self.trims.clear();
        self.trimmed.clear();
    }

    /// Adds the counts of a part of the fabric.
    pub fn absorb(&mut self, part: &Ledger) {
        self.made += part.made;
        self.copied += part.copied;
        self.delivered += part.delivered;
        self.lost += part.lost;
        self.drops.extend(&part.drops);
        self.trims.extend(&part.trims);
        for (&path, &(frames, bytes)) in &part.trimmed {
            let entry = self.trimmed.entry(path).or_default();
            *entry = (entry.0 + frames, entry.1 + bytes);
        }
        if let Some(failure) = &part.failure {
            self.fail(failure.clone());
        }
    }

    /// Records a violated guarantee. Several nodes may fail in one window, in any order: the earliest failure is
    /// reported.
    pub fn fail(&mut self, failure: Failure) {
        if self.failure.as_ref().is_none_or(|first| failure.when() < first.when()) {
            self.failure = Some(failure);
        }
    }
}
