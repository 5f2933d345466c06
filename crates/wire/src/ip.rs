//! IPv4 and its payloads. The headers are those of the library `etherparse`.
//!
//! The checksum of the IPv4 header must be correct, or 0: hosts offload the checksum to the NIC, so that a capture at
//! the sender lacks it. For the same reason, the checksums of UDP and TCP are not verified.

use crate::Error;
use crate::roce::{self, Roce};
use crate::uet::{self, Uet};
use etherparse::{IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::net::Ipv4Addr;

/// An IPv4 datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    header: Ipv4Header,
    transport: Transport,
}

/// Payload of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP.
    Udp(UdpHeader, Vec<u8>),
    /// RoCEv2 over UDP.
    Roce(UdpHeader, Roce),
    /// UET over UDP.
    Uet(UdpHeader, Uet),
    /// TCP.
    Tcp(Box<TcpHeader>, Vec<u8>),
    /// Another protocol, or a fragment.
    Other(Vec<u8>),
}

/// Addresses, ports and traffic class octet of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Address of the source.
    pub source: Ipv4Addr,
    /// Address of the destination.
    pub destination: Ipv4Addr,
    /// Port of the source.
    pub source_port: u16,
    /// Port of the destination.
    pub destination_port: u16,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
}

fn refused(what: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |why| Error::Header { what, why: why.to_string() }
}

impl Way {
    fn header(&self, protocol: IpNumber, payload: usize) -> Result<Ipv4Header, Error> {
        let most = usize::from(u16::MAX) - Ipv4Header::MIN_LEN;
        let long = Error::Long { what: "the payload of IPv4", most, got: payload };
        let len = u16::try_from(payload).ok().filter(|&len| usize::from(len) <= most).ok_or(long)?;
        let (source, destination) = (self.source.octets(), self.destination.octets());
        let mut header =
            Ipv4Header::new(len, 64, protocol, source, destination).map_err(|why| refused("IPv4")(&why))?;
        header.dscp =
            etherparse::IpDscp::try_new(self.traffic_class >> 2).map_err(|why| refused("IPv4")(&why))?;
        header.ecn =
            etherparse::IpEcn::try_new(self.traffic_class & 3).map_err(|why| refused("IPv4")(&why))?;
        header.header_checksum = header.calc_header_checksum();
        Ok(header)
    }

    /// Creates a UDP datagram.
    pub fn udp(&self, payload: Vec<u8>) -> Result<Datagram, Error> {
        let header = self.header(IpNumber::UDP, UdpHeader::LEN + payload.len())?;
        let (from, to) = (self.source_port, self.destination_port);
        let udp =
            UdpHeader::with_ipv4_checksum(from, to, &header, &payload).map_err(|why| refused("UDP")(&why))?;
        Ok(Datagram { header, transport: Transport::Udp(udp, payload) })
    }

    /// Creates a RoCEv2 packet, sent to the UDP port of RoCEv2, with a UDP checksum of 0 (none).
    pub fn roce(&self, packet: Roce) -> Result<Datagram, Error> {
        let len = UdpHeader::LEN + packet.bytes();
        let header = self.header(IpNumber::UDP, len)?;
        let udp = UdpHeader {
            source_port: self.source_port,
            destination_port: roce::UDP_PORT,
            length: len as u16,
            checksum: 0,
        };
        Ok(Datagram { header, transport: Transport::Roce(udp, packet) })
    }

    /// Creates a UET packet, sent to the UDP port of UET, with a UDP checksum of 0 (none).
    pub fn uet(&self, packet: Uet) -> Result<Datagram, Error> {
        let len = UdpHeader::LEN + packet.bytes();
        let header = self.header(IpNumber::UDP, len)?;
        let udp = UdpHeader {
            source_port: self.source_port,
            destination_port: uet::UDP_PORT,
            length: len as u16,
            checksum: 0,
        };
        Ok(Datagram { header, transport: Transport::Uet(udp, packet) })
    }

