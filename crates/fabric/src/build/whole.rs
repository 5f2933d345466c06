//! The right to access all nodes of a part at once.

/// Proof that the code which holds it is about the whole, and no step of one node: the builder makes it, and a
/// [`Fabric`](crate::run::fabric::Fabric) keeps it. Steps receive no `Fabric`, and no step can make this. It is here, as Rust has no narrower
/// visibility than that of a module, and the crate names it at its root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole(());

/// For the builder.
pub(in crate::build) const WHOLE: Whole = Whole(());
