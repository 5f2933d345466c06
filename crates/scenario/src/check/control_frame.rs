//! Control frames of `[[faults]]`, from their octets.

use fabric::spec::ControlContent;
use frame::NodeId;
use queueing::CnTlv;
use wire::lldp::Lldpdu;
use wire::mac_control::{MacControl, Pfc};
use wire::tlv::Tlv;
use wire::{Contents, Frame, Mac};

/// Maximum number of octets of a frame that is parsed.
const MOST: usize = 2_000;

/// Returns the effect of a frame on a station. Returns an error, with help, if the text does not encode octets. A
/// malformed frame, and a congestion notification message to another station, have no effect.
pub fn read(text: &str, station: Option<NodeId>) -> Result<ControlContent, (String, String)> {
    let octets = octets(text)?;
    let Ok(frame) = Frame::decode(&octets) else { return Ok(ControlContent::Nothing) };
    Ok(match frame.contents {
        Contents::MacControl(MacControl::Pause { quanta }) => ControlContent::Pause(quanta),
        Contents::MacControl(MacControl::Pfc(Pfc { enabled, quanta })) => {
            ControlContent::Pfc { enabled: enabled.0, quanta }
        }
        Contents::Cnm(message) => match frame.flow.filter(|_| is_for(station, frame.destination)) {
            Some(flow) => ControlContent::Congestion { flow, feedback: message.feedback() },
            None => ControlContent::Nothing,
        },
        Contents::Lldp(pdu) => domain_content(&pdu),
        _ => ControlContent::Nothing,
    })
}

/// Returns true if a frame is addressed to this station. Stations have the addresses that captures use.
fn is_for(station: Option<NodeId>, destination: Mac) -> bool {
    station.is_none_or(|station| wire::synthesis::mac(station.0) == Ok(destination))
}

/// Returns the congestion notification TLV of a neighbour; empty without the TLV, or if the LLDPDU withdraws it.
fn domain_content(pdu: &Lldpdu) -> ControlContent {
    let own = pdu.tlvs().iter().filter(|_| pdu.ttl_s > 0).find_map(|tlv| match tlv {
        Tlv::CongestionNotification(own) => Some(own),
        _ => None,
    });
    ControlContent::Domain(
        own.map_or(CnTlv::default(), |own| CnTlv { controlled: own.controlled.0, ready: own.ready.0 }),
    )
}

fn octets(text: &str) -> Result<Vec<u8>, (String, String)> {
    let help =
        || "expected octets in hexadecimal, like \"0180c2000001 020000000001 8808 0101 ...\"".to_string();
    let mut digits = Vec::new();
    for (place, letter) in text.chars().enumerate().filter(|(_, letter)| !matches!(letter, ' ' | ':')) {
        match letter.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => {
                return Err((
                    format!("{letter:?} at place {} is not a hexadecimal digit", place + 1),
                    help(),
                ));
            }
        }
    }
    if digits.is_empty() || digits.len() % 2 != 0 || digits.len() > 2 * MOST {
        let message = format!("{} hexadecimal digits", digits.len());
        return Err((message, format!("expected two for each octet of a frame, at most {MOST} octets")));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