    /// Creates a TCP segment. Writes the ports and the checksum into the header.
    pub fn tcp(&self, mut tcp: TcpHeader, payload: Vec<u8>) -> Result<Datagram, Error> {
        let header = self.header(IpNumber::TCP, tcp.header_len() + payload.len())?;
        (tcp.source_port, tcp.destination_port) = (self.source_port, self.destination_port);
        tcp.checksum = tcp.calc_checksum_ipv4(&header, &payload).map_err(|why| refused("TCP")(&why))?;
        Ok(Datagram { header, transport: Transport::Tcp(Box::new(tcp), payload) })
    }
}

impl Datagram {
    /// Returns the IPv4 header.
    pub fn header(&self) -> &Ipv4Header {
        &self.header
    }
    /// Returns the payload.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Parses a datagram. Octets after its end are padding.
    pub fn decode(bytes: &[u8]) -> Result<Datagram, Error> {
        let (header, rest) = Datagram::decode_header(bytes)?;
        let len = usize::from(header.payload_len().map_err(|why| refused("IPv4")(&why))?);
        let short = Error::Short { what: "the payload of IPv4", needed: len, got: rest.len() };
        let payload = rest.get(..len).ok_or(short)?;
        let transport = Transport::decode(&header, payload)?;
        Ok(Datagram { header, transport })
    }

    /// Parses the beginning of a truncated datagram.
    pub fn decode_cut(bytes: &[u8]) -> Result<Datagram, Error> {
        let (header, rest) = Datagram::decode_header(bytes)?;
        let transport = Transport::decode_cut(&header, rest);
        Ok(Datagram { header, transport })
    }

    fn decode_header(bytes: &[u8]) -> Result<(Ipv4Header, &[u8]), Error> {
        let (header, rest) = Ipv4Header::from_slice(bytes).map_err(|why| refused("IPv4")(&why))?;
        let (got, expected) = (header.header_checksum.into(), header.calc_header_checksum().into());
        if got != expected && got != 0 {
            return Err(Error::Checksum { what: "the checksum of the IPv4 header", expected, got });
        }
        Ok((header, rest))
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header.to_bytes());
        match &self.transport {
            Transport::Udp(udp, payload) => {
                out.extend_from_slice(&udp.to_bytes());
                out.extend_from_slice(payload);
            }
            Transport::Roce(udp, packet) => {
                out.extend_from_slice(&udp.to_bytes());
                packet.encode(&self.header, udp, out);
            }
            Transport::Uet(udp, packet) => {
                out.extend_from_slice(&udp.to_bytes());
                packet.encode(out);
            }
            Transport::Tcp(tcp, payload) => {
                out.extend_from_slice(&tcp.to_bytes());
                out.extend_from_slice(payload);
            }
            Transport::Other(payload) => out.extend_from_slice(payload),
        }
    }
}

impl Transport {
    fn decode(ip: &Ipv4Header, bytes: &[u8]) -> Result<Transport, Error> {
        match ip.protocol {
            _ if ip.is_fragmenting_payload() => Ok(Transport::Other(bytes.to_vec())),
            IpNumber::UDP => {
                let (udp, payload) = UdpHeader::from_slice(bytes).map_err(|why| refused("UDP")(&why))?;
                if usize::from(udp.length) != bytes.len() {
                    let accepted = "the length in its header";
                    return Err(Error::Length { what: "a UDP datagram", accepted, got: bytes.len() });
                }
                Ok(match udp.destination_port {
                    roce::UDP_PORT => Transport::Roce(udp.clone(), Roce::decode(ip, &udp, payload)?),
                    uet::UDP_PORT => Transport::Uet(udp, Uet::decode(payload)?),
                    uet::EARLY_UDP_PORT => match Uet::decode(payload) {
                        Ok(packet) => Transport::Uet(udp, packet),
                        // UET uses a port from the dynamic range, which other protocols may use too.
                        Err(_) => Transport::Udp(udp, payload.to_vec()),
                    },
                    _ => Transport::Udp(udp, payload.to_vec()),
                })
            }
            IpNumber::TCP => {
                let (tcp, payload) = TcpHeader::from_slice(bytes).map_err(|why| refused("TCP")(&why))?;
                Ok(Transport::Tcp(Box::new(tcp), payload.to_vec()))
            }
            _ => Ok(Transport::Other(bytes.to_vec())),
        }
    }

