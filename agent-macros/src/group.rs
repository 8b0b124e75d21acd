//! Invisible groups: what a `macro_rules!` fragment (`$t:ty`, `$e:expr`) is wrapped in where it is pasted.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, Type};

/// The expression inside its invisible groups and parentheses.
pub(crate) fn open_expr(mut expr: Expr) -> Expr {
    loop {
        expr = match expr {
            Expr::Group(group) => *group.expr,
            Expr::Paren(paren) => *paren.expr,
            open => return open,
        }
    }
}

/// The type inside its invisible groups and parentheses.
pub(crate) fn open_type(mut ty: Type) -> Type {
    loop {
        ty = match ty {
            Type::Group(group) => *group.elem,
            Type::Paren(paren) => *paren.elem,
            open => return open,
        }
    }
}

/// The item inside its invisible group.
pub(crate) fn open_item(item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => open_item(group.stream()),
        _ => item,
    }
}
