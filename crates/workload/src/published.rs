//! Published distributions of transfer sizes, one file each.
//!
//! A distribution function is given by points and linear between them.

mod ali_storage;
mod data_mining;
mod fb_hadoop;
mod google_rpc;
mod hadoop;
mod web_search;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the closed enum of distributions from one list.
macro_rules! published {
    ($($(#[$doc:meta])+ $file:ident: $name:ident),* $(,)?) => {
        /// A published distribution of sizes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum PublishedSizes {
            $($(#[$doc])+ $name,)*
        }

        impl PublishedSizes {
            /// Returns sizes in bytes, each with the percentage of transfers of at most that size.
            pub fn points(self) -> &'static [(u64, f64)] {
                match self { $(PublishedSizes::$name => $file::POINTS,)* }
            }
        }
    };
}

published! {
    /// Web searches (DCTCP): mean 1,711,250 B, half of the transfers at most 73 kB.
    web_search: WebSearch,
    /// A Hadoop cluster of Facebook: mean 120,421 B, half of the transfers at most 700 B.
    fb_hadoop: FbHadoop,
    /// Storage at Alibaba: mean 40,870 B, half of the transfers at most 6.3 kB.
    ali_storage: AliStorage,
    /// Remote procedure calls at Google: mean 3,312 B, half of the transfers at most 257 B.
    google_rpc: GoogleRpc,
    /// A Hadoop cluster (ABM): mean 3,422,157 B, half of the transfers at most 73 kB.
    hadoop: Hadoop,
    /// Data mining (VL2): mean 5,036,535 B, half of the transfers at most 970 B.
    data_mining: DataMining,
}
