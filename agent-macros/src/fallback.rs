//! What becomes of rejected input: the user's function as it was, and the errors. So nothing else goes missing.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::FnArg;

use crate::model::{ToolFn, is_ours};

/// The function without what only this macro understands.
pub(crate) fn plain(function: &ToolFn) -> TokenStream {
    let ToolFn { attrs, vis, sig, body } = function;
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.retain(|attr| !is_ours(attr));
        }
    }
    quote!(#(#attrs)* #vis #sig #body)
}

/// A rejected function and its errors.
pub(crate) fn rejected(function: &ToolFn, error: Option<&syn::Error>) -> TokenStream {
    let mut tokens = error.map(syn::Error::to_compile_error).unwrap_or_default();
    // `self` and `...` would be the compiler's second error for the same mistake.
    if function.sig.receiver().is_none() && function.sig.variadic.is_none() {
        tokens.extend(plain(function));
    }
    tokens
}

/// What is no function at all: the item as it was, unless its own syntax is broken.
pub(crate) fn unreadable(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let mut tokens = error.to_compile_error();
    if syn::parse2::<syn::Item>(item.clone()).is_ok_and(|item| !matches!(item, syn::Item::Verbatim(_))) {
        item.to_tokens(&mut tokens);
    }
    tokens
}
