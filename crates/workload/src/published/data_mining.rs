//! Data mining.
//!
//! Source: Greenberg et al., VL2: a scalable and flexible data center network, SIGCOMM 2009, as the simulations of ABM
//! (Addanki et al., SIGCOMM 2022) use it.

/// Sizes in bytes, each with the percentage of transfers of at most that size.
pub const POINTS: &[(u64, f64)] = &[
    (100, 0.0),
    (180, 8.5),
    (250, 14.0),
    (560, 33.0),
    (900, 47.0),
    (1_100, 55.0),
    (1_870, 65.0),
    (3_160, 70.0),
    (10_000, 80.0),
    (100_001, 87.4),
    (400_000, 90.0),
    (1_850_000, 95.0),
    (10_000_000, 97.0),
    (30_000_000, 98.0),
    (100_000_000, 99.0),
    (250_000_000, 99.5),
    (1_000_000_000, 100.0),
];
