//! Steps that a step leaves to be run within the same event.
//!
//! No step calls the entry of another step that could call it back. It appends an entry here instead, and the run loop runs the entries
//! depth first as soon as the step returns: those that an entry appends run before the entries after it, in the order of appending.

use crate::run::state::index::{EndpointIx, PortIx, RankIx};
use frame::{Frame, PathId, TrafficClass};

/// A step to be run. Frames lie apart, so that the entries of every frame-hop are small.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deferred {
    /// A free port has something to send.
    Decide(PortIx),
    /// A frame has left a NIC, and others may take its place: endpoints and limiters in the wait queue of the class, if there are any, then
    /// sources.
    Refill { egress: PortIx, class: TrafficClass, has_wait_queue: bool, pushed: Option<PathId> },
    /// This node sends a frame of its own through one of its ports.
    Originate(PortIx, FrameAt),
    /// A frame goes on behind a stage of its egress port that has sent a message because of it: the place of the stage in their list.
    /// `ingress` is the port that the frame came in through, `None` if it begins its way here.
    Behind { stage: u8, egress: PortIx, class: TrafficClass, ingress: Option<PortIx>, frame: FrameAt },
    /// These classes of a port may be stuck behind a pause, which its watchdog observes.
    Stuck(PortIx, u32),
    /// A rank of a job may have messages to post.
    Rank(RankIx),
    /// An endpoint has observed something, and may have a request.
    Endpoint(EndpointIx),
}

/// Place of a frame in [`DeferredSteps`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameAt(u32);

/// The steps to be run before the event ends; none between events.
#[derive(Debug)]
pub(crate) struct DeferredSteps {
    /// Reversed below the steps that the current one has appended: the next one to run is the last.
    steps: Vec<Deferred>,
    /// Number of steps that were there when the current one began.
    before: usize,
    frames: Vec<Frame>,
}

impl Default for DeferredSteps {
    /// No steps, with room for those of most events.
    fn default() -> DeferredSteps {
        DeferredSteps { steps: Vec::with_capacity(16), before: 0, frames: Vec::with_capacity(4) }
    }
}

impl DeferredSteps {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    /// Appends a step.
    #[inline(always)]
    pub fn push(&mut self, step: Deferred) {
        self.steps.push(step);
    }
    /// Keeps a frame for a step that will be appended.
    pub fn keep(&mut self, frame: Frame) -> FrameAt {
        self.frames.push(frame);
        FrameAt(self.frames.len() as u32 - 1)
    }
    /// The frame of a step.
    pub fn frame(&self, at: FrameAt) -> Frame {
        self.frames[at.0 as usize]
    }
    /// Removes the step to be run next.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Deferred> {
        if self.steps.len() > self.before + 1 {
            self.steps[self.before..].reverse();
        }
        let step = self.steps.pop();
        self.before = self.steps.len();
        step
    }
    /// Returns true if all steps have run; their frames are dropped then.
    #[inline(always)]
    pub fn have_run(&mut self) -> bool {
        let have_run = self.steps.is_empty();
        if have_run && !self.frames.is_empty() {
            self.frames.clear();
        }
        have_run
    }
    /// Memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Deferred>() + self.frames.capacity() * size_of::<Frame>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(of: &mut DeferredSteps, appended_by: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
        let mut run = Vec::new();
        while let Some(step) = of.next() {
            let Deferred::Decide(port) = step else { panic!("{step:?}") };
            run.push(port.number());
            appended_by(port.number()).into_iter().for_each(|n| of.push(Deferred::Decide(PortIx::new(n))));
        }
        run
    }

    #[test]
    fn steps_run_depth_first_in_the_order_of_appending() {
        let mut steps = DeferredSteps::default();
        for round in 0..2 {
            [1, 2, 3].into_iter().for_each(|n| steps.push(Deferred::Decide(PortIx::new(n))));
            let appended = |port| match port {
                1 => vec![11, 12],
                12 => vec![121],
                3 => vec![31, 32],
                _ => vec![],
            };
            assert_eq!(ports(&mut steps, appended), [1, 11, 12, 121, 2, 3, 31, 32], "round {round}");
            assert!(steps.is_empty());
        }
    }

    #[test]
    fn frames_lie_apart_until_all_steps_have_run() {
        let mut steps = DeferredSteps::default();
        let frame = Frame { bytes: 64, ..Frame::default() };
        let at = steps.keep(frame);
        steps.push(Deferred::Originate(PortIx::new(1), at));
        assert_eq!(steps.frame(at), frame);
        assert!(steps.next().is_some() && steps.frame(at) == frame);
        assert!(steps.have_run() && steps.frames.is_empty() && steps.next().is_none());
        assert_eq!(size_of::<Deferred>(), 16);
    }
}
