//! Views: octets of sufficient length, with an accessor for each field.
//!
//! A view returns the raw value of each field, valid or not. The value types of this crate interpret it.

/// A big-endian field of fixed size.
pub trait Field: Sized {
    /// Size in octets.
    const BYTES: usize = size_of::<Self>();
    /// Reads the field from the beginning of `bytes`, which has at least [`Self::BYTES`] octets.
    fn read(bytes: &[u8]) -> Self;
    /// Appends the field.
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Field for $type {
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                Self::from_be_bytes(Field::read(bytes))
            }
            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}
integer!(u8, u16, i16, u32, u64);

impl<const N: usize> Field for [u8; N] {
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self);
    }
}

/// Declares a view: its name, its name in errors, its minimum length, and the position of each field.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $name:ident($what:literal, $least:literal) { $($(#[$about:meta])* $field:ident: $type:ty = $at:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a>(&'a [u8]);

        impl<'a> $name<'a> {
            /// Minimum length in octets.
            pub const BYTES: usize = $least;

            /// Creates a view of the first [`Self::BYTES`] octets of `bytes`.
            pub fn new(bytes: &'a [u8]) -> Result<Self, $crate::Error> {
                if bytes.len() < $least {
                    return Err($crate::Error::Short { what: $what, needed: $least, got: bytes.len() });
                }
                Ok($name(bytes))
            }
            $(
                $(#[$about])*
                pub fn $field(&self) -> $type {
                    const END: usize = $at + <$type as $crate::view::Field>::BYTES;
                    const { assert!(END <= $least) };
                    <$type as $crate::view::Field>::read(&self.0[$at..])
                }
            )*
            /// Returns the octets after the view.
            pub fn rest(&self) -> &'a [u8] {
                &self.0[$least..]
            }
        }
    };
}
pub(crate) use view;
