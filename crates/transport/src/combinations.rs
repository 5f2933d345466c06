//! The table of which applications run over which transports, and of the reasons against the other combinations. The
//! errors of `check` and a documentation page are generated from it.

use crate::Transport;
use keys::Remark;

/// Name of the carrier if an application sends frames without a transport.
pub const FRAMES: &str = "frames";

/// The result for an application over a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The application runs. The text is its form in a scenario, with `@` for the name of the transport.
    Runs(&'static str),
    /// The application does not run.
    Refused {
        /// The reason.
        why: &'static str,
        /// The accepted alternative.
        instead: &'static str,
    },
}

/// An application and its possible carriers.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// Name of the application in scenarios.
    pub application: &'static str,
    /// Description of the data that the application sends.
    pub about: &'static str,
    /// Carriers: frames without a transport, or a transport by name.
    pub over: &'static [(&'static str, Fit)],
    /// Result for all other transports.
    pub others: Fit,
}

const NEEDS_TRANSPORT: Fit = Fit::Refused {
    why: "its messages have no sequence numbers, so that lost or reordered frames would not be detected",
    instead: "expected a transport; request_response sends frames without one",
};
const PUSHED: Fit = Fit::Refused {
    why: "frames are sent at scheduled times, without regard to losses and acknowledgements",
    instead: "expected [[transfers]] with `arrivals` and `over`, which sends messages at scheduled times",
};
const NO_ENDPOINTS: Fit = Fit::Refused {
    why: "this transport only carries messages of applications",
    instead: "expected tcp, rdma or uet",
};

/// All combinations.
pub static COMBINATIONS: &[Combination] = &[
    Combination {
        application: "pushed",
        about: "frames by an arrival process (`constant`, `bernoulli`, `poisson`, `on_off`, \"greedy\")",
        over: &[(FRAMES, Fit::Runs("source = { poisson = { ... } }"))],
        others: PUSHED,
    },
    Combination {
        application: "bulk",
        about: "one transfer of `limit` bytes, or an unlimited one",
        over: &[
            (FRAMES, Fit::Runs("source = { window = { ... } }")),
            ("tcp", Fit::Runs("source = { tcp = { ... } }")),
            ("rdma", Fit::Runs("source = { rdma = { ... } }")),
            ("uet", Fit::Runs("source = { uet = { ... } }")),
        ],
        others: NO_ENDPOINTS,
    },
    Combination {
        application: "transfers",
        about: "`[[transfers]]`: messages by arrival, file or dependency",
        over: &[
            (FRAMES, Fit::Runs("over = \"frames\"")),
            ("tcp", Fit::Runs("over = { tcp = { ... } }")),
            ("rdma", Fit::Runs("over = { rdma = { ... } }")),
            ("uet", Fit::Runs("over = { uet = { ... } }")),
        ],
        others: NO_ENDPOINTS,
    },
    Combination {
        application: "request_response",
        about: "requests with one response each",
        over: &[(FRAMES, Fit::Runs("request_response = { ... }"))],
        others: Fit::Runs("request_response = { ..., @ = { ... } }"),
    },
    Combination {
        application: "conversation",
        about: "messages that both ends send in turn, with listed sizes or those of an application",
        over: &[(FRAMES, NEEDS_TRANSPORT)],
        others: Fit::Runs("conversation = { ..., @ = { ... } }"),
    },
    Combination {
        application: "iscsi",
        about: "blocks, as messages of a conversation (`iscsi_read`, `iscsi_write`); over RDMA it is iSER",
        over: &[
            (FRAMES, NEEDS_TRANSPORT),
            ("tcp", Fit::Runs("conversation = { messages = \"iscsi_read\", tcp = { ... } }")),
            ("rdma", Fit::Runs("conversation = { messages = \"iscsi_read\", rdma = { ... } }")),
        ],
        others: Fit::Refused {
            why: "iSCSI runs over TCP (RFC 7143), or over RDMA as iSER (RFC 7145)",
            instead: "expected tcp or rdma",
        },
    },
    Combination {
        application: "iwarp",
        about: "RDMA over TCP, as messages of a conversation (`iwarp_read`, `iwarp_write`, `iwarp_send`)",
        over: &[
            (FRAMES, NEEDS_TRANSPORT),
            ("tcp", Fit::Runs("conversation = { messages = \"iwarp_read\", tcp = { ... } }")),
        ],
        others: Fit::Refused {
            why: "iWARP is RDMA over a TCP byte stream, which this transport does not provide",
            instead: "expected a list of sizes, as in messages = [\"64 B\", \"1 MiB\"], or [[transfers]] with verb = \"read\" or \"write\"",
        },
    },
    Combination {
        application: "mpi_exchange",
        about: "steps of ranks in a ring",
        over: &[(FRAMES, NEEDS_TRANSPORT)],
        others: Fit::Runs("mpi_exchange = { ..., @ = { ... } }"),
    },
    Combination {
        application: "fcoe",
        about: "exchanges of Fibre Channel over Ethernet",
        over: &[
            (FRAMES, Fit::Runs("source = { fcoe = { ... } }")),
            (
                "tcp",
                Fit::Refused {
                    why: "FCoE is Fibre Channel in Ethernet frames; Fibre Channel over TCP is FCIP or iFCP, which are not modelled",
                    instead: "expected no transport, or conversation = { messages = \"iscsi_read\" } for blocks over TCP",
                },
            ),
        ],
        others: Fit::Refused {
            why: "FCoE is Fibre Channel in Ethernet frames, and no standard defines it over this transport",
            instead: "expected no transport, or conversation = { messages = \"iscsi_read\", rdma = {} } for blocks over RDMA",
        },
    },
];

