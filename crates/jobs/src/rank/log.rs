//! Log of a rank: its steps, and for each of them the step that caused it.
//!
//! A rank acts only at the end of one of its steps: when a message arrives or is acknowledged, or a processor finishes.
//! The log records that step as the cause of all steps that start at the same time. Following the causes back from the
//! end of an iteration therefore yields the critical path.

use units::Time;

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A processor computes.
    Compute,
    /// A processor hands over a message, at its sender.
    SendCost,
    /// A processor processes a message, at its receiver.
    ReceiveCost,
    /// A message, from its posting to its acknowledgement.
    Send,
    /// A receive, from its start until it has a message.
    Receive,
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Kind of the step.
    pub kind: StepKind,
    /// Number of its iteration, from 0.
    pub iteration: u32,
    /// Its lane or, in a program, its operation.
    pub lane: u32,
    /// Number of the step of this rank at whose end this one started; its own number if it starts with the job. For a
    /// processor that was busy: the step that occupied it before.
    pub after: u32,
    /// Rank at the other end; the rank itself for a step without a message, and for a receive from any rank that has no
    /// message yet.
    pub peer: u32,
    /// Label of the message; 0 without one.
    pub tag: u32,
    /// Bytes of the message; 0 without one.
    pub bytes: u64,
    /// Time of the request.
    pub since: Time,
    /// Time at which a processor started it; for a receive, delivery time of the message. [`Time::NEVER`] if not yet.
    pub begin: Time,
    /// End time; [`Time::NEVER`] if it has not ended.
    pub end: Time,
}

/// Number of a step that is not recorded.
pub(super) const NONE: u32 = u32::MAX;

/// The steps of a rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    steps: Vec<Step>,
    /// Number of iterations that are recorded, the first ones.
    iterations: u32,
    iteration: u32,
    /// The step at whose end the rank currently acts.
    pub cause: u32,
    /// For each processor, the last step that occupied it.
    occupants: Vec<u32>,
}

impl Log {
    /// Creates a log that records this number of iterations.
    pub fn new(iterations: u32) -> Log {
        Log { iterations, cause: NONE, ..Log::default() }
    }
    /// Stops recording steps.
    pub fn stop(&mut self) {
        self.iterations = 0;
    }
    /// Starts an iteration.
    pub fn begin(&mut self, iteration: u32) {
        self.iteration = iteration;
    }
    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>() + self.occupants.capacity() * size_of::<u32>()
    }

    /// Adds a step that starts now. Returns its number.
    pub fn add(&mut self, step: Step) -> u32 {
        if self.iteration >= self.iterations {
            return NONE;
        }
        let number = self.steps.len() as u32;
        let after = if self.cause == NONE { number } else { self.cause };
        self.steps.push(Step { iteration: self.iteration, after, ..step });
        number
    }

    /// Adds a step that occupies a processor.
    pub fn occupy(&mut self, cpu: usize, step: Step) -> u32 {
        let number = self.add(step);
        if number == NONE {
            return NONE;
        }
        self.occupants.resize(self.occupants.len().max(cpu + 1), NONE);
        let before = std::mem::replace(&mut self.occupants[cpu], number);
        if step.begin > step.since && before != NONE {
            self.steps[number as usize].after = before;
        }
        number
    }

    /// Ends a step, which becomes the cause of the steps that start now.
    pub fn end(&mut self, number: u32, now: Time) {
        self.cause = number;
        if let Some(step) = self.steps.get_mut(number as usize) {
            step.end = now;
        }
    }

    /// Records sender, label and delivery time of the message of a receive.
    pub fn deliver(&mut self, number: u32, (from, tag): (u32, u32), delivered: Time) {
        if let Some(step) = self.steps.get_mut(number as usize) {
            (step.peer, step.tag, step.begin) = (from, tag, delivered);
        }
    }
}
