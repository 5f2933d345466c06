//! What a port tells its scheduler, and what it asks.

use crate::{LatencyRate, PortFacts};
use keys::{Remark, Remarks};
use units::{BitRate, Time};

/// A scheduler at work. A queue is *active* if it holds a frame and flow control lets that frame go.
///
/// The port calls, in the order in which things happen at one instant:
/// [`arrive`](Discipline::arrive) for each frame that enters a queue, then
/// [`activate`](Discipline::activate) if that made the queue active;
/// [`pick`](Discipline::pick) when the transmitter is free, then
/// [`sent`](Discipline::sent) when the transmission begins, and
/// [`completed`](Discipline::completed) when the port looks again after its end.
/// From `sent` to `completed` the queue counts as active, whether or not it holds a frame, and nothing is picked: a visit
/// goes on or ends by what there is at the end of a transmission, not at its beginning.
/// `pick` may be asked again without `sent`, and then answers the same unless something changed: a port that
/// finds the head stopped after all says [`deactivate`](Discipline::deactivate) and picks again.
///
/// A port does all this through a [`Selector`](crate::Selector), which keeps the order.
pub trait Discipline {
    /// A frame has entered `queue`, active or not.
    #[inline]
    fn arrive(&mut self, _queue: u32, _bytes: u32, _now: Time) {}

    /// `queue`, not active before, may send now; `head` is the length of its first frame.
    fn activate(&mut self, queue: u32, head: u32, now: Time);

    /// Flow control stops `queue`, its head may be stamped already. No effect if it is not active.
    fn deactivate(&mut self, queue: u32, now: Time);

    /// The frames that wait in `queue` are gone unsent, and cost it nothing. It is not active, or its last frame is in service.
    fn forget(&mut self, _queue: u32, _now: Time) {}

    /// The queue that sends next; `None` if none is active, or those that are have to wait for tokens.
    fn pick(&mut self, now: Time) -> Option<u32>;

    /// The head of `queue`, `bytes` long, begins its transmission; `queue` is what `pick` said.
    fn sent(&mut self, queue: u32, bytes: u32, now: Time);

    /// The transmission that `sent` told of is over. `next`: the length of the head of `queue` if it is active now.
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time);

    /// Another frame of `head` bytes is now at the head of `queue`, which is active and goes on being so.
    fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        self.deactivate(queue, now);
        self.activate(queue, head, now);
    }

    /// A frame finds the port free and nothing waiting at all: may it go at once? `true` stands for
    /// `arrive`, `activate`, `pick` and `sent` together; after `false` the frame has to wait in its queue,
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

    /// When `pick` said `None`: from when on it may say otherwise, if nothing else happens before.
    fn wake(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// The port has sent its last frame and nothing waits in any queue, stopped ones included. May be told
    /// late, but before the next frame arrives.
    #[inline]
    fn idle(&mut self, _now: Time) {}

    /// The transmitter is free, frames wait, and all of them are stopped. Told in place of `deactivate` for each: a port that
    /// is stopped as a whole serves nobody meanwhile, so that nobody falls behind.
    #[inline]
    fn stall(&mut self, _now: Time) {}

    /// The link has another rate from the next transmission on. What was derived from the old one follows.
    fn on_link_rate(&mut self, rate: BitRate, now: Time);
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
