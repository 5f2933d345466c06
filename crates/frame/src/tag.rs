//! What rate limiters, congestion points and receivers tell each other.

use units::BitRate;

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
}

/// What a congestion point tells the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Who tells it.
    pub point: PointId,
    /// By the scheme: quantised, signed, or the length of the queue.
    pub feedback: u32,
}

impl Tag {
    /// Its contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        match *self {
            Tag::Rate(None) => 1,
            Tag::Rate(Some((rate, PointId(point)))) => rate.bps() << 2 ^ u64::from(point) << 40 ^ 2,
            Tag::Limited(PointId(point)) => u64::from(point) << 2 | 3,
        }
    }
}

impl Notice {
    /// Its contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        u64::from(self.point.0) << 32 | u64::from(self.feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_part_of_the_digest() {
        let rate = |gbps, point| Tag::Rate(Some((BitRate::from_gbps(gbps), PointId(point))));
        let tags = [
            Tag::Rate(None),
            Tag::Limited(PointId(0)),
            Tag::Limited(PointId(1)),
            rate(1, 0),
            rate(1, 1),
            rate(2, 0),
        ];
        for (n, one) in tags.iter().enumerate() {
            assert!(tags[..n].iter().all(|other| other.digest() != one.digest()));
        }
        let notice = |point, feedback| Notice { point: PointId(point), feedback }.digest();
        assert!(notice(1, 0) != notice(0, 1) && notice(1, 1) != notice(1, 0));
    }
}
