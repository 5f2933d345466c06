//! The headroom calculator.

use flow_control::headroom::{CiscoModel, Headroom, SonicModel};
use flow_control::pause::QUANTUM_BITS;
use flow_control::phy::{PHYS, Phy};
use flow_control::renewal::Renewal;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::str::FromStr;
use units::{BitRate, Bytes, Length, Time};

/// A link, as the user describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Link {
    rate: String,
    #[pyo3(default)]
    length: Option<String>,
    #[pyo3(default)]
    delay: Option<String>,
    #[pyo3(default)]
    mtu: Option<String>,
    #[pyo3(default)]
    phy: Option<String>,
    #[pyo3(default)]
    interface_delay: Option<String>,
    #[pyo3(default)]
    response_time: Option<String>,
    #[pyo3(default)]
    latency: Option<String>,
    #[pyo3(default)]
    overhead: Option<String>,
    #[pyo3(default)]
    cell: Option<String>,
}

fn read<T: FromStr>(name: &str, text: &Option<String>) -> Result<Option<T>, String>
where
    T::Err: std::fmt::Display,
{
    text.as_ref().map(|text| text.parse().map_err(|error| format!("{name}: {error}"))).transpose()
}

fn frame_size(name: &str, text: &Option<String>, default: u16) -> Result<u16, String> {
    let Some(bytes) = read::<Bytes>(name, text)? else { return Ok(default) };
    u16::try_from(bytes.get())
        .ok()
        .filter(|&bytes| bytes <= 16_384)
        .ok_or_else(|| format!("{name}: \"{bytes}\" is longer than any frame; at most 16384 B are accepted"))
}

/// Returns the PHY of this name at this rate. Without a name, returns the default PHY of the rate; for "slowest", the
/// slowest known one; for "none", `None`.
fn phy(name: Option<&str>, rate: BitRate) -> Result<Option<&'static Phy>, String> {
    let Some(name) = name else { return Ok(Phy::usual_at(rate)) };
    match name {
        "none" => return Ok(None),
        "slowest" => return Ok(Phy::slowest_at(rate)),
        _ => {}
    }
    match Phy::named(name) {
        Some(phy) if phy.rate == rate => Ok(Some(phy)),
        Some(phy) => Err(format!("phy: \"{name}\" is a PHY of {}, not of {rate}", phy.rate)),
        None => {
            let names = |phys: &mut dyn Iterator<Item = &Phy>| {
                let names =
                    phys.flat_map(|phy| [phy.name].into_iter().chain(phy.port_types().iter().copied()));
                names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
            };
            let known = names(&mut Phy::at(rate));
            let known = if known.is_empty() { names(&mut PHYS.iter()) } else { known };
            Err(format!("phy: unknown PHY \"{name}\"; expected \"slowest\", \"none\", {known}"))
        }
    }
}

/// Returns the result as JSON, or the error in the request.
pub fn answer(link: &Link) -> Result<String, String> {
    let rate: BitRate = link.rate.parse().map_err(|error| format!("rate: {error}"))?;
    if !(1_000_000..=1_600_000_000_000).contains(&rate.bps()) {
        return Err(format!("rate: \"{}\" is outside the range from 1 Mb/s to 1.6 Tb/s", link.rate));
    }
    let (length, delay) = cable(link)?;
    let mut headroom = Headroom::of_link(rate, delay);
    headroom.max_frame = frame_size("mtu", &link.mtu, headroom.max_frame)?;
    if headroom.max_frame < frame::MIN_FRAME_BYTES {
        return Err(format!(
            "mtu: \"{}\" is shorter than the shortest Ethernet frame of 64 B",
            headroom.max_frame
        ));
    }
    headroom.overhead = frame_size("overhead", &link.overhead, headroom.overhead)?;
    let phy = with_interfaces(&mut headroom, link, rate)?;
    headroom.pipeline = read("latency", &link.latency)?.unwrap_or_default();
    let mut answer = as_json(rate, length, &headroom, phy);
    if link.phy.as_deref() == Some("none") {
        answer["phy"] = "none".into();
    }
    let cell = match frame_size("cell", &link.cell, 0)? {
        0 if link.cell.is_some() => {
            return Err("cell: \"0 B\" holds nothing; at least 1 B is accepted".into());
        }
        0 => None,
        bytes => Some(bytes),
    };
    in_cells(&mut answer, rate, length, cell);
    Ok(answer.to_string())
}

