//! Capture files: frames, each with the port at which it was captured, its time, its direction, and a comment.
//!
//! Source: draft-ietf-opsawg-pcapng, written and read by the library `pcap-file`. Captures are written as pcapng with
//! timestamps in nanoseconds and one interface per port. The older pcap format is read as well, with microseconds or
//! nanoseconds and any snap length. For frames other than Ethernet, the reader returns their link type.

use crate::pcapng_options::Closed;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Chain, Cursor, Read, Write};
use std::time::Duration;

/// Program name written into captures.
const APPLICATION: &str = "Penstock";
const NS_A_SECOND: u128 = 1_000_000_000;
/// Values of `if_tsresol` for nanoseconds, and the default of an omitted option.
const NANOSECONDS: u8 = 9;
const MICROSECONDS: u8 = 6;
/// Mask of the link type in pcap; the other bits encode the length of the FCS.
const LINK_TYPE: u32 = 0xFFFF;
/// First octets of a pcapng file; other files may be pcap.
const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// Reasons why a capture cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// An error of the file system.
    #[error("{0}")]
    Io(io::Error),
    /// The file ends within a block, after this many frames.
    #[error("the capture is cut: it ends within a block, {0} frames are whole")]
    Cut(u64),
    /// The file is not a capture.
    #[error("this is not a capture: accepted are pcapng and pcap")]
    Unknown,
    /// The data after this many frames is invalid; with the reason.
    #[error("behind {0} frames the capture makes no sense: {1}")]
    Wrong(u64, String),
    /// No frame is Ethernet; with the link type.
    #[error("the frames of the capture are of {0}; only those of Ethernet are read")]
    Link(String),
    /// A frame refers to an undefined interface: number of the frame, number of the interface, and number of
    /// interfaces.
    #[error("frame {0} is of interface {1}, and the capture has {2}")]
    Interface(u64, u32, usize),
}

/// A port of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Name; empty if the capture has none.
    pub name: String,
    /// Rate in b/s, if known.
    pub speed_bps: Option<u64>,
}

/// Direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Received by the port.
    In = 1,
    /// Sent by the port.
    Out = 2,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Index of the port among the interfaces.
    pub interface: u32,
    /// Time in ns.
    pub time_ns: u64,
    /// Direction, if known.
    pub direction: Option<Direction>,
    /// Comment of the frame, if it has one.
    pub comment: Option<Cow<'a, str>>,
    /// Original length of the frame in octets.
    pub len: u32,
    /// Captured octets of the frame: all, or the first ones.
    pub bytes: Cow<'a, [u8]>,
    /// Link type of a frame other than Ethernet.
    pub other_link: Option<String>,
}

impl<'a> Record<'a> {
    /// Creates the record of a complete frame at a port.
    pub fn new(interface: u32, time_ns: u64, bytes: &'a [u8]) -> Record<'a> {
        let len = bytes.len() as u32;
        let bytes = Cow::Borrowed(bytes);
        Record { interface, time_ns, direction: None, comment: None, len, bytes, other_link: None }
    }
}

/// Writes a capture.
pub struct Writer<W: Write> {
    file: PcapNgWriter<W>,
    interfaces: usize,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a capture with these ports.
    pub fn new(out: W, interfaces: &[Interface]) -> Result<Self, CaptureError> {
        let options = vec![SectionHeaderOption::UserApplication(APPLICATION.into())];
        let section = SectionHeaderBlock { endianness: Endianness::Little, options, ..Default::default() };
        let mut file = PcapNgWriter::with_section_header(out, section).map_err(|why| broken(why, 0))?;
        for Interface { name, speed_bps } in interfaces {
            let mut options = vec![InterfaceDescriptionOption::IfName(name.into())];
            options.extend(speed_bps.map(InterfaceDescriptionOption::IfSpeed));
            options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
            let block = InterfaceDescriptionBlock {
                options,
                ..InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0)
            };
            file.write_pcapng_block(block).map_err(|why| broken(why, 0))?;
        }
        Ok(Writer { file, interfaces: interfaces.len(), written: 0 })
    }

