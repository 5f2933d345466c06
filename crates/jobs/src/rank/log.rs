//! Log of a rank: its steps, and the step that each of them began after.
//!
//! Whatever a rank does, it does at the end of one of its steps: a message has come or is acknowledged, or a processor is done. The
//! log keeps that step as the cause of all that begins at the same instant, so that the way back from the end of an iteration leads
//! over the steps that decided its time: the critical path.

use units::Time;

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A processor computes.
    Compute,
    /// A processor hands a message over, at its sender.
    SendCost,
    /// A processor takes a message in, at its receiver.
    ReceiveCost,
    /// A message, from its posting to its acknowledgement.
    Send,
    /// A receive, from when it waits to when it has its message.
    Receive,
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its kind.
    pub kind: StepKind,
    /// Its iteration, from 0.
    pub iteration: u32,
    /// Its lane, or the operation of a program.
    pub lane: u32,
    /// Number of the step of this rank at whose end it began; its own number: it begins with the job. A processor that was occupied
    /// has the step that occupied it.
    pub after: u32,
    /// Rank at the other end; its own without a message, and of a receive that takes any and has none yet.
    pub peer: u32,
    /// Label of the message; 0 without one.
    pub tag: u32,
    /// Bytes of the message; 0 without one.
    pub bytes: u64,
    /// When it was requested.
    pub since: Time,
    /// When a processor began with it; of a receive, when its message was delivered. [`Time::NEVER`]: it has not been.
    pub begin: Time,
    /// When it ended; [`Time::NEVER`]: it has not.
    pub end: Time,
}

/// No step: it is not recorded.
pub(super) const NONE: u32 = u32::MAX;

/// The steps of a rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    steps: Vec<Step>,
    /// Iterations that are recorded, the first ones.
    iterations: u32,
    iteration: u32,
    /// The step at whose end the rank is at work.
    pub cause: u32,
    /// By processor, the last step that occupied it.
    occupants: Vec<u32>,
}

impl Log {
    /// A log of so many iterations.
    pub fn new(iterations: u32) -> Log {
        Log { iterations, cause: NONE, ..Log::default() }
    }
    /// Records no more steps.
    pub fn stop(&mut self) {
        self.iterations = 0;
    }
    /// Iteration number `iteration` begins.
    pub fn begin(&mut self, iteration: u32) {
        self.iteration = iteration;
    }
    /// Its steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// Memory beside itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>() + self.occupants.capacity() * size_of::<u32>()
    }

    /// Adds a step that begins now, and returns its number.
    pub fn add(&mut self, step: Step) -> u32 {
        if self.iteration >= self.iterations {
            return NONE;
        }
        let number = self.steps.len() as u32;
        let after = if self.cause == NONE { number } else { self.cause };
        self.steps.push(Step { iteration: self.iteration, after, ..step });
        number
    }

    /// Adds a step of a processor.
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

    /// A step has ended, and is the cause of what begins now.
    pub fn end(&mut self, number: u32, now: Time) {
        self.cause = number;
        if let Some(step) = self.steps.get_mut(number as usize) {
            step.end = now;
        }
    }

    /// The message of a receive, of this sender and label, was delivered at this time.
    pub fn deliver(&mut self, number: u32, (from, tag): (u32, u32), delivered: Time) {
        if let Some(step) = self.steps.get_mut(number as usize) {
            (step.peer, step.tag, step.begin) = (from, tag, delivered);
        }
    }
}
