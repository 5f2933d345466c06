//! `derive(Recurs)`: the walk over every field of a state, and `derive(Counts)`: the visit of its counters (see the crate `recurrence`).

#![warn(clippy::too_many_lines)]

use proc_macro::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Member, Result, Variant,
    parse_macro_input,
};

/// Implements `recurrence::Recurs` with a walk over all fields in order. Attributes of fields:
///
/// - `#[recurs(constant)]`, `#[recurs(scratch)]`: not a part of the state that affects the future;
/// - `#[recurs(measured)]`: a counter, which does not affect the future, and grows equally in each period;
/// - `#[recurs(grows_with = EXPRESSION)]`: an amount to add to another number, which is a counter and part of the
///   state, for skipped periods;
/// - `#[recurs(recorded)]`: a list, an extreme or a time, which does not affect the future;
/// - `#[recurs(past)]`: a time that matters only while it is in the future;
/// - `#[recurs(duration)]`: a duration instead of a point in time;
/// - `#[recurs(label)]`: a label of a message, or none, relative to the phase of the walk;
/// - `#[recurs(from = EXPRESSION)]`: a number relative to another one, such as `self.first`;
/// - `#[recurs(with = FUNCTION)]`: a method that visits the field, and may visit other fields that are excluded;
/// - `#[recurs(unless_empty = "REASON")]`: not classified; the state is unknown unless the field is empty;
/// - `#[recurs(unknown = "REASON")]`, also of a variant: not classified; a state with it is unknown.
#[proc_macro_derive(Recurs, attributes(recurs))]
pub fn derive(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    walk_of(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `recurrence::Counts` for a structure of counters. Attributes of fields:
///
/// - `#[counts(not)]`: an extreme or a time, which does not change.
#[proc_macro_derive(Counts, attributes(counts))]
pub fn derive_counts(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    counts_of(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Class of a field.
enum Class {
    Walked,
    Left,
    Measured,
    GrowsWith(Box<Expr>),
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
                "constant" | "recorded" | "scratch" => Class::Left,
                "measured" => Class::Measured,
                "grows_with" => Class::GrowsWith(Box::new(meta.value()?.parse()?)),
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

/// Returns the code that visits a field; `place` is a reference to it.
fn step(field: &Field, name: &str, place: &proc_macro2::TokenStream) -> Result<proc_macro2::TokenStream> {
    let body = match class_of(&field.attrs)? {
        Class::Left | Class::Measured | Class::GrowsWith(_) => return Ok(quote! { let _ = #place; }),
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

/// Returns the code that visits the counters of a field; `place` is a mutable reference to it. `None` if it has no
/// counters.
fn growth(field: &Field, place: &proc_macro2::TokenStream) -> Result<Option<proc_macro2::TokenStream>> {
    Ok(match class_of(&field.attrs)? {
        Class::Walked => Some(quote! { ::recurrence::Recurs::grow(#place, growth); }),
        Class::Measured => Some(quote! { ::recurrence::Counts::advance(#place, growth); }),
        Class::GrowsWith(counter) => Some(quote! { *#place += growth.of((#counter).into()) as u64; }),
        _ => None,
    })
}

fn walk_of(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let (body, counters) = match &input.data {
        Data::Struct(data) => {
            let steps = members(&data.fields).map(|(member, field)| {
                let text = format!("{name}.{}", quote! { #member });
                step(field, &text, &quote! { (&self.#member) })
            });
            let steps = steps.collect::<Result<Vec<_>>>()?;
            let counters =
                members(&data.fields).map(|(member, field)| growth(field, &quote! { (&mut self.#member) }));
            let counters = counters.collect::<Result<Vec<_>>>()?.into_iter().flatten();
            (quote! { #(#steps)* }, quote! { #(#counters)* })
        }
        Data::Enum(data) => {
            let arms = data.variants.iter().enumerate().map(|(number, variant)| arm(name, number, variant));
            let arms = arms.collect::<Result<Vec<_>>>()?;
            let counters = data.variants.iter().map(|variant| growth_arm(name, variant));
            let counters = counters.collect::<Result<Vec<_>>>()?;
            (quote! { match self { #(#arms)* } }, quote! { match self { #(#counters)* } })
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "a union has no walk")),
    };
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::recurrence::Recurs for #name #arguments #bounds {
            fn walk(&self, walk: &mut ::recurrence::Walk) { #body }
            fn grow(&mut self, growth: &mut ::recurrence::Growth) {
                let _ = &growth;
                #counters
            }
        }
    })
}

fn counts_of(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(name, "only a structure has counters"));
    };
    let stays = |field: &Field| field.attrs.iter().any(|own| own.path().is_ident("counts"));
    let counted = members(&data.fields).filter(|(_, field)| !stays(field)).map(|(member, _)| member);
    Ok(quote! {
        impl ::recurrence::Counts for #name {
            fn advance(&mut self, growth: &mut ::recurrence::Growth) {
                #(::recurrence::Counts::advance(&mut self.#counted, growth);)*
            }
        }
    })
}

fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Field)> {
    fields.members().zip(fields)
}

fn growth_arm(name: &Ident, variant: &Variant) -> Result<proc_macro2::TokenStream> {
    let own = &variant.ident;
    let mut binds = Vec::new();
    let mut steps = Vec::new();
    if matches!(class_of(&variant.attrs)?, Class::Walked) {
        for (nth, (member, field)) in members(&variant.fields).enumerate() {
            let place = quote::format_ident!("field_{nth}");
            if let Some(step) = growth(field, &quote! { #place })? {
                steps.push(step);
                binds.push(quote! { #member: #place });
            }
        }
    }
    Ok(quote! { #name::#own { #(#binds,)* .. } => { #(#steps)* } })
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
