//! A step that tries to make the right to look at all nodes. Each line with a code is an error of the compiler.

use crate::Whole;
use crate::run::state::view::NodeView;

pub fn by_right(here: &NodeView) -> usize {
    let of_builder = here.nodes.all(crate::build::whole::WHOLE).len(); // E0603
    let made = here.nodes.all(Whole(())).len(); // E0423
    of_builder + made
}
