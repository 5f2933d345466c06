//! Tags and notices exchanged by rate limiters, congestion points and receivers.

use crate::{FrameKind, Priority};
use units::{BitRate, Time};

/// Number of a congestion point, which is a traffic class of an egress port of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointId(pub u32);

/// Tag that a rate limiter adds to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Rate discovery: the lowest rate that the congestion points passed so far allow, and the point that set it;
    /// `None` if no point has written into the tag yet.
    Rate(Option<(BitRate, PointId)>),
    /// Rate limit tag: the frame has passed a limiter that this congestion point has slowed down.
    Limited(PointId),
    /// Layer-2 congestion information: state of the path, collected by a message.
    Path(PathNews),
    /// CN-TAG: flow number, assigned by the host.
    Flow(u16),
}

/// State of a path, collected by a message. The source sends a request, the receiver replies, and congestion points
/// write into either of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathNews {
    /// Time of the source's request; `None` if the receiver sends the message unsolicited.
    pub probed_at: Option<Time>,
    /// Number of congestion points on the path to the receiver.
    pub hops: u8,
    /// Rate of the slowest link of the path, including that of the source.
    pub slowest: BitRate,
    /// Highest congestion level so far, in thousandths of a port's buffer.
    pub level: u32,
    /// Congestion point with that level, and the rate of its link; `None` if it is the receiver.
    pub at: Option<(PointId, BitRate)>,
    /// Direction in which congestion points write their level.
    pub levels: LevelsOn,
    /// Number of further messages that the receiver sends after its reply.
    pub more: u16,
    /// Interval between these messages.
    pub every: Time,
}

/// Direction in which congestion points write their level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelsOn {
    /// In neither direction.
    Neither,
    /// On the way to the receiver.
    WayThere,
    /// On the way back to the source.
    WayBack,
}

impl PathNews {
    /// Returns the state after a congestion point with this level has processed the message.
    #[must_use]
    pub fn raised(self, level: u32, by: PointId, link: BitRate) -> PathNews {
        if level > self.level { PathNews { level, at: Some((by, link)), ..self } } else { self }
    }

    fn digest(&self) -> u64 {
        // The rate of the link follows from the congestion point.
        let at = self.at.map_or(0, |(PointId(point), _)| u64::from(point) + 1);
        let probed_at = self.probed_at.map_or(0, |at| at.ps() + 1);
        let counts = u64::from(self.hops) << 18 | u64::from(self.more) << 2 | self.levels as u64;
        [self.slowest.bps(), u64::from(self.level) << 32 | at, self.every.ps(), counts]
            .into_iter()
            .fold(probed_at, |digest, word| {
                (digest.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            })
    }
}

/// Notification that a congestion point sends to the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Congestion point that sends the notification.
    pub point: PointId,
    /// Feedback in the encoding of the scheme: a quantised value, a signed value, or the queue length.
    pub feedback: u32,
    /// Set point of the queue minus its length, in units of 64 B.
    pub offset: i16,
    /// Growth of the queue since the last sample, in units of 64 B.
    pub delta: i16,
    /// Frame that triggered the notification.
    pub sampled: Sampled,
}

/// Fields of the sampled frame that the notification repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Purpose of the frame.
    pub kind: FrameKind,
    /// Priority of the frame.
    pub priority: Priority,
    /// Length of the frame with its tags, DA to FCS.
    pub bytes: u16,
    /// Payload word of the frame; 0 if unknown.
    pub word: u32,
    /// Flow number of the frame's CN-TAG.
    pub flow: Option<u16>,
    /// Number of octets of the frame that are repeated.
    pub octets: u8,
}

impl Tag {
    /// Returns a digest of the contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        match *self {
            Tag::Rate(None) => 1,
            Tag::Rate(Some((rate, PointId(point)))) => rate.bps() << 2 ^ u64::from(point) << 40 ^ 2,
            Tag::Limited(PointId(point)) => u64::from(point) << 2 | 3,
            Tag::Path(news) => news.digest(),
            Tag::Flow(flow) => u64::from(flow) << 3 | 4,
        }
    }
}

impl Notice {
    /// Returns a digest of the contents, for fingerprints. The remaining fields are informative: they follow from the
    /// queue, and no component reacts to them.
    pub fn digest(&self) -> u64 {
        u64::from(self.point.0) << 32 | u64::from(self.feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_keep_the_highest_level() {
        let quiet = PathNews {
            probed_at: None,
            hops: 0,
            slowest: BitRate::from_gbps(1),
            level: 20,
            at: None,
            levels: LevelsOn::WayBack,
            more: 0,
            every: Time::ZERO,
        };
        let link = BitRate::from_gbps(10);
        assert_eq!(quiet.raised(20, PointId(1), link), quiet);
        let raised = quiet.raised(21, PointId(1), link);
        assert_eq!((raised.level, raised.at), (21, Some((PointId(1), link))));
        assert_eq!(raised.raised(5, PointId(2), link), raised);
    }

    #[test]
    fn every_field_is_part_of_the_digest() {
        let rate = |gbps, point| Tag::Rate(Some((BitRate::from_gbps(gbps), PointId(point))));
        let news = PathNews {
            probed_at: None,
            hops: 0,
            slowest: BitRate::from_gbps(1),
            level: 0,
            at: None,
            levels: LevelsOn::Neither,
            more: 0,
            every: Time::ZERO,
        };
        let tags = [
            Tag::Path(news),
            Tag::Path(PathNews { probed_at: Some(Time::ZERO), ..news }),
            Tag::Path(PathNews { hops: 1, ..news }),
            Tag::Path(PathNews { slowest: BitRate::from_gbps(2), ..news }),
            Tag::Path(PathNews { level: 1, ..news }),
            Tag::Path(news.raised(1, PointId(0), BitRate::from_gbps(1))),
            Tag::Path(PathNews { levels: LevelsOn::WayBack, ..news }),
            Tag::Path(PathNews { more: 1, ..news }),
            Tag::Path(PathNews { every: Time::from_ps(1), ..news }),
            Tag::Rate(None),
            Tag::Limited(PointId(0)),
            Tag::Limited(PointId(1)),
            Tag::Flow(0),
            Tag::Flow(1),
            rate(1, 0),
            rate(1, 1),
            rate(2, 0),
        ];
        for (n, one) in tags.iter().enumerate() {
            assert!(tags[..n].iter().all(|other| other.digest() != one.digest()));
        }
        let notice =
            |point, feedback| Notice { point: PointId(point), feedback, ..Notice::default() }.digest();
        assert!(notice(1, 0) != notice(0, 1) && notice(1, 1) != notice(1, 0));
    }
}
