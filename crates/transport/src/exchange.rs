//! Formats shared by requester and responder: the segmentation of messages, and the label of a frame.

use crate::load::Train;
use frame::MIN_FRAME_BYTES;

/// Maximum number of outstanding requests of a connection. Slot numbers have 8 bits.
pub const MAX_OUTSTANDING: u16 = 256;
/// Maximum number of segments of a message. Segment numbers have 16 bits.
pub const MAX_SEGMENTS: u64 = 1 << 16;

/// A request or a response, cut into segments.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    bytes: u64,
    segment: u16,
}

impl Message {
    /// Creates a message of `bytes` (above 0) in segments of at most `segment` bytes.
    pub fn new(bytes: u64, segment: u16) -> Message {
        Message { bytes, segment }
    }
    /// Returns the length of the message in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the number of segments.
    pub fn segments(&self) -> u32 {
        self.bytes.div_ceil(u64::from(self.segment)) as u32
    }
    /// Returns the length of segment `n` as a frame. All segments are full except the last, which is padded to the
    /// smallest frame.
    pub fn frame_bytes(&self, n: u32) -> u16 {
        let rest = self.bytes - u64::from(n) * u64::from(self.segment);
        rest.min(u64::from(self.segment)).max(u64::from(MIN_FRAME_BYTES.min(self.segment))) as u16
    }
    /// Returns the frames of the message.
    pub fn train(&self) -> Train {
        let frames = self.segments();
        let (full, last) = (self.frame_bytes(0), self.frame_bytes(frames - 1));
        let bytes = u64::from(frames - 1) * u64::from(full) + u64::from(last);
        Train { frames, bytes, full, last }
    }
}

/// The label of a frame: its exchange, and its segment of the message.
///
/// A slot has one exchange at a time. Each exchange, and each repetition of one, uses the next turn, so that frames of
/// an abandoned exchange are recognised. Turns wrap around, so a frame must not be late by 128 turns of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Slot of the request.
    pub slot: u8,
    /// Turn of the exchange in the slot.
    pub turn: u8,
    /// Segment number within the message.
    pub segment: u16,
}

impl Label {
    /// Packs the label into the word of a frame.
    pub fn word(self) -> u32 {
        u32::from(self.slot) << 24 | u32::from(self.turn) << 16 | u32::from(self.segment)
    }
    /// Unpacks the label from the word of a frame.
    pub fn from_word(word: u32) -> Label {
        Label { slot: (word >> 24) as u8, turn: (word >> 16) as u8, segment: word as u16 }
    }
}

/// Returns true if `turn` comes after `other`.
pub fn is_later(turn: u8, other: u8) -> bool {
    turn != other && turn.wrapping_sub(other) < 128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_into_full_segments_and_a_rest() {
        let sizes = |bytes, segment| {
            let message = Message::new(bytes, segment);
            (0..message.segments()).map(|n| message.frame_bytes(n)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(64, 1_024), [64]);
        assert_eq!(sizes(4_096, 1_024), [1_024; 4]);
        assert_eq!(sizes(1_000, 400), [400, 400, 200]);
        assert_eq!(sizes(401, 400), [400, 64]);
        assert_eq!(sizes(33, 32), [32, 32]);
        assert_eq!(u64::from(Message::new(MAX_SEGMENTS * 1_024, 1_024).segments()), MAX_SEGMENTS);
    }

    #[test]
    fn words_carry_labels() {
        let label = Label { slot: 255, turn: 254, segment: 65_535 };
        assert_eq!((label.word(), Label::from_word(label.word())), (0xFFFE_FFFF, label));
        assert!(is_later(1, 0) && is_later(0, 255) && !is_later(0, 0) && !is_later(255, 0));
    }
}
