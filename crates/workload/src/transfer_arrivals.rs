//! Draws the starts, destinations and sizes of transfers, before the run.

use crate::arrivals::whole_ps;
use crate::destinations::Sampler;
use crate::draw::{below, exponential};
use crate::spec::Destinations;
use crate::transfer_sizes::TransferSizes;
use crate::transfers::Transfer;
use frame::{NodeId, Ports};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

/// Transfers of one sender, with exponential gaps between their starts.
#[derive(Clone, Debug)]
pub struct PoissonTransfers<'a> {
    /// Mean time between two starts, in picoseconds; above 0.
    pub gap_ps: f64,
    /// Destination of each transfer.
    pub to: &'a Destinations,
    /// Distribution of the sizes of the transfers.
    pub sizes: &'a TransferSizes,
}

impl PoissonTransfers<'_> {
    /// Draws all transfers that begin at or after `start` and before `stop`, in order.
    pub fn draw(
        &self,
        start: Time,
        stop: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> impl Iterator<Item = Transfer> {
        let mut destinations = Sampler::new(self.to);
        let (mut at, mut rest) = (start, 0.0);
        std::iter::from_fn(move || {
            at = at.saturating_add(whole_ps(self.gap_ps * exponential(rng), &mut rest));
            let destination = destinations.draw(rng);
            let bytes = self.sizes.draw(rng);
            (at < stop).then_some(Transfer { start: at, destination, bytes, ports: Ports::default() })
        })
    }
}

/// Incast: rounds in which several senders simultaneously begin a transfer to one receiver.
#[derive(Clone, Debug)]
pub struct Incast<'a> {
    /// Time between two rounds; above 0.
    pub every: Time,
    /// Number of senders per round, drawn anew each time. A round has fewer if there are not that many hosts besides
    /// the receiver.
    pub senders: usize,
    /// Hosts that may be senders.
    pub from: &'a [NodeId],
    /// Hosts that may be receivers; one is drawn for each round.
    pub to: &'a [NodeId],
    /// Distribution of the sizes of the transfers.
    pub sizes: &'a TransferSizes,
}

/// A transfer between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Start time.
    pub start: Time,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Bytes to transfer.
    pub bytes: u64,
}

impl Incast<'_> {
    /// Draws the rounds that begin at or after `start` and before `stop`, in order.
    pub fn draw(&self, start: Time, stop: Time, rng: &mut Xoshiro256PlusPlus, each: &mut dyn FnMut(Pairing)) {
        let mut order: Vec<NodeId> = self.from.to_vec();
        let mut at = start;
        while at < stop && !self.to.is_empty() {
            let to = self.to[below(rng, self.to.len() as u64) as usize];
            // The senders are the first hosts of a random order (Fisher and Yates), without the receiver.
            let mut sent = 0;
            for n in 0..order.len() {
                if sent == self.senders {
                    break;
                }
                let other = n + below(rng, (order.len() - n) as u64) as usize;
                order.swap(n, other);
                if order[n] != to {
                    sent += 1;
                    each(Pairing { start: at, from: order[n], to, bytes: self.sizes.draw(rng) });
                }
            }
            at = at.saturating_add(self.every);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(3)
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_exponential_gaps() {
        let to = Destinations::Uniform((0..4).map(NodeId).collect());
        let sizes = TransferSizes::Uniform { min: 1, max: 1999 };
        let poisson = PoissonTransfers { gap_ps: 1e6, to: &to, sizes: &sizes };
        let (start, stop) = (Time::from_us(100), Time::from_us(40_100));
        let all: Vec<Transfer> = poisson.draw(start, stop, &mut rng()).collect();
        // The expected number is 40,000; the bound is six standard deviations.
        assert!(all.len().abs_diff(40_000) < 1200, "{}", all.len());
        assert!(all[0].start >= start && all.last().is_some_and(|last| last.start < stop));
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1].start - pair[0].start).ps() as f64).collect();
        let longer = gaps.iter().filter(|&&gap| gap > 1e6).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1f64).exp()).abs() < 0.015, "{longer}");
        let to_first = all.iter().filter(|one| one.destination == 0).count() as f64 / all.len() as f64;
        assert!((to_first - 0.25).abs() < 0.013, "{to_first}");
        let mean = all.iter().map(|one| one.bytes as f64).sum::<f64>() / all.len() as f64;
        assert!((mean - 1000.0).abs() < 18.0, "{mean}");
        // A later end only adds transfers.
        let longer: Vec<Transfer> = poisson.draw(start, stop + stop, &mut rng()).collect();
        assert_eq!(longer[..all.len()], all[..]);
    }

    #[test]
    fn rounds_of_incast() {
        let hosts: Vec<NodeId> = (0..10).map(NodeId).collect();
        let sizes = TransferSizes::Fixed(500);
        let incast = Incast { every: Time::from_us(10), senders: 4, from: &hosts, to: &hosts, sizes: &sizes };
        let mut found = Vec::new();
        incast.draw(Time::from_us(5), Time::from_us(4005), &mut rng(), &mut |one| found.push(one));
        assert_eq!(found.len(), 1600);
        let mut sent = [0; 10];
        for (n, round) in found.chunks(4).enumerate() {
            assert!(round.iter().all(|one| one.start == Time::from_us(5 + 10 * n as u64)));
            assert!(round.iter().all(|one| one.to == round[0].to && one.from != one.to && one.bytes == 500));
            let mut from: Vec<NodeId> = round.iter().map(|one| one.from).collect();
            from.sort_unstable();
            from.dedup();
            assert_eq!(from.len(), 4);
            round.iter().for_each(|one| sent[one.from.at()] += 1);
        }
        // The expected number is 160 each.
        assert!(sent.iter().all(|&sent| (100..220).contains(&sent)), "{sent:?}");
        // All hosts send if fewer exist than requested.
        let all = Incast { senders: 99, to: &hosts[3..4], ..incast };
        let mut count = 0;
        all.draw(Time::ZERO, Time::from_ps(1), &mut rng(), &mut |one| {
            count += usize::from(one.to == hosts[3])
        });
        assert_eq!(count, 9);
    }
}
