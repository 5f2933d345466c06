//! Exchanges over FCoE as plain, validated data: their information units, and the frames of each unit.

use crate::Delay;
use crate::load::Train;
use units::Time;

/// Maximum number of outstanding exchanges of an initiator. Place numbers have 7 bits.
pub const MOST_EXCHANGES: u16 = 128;
/// Bytes of a frame outside its data field, DA to FCS, with one VLAN tag.
pub const FCOE_OVERHEAD: u16 = 14 + 4 + 14 + 24 + 4 + 4 + 4;
/// Maximum data field of a Fibre Channel frame.
pub const LARGEST_DATA_FIELD: u16 = 2_112;
const FCP_CMND: u64 = 32;
const FCP_XFER_RDY: u64 = 12;
const FCP_RSP: u64 = 24;
pub(crate) const ABTS: u64 = 0;
pub(crate) const BA_ACC: u64 = 12;

/// The validated parameters of exchanges between an initiator and a target.
#[derive(Clone, Debug, PartialEq)]
pub struct FcoeSpec {
    /// True if the initiator writes to the target; false if it reads from it.
    pub writes: bool,
    /// Bytes of data per exchange, above 0.
    pub block: u64,
    /// Maximum data of a sequence in bytes, above 0.
    pub burst: u64,
    /// Maximum data of a frame in bytes: a multiple of 4 B up to [`LARGEST_DATA_FIELD`].
    pub data_field: u16,
    /// Maximum number of outstanding exchanges, 1 to [`MOST_EXCHANGES`].
    pub outstanding: u16,
    /// Total number of exchanges; `None` if unlimited.
    pub exchanges: Option<u64>,
    /// Time from the end of an exchange to the next one in its place.
    pub think: Delay,
    /// Time from the last unit of the initiator to the target's response.
    pub service: Delay,
    /// Time from the beginning of an exchange until it is aborted, above 0 (ULP_TOV).
    pub ulp_tov: Time,
    /// True if nothing is sent where the class is not lossless.
    pub requires_lossless: bool,
}

/// An information unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub by_initiator: bool,
    pub bytes: u64,
}

impl FcoeSpec {
    fn bursts(&self) -> u64 {
        self.block.div_ceil(self.burst)
    }
    /// Returns unit `n` of an exchange; `None` if there are fewer units.
    pub(crate) fn unit(&self, n: u64) -> Option<Unit> {
        let bursts = self.bursts();
        let data = |nth: u64| self.burst.min(self.block - nth * self.burst);
        let (before_response, bytes) = match self.writes {
            false => (bursts + 1, if n > 0 && n <= bursts { data(n - 1) } else { FCP_RSP }),
            true if n > 2 * bursts => (2 * bursts + 1, FCP_RSP),
            true => (2 * bursts + 1, if n % 2 == 1 { FCP_XFER_RDY } else { data((n / 2).saturating_sub(1)) }),
        };
        let by_initiator = n == 0 || self.writes && n.is_multiple_of(2);
        let bytes = if n == 0 { FCP_CMND } else { bytes };
        (n <= before_response).then_some(Unit { by_initiator, bytes })
    }
    /// Returns the number of the unit before which the target's service time elapses.
    pub(crate) fn served(&self) -> u64 {
        if self.writes { 2 * self.bursts() + 1 } else { 1 }
    }
    pub(crate) fn frames(&self, unit: Unit) -> u64 {
        unit.bytes.div_ceil(self.data_field.into())
    }
    /// Returns the length of frame `n` of a unit.
    pub(crate) fn frame_bytes(&self, unit: Unit, n: u64) -> u16 {
        let rest = unit.bytes - n * u64::from(self.data_field);
        of_data(rest.min(self.data_field.into()))
    }
    /// Returns the length of the shortest frame, which is an ABTS, and of the longest frame.
    pub(crate) fn lengths(&self) -> (u16, u16) {
        (of_data(ABTS), of_data(self.data_field.into()))
    }
    /// Returns the frames of one end in an exchange.
    pub(crate) fn train(&self, initiator: bool) -> Train {
        let data = [(self.block / self.burst, self.burst), (1, self.block % self.burst)];
        let units = match (initiator, self.writes) {
            (true, false) => vec![(1, FCP_CMND)],
            (true, true) => vec![(1, FCP_CMND), data[0], data[1]],
            (false, false) => vec![data[0], data[1], (1, FCP_RSP)],
            (false, true) => vec![(self.bursts(), FCP_XFER_RDY), (1, FCP_RSP)],
        };
        let mut train = Train { frames: 0, bytes: 0, full: 0, last: 0 };
        for (count, bytes) in units.into_iter().filter(|&(count, bytes)| count > 0 && bytes > 0) {
            let unit = Unit { by_initiator: initiator, bytes };
            let frames = self.frames(unit);
            let (full, last) = (self.frame_bytes(unit, 0), self.frame_bytes(unit, frames - 1));
            (train.full, train.last) = (train.full.max(full), last);
            train.frames += (count * frames) as u32;
            train.bytes += count * ((frames - 1) * u64::from(full) + u64::from(last));
        }
        train
    }

    /// Validates the parameters. An error states the value and what is accepted.
    pub fn check(&self) -> Result<(), String> {
        let field = self.data_field;
        if field == 0 || !field.is_multiple_of(4) || field > LARGEST_DATA_FIELD {
            return Err(format!(
                "a data field of {field} B; expected a multiple of 4 B up to {LARGEST_DATA_FIELD} B"
            ));
        }
        if self.block == 0 || self.block > u32::MAX.into() {
            return Err(format!("a block of {} B; expected 1 to {} B", self.block, u32::MAX));
        }
        if self.burst == 0 || self.ulp_tov == Time::ZERO {
            return Err("a burst or a timeout of 0; expected above 0".to_string());
        }
        if !(1..=MOST_EXCHANGES).contains(&self.outstanding) {
            let outstanding = self.outstanding;
            return Err(format!("{outstanding} outstanding exchanges; expected 1 to {MOST_EXCHANGES}"));
        }
        Ok(())
    }
}

/// Returns the length of a frame with this many bytes of data.
pub(crate) fn of_data(data: u64) -> u16 {
    FCOE_OVERHEAD + data.next_multiple_of(4) as u16
}
