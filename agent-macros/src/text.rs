//! [`Text`]: a text for the model, known here or only to the compiler.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprMacro, Lit, Meta};

use crate::group::open_expr;

/// A constant text.
pub(crate) enum Text {
    Literal(String),
    /// With `concat!(…)` or `include_str!(…)` in it: an expression of type `&'static str`.
    Expanded(TokenStream),
}

impl ToTokens for Text {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Literal(text) => text.to_tokens(tokens),
            Self::Expanded(text) => text.to_tokens(tokens),
        }
    }
}

/// One `#[doc = …]`.
enum Piece {
    Line(String),
    Macro(ExprMacro),
}

/// The doc comment as rustdoc reads it: common indentation removed, lines kept, blank lines around it dropped.
pub(crate) fn docs(attrs: &[Attribute]) -> Option<Text> {
    let mut pieces = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attr.meta else { continue };
        match open_expr(meta.value.clone()) {
            Expr::Lit(lit) => {
                if let Lit::Str(text) = &lit.lit {
                    pieces.extend(text.value().split('\n').map(|line| Piece::Line(line.trim_end().to_owned())));
                }
            }
            Expr::Macro(call) => pieces.push(Piece::Macro(call)),
            _ => {}
        }
    }
    let indent_of = |piece: &Piece| match piece {
        Piece::Line(line) if !line.is_empty() => Some(line.len() - line.trim_start().len()),
        _ => None,
    };
    let indent = pieces.iter().filter_map(indent_of).min().unwrap_or(0);
    for piece in &mut pieces {
        if let Piece::Line(line) = piece {
            *line = line.get(indent..).unwrap_or_default().to_owned();
        }
    }
    let lines = |piece: &Piece| match piece {
        Piece::Line(line) => Some(line.clone()),
        Piece::Macro(_) => None,
    };
    match pieces.iter().map(lines).collect::<Option<Vec<String>>>() {
        Some(lines) => {
            let text = lines.join("\n").trim_matches('\n').to_owned();
            (!text.is_empty()).then_some(Text::Literal(text))
        }
        None => Some(Text::Expanded(expanded(&pieces))),
    }
}

fn expanded(pieces: &[Piece]) -> TokenStream {
    let texts = pieces.iter().enumerate().map(|(at, piece)| {
        let newline = (at > 0).then(|| quote!("\n",));
        match piece {
            Piece::Line(line) => quote!(#newline #line),
            Piece::Macro(call) => quote!(#newline #call),
        }
    });
    quote!(::core::concat!(#(#texts),*))
}
