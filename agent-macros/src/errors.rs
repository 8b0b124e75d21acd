//! The mistakes found in one function: all of them, so that they are reported at once.

use proc_macro2::Span;
use quote::ToTokens;

/// Errors so far.
#[derive(Default)]
pub(crate) struct Errors {
    all: Option<syn::Error>,
}

impl Errors {
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.all {
            Some(all) => all.combine(error),
            None => self.all = Some(error),
        }
    }

    /// One mistake: what is wrong in the first line, what to write in lines that begin with `help:`.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// The same over all tokens of a syntax node.
    pub(crate) fn on(&mut self, node: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(node, message));
    }

    pub(crate) fn into_error(self) -> Option<syn::Error> {
        self.all
    }
}
