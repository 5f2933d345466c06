//! Tests that the SONiC model reproduces the published headroom of real switches, row by row.

use flow_control::headroom::{Headroom, SonicModel};
use units::{BitRate, Length};

/// Returns the model with the chip-specific values of this SKU.
fn of_switch(sku: &str, model: SonicModel) -> SonicModel {
    const OLDER_RESPONSE: f64 = 3.8 * 1024.0;
    const TILES: f64 = 15.0;
    match sku {
        "ACS-MSN2700" => {
            SonicModel { cell: 96, port_mtu: 9100, whole_cells: true, response: OLDER_RESPONSE, ..model }
        }
        "ACS-MSN3700" | "ACS-MSN4700" | "ACS-SN4280" => {
            SonicModel { cell: 144, response: OLDER_RESPONSE, ..model }
        }
        "ACS-SN5600" => SonicModel { cell: 192, tiles: TILES, ..model },
        "Mellanox-SN4600C-D24C52" => SonicModel { cell: 144, small_percent: 50, ..model },
        "Mellanox-SN5640-C448O16" | "Mellanox-SN5640-C512X2" => {
            SonicModel { cell: 192, lossless_mtu: 4096, small_percent: 50, tiles: TILES, ..model }
        }
        other => panic!("unknown switch {other}"),
    }
}

struct Row {
    sku: &'static str,
    rate: BitRate,
    cable: Length,
    xoff: u64,
}

fn rows() -> Vec<Row> {
    let lines = include_str!("sonic_headroom.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |cell: &str| cell.parse::<u64>().unwrap();
            Row {
                sku: cells[1],
                rate: BitRate::from_bps(number(cells[2]) * 1_000_000),
                cable: Length::from_m(number(cells[3])),
                xoff: number(cells[4]),
            }
        })
        .collect()
}

#[test]
fn every_row_of_nine_published_tables() {
    let rows = rows();
    assert_eq!(rows.len(), 226);
    for Row { sku, rate, cable, xoff } in rows {
        let model = of_switch(sku, SonicModel::of_cable(rate, cable, 1));
        assert_eq!(model.bytes().get(), xoff, "{sku} at {rate}, {cable}");
    }
}

/// Counts the published rows that are smaller than the headroom computed in bit times. The published values are memory
/// sizes. If frames fill their cells, as those of 9216 B nearly do, one byte of traffic takes one byte of memory, and
/// 152 rows are too small for the slowest PHY of the rate. If all frames have 64 B, a byte takes as much memory as in
/// the switch's own model, and no row suffices for two longest frames of the port in flight.
#[test]
fn rows_that_the_accounting_in_bit_times_calls_too_small() {
    let mut short = [0, 0];
    for Row { sku, rate, cable, xoff } in rows() {
        let occupancy = of_switch(sku, SonicModel::of_cable(rate, cable, 1)).occupancy();
        let safe =
            Headroom { max_frame: 9216, ..Headroom::of_fibre(rate, cable) }.delay().bytes().get() as f64;
        short[0] += usize::from((xoff as f64) < safe);
        short[1] += usize::from((xoff as f64) < safe * occupancy);
    }
    assert_eq!(short, [152, 226]);
}
