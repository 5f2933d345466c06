//! The Hadoop cluster of Facebook.
//!
//! Source: Roy et al., Inside the social network's (datacenter) network, SIGCOMM 2015, as the simulations of HPCC (Li et
//! al., SIGCOMM 2019) use it.

/// Sizes in bytes, each with the percentage of transfers of at most that size.
pub const POINTS: &[(u64, f64)] = &[
    (0, 0.0),
    (100, 1.0),
    (200, 2.0),
    (300, 5.0),
    (350, 15.0),
    (400, 20.0),
    (500, 30.0),
    (600, 40.0),
    (700, 50.0),
    (1_000, 60.0),
    (2_000, 67.0),
    (7_000, 70.0),
    (30_000, 72.0),
    (50_000, 82.0),
    (80_000, 87.0),
    (120_000, 90.0),
    (300_000, 95.0),
    (1_000_000, 97.5),
    (2_000_000, 99.0),
    (10_000_000, 100.0),
];
