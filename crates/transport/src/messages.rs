//! Messages of an exchange of a conversation: a list of sizes, or an application by name.
//!
//! | name | messages of the opener, then of its peer, and so on |
//! |---|---|
//! | `iscsi_read` | a command; all Data-In, the last of which carries the status |
//! | `iscsi_write` | a command and the first burst; R2T; Data-Out; R2T; ...; the response |
//! | `database_entry` | 64 KiB; 64 B |
//! | `database_query` | 64 B; 64 KiB |
//! | `ipc` | 1 KiB; 64 B |
//! | `iwarp_read`, `iwarp_write`, `iwarp_send` | RDMA over TCP: see `iwarp` |
//!
//! Data is sent in PDUs of at most `data_segment`, with a header of 48 B each. The first burst of a write is
//! unsolicited: immediate data in the command PDU, then Data-Out. The target requests the further bursts one after
//! another, each by one R2T.
//!
//! Source: RFC 7143, sections 11.2 to 11.8 (PDUs, R2T) and 13.12 to 13.17 (`data_segment` is MaxRecvDataSegmentLength,
//! `first_burst` FirstBurstLength, `max_burst` MaxBurstLength; InitialR2T is No, ImmediateData Yes, MaxOutstandingR2T
//! 1). McAlpine 2005, section 6, describes database entry, database queries and interprocess communication with "one
//! frame out, one back", but no message sizes; the sizes above are our choice. 64 KiB follow from its results: six
//! connections per server, 2.3 GB/s and a response time of 160 us correspond to 61 KB per transaction.
//!
//! Over RDMA, iSCSI is iSER: see `iser`.
//!
//! Digests, login and the disk are not simulated, and all transactions of a conversation are identical.

use crate::iwarp::{IwarpKeys, IwarpOperation};
use crate::rdma::{Operation, Post};
use crate::{combinations, iser};
use keys::{Choice, Forms, Keyed, Remark, Unused};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::Bytes;

/// Bytes of the header of an iSCSI PDU; also the total size of a command, an R2T and a response.
const HEADER: u64 = 48;
/// Maximum number of messages of an exchange.
const MOST: u64 = 4096;
/// Maximum size of a message.
const LARGEST: Bytes = Bytes::new(1 << 40);

/// The messages of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Messages {
    /// A list of sizes.
    Sizes(Vec<Bytes>),
    /// The messages of a known application.
    Of(Talk),
}

/// A known application.
#[derive(Clone, Debug, PartialEq)]
pub enum Talk {
    /// Reads blocks from a target.
    IscsiRead(IscsiKeys),
    /// Writes blocks to a target.
    IscsiWrite(IscsiKeys),
    /// Large messages into a database.
    DatabaseEntry,
    /// Large messages from a database.
    DatabaseQuery,
    /// Small messages in both directions.
    Ipc,
    /// RDMA operations over TCP (iWARP).
    Iwarp(IwarpOperation, IwarpKeys),
}

/// iSCSI: transfer of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IscsiKeys {
    /// Bytes of data per command. A size with unit, at least 1 B. Default: "1 MiB" (Hagen 2012, section 4.2).
    pub block: Bytes,
    /// Maximum bytes of data in a PDU (MaxRecvDataSegmentLength of the receiver). A size with unit, at least 512 B. Default: "8 KiB" (RFC 7143 section 13.12).
    pub data_segment: Bytes,
    /// Maximum bytes of unsolicited data of a write (FirstBurstLength). A size with unit, at most `max_burst`; "0 B": none. Default: "64 KiB" (RFC 7143 section 13.14).
    pub first_burst: Bytes,
    /// Maximum bytes of data of a write that the target requests by one R2T (MaxBurstLength). A size with unit, at least 512 B. Default: "256 KiB" (RFC 7143 section 13.13).
    pub max_burst: Bytes,
}

const fn kib(kib: u64) -> Bytes {
    Bytes::new(kib << 10)
}

impl Default for IscsiKeys {
    fn default() -> IscsiKeys {
        IscsiKeys { block: kib(1024), data_segment: kib(8), first_burst: kib(64), max_burst: kib(256) }
    }
}

