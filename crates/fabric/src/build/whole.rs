//! The right to access all nodes of a part at once.

/// Proof that the holder is code for the whole fabric, not a step of one node. Only the builder creates it, and a
/// [`Fabric`](crate::run::fabric::Fabric) keeps it. Steps receive no `Fabric` and cannot create this value. The type is
/// in a module of its own, named at the root of the crate, because Rust has no narrower visibility than a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole(());

/// The proof, for the builder.
pub(in crate::build) const WHOLE: Whole = Whole(());
