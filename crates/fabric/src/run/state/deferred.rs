//! Steps deferred to the end of the current step, within the same event.
//!
//! A step does not call another step that could call it back. It appends an entry here instead. As soon as the step
//! returns, the run loop runs the entries depth first: those that an entry appends run before the entries after it, in
//! the order of appending.

use crate::run::state::index::{EndpointIx, PortIx, RankIx};
use frame::{Frame, PathId, TrafficClass};

/// A deferred step. Frames are stored separately to keep the entries small, which every frame-hop uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deferred {
    /// An idle port has something to send.
    Decide(PortIx),
    /// A frame has left a NIC. Others may take its place: endpoints and limiters in the wait queue of the class if
    /// there are any, otherwise sources.
    Refill { egress: PortIx, class: TrafficClass, has_wait_queue: bool, pushed: Option<PathId> },
    /// This node originates a frame through one of its ports.
    Originate(PortIx, FrameAt),
    /// A frame continues after a stage of its egress port that sent a message because of it. `stage` is the index in
    /// the list of stages. `ingress` is the ingress port, `None` if the frame originates here.
    Behind { stage: u8, egress: PortIx, class: TrafficClass, ingress: Option<PortIx>, frame: FrameAt },
    /// These classes of a port may be blocked by a pause that its watchdog monitors.
    Stuck(PortIx, u32),
    /// A rank of a job may have messages to post.
    Rank(RankIx),
    /// An endpoint has processed an event and may have a request.
    Endpoint(EndpointIx),
}

/// Place of a frame in [`DeferredSteps`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameAt(u32);

/// The steps to run before the event ends; empty between events.
#[derive(Debug)]
pub(crate) struct DeferredSteps {
    /// Steps, the next one last. Those that the current step has appended, at the end, are not reversed yet.
    steps: Vec<Deferred>,
    /// Number of steps present when the current one began.
    before: usize,
    frames: Vec<Frame>,
}

impl Default for DeferredSteps {
    /// Creates an empty list with capacity for the steps of most events.
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
    /// Stores a frame for a step that will be appended.
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
    /// Returns true if all steps have run; their frames are dropped in that case.
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