impl IscsiKeys {
    /// Returns the bytes of PDUs with this much data, including headers.
    fn pdus(&self, data: u64) -> u64 {
        data + HEADER * data.div_ceil(self.data_segment.get())
    }

    fn read(&self) -> Vec<u64> {
        vec![HEADER, self.pdus(self.block.get())]
    }

    fn write(&self) -> Vec<u64> {
        let first = self.block.get().min(self.first_burst.get());
        // The first data PDU is the command itself.
        let mut messages = vec![self.pdus(first).max(HEADER)];
        let mut left = self.block.get() - first;
        while left > 0 {
            let burst = left.min(self.max_burst.get());
            messages.extend([HEADER, self.pdus(burst)]);
            left -= burst;
        }
        messages.push(HEADER);
        messages
    }

    fn check(&self) -> Result<(), Remark> {
        let least = Bytes::new(512);
        let all = [("data_segment", self.data_segment, least), ("max_burst", self.max_burst, least)];
        for (key, size, least) in all.into_iter().chain([("block", self.block, Bytes::new(1))]) {
            if size < least || size > LARGEST {
                let help = format!("expected {least} to {LARGEST}");
                return Err(Remark::about(key, format!("a {key} of {size}"), help));
            }
        }
        if self.first_burst > self.max_burst {
            let message =
                format!("first_burst ({}) is above max_burst ({})", self.first_burst, self.max_burst);
            let help = format!("RFC 7143 section 13.14: expected at most \"{}\"", self.max_burst);
            return Err(Remark::about("first_burst", message, help));
        }
        let bursts = self.block.get() / self.max_burst.get();
        if 2 * bursts > MOST {
            let help = format!("expected at most {} of them: a larger max_burst", MOST / 2);
            return Err(Remark::about("block", format!("{bursts} bursts of one command"), help));
        }
        Ok(())
    }
}

impl Messages {
    /// Returns the keys that have no effect. `in_pdus` is true if all data is in PDUs, as over TCP.
    pub fn unused(&self, in_pdus: bool) -> Vec<Remark> {
        match self {
            Messages::Sizes(_) => Vec::new(),
            Messages::Of(talk) => talk.unused(in_pdus),
        }
    }
    /// Validates the messages and returns their sizes over TCP segments of at most `segment` bytes of data.
    pub fn sizes(&self, segment: u64) -> Result<Vec<u64>, Remark> {
        match self {
            Messages::Sizes(sizes) => listed(sizes),
            Messages::Of(talk) => talk.sizes(segment),
        }
    }
    /// Validates the messages and returns their operations over a message transport. Messages without an operation of
    /// their own use `operation`.
    pub(crate) fn posts(
        &self,
        operation: Operation,
        transport: &str,
        one_sided: bool,
    ) -> Result<Vec<Box<[Post]>>, Remark> {
        let refused = |application| {
            let refused = combinations::refusal(application, transport);
            refused.unwrap_or_else(|| Remark::new(format!("{application} over {transport}"), "expected tcp"))
        };
        match self {
            Messages::Of(talk @ (Talk::IscsiRead(keys) | Talk::IscsiWrite(keys))) => {
                if !one_sided {
                    return Err(refused("iscsi"));
                }
                keys.check().map_err(|why| why.within(talk.name()))?;
                Ok(if let Talk::IscsiRead(_) = talk { iser::read(keys) } else { iser::write(keys) })
            }
            Messages::Of(Talk::Iwarp(..)) => Err(refused("iwarp")),
            // The remaining messages do not depend on segments.
            other => {
                let post = |bytes| Box::from([Post { operation, bytes }]);
                Ok(other.sizes(u64::MAX)?.into_iter().map(post).collect())
            }
        }
    }
    /// Returns true if the messages are those of iSCSI.
    pub(crate) fn is_iscsi(&self) -> bool {
        matches!(self, Messages::Of(Talk::IscsiRead(_) | Talk::IscsiWrite(_)))
    }
    /// Returns true if MPA inserts markers into the messages.
    pub fn have_markers(&self) -> bool {
        matches!(self, Messages::Of(Talk::Iwarp(_, keys)) if keys.markers)
    }
}