    /// Writes a frame.
    pub fn write(&mut self, record: &Record<'_>) -> Result<(), CaptureError> {
        if record.interface as usize >= self.interfaces {
            return Err(CaptureError::Interface(self.written + 1, record.interface, self.interfaces));
        }
        let mut options = Vec::new();
        options.extend(record.direction.map(|way| EnhancedPacketOption::Flags(way as u32)));
        options.extend(record.comment.as_deref().map(|text| EnhancedPacketOption::Comment(text.into())));
        let block = EnhancedPacketBlock {
            interface_id: record.interface,
            timestamp: Duration::from_nanos(record.time_ns),
            original_len: record.len,
            data: Cow::Borrowed(&record.bytes),
            options,
        };
        self.file.write_pcapng_block(block).map_err(|why| broken(why, self.written))?;
        self.written += 1;
        Ok(())
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.file.into_inner()
    }
}

type Source<R> = Chain<Cursor<Vec<u8>>, R>;

enum Form<R: Read> {
    Pcapng(PcapNgReader<Closed<Source<R>>>),
    Pcap(PcapReader<Source<R>>),
}

/// Reads a capture.
pub struct Reader<R: Read> {
    form: Form<R>,
    interfaces: Vec<Interface>,
    read: u64,
}

impl<R: Read> Reader<R> {
    /// Starts reading. Detects the format from the first octets.
    pub fn new(mut file: R) -> Result<Self, CaptureError> {
        let mut head = Vec::new();
        file.by_ref().take(4).read_to_end(&mut head).map_err(CaptureError::Io)?;
        let is_new = head == PCAPNG;
        let whole = Cursor::new(head).chain(file);
        let began = |why| match why {
            PcapError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                CaptureError::Io(error)
            }
            _ => CaptureError::Unknown,
        };
        let mut interfaces = Vec::new();
        let form = if is_new {
            Form::Pcapng(PcapNgReader::new(Closed::new(whole)).map_err(began)?)
        } else {
            let reader = PcapReader::new(whole).map_err(began)?;
            if let Some(other) = other_link(DataLink::from(u32::from(reader.header().datalink) & LINK_TYPE)) {
                return Err(CaptureError::Link(other));
            }
            interfaces.push(Interface { name: String::new(), speed_bps: None });
            Form::Pcap(reader)
        };
        Ok(Reader { form, interfaces, read: 0 })
    }

    /// Returns the ports described so far. Every port is described before its first frame.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Returns the next frame, or `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<Record<'static>>, CaptureError> {
        let record = match &mut self.form {
            Form::Pcap(reader) => of_pcap(reader, self.read)?,
            Form::Pcapng(reader) => of_pcapng(reader, &mut self.interfaces, self.read)?,
        };
        self.read += u64::from(record.is_some());
        Ok(record)
    }
}

fn broken(why: PcapError, read: u64) -> CaptureError {
    match why {
        PcapError::IncompleteBuffer => CaptureError::Cut(read),
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => CaptureError::Cut(read),
        PcapError::IoError(error) => CaptureError::Io(error),
        other => CaptureError::Wrong(read, other.to_string()),
    }
}

/// Returns name and number of a link type that is not Ethernet.
fn other_link(link: DataLink) -> Option<String> {
    let name = match link {
        DataLink::ETHERNET => return None,
        DataLink::Unknown(_) => "an unknown link type".to_string(),
        known => format!("{known:?}"),
    };
    Some(format!("{name} ({})", u32::from(link)))
}

/// Creates a reader of pcap. Lengths are those in the file, since the library rejects frames longer than the snap
/// length.
fn of_pcap<R: Read>(
    reader: &mut PcapReader<Source<R>>,
    read: u64,
) -> Result<Option<Record<'static>>, CaptureError> {
    let is_fine = reader.header().ts_resolution == TsResolution::NanoSecond;
    let Some(packet) = reader.next_raw_packet() else { return Ok(None) };
    let packet = packet.map_err(|why| broken(why, read))?;
    let fraction_ns = u64::from(packet.ts_frac) * if is_fine { 1 } else { 1_000 };
    let len = packet.orig_len.max(packet.incl_len);
    let bytes = Cow::Owned(packet.data.into_owned());
    let time_ns = u64::from(packet.ts_sec) * NS_A_SECOND as u64 + fraction_ns;
    Ok(Some(Record { interface: 0, time_ns, direction: None, comment: None, len, bytes, other_link: None }))
}

