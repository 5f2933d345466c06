//! A Hadoop cluster.
//!
//! Source: the simulations of ABM (Addanki et al., SIGCOMM 2022).

/// Sizes in bytes, each with the percentage of transfers of at most that size.
pub const POINTS: &[(u64, f64)] = &[
    (325, 0.0),
    (1_177, 1.73),
    (4_264, 2.24),
    (15_443, 2.77),
    (28_000, 6.0),
    (37_323, 10.49),
    (51_067, 33.59),
    (74_908, 51.55),
    (93_293, 64.19),
    (141_819, 77.25),
    (237_853, 88.94),
    (573_344, 95.72),
    (2_076_744, 96.56),
    (7_521_945, 96.87),
    (27_244_995, 97.42),
    (98_686_787, 98.39),
    (223_092_956, 100.0),
];
