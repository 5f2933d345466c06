//! Views: bytes that are long enough, and an accessor for each field.
//!
//! A view says what stands in a field, legal or not; the values of this crate say what it means.

/// A field of fixed size, big endian.
pub trait Field: Sized {
    /// Octets of the field.
    const BYTES: usize = size_of::<Self>();
    /// Reads it from the beginning of `bytes`, which has [`Self::BYTES`] octets at least.
    fn read(bytes: &[u8]) -> Self;
    /// Appends it.
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

/// Declares a view: name, what errors call it, its least length, and the place of each field.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $name:ident($what:literal, $least:literal) { $($(#[$about:meta])* $field:ident: $type:ty = $at:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a>(&'a [u8]);

        impl<'a> $name<'a> {
            /// The least length in octets.
            pub const BYTES: usize = $least;

            /// A view of the beginning of `bytes`.
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
            /// What follows.
            pub fn rest(&self) -> &'a [u8] {
                &self.0[$least..]
            }
        }
    };
}
pub(crate) use view;