fn listed(sizes: &[Bytes]) -> Result<Vec<u64>, Remark> {
    let wrong = sizes.iter().position(|size| !(Bytes::new(1)..=LARGEST).contains(size));
    if let Some(at) = wrong {
        let message = format!("a message of {}", sizes[at]);
        return Err(Remark::new(message, format!("expected 1 B to {LARGEST}")).within_entry(at));
    }
    let count = sizes.len() as u64;
    if count == 0 || !count.is_multiple_of(2) || count > MOST {
        let message = format!("{count} messages in an exchange");
        let help = "the two ends send in turn, and the peer sends the last; expected an even number, like [\"1 KiB\", \"64 B\"]";
        return Err(Remark::new(message, help));
    }
    Ok(sizes.iter().map(|size| size.get()).collect())
}

impl Talk {
    /// Returns the keys that have no effect: the target of a read has all the data and requests none.
    fn unused(&self, in_pdus: bool) -> Vec<Remark> {
        let (keys, burst) = match self {
            Talk::IscsiRead(keys) => (keys, None),
            Talk::IscsiWrite(keys) => (keys, Some(keys.first_burst)),
            _ => return Vec::new(),
        };
        let requests = burst.is_none_or(|first| keys.block > first);
        let found = Unused::of(keys, &IscsiKeys::default())
            .unless(burst.is_some(), "iscsi_write", &["first_burst", "max_burst"])
            .unless(requests, "a `block` above `first_burst`", &["max_burst"])
            .unless(
                in_pdus || burst.is_some_and(|first| first.get() > 0),
                "data in PDUs: over RDMA those of `first_burst` of a write alone are",
                &["data_segment"],
            );
        found.remarks().into_iter().map(|one| one.within(self.name())).collect()
    }

    fn sizes(&self, segment: u64) -> Result<Vec<u64>, Remark> {
        let small = frame::MIN_FRAME_BYTES.into();
        match self {
            Talk::IscsiRead(keys) => {
                keys.check().map(|()| keys.read()).map_err(|why| why.within("iscsi_read"))
            }
            Talk::IscsiWrite(keys) => {
                keys.check().map(|()| keys.write()).map_err(|why| why.within("iscsi_write"))
            }
            Talk::DatabaseEntry => Ok(vec![64 << 10, small]),
            Talk::DatabaseQuery => Ok(vec![small, 64 << 10]),
            Talk::Ipc => Ok(vec![1 << 10, small]),
            Talk::Iwarp(operation, keys) => {
                keys.messages(*operation, segment).map_err(|why| why.within(self.name()))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Talk::IscsiRead(_) => "iscsi_read",
            Talk::IscsiWrite(_) => "iscsi_write",
            Talk::DatabaseEntry => "database_entry",
            Talk::DatabaseQuery => "database_query",
            Talk::Ipc => "ipc",
            Talk::Iwarp(IwarpOperation::Read, _) => "iwarp_read",
            Talk::Iwarp(IwarpOperation::Write, _) => "iwarp_write",
            Talk::Iwarp(IwarpOperation::Send, _) => "iwarp_send",
        }
    }
}

impl Choice for Talk {
    const EXPECTED: &'static str =
        "a list of sizes, the name of an application, or a table of that name with its keys";
    const NAMES: &'static [&'static str] = &[
        "iscsi_read",
        "iscsi_write",
        "database_entry",
        "database_query",
        "ipc",
        "iwarp_read",
        "iwarp_write",
        "iwarp_send",
    ];
    const WITH_KEYS: &'static [&'static str] =
        &["iscsi_read", "iscsi_write", "iwarp_read", "iwarp_write", "iwarp_send"];
    const TABLE: &'static str = "flows.source.conversation.messages";

    fn plain(name: &str) -> Option<Talk> {
        [Talk::DatabaseEntry, Talk::DatabaseQuery, Talk::Ipc].into_iter().find(|talk| talk.name() == name)
    }
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Talk, D::Error> {
        Ok(match name {
            "iscsi_read" => Talk::IscsiRead(Deserialize::deserialize(table)?),
            "iwarp_read" => Talk::Iwarp(IwarpOperation::Read, Deserialize::deserialize(table)?),
            "iwarp_write" => Talk::Iwarp(IwarpOperation::Write, Deserialize::deserialize(table)?),
            "iwarp_send" => Talk::Iwarp(IwarpOperation::Send, Deserialize::deserialize(table)?),
            _ => Talk::IscsiWrite(Deserialize::deserialize(table)?),
        })
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Messages, D::Error> {
        keys::read_by_form(deserializer)
    }
}