/// Returns length and delay of the cable.
fn cable(link: &Link) -> Result<(Length, Time), String> {
    let length: Option<Length> = read("length", &link.length)?;
    let delay: Option<Time> = read("delay", &link.delay)?;
    if length.is_some() && delay.is_some() {
        return Err("length and delay both define the cable: give one of them".into());
    }
    if delay.is_some_and(|delay| delay > Time::from_ms(1000))
        || length.is_some_and(|length| length > Length::from_m(100_000_000))
    {
        return Err("the delay of the cable exceeds one second".into());
    }
    let length = length.unwrap_or(Length::from_m(2));
    Ok((length, delay.unwrap_or(length.fibre_delay())))
}

/// Sets the delays of the interfaces. Returns the PHY that defines them, if any.
fn with_interfaces(
    headroom: &mut Headroom,
    link: &Link,
    rate: BitRate,
) -> Result<Option<&'static Phy>, String> {
    if link.phy.is_some() && link.interface_delay.is_some() {
        return Err(
            "phy and interface_delay both define the delay of the interfaces: give one of them".into()
        );
    }
    let mut phy = phy(link.phy.as_deref(), rate)?;
    if let Some(phy) = phy {
        *headroom = headroom.with_phy(phy);
    } else if link.phy.is_some() {
        // "none" is the only PHY without delays.
        headroom.interface_bits = 0;
    }
    if let Some(time) = read::<Time>("interface_delay", &link.interface_delay)? {
        headroom.interface_bits = rate.bits_in_ceil(time);
        headroom.response_bits = Headroom::of_link(rate, headroom.cable).response_bits;
        phy = None;
    }
    if let Some(time) = read::<Time>("response_time", &link.response_time)? {
        headroom.response_bits = rate.bits_in_ceil(time);
    }
    Ok(phy)
}

/// Adds the values that depend on the cell size of a switch's memory.
fn in_cells(answer: &mut Value, rate: BitRate, length: Length, cell: Option<u16>) {
    let model = SonicModel::of_cable(rate, length, cell.unwrap_or(256).into());
    answer["sonic_model_bytes"] = model.bytes().get().into();
    if cell.is_some() {
        let room = answer["headroom_bytes"].as_u64().unwrap_or(0) as f64;
        answer["cell_occupancy"] = model.occupancy().into();
        answer["headroom_memory_bytes"] = ((room * model.occupancy()).ceil() as u64).into();
    }
}

fn as_json(rate: BitRate, length: Length, headroom: &Headroom, phy: Option<&Phy>) -> Value {
    let sublayers: Vec<_> = phy.map_or(&[][..], |phy| phy.sublayers).iter().map(|sublayer| {
        let source = if sublayer.published { "published" } else { "recalled" };
        json!({"sublayer": sublayer.name, "bit_times": sublayer.bits, "clause": sublayer.clause, "number": source})
    }).collect();
    let renewal = Renewal {
        max_frame: headroom.max_frame,
        overhead: headroom.overhead,
        response: rate.time_for_bits_ceil(headroom.response_bits),
        ..Renewal::of_link(rate, headroom.cable)
    };
    let delay = headroom.delay();
    let term = |name: &str, times: u64, bits: u64| json!({"term": name, "times": times, "bit_times": times * bits, "bytes": (times * bits).div_ceil(8)});
    json!({
        "schema": "penstock-headroom/1",
        "rate": rate.to_string(),
        "cable_delay": headroom.cable.to_string(),
        "mtu": format!("{} B", headroom.max_frame),
        "terms": [
            term("longest frame (M)", 2, delay.frame_bits),
            term("pause frame (P)", 1, delay.pause_bits),
            term("cable, one way (C)", 2, delay.cable_bits),
            term("interface (I)", 2, delay.interface_bits),
            term("response (H)", 1, delay.response_bits),
            term("latency of the switch", 1, delay.pipeline_bits),
        ],
        "phy": phy.map_or("not known", |phy| phy.name),
        "sublayers": sublayers,
        "total_bit_times": delay.bits(),
        "total_bytes": delay.bytes().get(),
        "headroom_bytes": delay.room(headroom.max_frame).get(),
        "total_frames": delay.frames(),
        "total_time": delay.time().to_string(),
        "response_quanta": headroom.response_bits.div_ceil(QUANTUM_BITS),
        "pause_quanta_at_least": renewal.least_quanta(true),
        "xon_at_least_bytes": flow_control::headroom::resume_level(rate, delay.time()).get(),
        "cisco_rule_bytes": CiscoModel::of_fibre(rate, length).bytes().get(),
    })
}