impl Combination {
    /// Returns the result for a transport, or for frames without a transport.
    fn fit(&self, transport: &str) -> Fit {
        self.over.iter().find(|(name, _)| *name == transport).map_or(self.others, |&(_, fit)| fit)
    }
}

fn is_known(transport: &str) -> bool {
    transport == FRAMES || Transport::NAMES.contains(&transport)
}

/// Returns why an application does not run over a transport, and what is accepted; `None` if it runs or if one of the
/// names is unknown.
pub fn refusal(application: &str, transport: &str) -> Option<Remark> {
    let row = COMBINATIONS.iter().find(|row| row.application == application && is_known(transport))?;
    let Fit::Refused { why, instead } = row.fit(transport) else { return None };
    Some(Remark::new(format!("{application} over {transport}: {why}"), instead))
}

/// Variant of [`refusal`] for a flow's source that contains the name of a transport as a key, although the source has
/// no such key.
pub fn refused(source: &str, transport: &str) -> Option<Remark> {
    if source != "window" {
        let named =
            |why: Remark| Remark { message: why.message.replacen("pushed", "frames of a source", 1), ..why };
        return refusal(source, transport).map(named);
    }
    let row = COMBINATIONS.iter().find(|row| row.application == "bulk" && is_known(transport))?;
    let message = format!("unknown key `{transport}`: a window sends frames without a transport");
    let help = match row.fit(transport) {
        Fit::Runs(form) => format!("expected {form}"),
        Fit::Refused { instead, .. } => instead.to_string(),
    };
    Some(Remark::new(message, help))
}

/// Returns the table as Markdown.
pub fn markdown() -> String {
    let names: Vec<&str> = std::iter::once(FRAMES).chain(Transport::NAMES.iter().copied()).collect();
    let mut text = format!("| application | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let cell = |fit: Fit, transport: &str| match fit {
        Fit::Runs(form) => format!("`{}`", form.replace('@', transport)),
        Fit::Refused { why, .. } => format!("no: {why}"),
    };
    for row in COMBINATIONS {
        let cells: Vec<String> = names.iter().map(|name| cell(row.fit(name), name)).collect();
        text += &format!("| {}: {} | {} |\n", row.application, row.about, cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_application_of_scenarios_is_in_the_table() {
        let names: Vec<&str> = COMBINATIONS.iter().map(|row| row.application).collect();
        // A flow that is a single transfer names its source after the carrier.
        let bulk = ["window", "tcp", "rdma", "uet"];
        for name in crate::Applications::NAMES.iter().filter(|name| !bulk.contains(name)) {
            assert!(names.contains(name), "{name} is missing");
        }
        assert!(refusal("fcoe", "rdma").is_some_and(|why| why.message.starts_with("fcoe over rdma: ")));
        assert_eq!((refusal("conversation", "rdma"), refusal("nobody", "tcp")), (None, None));
    }

    #[test]
    fn the_page_has_the_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/applications.md");
        let page = std::fs::read_to_string(page).expect("the page");
        assert!(page.contains(&markdown()), "docs/applications.md should contain:\n{}", markdown());
    }
}
