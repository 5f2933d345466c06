//! Messages of a rank on their way to its connections.

use super::{NoticeKind, Post, Rank, Step, StepKind, Then, Unsent};
use units::Time;

impl Rank {
    /// Processes the posting of a message, after its host cost at the sender.
    pub(super) fn after_send(&mut self, lane: u32, post: Post, now: Time) {
        if self.is_driven() {
            self.left -= 1;
        } else if post.to == self.rank || !self.ends_with_acknowledgement(post.bytes) {
            self.go_on(lane, now);
        }
    }

    /// Sends a message after its host cost. Returns true if it has been posted already.
    pub(super) fn send(&mut self, (lane, cpu): (u32, u8), post: Post, now: Time) -> bool {
        let cost = self.costs.of_message(post.bytes);
        if cost == Time::ZERO {
            self.post(lane, post, now);
            return true;
        }
        self.counts.overhead = self.counts.overhead.saturating_add(cost);
        let message = (post.to, post.tag, post.bytes);
        self.work((lane, cpu), (StepKind::SendCost, Some(message)), cost, Then::Post(post), now)
    }

    /// Posts a message to its connection, or delivers it to the rank itself.
    pub(super) fn post(&mut self, lane: u32, post: Post, now: Time) {
        self.counts.sent += 1;
        self.counts.bytes_sent += post.bytes;
        let Post { to, bytes, tag } = post;
        let step = Step { peer: to, tag, bytes, begin: now, ..self.step(StepKind::Send, lane, now) };
        let step = self.log.add(step);
        if to == self.rank {
            self.note(NoticeKind::Sent, to, tag, now);
            return self.local.push_back((tag, step));
        }
        self.unsent += 1;
        if let Some((left, _)) = self.in_flight.get_mut(lane as usize) {
            *left += 1;
        }
        let unsent = Unsent { tag, bytes, posted: now, lane, step };
        self.peers.entry(to).or_default().unsent.push_back(unsent);
        self.posts.push_back(post);
    }
}
