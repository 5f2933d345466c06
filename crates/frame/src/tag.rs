//! What rate limiters, congestion points and receivers tell each other.

use crate::{FrameKind, Priority};
use units::{BitRate, Time};

/// The number of a congestion point: a traffic class of an egress port of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointId(pub u32);

/// A tag that a rate limiter puts on a frame, beside what the frame carries anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Rate discovery: the highest rate that the congestion points so far allow, and the one that said so; `None`: none
    /// has written into it.
    Rate(Option<(BitRate, PointId)>),
    /// The rate limit tag: the frame has passed a limiter that this congestion point slows down.
    Limited(PointId),
    /// Layer-2 congestion information: what a message has learned of its path.
    Path(PathNews),
    /// The CN-TAG: the number of the flow at its host.
    Flow(u16),
}

/// What a message has learned of its path: its source asks, its receiver answers, congestion points write into either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathNews {
    /// When the source asked; `None`: the receiver tells without being asked again.
    pub asked: Option<Time>,
    /// Congestion points on the way to the receiver.
    pub hops: u8,
    /// Rate of the slowest link, that of the source included.
    pub slowest: BitRate,
    /// The highest congestion level so far, in thousandths of the buffer of a port.
    pub level: u32,
    /// Who said so, and the rate of its link; `None`: the receiver.
    pub at: Option<(PointId, BitRate)>,
    /// On which way congestion points write their level.
    pub levels: LevelsOn,
    /// Messages that the receiver shall send after its answer.
    pub more: u16,
    /// The time between them.
    pub every: Time,
}

/// On which way congestion points write their level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelsOn {
    /// On none.
    Neither,
    /// To the receiver.
    WayThere,
    /// Back to the source.
    WayBack,
}

impl PathNews {
    /// A congestion point with this level has seen the message.
    #[must_use]
    pub fn raised(self, level: u32, by: PointId, link: BitRate) -> PathNews {
        if level > self.level { PathNews { level, at: Some((by, link)), ..self } } else { self }
    }

    fn digest(&self) -> u64 {
        // The rate of its link follows from who it is.
        let at = self.at.map_or(0, |(PointId(point), _)| u64::from(point) + 1);
        let asked = self.asked.map_or(0, |at| at.ps() + 1);
        let counts = u64::from(self.hops) << 18 | u64::from(self.more) << 2 | self.levels as u64;
        [self.slowest.bps(), u64::from(self.level) << 32 | at, self.every.ps(), counts]
            .into_iter()
            .fold(asked, |digest, word| (digest.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// What a congestion point tells the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Who tells it.
    pub point: PointId,
    /// By the scheme: quantised, signed, or the length of the queue.
    pub feedback: u32,
    /// How far the queue is below its set point, in units of 64 B, and how much it has grown, likewise.
    pub offset: i16,
    /// Its growth.
    pub delta: i16,
    /// The frame that it is about.
    pub sampled: Sampled,
}

/// What a message repeats of the frame that was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// What it was for.
    pub kind: FrameKind,
    /// Its priority.
    pub priority: Priority,
    /// Its length with its tags, DA to FCS.
    pub bytes: u16,
    /// What it carries; 0 of one whose word is not known.
    pub word: u32,
    /// The flow of its CN-TAG.
    pub flow: Option<u16>,
    /// How many of its octets are repeated.
    pub octets: u8,
}

impl Tag {
    /// Its contents, for fingerprints.
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
    /// Its contents, for fingerprints. What it says beside is for the reader: it follows from the queue, and nobody acts on it.
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
            asked: None,
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
            asked: None,
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
            Tag::Path(PathNews { asked: Some(Time::ZERO), ..news }),
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
