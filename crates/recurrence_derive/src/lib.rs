//! `derive(Recurs)`: the walk over every field of a state (see the crate `recurrence`).

#![warn(clippy::too_many_lines)]

use proc_macro::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Member, Result, Variant,
    parse_macro_input,
};

/// Implements `recurrence::Recurs` by a walk over all fields in their order. Attributes of fields:
///
/// - `#[recurs(constant)]`, `#[recurs(measured)]`, `#[recurs(scratch)]`: no part of the state that decides what follows;
/// - `#[recurs(past)]`: a time of which only matters whether it is over;
/// - `#[recurs(duration)]`: a time that is no instant;
/// - `#[recurs(label)]`: a label of a message, or none, which counts from the phase of the walk;
/// - `#[recurs(from = EXPRESSION)]`: a number that counts from another one, such as `self.first`;
/// - `#[recurs(with = FUNCTION)]`: a method that visits it, and may visit others that are left out;
/// - `#[recurs(unless_empty = "REASON")]`: not classified; a state in which it is not empty is unknown;
/// - `#[recurs(unknown = "REASON")]`, of a variant too: not classified; a state that has it is unknown.
#[proc_macro_derive(Recurs, attributes(recurs))]
pub fn derive(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    walk_of(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Class of a field.
enum Class {
    Walked,
    Left,
    Past,
    Duration,
    Label,
    From(Box<Expr>),
    With(Box<Expr>),
    UnlessEmpty(LitStr),
    Unknown(LitStr),
}

fn class_of(attributes: &[Attribute]) -> Result<Class> {
    let mut class = Class::Walked;
    for attribute in attributes.iter().filter(|own| own.path().is_ident("recurs")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            class = match name.as_str() {
                "constant" | "measured" | "scratch" => Class::Left,
                "past" => Class::Past,
                "duration" => Class::Duration,
                "label" => Class::Label,
                "from" => Class::From(Box::new(meta.value()?.parse()?)),
                "with" => Class::With(Box::new(meta.value()?.parse()?)),
                "unless_empty" => Class::UnlessEmpty(meta.value()?.parse()?),
                "unknown" => Class::Unknown(meta.value()?.parse()?),
                _ => return Err(meta.error("no class of a field")),
            };
            Ok(())
        })?;
    }
    Ok(class)
}

/// The walk over a field, of which `place` is a reference.
fn step(field: &Field, name: &str, place: &proc_macro2::TokenStream) -> Result<proc_macro2::TokenStream> {
    let body = match class_of(&field.attrs)? {
        Class::Left => return Ok(quote! { let _ = #place; }),
        Class::Walked => quote! { ::recurrence::Recurs::walk(#place, walk); },
        Class::Past => quote! { walk.past(*#place); },
        Class::Duration => quote! { walk.word((#place).ps()); },
        Class::Label => quote! { walk.label(*#place); },
        Class::From(base) => quote! { ::recurrence::Numbered::walk_from(#place, #base, walk); },
        Class::With(function) => quote! { let _ = #place; #function(self, walk); },
        Class::UnlessEmpty(reason) => quote! { walk.unless_empty(#place, #reason); },
        Class::Unknown(reason) => quote! { let _ = #place; walk.unknown(#reason); },
    };
    Ok(quote! { walk.field(#name); #body })
}

fn walk_of(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let body = match &input.data {
        Data::Struct(data) => {
            let steps = members(&data.fields).map(|(member, field)| {
                let text = format!("{name}.{}", quote! { #member });
                step(field, &text, &quote! { (&self.#member) })
            });
            let steps = steps.collect::<Result<Vec<_>>>()?;
            quote! { #(#steps)* }
        }
        Data::Enum(data) => {
            let arms = data.variants.iter().enumerate().map(|(number, variant)| arm(name, number, variant));
            let arms = arms.collect::<Result<Vec<_>>>()?;
            quote! { match self { #(#arms)* } }
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "a union has no walk")),
    };
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::recurrence::Recurs for #name #arguments #bounds {
            fn walk(&self, walk: &mut ::recurrence::Walk) { #body }
        }
    })
}

fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Field)> {
    fields.members().zip(fields)
}

fn arm(name: &Ident, number: usize, variant: &Variant) -> Result<proc_macro2::TokenStream> {
    let (own, number) = (&variant.ident, number as u64);
    if let Class::Unknown(reason) = class_of(&variant.attrs)? {
        return Ok(quote! { #name::#own { .. } => walk.unknown(#reason), });
    }
    let mut binds = Vec::new();
    let mut steps = Vec::new();
    for (nth, (member, field)) in members(&variant.fields).enumerate() {
        let place = quote::format_ident!("field_{nth}");
        let text = format!("{name}::{own}.{}", quote! { #member });
        steps.push(step(field, &text, &quote! { (#place) })?);
        binds.push(quote! { #member: #place });
    }
    Ok(quote! { #name::#own { #(#binds),* } => { walk.word(#number); #(#steps)* } })
}
