//! Remote procedure calls at Google, 2008.
//!
//! Source: the simulations of HPCC (Li et al., SIGCOMM 2019). Their 843 points are thinned to 26, which makes the mean
//! 3312 B, not 3318.

/// Sizes in bytes, each with the percentage of transfers of at most that size.
pub const POINTS: &[(u64, f64)] = &[
    (0, 0.0),
    (3, 6.49),
    (36, 10.89),
    (64, 15.53),
    (85, 25.34),
    (110, 31.89),
    (171, 42.47),
    (256, 49.79),
    (313, 60.23),
    (402, 70.66),
    (512, 78.49),
    (843, 84.64),
    (1_676, 89.87),
    (4_703, 94.25),
    (7_696, 96.24),
    (12_214, 97.77),
    (18_476, 98.60),
    (33_250, 99.05),
    (55_827, 99.28),
    (108_225, 99.63),
    (171_850, 99.78),
    (371_371, 99.9068),
    (526_844, 99.9501),
    (1_008_790, 99.9748),
    (2_627_581, 99.9914),
    (15_158_197, 100.0),
];
