//! The interface between a port and its scheduler.

use crate::{LatencyRate, PortFacts};
use keys::{Remark, Remarks};
use units::{BitRate, Time};

/// A scheduler at work. A queue is *active* if it holds a frame and flow control lets that frame go.
///
/// The port calls, in the order of events at one instant:
/// [`arrive`](Discipline::arrive) for each frame that enters a queue, then
/// [`activate`](Discipline::activate) if that made the queue active;
/// [`pick`](Discipline::pick) when the transmitter is free, then
/// [`sent`](Discipline::sent) when the transmission begins, and
/// [`completed`](Discipline::completed) at the port's next decision after its end.
/// From `sent` to `completed` the queue counts as active, whether or not it holds a frame, and nothing is picked: whether a visit
/// continues is decided by the state at the end of a transmission, not at its beginning.
/// `pick` may be called again without `sent`, and returns the same queue unless something changed: a port that
/// finds the head stopped after all calls [`deactivate`](Discipline::deactivate) and picks again.
///
/// A port does all this through a [`Selector`](crate::Selector), which keeps the order.
pub trait Discipline {
    /// A frame has entered `queue`, active or not.
    #[inline]
    fn arrive(&mut self, _queue: u32, _bytes: u32, _now: Time) {}

    /// `queue`, not active before, may send now; `head` is the length of its first frame.
    fn activate(&mut self, queue: u32, head: u32, now: Time);

    /// Flow control stops `queue`, whose head may already be stamped. No effect if it is not active.
    fn deactivate(&mut self, queue: u32, now: Time);

    /// The frames that wait in `queue` are dropped unsent, at no cost to it. It is not active, or its last frame is in service.
    fn forget(&mut self, _queue: u32, _now: Time) {}

    /// Returns the next queue to send; `None` if none is active, or all active ones have to wait for tokens.
    fn pick(&mut self, now: Time) -> Option<u32>;

    /// The head of `queue`, `bytes` long, begins its transmission; `queue` is the result of `pick`.
    fn sent(&mut self, queue: u32, bytes: u32, now: Time);

    /// The transmission that began with `sent` is over. `next`: the length of the head of `queue` if it is active now.
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time);

    /// Another frame of `head` bytes is now at the head of `queue`, which is active and remains so.
    fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        self.deactivate(queue, now);
        self.activate(queue, head, now);
    }

    /// A frame finds the port free and all queues empty. Returns true if it may be sent at once: `true` replaces the calls
    /// `arrive`, `activate`, `pick` and `sent`. After `false` the frame has to wait in its queue,
    /// and arrives there in the normal way.
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        self.arrive(queue, bytes, now);
        self.activate(queue, bytes, now);
        let picked = self.pick(now);
        debug_assert_eq!(picked, Some(queue), "something waits");
        self.sent(queue, bytes, now);
        true
    }

    /// After `pick` returned `None`: the time from which it may return a queue, if nothing else happens before.
    fn wake(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// The port has sent its last frame and all queues, including stopped ones, are empty. May be called
    /// late, but before the next frame arrives.
    #[inline]
    fn idle(&mut self, _now: Time) {}

    /// The transmitter is free, frames wait, and all of them are stopped. Called instead of `deactivate` for each: a port that
    /// is stopped as a whole serves no queue meanwhile, so that no queue falls behind.
    #[inline]
    fn stall(&mut self, _now: Time) {}

    /// The link has another rate from the next transmission on; recomputes the values derived from it.
    fn on_link_rate(&mut self, rate: BitRate, now: Time);
}

/// Parameters of a scheduler.
pub trait Configuration {
    /// The state machine that these parameters configure.
    type Machine: Discipline;

    /// Writes the defaults that depend on other keys. Most schedulers have none.
    fn complete(&mut self) {}

    /// Returns the first invalid parameter for this port, or else warnings.
    fn check(&self, port: &PortFacts) -> Remarks;

    /// Returns the keys without effect if only these classes have frames: bit n for class n.
    fn unused(&self, _used: u32) -> Vec<Remark> {
        Vec::new()
    }

    /// A scheduler before any service. The parameters have passed [`check`](Configuration::check).
    fn start(&self, port: &PortFacts) -> Self::Machine;

    /// Service guaranteed to `queue`, whatever the others do; `None` if there is no such bound.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate>;
}