    /// Parses the headers that a truncated datagram contains.
    fn decode_cut(ip: &Ipv4Header, bytes: &[u8]) -> Transport {
        let whole = !ip.is_fragmenting_payload();
        if let Ok((udp, payload)) = UdpHeader::from_slice(bytes)
            && whole
            && ip.protocol == IpNumber::UDP
        {
            let roce =
                (udp.destination_port == roce::UDP_PORT).then(|| Roce::decode_cut(payload).ok()).flatten();
            let uet = (udp.destination_port == uet::UDP_PORT).then(|| Uet::decode(payload).ok()).flatten();
            return match (roce, uet) {
                (Some(packet), _) => Transport::Roce(udp, packet),
                (None, Some(packet)) => Transport::Uet(udp, packet),
                (None, None) => Transport::Udp(udp, payload.to_vec()),
            };
        }
        match TcpHeader::from_slice(bytes) {
            Ok((tcp, payload)) if whole && ip.protocol == IpNumber::TCP => {
                Transport::Tcp(Box::new(tcp), payload.to_vec())
            }
            _ => Transport::Other(bytes.to_vec()),
        }
    }

    /// Returns source and destination port, if the payload has ports.
    pub fn ports(&self) -> Option<(u16, u16)> {
        match self {
            Transport::Udp(udp, _) | Transport::Roce(udp, _) | Transport::Uet(udp, _) => {
                Some((udp.source_port, udp.destination_port))
            }
            Transport::Tcp(tcp, _) => Some((tcp.source_port, tcp.destination_port)),
            Transport::Other(_) => None,
        }
    }
}

impl Serialize for Datagram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("source", &Ipv4Addr::from(self.header.source))?;
        map.serialize_entry("destination", &Ipv4Addr::from(self.header.destination))?;
        map.serialize_entry("protocol", &self.header.protocol.0)?;
        map.serialize_entry("dscp", &self.header.dscp.value())?;
        map.serialize_entry("ecn", &self.header.ecn.value())?;
        if let Some((source, destination)) = self.transport.ports() {
            map.serialize_entry("source_port", &source)?;
            map.serialize_entry("destination_port", &destination)?;
        }
        match &self.transport {
            Transport::Roce(_, packet) => map.serialize_entry("roce", packet)?,
            Transport::Uet(_, packet) => map.serialize_entry("uet", packet)?,
            Transport::Tcp(tcp, payload) => {
                map.serialize_entry("sequence", &tcp.sequence_number)?;
                map.serialize_entry("acknowledged", &tcp.acknowledgment_number)?;
                map.serialize_entry("payload_bytes", &payload.len())?;
            }
            Transport::Udp(_, payload) | Transport::Other(payload) => {
                map.serialize_entry("payload_bytes", &payload.len())?;
            }
        }
        map.end()
    }
}

impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) =
            (Ipv4Addr::from(self.header.source), Ipv4Addr::from(self.header.destination));
        let written = match &self.transport {
            Transport::Udp(udp, payload) => {
                write!(f, "UDP {source}:{} to {destination}:{}, ", udp.source_port, udp.destination_port)?;
                write!(f, "{} B", payload.len())
            }
            Transport::Roce(_, packet) => write!(f, "{packet}, {source} to {destination}"),
            Transport::Uet(_, packet) => write!(f, "{packet}, {source} to {destination}"),
            Transport::Tcp(tcp, payload) => {
                write!(f, "TCP {source}:{} to {destination}:{}, ", tcp.source_port, tcp.destination_port)?;
                write!(f, "sequence {}, {} B", tcp.sequence_number, payload.len())
            }
            Transport::Other(payload) => {
                write!(
                    f,
                    "IPv4 {source} to {destination}, protocol {}, {} B",
                    self.header.protocol.0,
                    payload.len()
                )
            }
        };
        written?;
        match self.header.dscp.value() {
            0 => Ok(()),
            dscp => write!(f, ", DSCP {dscp}"),
        }
    }
}
