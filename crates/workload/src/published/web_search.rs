//! Web searches.
//!
//! Source: Alizadeh et al., Data center TCP (DCTCP), SIGCOMM 2010, as the simulations of HPCC (Li et al., SIGCOMM 2019) use it.

/// Sizes in bytes, each with the percentage of transfers of at most that size.
pub const POINTS: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 15.0),
    (20_000, 20.0),
    (30_000, 30.0),
    (50_000, 40.0),
    (80_000, 53.0),
    (200_000, 60.0),
    (1_000_000, 70.0),
    (2_000_000, 80.0),
    (5_000_000, 90.0),
    (10_000_000, 97.0),
    (30_000_000, 100.0),
];
