//! The interface between a port and its scheduler.

use crate::{LatencyRate, PortFacts};
use keys::{Remark, Remarks};
use units::{BitRate, Time};

/// The state machine of a scheduler. A queue is *active* if it holds a frame and flow control lets that frame go.
///
/// The port makes these calls, in the order of events at one instant:
/// - [`arrive`](Discipline::arrive) for each frame that enters a queue, followed by [`activate`](Discipline::activate)
///   if the frame made the queue active;
/// - [`pick`](Discipline::pick) when the transmitter is free, followed by [`sent`](Discipline::sent) when the
///   transmission begins;
/// - [`completed`](Discipline::completed) at the port's next decision after the end of the transmission.
///
/// From `sent` to `completed` the queue counts as active, whether or not it holds a frame, and the port does not call
/// `pick`. Whether a visit continues is therefore decided by the state at the end of a transmission, not at its
/// beginning. `pick` may be called again without `sent`; it returns the same queue unless something changed. A port
/// that finds the picked head stopped calls [`deactivate`](Discipline::deactivate) and picks again.
///
/// A port makes all calls through a [`Selector`](crate::Selector), which keeps them in order.
pub trait Discipline {
    /// Records that a frame has entered `queue`, active or not.
    #[inline]
    fn arrive(&mut self, _queue: u32, _bytes: u32, _now: Time) {}

    /// Makes `queue`, which was not active, active; `head` is the length of its first frame.
    fn activate(&mut self, queue: u32, head: u32, now: Time);

    /// Makes `queue` inactive because flow control stops it; its head may already be stamped. No effect if the queue is
    /// not active.
    fn deactivate(&mut self, queue: u32, now: Time);

    /// Forgets the frames that wait in `queue`: they were dropped unsent and are not accounted. The queue is not
    /// active, or its last frame is in service.
    fn forget(&mut self, _queue: u32, _now: Time) {}

    /// Returns the next queue to send, or `None` if no queue is active or all active ones have to wait for tokens.
    fn pick(&mut self, now: Time) -> Option<u32>;

    /// Begins the transmission of the head of `queue`, `bytes` long; `queue` is the result of `pick`.
    fn sent(&mut self, queue: u32, bytes: u32, now: Time);

    /// Ends the transmission that began with `sent`. `next` is the length of the head of `queue`, if the queue is
    /// active now.
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time);

    /// Replaces the head of `queue`, which is active and remains so, by a frame of `head` bytes.
    fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        self.deactivate(queue, now);
        self.activate(queue, head, now);
    }

    /// Offers a frame to an idle port whose queues are all empty. Returns true if it may be sent at once; this call
    /// then replaces `arrive`, `activate`, `pick` and `sent`. If it returns false the frame has to enter its queue,
    /// with the usual calls.
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        self.arrive(queue, bytes, now);
        self.activate(queue, bytes, now);
        let picked = self.pick(now);
        debug_assert_eq!(picked, Some(queue), "something waits");
        self.sent(queue, bytes, now);
        true
    }

    /// Returns the time from which `pick`, which just returned `None`, may return a queue if nothing else happens
    /// before.
    fn wake(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// Notes that the port has sent its last frame and that all queues, including stopped ones, are empty. May be
    /// called late, but before the next frame arrives.
    #[inline]
    fn idle(&mut self, _now: Time) {}

    /// Notes that the transmitter is free and all waiting frames are stopped. Called instead of `deactivate` for each
    /// queue: a port that is stopped as a whole serves no queue, so no queue falls behind.
    #[inline]
    fn stall(&mut self, _now: Time) {}

    /// Recomputes the values derived from the rate of the link, which changes with the next transmission.
    fn on_link_rate(&mut self, rate: BitRate, now: Time);
}

/// The parameters of a scheduler.
pub trait Configuration {
    /// The state machine that these parameters configure.
    type Machine: Discipline;

    /// Sets the defaults that depend on other keys. Most schedulers have none.
    fn complete(&mut self) {}

    /// Returns the first parameter that is invalid at this port; if there is none, warnings.
    fn check(&self, port: &PortFacts) -> Remarks;

    /// Returns the keys that have no effect if only these classes have frames: bit n for class n.
    fn unused(&self, _used: u32) -> Vec<Remark> {
        Vec::new()
    }

    /// Creates the scheduler in its initial state. The parameters have passed [`check`](Configuration::check).
    fn start(&self, port: &PortFacts) -> Self::Machine;

    /// Returns the service guaranteed to `queue` whatever the other queues do, or `None` if there is no such bound.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate>;
}
