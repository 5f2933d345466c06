//! What a port tells its scheduler, and what it asks.

use crate::{LatencyRate, PortFacts};
use keys::{Remark, Remarks};
use units::Time;

/// A scheduler at work. A queue is *active* if it holds a frame and flow control lets that frame go.
///
/// The port calls, in the order in which things happen at one instant:
/// [`arrive`](Discipline::arrive) for each frame that enters a queue, then
/// [`activate`](Discipline::activate) if that made the queue active;
/// [`pick`](Discipline::pick) when the transmitter is free, then
/// [`sent`](Discipline::sent) when the transmission begins.
/// `pick` may be asked again without `sent`, and then answers the same unless something changed: a port that
/// finds the head stopped after all says [`deactivate`](Discipline::deactivate) and picks again.
pub trait Discipline {
    /// A frame has entered `queue`, active or not.
    #[inline]
    fn arrive(&mut self, _queue: u32, _bytes: u32, _now: Time) {}

    /// `queue`, not active before, may send now; `head` is the length of its first frame.
    fn activate(&mut self, queue: u32, head: u32, now: Time);

    /// Flow control stops `queue`, its head may be stamped already. No effect if it is not active.
    fn deactivate(&mut self, queue: u32, now: Time);

    /// The queue that sends next; `None` if none is active, or those that are have to wait for tokens.
    fn pick(&mut self, now: Time) -> Option<u32>;

    /// The head of `queue`, `bytes` long, begins its transmission; `queue` is what `pick` said. `next`: the
    /// length of the new head if the queue stays active.
    fn sent(&mut self, queue: u32, bytes: u32, next: Option<u32>, now: Time);

    /// A frame finds the port free and nothing waiting at all: may it go at once? `true` stands for
    /// `arrive`, `activate`, `pick` and `sent` together; after `false` the frame has to wait in its queue,
    /// and arrives there in the normal way.
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        self.arrive(queue, bytes, now);
        self.activate(queue, bytes, now);
        let picked = self.pick(now);
        debug_assert_eq!(picked, Some(queue), "something waits");
        self.sent(queue, bytes, None, now);
        true
    }

    /// When `pick` said `None`: from when on it may say otherwise, if nothing else happens before.
    fn wake(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// The port has sent its last frame and nothing waits in any queue, stopped ones included. May be told
    /// late, but before the next frame arrives.
    #[inline]
    fn idle(&mut self, _now: Time) {}
}

/// The parameters of a scheduler.
pub trait Configuration {
    /// The scheduler that they make.
    type Machine: Discipline;

    /// Writes the defaults that follow from other keys. Most schedulers have none.
    fn complete(&mut self) {}

    /// What is wrong with them at this port; or what to beware of.
    fn check(&self, port: &PortFacts) -> Remarks;

    /// Keys that change nothing where only these classes have frames: bit n for class n.
    fn unused(&self, _used: u32) -> Vec<Remark> {
        Vec::new()
    }

    /// A scheduler with nothing served yet. The parameters have passed [`check`](Configuration::check).
    fn start(&self, port: &PortFacts) -> Self::Machine;

    /// The service that `queue` is certain of, whatever the others do; `None` if there is no such bound.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate>;
}
