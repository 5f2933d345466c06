//! Scanner of GOAL text, and rules common to text and binary.
//!
//! Source: `txt2bin.re` of LogGOPSim. Keywords are recognised wherever the grammar allows them, so that `send 8b to 1`
//! and `send 8bto1` are equal. As an extension, comments are accepted wherever a line may end.

use crate::error::{Repair, no_such_rank};
use crate::{Place, ProgramError, Work};
use units::Time;

/// Description of the repair that [`work_of_send`] makes.
pub(crate) const END_MARKERS: &str = "sends of 0 bytes to a rank that does not exist (end markers of schedule generators): read as computations of 0 ns";

/// Returns the work of a send. An end marker, which is a send of 0 bytes to a rank that does not exist, becomes a
/// computation of zero duration.
pub(crate) fn work_of_send(
    to: u32,
    bytes: u64,
    tag: u32,
    ranks: u32,
    place: impl FnOnce() -> String,
    markers: &mut Repair,
) -> Result<Work, String> {
    if to < ranks {
        return Ok(Work::Send { to, bytes, tag });
    }
    if bytes > 0 {
        return Err(no_such_rank(to, ranks as usize));
    }
    markers.count(|| format!("{} to {to}", place()));
    Ok(Work::Calc { time: Time::ZERO })
}

type Result<T, E = ProgramError> = std::result::Result<T, E>;

/// Position in a text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Number of the current line, from 1.
    pub(crate) line: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), at: 0, line: 1 }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Skips blanks and comments within a line. A `/* */` comment may contain line ends.
    pub(crate) fn blanks(&mut self) -> Result<()> {
        loop {
            match self.rest() {
                [b' ' | b'\t', ..] => self.at += 1,
                [b'/', b'/', ..] => self.at += self.rest().iter().take_while(|&&byte| byte != b'\n').count(),
                [b'/', b'*', ..] => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<()> {
        let length = self.rest()[2..].windows(2).position(|pair| pair == b"*/");
        let Some(length) = length else { return self.fail("the comment /* has no end; expected */") };
        let comment = &self.rest()[..length + 4];
        self.line += comment.iter().filter(|&&byte| byte == b'\n').count();
        self.at += comment.len();
        Ok(())
    }

    /// Skips blanks, comments and line ends. Returns false at the end of the text.
    pub(crate) fn next_statement(&mut self) -> Result<bool> {
        loop {
            self.blanks()?;
            if !self.line_end() {
                return Ok(!self.rest().is_empty());
            }
            if self.rest().is_empty() {
                return Ok(false);
            }
        }
    }

    /// Consumes the end of a line or of the text. Returns false if there is something else.
    pub(crate) fn line_end(&mut self) -> bool {
        let length = match self.rest() {
            [] => return true,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [b'\r'] => 1,
            _ => return false,
        };
        self.at += length;
        self.line += 1;
        true
    }

    /// Consumes these characters if they come next, after blanks. Returns true if they did.
    pub(crate) fn word(&mut self, word: &str) -> Result<bool> {
        self.blanks()?;
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        Ok(found)
    }

    /// Scans a label or keyword: a letter, followed by letters, digits and underscores.
    pub(crate) fn identifier(&mut self) -> Result<Option<&'a [u8]>> {
        self.blanks()?;
        if !self.rest().first().is_some_and(u8::is_ascii_alphabetic) {
            return Ok(None);
        }
        let length =
            self.rest().iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_').count();
        let found = &self.rest()[..length];
        self.at += length;
        Ok(Some(found))
    }

    /// Scans a decimal number of at most `most`.
    pub(crate) fn number(&mut self, what: &str, most: u64) -> Result<u64> {
        self.blanks()?;
        let length = self.rest().iter().take_while(|&&byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return self.expected(what);
        }
        let digits = &self.rest()[..length];
        let value = digits
            .iter()
            .try_fold(0u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        match value.filter(|&value| value <= most) {
            Some(value) => {
                self.at += length;
                Ok(value)
            }
            None => self.fail(format!("{what} is {}; at most {most} is accepted", shown(digits))),
        }
    }

    /// Returns the next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Returns the next word, for messages.
    fn next_word(&self) -> String {
        let length = self.rest().iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        match length {
            0 if self.rest().is_empty() => "the end of the file".into(),
            0 => "the end of the line".into(),
            _ => format!("\"{}\"", shown(&self.rest()[..length])),
        }
    }

    pub(crate) fn expected<T>(&self, what: &str) -> Result<T> {
        self.fail(format!("{}; expected {what}", self.next_word()))
    }

    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ProgramError::new(Place::Line(self.line), message))
    }
}

/// Formats bytes of a file for a message: at most 40 of them, as printable characters.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let cut = bytes.get(..40).unwrap_or(bytes);
    let more = if cut.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_ascii())
}