/// Returns the next frame of a pcapng file, and skips other blocks. The library keeps the interfaces; `names` has the
/// names of those read so far.
fn of_pcapng<R: Read>(
    reader: &mut PcapNgReader<Closed<Source<R>>>,
    names: &mut Vec<Interface>,
    read: u64,
) -> Result<Option<Record<'static>>, CaptureError> {
    loop {
        let (id, units, mut record) = match reader.next_block() {
            None => return Ok(None),
            Some(Err(why)) => return Err(broken(why, read)),
            // A new section numbers its interfaces from 0, so that the names of the old section no longer apply.
            Some(Ok(Block::SectionHeader(_))) => {
                names.clear();
                continue;
            }
            Some(Ok(Block::InterfaceDescription(block))) => {
                names.push(described(&block));
                continue;
            }
            Some(Ok(Block::EnhancedPacket(packet))) => {
                let units = packet.timestamp.as_nanos();
                (packet.interface_id, units, record(packet.into_owned()))
            }
            Some(Ok(Block::Packet(packet))) => {
                let (id, len) = (u32::from(packet.interface_id), packet.original_len);
                let (halves, bytes) = (packet.timestamp, Cow::Owned(packet.data.into_owned()));
                // The upper half comes first in either byte order, but the library reads both as one number.
                let units = if reader.section().endianness == Endianness::Little {
                    halves.rotate_left(32)
                } else {
                    halves
                };
                (id, units.into(), plain(id, len, bytes))
            }
            // The data ends with padding. Its length is that of the frame, or the snap length of its interface if that
            // is shorter.
            Some(Ok(Block::SimplePacket(packet))) => {
                let (len, mut bytes) = (packet.original_len, packet.data.into_owned());
                let kept = reader.interfaces().first().map_or(0, |first| first.snaplen);
                bytes.truncate(if kept == 0 { len } else { len.min(kept) } as usize);
                (0, 0, plain(0, len, Cow::Owned(bytes)))
            }
            Some(Ok(_)) => continue,
        };
        let Some(interface) = reader.interfaces().get(id as usize) else {
            return Err(CaptureError::Interface(read + 1, id, reader.interfaces().len()));
        };
        record.time_ns = in_ns(units, resolution(interface)).saturating_add(offset_ns(interface));
        record.other_link = other_link(interface.linktype);
        return Ok(Some(record));
    }
}

fn plain(interface: u32, len: u32, bytes: Cow<'static, [u8]>) -> Record<'static> {
    Record { interface, time_ns: 0, direction: None, comment: None, len, bytes, other_link: None }
}

fn record(packet: EnhancedPacketBlock<'static>) -> Record<'static> {
    let (mut direction, mut comment) = (None, None);
    for option in packet.options {
        match option {
            EnhancedPacketOption::Flags(flags) if flags & 3 == 1 => direction = Some(Direction::In),
            EnhancedPacketOption::Flags(flags) if flags & 3 == 2 => direction = Some(Direction::Out),
            EnhancedPacketOption::Comment(text) => comment = Some(text),
            _ => {}
        }
    }
    Record { direction, comment, ..plain(packet.interface_id, packet.original_len, packet.data) }
}

fn described(block: &InterfaceDescriptionBlock<'_>) -> Interface {
    let mut interface = Interface { name: String::new(), speed_bps: None };
    for option in &block.options {
        match option {
            InterfaceDescriptionOption::IfName(name) => interface.name = name.to_string(),
            InterfaceDescriptionOption::IfSpeed(bps) => interface.speed_bps = Some(*bps),
            _ => {}
        }
    }
    interface
}

/// Returns the offset to add to times (`if_tsoffset`), in ns.
fn offset_ns(interface: &InterfaceDescriptionBlock<'_>) -> u64 {
    let option = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsOffset(seconds) => Some(*seconds),
        _ => None,
    });
    option.unwrap_or(0).saturating_mul(NS_A_SECOND as u64)
}

