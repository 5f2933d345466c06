//! Carriers of transfers and of jobs' messages: frames, TCP, RDMA, UET.

use super::{Context, files};
use crate::model::{CarrierText, HeaderText, Job, Transfers};
use crate::place::Place;
use keys::Remark;
use std::sync::Arc;
use transport::{
    Application, ConnectionSpec, Delay, FramesSpec, MrcKeys, QueuePairs, RdmaKeys, RdmaVerb, Scheduled,
    TcpKeys, UetKeys,
};
use units::Bytes;
use workload::{Framing, ServiceOrder, frame_length};

/// Returns the framing of transfers, and their transport if they have one.
pub fn of_transfers(
    entry: &Transfers,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Option<Arc<ConnectionSpec>>)> {
    let frame = files::take(frame_length(entry.frame), &at.key("frame"), context)?;
    if entry.over == CarrierText::Frames {
        return Some((framing_of(frame, entry.header, at, context)?, None));
    }
    let (name, table) = names(&entry.over);
    refuse_header(entry.header, (name, table), at, context);
    if entry.order != ServiceOrder::RoundRobin {
        let help = "connections share the NIC in turn; expected \"round_robin\"";
        context.error(&at.key("order"), format!("an order beside {name}"), help);
    }
    let (framing, application) = application(&entry.over, frame, &at.key("over").key(table), context)?;
    Some((framing, Some(Arc::new(ConnectionSpec { start: entry.start, stop: None, application }))))
}

/// Returns the framing of a job's messages in frames of at most this length, and their transport.
pub fn of_job(
    job: &Job,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Arc<ConnectionSpec>)> {
    let place = at;
    let at = at.key("over");
    let (name, table) = names(&job.over);
    if job.over == CarrierText::Frames {
        let framing = framing_of(frame, job.header, place, context)?;
        let application = Application::Transfers(Scheduled::Frames(FramesSpec(framing)));
        return Some((framing, Arc::new(ConnectionSpec { start: job.start, stop: None, application })));
    }
    refuse_header(job.header, (name, table), place, context);
    match &job.over {
        CarrierText::Rdma(keys) if keys.verb == RdmaVerb::Read => {
            let help = "messages of a job are sent by the rank that has them; expected \"send\" or \"write\"";
            context.error(&at.key(table).key("verb"), "a job that reads", help);
            return None;
        }
        CarrierText::Rdma(keys) if keys.queue_pairs != QueuePairs::One => {
            let help = "a job has one queue pair for each pair of ranks and direction; leave this key out";
            context.error(&at.key(table).key("queue_pairs"), "queue_pairs of a job", help);
            return None;
        }
        _ => {}
    }
    let (framing, application) = application(&job.over, frame, &at.key(table), context)?;
    Some((framing, Arc::new(ConnectionSpec { start: job.start, stop: None, application })))
}

/// Returns the framing of transfers without a transport, in frames of this length.
fn framing_of(
    frame: u16,
    header: Option<HeaderText>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<Framing> {
    let header = header.map_or(Bytes::default(), HeaderText::bytes);
    let fits = u16::try_from(header.get()).ok().filter(|&header| header < frame);
    if fits.is_none() {
        let message = format!("a header of {header} in a frame of {frame} B");
        let help = "expected less than `frame`: a frame carries bytes of the transfer";
        context.error(&at.key("header"), message, help);
    }
    Some(Framing { frame, header: fits? })
}

/// Rejects the key `header` together with a transport.
fn refuse_header(
    header: Option<HeaderText>,
    (name, table): (&str, &str),
    at: &Place,
    context: &mut Context<'_>,
) {
    if header.is_some() {
        let help =
            format!("expected `headers` in the table {table}, which counts those of IP and {name} too");
        context.error(&at.key("header"), format!("header beside {name}"), help);
    }
}

/// Returns the name of a transport, and that of its table.
fn names(over: &CarrierText) -> (&'static str, &'static str) {
    match over {
        CarrierText::Rdma(_) => ("RDMA", "rdma"),
        CarrierText::Uet(_) => ("UET", "uet"),
        CarrierText::Mrc(_) => ("MRC", "mrc"),
        CarrierText::Tcp(_) | CarrierText::Frames => ("TCP", "tcp"),
    }
}

fn application(
    over: &CarrierText,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Application)> {
    match over {
        CarrierText::Frames => None,
        CarrierText::Tcp(keys) => over_tcp(keys, frame, at, context),
        CarrierText::Rdma(keys) => over_rdma(keys, frame, at, context),
        CarrierText::Uet(keys) => over_uet(keys, frame, at, context),
        CarrierText::Mrc(keys) => over_mrc(keys, frame, at, context),
    }
}

/// Rejects a message length, because transfers and jobs define it.
fn refuse_length(is_given: bool, at: &Place, context: &mut Context<'_>) {
    if is_given {
        let help = "each transfer is a message with a length from `sizes`; leave this key out";
        context.error(&at.key("message"), "message of scheduled transfers", help);
    }
}

/// Returns the carrier if its keys are valid, and reports errors and warnings.
fn reported<T>(
    made: Result<(T, Vec<Remark>), Vec<Remark>>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<T> {
    let refused = |wrong: Vec<Remark>| wrong.into_iter().for_each(|why| context.refuse(why, at));
    let (spec, warnings) = made.map_err(refused).ok()?;
    warnings.into_iter().for_each(|why| context.beware(why, at));
    Some(spec)
}

/// Returns queue pairs that carry transfers in frames of at most this length.
fn over_rdma(
    keys: &RdmaKeys,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Application)> {
    refuse_length(keys.message.value().is_some(), at, context);
    let spec = reported(keys.carrier(Some(Bytes::new(0)), frame), at, context)?;
    let framing = Framing { frame: spec.frame_bytes(spec.mtu), header: spec.headers };
    Some((framing, Application::Transfers(Scheduled::Rdma(spec))))
}

/// Returns packet delivery contexts that carry transfers in frames of at most this length.
fn over_uet(
    keys: &UetKeys,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Application)> {
    refuse_length(keys.message.value().is_some(), at, context);
    let spec = reported(keys.carrier(Some(Bytes::new(0)), frame), at, context)?;
    let framing = Framing { frame: spec.frame_bytes(spec.payload), header: spec.headers };
    Some((framing, Application::Transfers(Scheduled::Uet(spec))))
}

/// Returns MRC connections that carry transfers in frames of at most this length.
fn over_mrc(
    keys: &MrcKeys,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Application)> {
    let spec = reported(keys.carrier(frame), at, context)?;
    let framing = Framing { frame: spec.frame_bytes(spec.payload), header: spec.headers };
    Some((framing, Application::Transfers(Scheduled::Uet(spec))))
}

/// Returns TCP connections that carry transfers in frames of at most this length.
fn over_tcp(
    keys: &TcpKeys,
    frame: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Framing, Application)> {
    for (key, written) in
        [("transfer", keys.transfer.value().is_some()), ("idle", keys.idle != Delay::default())]
    {
        if written {
            let help = "`sizes` and `arrivals` define the messages and their times; leave this key out";
            context.error(&at.key(key), format!("{key} of scheduled transfers"), help);
        }
    }
    let spec = reported(keys.carrier(Some(Bytes::new(0)), frame), at, context)?;
    let framing = Framing { frame: spec.frame_bytes(spec.segment), header: spec.headers };
    Some((framing, Application::Transfers(Scheduled::Tcp(spec))))
}
