//! The annotated function, as far as the macro looks at it: signature and docs. Its body stays raw tokens, so that a
//! half-typed one does not take the signature's diagnostics (and completion) down with it.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Meta, Pat, PatType, Signature, Type, Visibility};

use crate::attr::{ArgAttr, read_arg};
use crate::errors::Errors;
use crate::group::open_type;
use crate::text::{Text, docs};

/// A function with an untouched body.
pub(crate) struct ToolFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
}

/// One parameter.
pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) docs: Option<Text>,
    /// `None`: there is no `#[arg(…)]`.
    pub(crate) arg: Option<ArgAttr>,
}

/// Splits the item into its parts.
pub(crate) fn read(item: TokenStream) -> syn::Result<ToolFn> {
    let parse = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let next = input.cursor().token_tree();
        if let Some((TokenTree::Ident(word), _)) = next
            && !["fn", "async", "const", "unsafe", "extern", "safe"].contains(&word.to_string().as_str())
        {
            let message = "`#[tool]` makes a tool of a function, and this is none\nhelp: put it on `fn name(…) { … }`";
            return Err(syn::Error::new(word.span(), message));
        }
        Ok(ToolFn { attrs, vis, sig: input.parse()?, body: input.parse()? })
    };
    parse.parse2(item)
}

/// Reads the parameters; what cannot be one is an error and left out.
pub(crate) fn read_params(function: &ToolFn, errors: &mut Errors) -> Vec<Param> {
    function.sig.inputs.iter().filter_map(|input| read_param(input, errors)).collect()
}

fn read_param(input: &FnArg, errors: &mut Errors) -> Option<Param> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            errors.on(
                receiver,
                "a tool is a free function and has no `self`\nhelp: take what it needs as `Dep<T>` and give it to the agent with `.provide(…)`",
            );
            return None;
        }
    };
    let arg = read_arg_attrs(typed, errors);
    let ident = match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat.ident.clone(),
        pattern => {
            errors.on(
                pattern,
                "a tool's parameter is a plain name, which the model sees\nhelp: write `name: Type` and take it apart in the body",
            );
            return None;
        }
    };
    Some(Param { ident, ty: open_type((*typed.ty).clone()), docs: docs(&typed.attrs), arg })
}

fn read_arg_attrs(typed: &PatType, errors: &mut Errors) -> Option<ArgAttr> {
    let mut arg = None;
    for attr in &typed.attrs {
        if attr.path().is_ident("arg") {
            match (&attr.meta, &arg) {
                (_, Some(_)) => errors.on(attr, "`#[arg(…)]` is given twice\nhelp: put all keys into one"),
                (Meta::List(list), None) => arg = Some(read_arg(list.tokens.clone(), errors)),
                _ => errors.on(attr, "`#[arg]` needs keys\nhelp: write `#[arg(default)]`, for example"),
            }
        } else if attr.path().is_ident("args") {
            errors.on(
                attr,
                "`#[args]` is not supported\nhelp: list the fields as parameters, or take the struct as one argument",
            );
        } else if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            errors.on(
                attr,
                "a tool's parameters cannot be conditional\nhelp: put `#[cfg(…)]` on two versions of the function",
            );
        }
    }
    arg
}

/// Whether the attribute is for this macro (or, on a parameter, for nobody else).
pub(crate) fn is_ours(attr: &Attribute) -> bool {
    ["doc", "arg", "args"].iter().any(|name| attr.path().is_ident(name))
}
