//! The torus: switches at the points of a grid of one or more dimensions, each linked to its two neighbours in every
//! dimension, with a link from the last switch of a row to the first. A dimension of size 2 has one link between its
//! two switches, not two.
//!
//! Source: Dally and Towles, Principles and practices of interconnection networks (2004, §5.1: k-ary n-cubes).
//!
//! Not modelled: dimension-order routing. Paths are shortest paths, which over the links that close a row can wait for
//! each other in a cycle (§14.2); `check` warns of it if frames are paused.

use super::{Cable, Count, Graph, Regular, Size, at_least, with_cable};
use frame::NodeId;
use keys::Remark;

/// Maximum number of dimensions: hardware with more is not built.
const MOST_DIMENSIONS: usize = 6;

with_cable! {
    /// Grid of switches with wrap-around links: `sw0.0`, `sw0.1`, ..., with one coordinate per dimension; hosts `h0`, ... in the order of the switches, in which the last coordinate changes first.
    Torus {
        /// Number of switches in each dimension. A list of 1 to 6 counts, each at least 2, like `[4, 4, 2]`. Required.
        dimensions: Vec<u64>,
        /// Number of hosts at each switch. A count, at least 1. Required.
        hosts_per_switch: u64,
    }
}

impl Torus {
    fn switches(&self) -> Option<u64> {
        self.dimensions.iter().try_fold(1u64, |all, &one| all.checked_mul(one))
    }
    /// Number of links between the switches: a ring in each row of each dimension.
    fn rings(&self, switches: u64) -> Option<u64> {
        let of_dimension = |&size: &u64| if size == 2 { switches / 2 } else { switches };
        self.dimensions.iter().map(of_dimension).try_fold(0u64, u64::checked_add)
    }
}

impl Regular for Torus {
    const LAYERED: bool = false;

    fn counts(&self) -> Vec<Count> {
        let sizes = self.dimensions.iter().map(|&size| at_least(2, "dimensions", size));
        sizes.chain([at_least(1, "hosts_per_switch", self.hosts_per_switch)]).collect()
    }
    fn check(&self) -> Result<(), Remark> {
        if (1..=MOST_DIMENSIONS).contains(&self.dimensions.len()) {
            return Ok(());
        }
        let message = format!("a torus of {} dimensions", self.dimensions.len());
        let help = format!("expected 1 to {MOST_DIMENSIONS} counts, like [4, 4]");
        Err(Remark::about("dimensions", message, help))
    }
    fn size(&self) -> Option<Size> {
        let switches = self.switches()?;
        let hosts = switches.checked_mul(self.hosts_per_switch)?;
        let links = hosts.checked_add(self.rings(switches)?)?;
        Some(Size { nodes: hosts.checked_add(switches)?, links })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let count = self.switches().unwrap_or_default();
        let mut switches: Vec<NodeId> = Vec::new();
        for number in 0..count {
            let mut coordinates = Vec::new();
            let mut rest = number;
            for &size in self.dimensions.iter().rev() {
                coordinates.push((rest % size).to_string());
                rest /= size;
            }
            coordinates.reverse();
            let switch = graph.switch(format!("sw{}", coordinates.join(".")), 1);
            graph.hosts_below(switch, number * self.hosts_per_switch, self.hosts_per_switch, cable);
            switches.push(switch);
        }
        // Distance of neighbours in a dimension, in the order of the switches.
        let mut step = 1;
        for &size in self.dimensions.iter().rev() {
            for number in 0..count {
                let place = number / step % size;
                // With two switches, the second is not linked back to the first.
                if size == 2 && place == 1 {
                    continue;
                }
                let next = number - place * step + (place + 1) % size * step;
                graph.link(switches[number as usize], switches[next as usize], cable);
            }
            step *= size;
        }
    }
}
