//! Which application runs over which transport, and why others do not: one table, from which the errors of `check` and the
//! page of the documentation come.

use keys::Remark;

/// What may carry an application, by name: frames of its own without a transport, TCP, RDMA.
pub const TRANSPORTS: [&str; 3] = ["frames", "tcp", "rdma"];

/// An application over a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It runs, written like this.
    Runs(&'static str),
    /// It does not.
    Refused {
        /// The reason.
        why: &'static str,
        /// What is accepted.
        instead: &'static str,
    },
}

/// An application, and what may carry it.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// The application, as scenarios name it.
    pub application: &'static str,
    /// What it sends.
    pub about: &'static str,
    /// By [`TRANSPORTS`].
    pub over: [Fit; 3],
}

const NEEDS_TRANSPORT: Fit = Fit::Refused {
    why: "its messages have no numbers of their own by which lost or overtaken frames would be noticed",
    instead: "expected `tcp` or `rdma`; request_response sends frames without a transport",
};
const PUSHED: Fit = Fit::Refused {
    why: "its frames are due by a clock, whatever becomes of those before",
    instead: "expected [[transfers]] with `arrivals` and `over`, which carries what falls due",
};

/// All of them.
pub static COMBINATIONS: &[Combination] = &[
    Combination {
        application: "pushed",
        about: "frames by an arrival process (`constant`, `bernoulli`, `poisson`, `on_off`, \"greedy\")",
        over: [Fit::Runs("source = { poisson = { ... } }"), PUSHED, PUSHED],
    },
    Combination {
        application: "bulk",
        about: "one transfer of `limit` bytes, or without end",
        over: [
            Fit::Runs("source = { window = { ... } }"),
            Fit::Runs("source = { tcp = { ... } }"),
            Fit::Runs("source = { rdma = { ... } }"),
        ],
    },
    Combination {
        application: "transfers",
        about: "`[[transfers]]`: messages by arrival, file or dependency",
        over: [
            Fit::Runs("over = \"frames\""),
            Fit::Runs("over = { tcp = { ... } }"),
            Fit::Runs("over = { rdma = { ... } }"),
        ],
    },
    Combination {
        application: "request_response",
        about: "requests, and a response to each",
        over: [
            Fit::Runs("request_response = { ... }"),
            Fit::Runs("request_response = { ..., tcp = { ... } }"),
            Fit::Runs("request_response = { ..., rdma = { ... } }"),
        ],
    },
    Combination {
        application: "conversation",
        about: "messages in turn, of sizes that are listed or of an application",
        over: [
            NEEDS_TRANSPORT,
            Fit::Runs("conversation = { ... }"),
            Fit::Runs("conversation = { ..., rdma = { ... } }"),
        ],
    },
    Combination {
        application: "iscsi",
        about: "blocks, as messages of a conversation (`iscsi_read`, `iscsi_write`)",
        over: [
            NEEDS_TRANSPORT,
            Fit::Runs("conversation = { messages = \"iscsi_read\" }"),
            Fit::Runs("conversation = { messages = \"iscsi_read\", rdma = { ... } } (iSER)"),
        ],
    },
    Combination {
        application: "iwarp",
        about: "RDMA over TCP, as messages of a conversation (`iwarp_read`, `iwarp_write`, `iwarp_send`)",
        over: [
            NEEDS_TRANSPORT,
            Fit::Runs("conversation = { messages = \"iwarp_read\" }"),
            Fit::Refused {
                why: "iWARP makes RDMA out of a stream of TCP, and RoCEv2 has no stream",
                instead: "expected a list of sizes, as in messages = [\"64 B\", \"1 MiB\"], or [[transfers]] with verb = \"read\" or \"write\"",
            },
        ],
    },
    Combination {
        application: "mpi_exchange",
        about: "steps of ranks in a ring",
        over: [
            NEEDS_TRANSPORT,
            Fit::Runs("mpi_exchange = { ... }"),
            Fit::Runs("mpi_exchange = { ..., rdma = { ... } }"),
        ],
    },
    Combination {
        application: "fcoe",
        about: "exchanges of Fibre Channel over Ethernet",
        over: [
            Fit::Runs("source = { fcoe = { ... } }"),
            Fit::Refused {
                why: "FCoE is Fibre Channel in frames of Ethernet; over TCP it would be FCIP or iFCP, which are not modelled",
                instead: "expected no transport, or conversation = { messages = \"iscsi_read\" } for blocks over TCP",
            },
            Fit::Refused {
                why: "FCoE is Fibre Channel in frames of Ethernet, and no standard carries it over RDMA",
                instead: "expected no transport, or conversation = { messages = \"iscsi_read\", rdma = {} } for blocks over RDMA",
            },
        ],
    },
];

/// Why an application does not run over a transport, and what is accepted; `None`: it runs, or one of them is unknown.
pub fn refusal(application: &str, transport: &str) -> Option<Remark> {
    let nth = TRANSPORTS.iter().position(|&name| name == transport)?;
    let row = COMBINATIONS.iter().find(|row| row.application == application)?;
    let Fit::Refused { why, instead } = row.over[nth] else { return None };
    Some(Remark::new(format!("{application} over {transport}: {why}"), instead))
}

/// As [`refusal`], of a source of a flow; the transport of a transfer is a source itself.
pub fn refused(source: &str, transport: &str) -> Option<Remark> {
    if source != "window" {
        return refusal(source, transport).map(|why| Remark {
            message: why.message.replace("pushed", "frames that a source pushes"),
            ..why
        });
    }
    let nth = TRANSPORTS.iter().position(|&name| name == transport)?;
    let row = COMBINATIONS.iter().find(|row| row.application == "bulk")?;
    let Fit::Runs(form) = row.over[nth] else { return None };
    let message = format!("unknown key `{transport}`: a window sends frames without a transport");
    Some(Remark::new(message, format!("expected {form}")))
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut text = "| application | frames | TCP | RDMA |\n|---|---|---|---|\n".to_string();
    let cell = |fit: &Fit| match fit {
        Fit::Runs(form) => format!("`{form}`").replace(" (iSER)`", "` (iSER)"),
        Fit::Refused { why, .. } => format!("no: {why}"),
    };
    for Combination { application, about, over } in COMBINATIONS {
        let cells: Vec<String> = over.iter().map(cell).collect();
        text += &format!("| {application}: {about} | {} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_application_of_scenarios_is_in_the_table() {
        let names: Vec<&str> = COMBINATIONS.iter().map(|row| row.application).collect();
        // Of a flow that is one transfer the source is named after what carries it.
        let bulk = ["window", "tcp", "rdma"];
        for name in crate::Applications::NAMES.iter().filter(|name| !bulk.contains(name)) {
            assert!(names.contains(name), "{name} is missing");
        }
        assert!(refusal("fcoe", "rdma").is_some_and(|why| why.message.starts_with("fcoe over rdma: ")));
        assert_eq!((refusal("conversation", "rdma"), refusal("nobody", "tcp")), (None, None));
    }

    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../docs/applications.md");
        assert!(page.contains(&markdown()), "docs/applications.md should contain:\n{}", markdown());
    }
}