fn resolution(interface: &InterfaceDescriptionBlock<'_>) -> u8 {
    let option = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    option.unwrap_or(MICROSECONDS)
}

/// Converts a time in units of `resolution` to nanoseconds, rounded down. The unit is 10^-n seconds, or 2^-n seconds if
/// the top bit is set.
fn in_ns(units: u128, resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7F);
    let a_second =
        if resolution & 0x80 == 0 { 10u128.checked_pow(exponent) } else { 1u128.checked_shl(exponent) };
    a_second.map_or(0, |a_second| u64::try_from(units * NS_A_SECOND / a_second).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> Vec<Interface> {
        ["a", "b"].map(|name| Interface { name: name.into(), speed_bps: Some(10_000_000_000) }).to_vec()
    }

    fn written() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &ports()).unwrap();
        writer.write(&Record::new(0, 5, &[1; 60])).unwrap();
        let comment = Some("dropped: headroom".into());
        let second =
            Record { direction: Some(Direction::Out), comment, ..Record::new(1, u64::MAX, &[2; 61]) };
        writer.write(&second).unwrap();
        writer.into_inner()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = written();
        let mut reader = Reader::new(&file[..]).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap(), Record::new(0, 5, &[1; 60]));
        let second = reader.next_record().unwrap().unwrap();
        assert_eq!((second.time_ns, second.interface, second.len), (u64::MAX, 1, 61));
        assert_eq!(second.direction, Some(Direction::Out));
        assert_eq!(second.comment.as_deref(), Some("dropped: headroom"));
        assert!(reader.next_record().unwrap().is_none());
        assert_eq!(reader.interfaces(), ports());
    }

    /// A capture truncated at any position yields an error that reports the truncation, or the frames before it.
    #[test]
    fn a_capture_that_is_cut() {
        let file = written();
        for len in 0..file.len() {
            let mut reader = match Reader::new(&file[..len]) {
                Ok(reader) => reader,
                Err(error) => {
                    assert!(matches!(error, CaptureError::Unknown), "{len}: {error}");
                    continue;
                }
            };
            let mut frames = 0;
            let end = loop {
                match reader.next_record() {
                    Ok(Some(_)) => frames += 1,
                    end => break end.map(drop),
                }
            };
            match end {
                Ok(()) => assert!(frames <= 1, "{len}"),
                Err(CaptureError::Cut(whole)) => assert_eq!(whole, frames),
                Err(other) => panic!("{len}: {other}"),
            }
        }
    }

    #[test]
    fn what_is_no_capture() {
        for bytes in [&b""[..], b"hello, world, this is a text and no capture", &PCAPNG] {
            assert!(matches!(Reader::new(bytes), Err(CaptureError::Unknown)));
        }
        let mut writer = Writer::new(Vec::new(), &ports()).unwrap();
        let unknown = writer.write(&Record::new(2, 0, &[0; 60]));
        assert!(matches!(unknown, Err(CaptureError::Interface(1, 2, 2))));
    }

    /// A capture with any octet changed yields frames or an error.
    #[test]
    fn a_capture_that_is_damaged() {
        let file = written();
        for (at, value) in (0..file.len()).flat_map(|at| [0u8, 1, 4, 0x7F, 0xFF].map(|value| (at, value))) {
            let mut bytes = file.clone();
            bytes[at] = value;
            let Ok(mut reader) = Reader::new(&bytes[..]) else { continue };
            while let Ok(Some(_)) = reader.next_record() {}
        }
    }

    /// Creates a pcap file with one frame, from magic, snap length, link type, fraction of a second, and length of the
    /// frame.
    fn pcap(magic: u32, snap: u32, link: u32, fraction: u32, len: u32, bytes: &[u8]) -> Vec<u8> {
        let head = [magic, 0x0004_0002, 0, 0, snap, link, 7, fraction, bytes.len() as u32, len];
        [&head.map(u32::to_le_bytes).concat()[..], bytes].concat()
    }

    fn only(file: &[u8]) -> Record<'static> {
        let mut reader = Reader::new(file).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        assert!(reader.next_record().unwrap().is_none());
        record
    }

    /// Covers truncated frames, files without a snap length, nanoseconds, and an FCS in the link type.
    #[test]
    fn any_pcap_of_ethernet() {
        for (snap, link) in [(96, 1), (0, 1), (65_535, 0x2400_0001)] {
            let record = only(&pcap(0xA1B2_C3D4, snap, link, 5, 1_514, &[1; 96]));
            assert_eq!((record.time_ns, record.len, record.bytes.len()), (7_000_005_000, 1_514, 96));
        }
        assert_eq!(only(&pcap(0xA1B2_3C4D, 96, 1, 5, 96, &[1; 96])).time_ns, 7_000_000_005);
        let other = Reader::new(&pcap(0xA1B2_C3D4, 96, 113, 0, 96, &[1; 96])[..])
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            other.unwrap(),
            "the frames of the capture are of LINUX_SLL (113); only those of Ethernet are read"
        );
    }

    fn pcapng(blocks: &[(u32, &[u8])]) -> Vec<u8> {
        let mut file = vec![];
        let section = [&0x1A2B_3C4Du32.to_le_bytes()[..], &1u32.to_le_bytes(), &[0xFF; 8]].concat();
        for (kind, body) in [(0x0A0D_0D0A, &section[..])].iter().chain(blocks) {
            let len = (body.len() as u32 + 12).to_le_bytes();
            file.extend([&kind.to_le_bytes()[..], &len, body, &len].concat());
        }
        file
    }

    /// Covers interfaces whose options have no end, an interface of another link type, simple packets that their
    /// interface truncates to 6 B, and obsolete packet blocks.
    #[test]
    fn blocks_of_other_writers() {
        let name = [&2u16.to_le_bytes()[..], &2u16.to_le_bytes(), b"ab\0\0"].concat();
        let interface = |link: u32, snap: u32| [&link.to_le_bytes()[..], &snap.to_le_bytes(), &name].concat();
        let (ethernet, cooked) = (interface(1, 6), interface(113, 0));
        let simple = [&60u32.to_le_bytes()[..], &[3; 8]].concat();
        let obsolete = [
            &1u32.to_le_bytes()[..],
            &0u32.to_le_bytes(),
            &9u32.to_le_bytes(),
            &[4, 0, 0, 0],
            &[4, 0, 0, 0],
            &[5; 4],
        ];
        let file = pcapng(&[(1, &ethernet), (1, &cooked), (3, &simple), (2, &obsolete.concat())]);
        let mut reader = Reader::new(&file[..]).unwrap();
        let first = reader.next_record().unwrap().unwrap();
        assert_eq!((first.interface, first.len, &first.bytes[..]), (0, 60, &[3; 6][..]));
        let second = reader.next_record().unwrap().unwrap();
        assert_eq!((second.interface, second.time_ns, second.len), (1, 9_000, 4));
        assert_eq!(second.other_link.as_deref(), Some("LINUX_SLL (113)"));
        assert_eq!(reader.interfaces()[1].name, "ab");
        assert!(reader.next_record().unwrap().is_none());
    }

    #[test]
    fn times_of_other_resolutions() {
        assert_eq!(in_ns(5, NANOSECONDS), 5);
        assert_eq!(in_ns(5, MICROSECONDS), 5_000);
        assert_eq!(in_ns(1 << 31, 0x80 | 32), 500_000_000);
        assert_eq!(in_ns(1, 12), 0);
        assert_eq!(in_ns(u128::from(u64::MAX), 0), u64::MAX);
        assert_eq!(in_ns(1, 0x7F), 0);
        assert_eq!(in_ns(1, 0xFF), 0);
    }
}