impl Forms for Messages {
    const EXPECTED: &'static str = <Talk as Choice>::EXPECTED;
    fn text<E: Error>(text: &str) -> Result<Messages, E> {
        <Talk as Forms>::text(text).map(Messages::Of)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Messages, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Messages::Sizes)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Messages, A::Error> {
        <Talk as Forms>::table(table).map(Messages::Of)
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Messages::Sizes(sizes) => sizes.serialize(serializer),
            Messages::Of(talk @ (Talk::IscsiRead(keys) | Talk::IscsiWrite(keys))) => {
                serializer.serialize_newtype_variant("Messages", 0, talk.name(), keys)
            }
            Messages::Of(talk @ Talk::Iwarp(_, keys)) => {
                serializer.serialize_newtype_variant("Messages", 0, talk.name(), keys)
            }
            Messages::Of(talk) => serializer.serialize_str(talk.name()),
        }
    }
}

impl JsonSchema for Messages {
    fn schema_name() -> Cow<'static, str> {
        "Messages".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let plain = [
            ("database_entry", "64 KiB there, 64 B back."),
            ("database_query", "64 B there, 64 KiB back."),
            ("ipc", "1 KiB there, 64 B back."),
        ];
        let keyed = vec![
            Keyed::new::<IscsiKeys>("iscsi_read", "A command; data and status.", generator),
            Keyed::new::<IscsiKeys>(
                "iscsi_write",
                "Command and data, further data on request; status.",
                generator,
            ),
            Keyed::new::<IwarpKeys>("iwarp_read", "RDMA Read over TCP.", generator),
            Keyed::new::<IwarpKeys>(
                "iwarp_write",
                "RDMA Write over TCP, followed by Sends that notify the peer.",
                generator,
            ),
            Keyed::new::<IwarpKeys>("iwarp_send", "Send over TCP, and one back.", generator),
        ];
        let named =
            keys::schema("An application: a name, or a table of that name with its keys.", &plain, keyed);
        let sizes = generator.subschema_for::<Vec<Bytes>>();
        schemars::json_schema!({ "description": "The messages of an exchange.", "anyOf": [sizes, named] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_in_pdus() {
        // 1 MiB is 128 PDUs of 8 KiB, or 16 PDUs of 64 KiB.
        let keys = IscsiKeys::default();
        assert_eq!(keys.read(), [48, 1_048_576 + 128 * 48]);
        assert_eq!(IscsiKeys { data_segment: kib(64), ..keys }.read(), [48, 1_048_576 + 16 * 48]);
        assert_eq!(IscsiKeys { block: Bytes::new(1), ..keys }.read(), [48, 49]);
    }

    #[test]
    fn a_block_is_written_in_bursts() {
        // 64 KiB are unsolicited in 8 PDUs, the first of which is the command; then follow 256, 256, 256 and 192 KiB.
        let keys = IscsiKeys::default();
        let burst = 262_144 + 32 * 48;
        let messages = [65_536 + 8 * 48, 48, burst, 48, burst, 48, burst, 48, 196_608 + 24 * 48, 48];
        assert_eq!(keys.write(), messages);
        // Without unsolicited data, the command is alone; a small block needs no R2T.
        let requested = IscsiKeys { first_burst: Bytes::new(0), block: Bytes::new(512), ..keys };
        assert_eq!(requested.write(), [48, 48, 512 + 48, 48]);
        assert_eq!(IscsiKeys { block: kib(64), ..keys }.write(), [65_536 + 8 * 48, 48]);
    }
}
