//! Every rule that rejects a function. All errors are collected, so that four mistakes give four errors at once.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprRange, GenericParam, LitStr, Path, ReturnType, Safety, Type};

use crate::attr::{DefaultValue, FLAGS, ToolAttr};
use crate::errors::Errors;
use crate::group::open_type;
use crate::limits::{self, Length};
use crate::model::{Param, ToolFn};
use crate::text::{Text, docs};

/// A function that keeps all rules.
pub(crate) struct CheckedTool {
    pub(crate) name: String,
    pub(crate) description: Text,
    pub(crate) label: Option<LitStr>,
    pub(crate) category: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    /// Flags of [`Attributes`](agent_core::function::Attributes) that are set.
    pub(crate) flags: Vec<Ident>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) retries: u32,
    pub(crate) inline: bool,
    pub(crate) krate: Option<Path>,
    pub(crate) params: Vec<CheckedParam>,
}

/// A parameter that keeps all rules.
pub(crate) struct CheckedParam {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    /// The written type; of a borrowed one, what is behind the `&`.
    pub(crate) ty: Type,
    pub(crate) borrowed: bool,
    pub(crate) description: Option<Text>,
    /// Whether `#[arg(…)]` says that the model fills it in.
    pub(crate) argument: bool,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) example: Option<Expr>,
    pub(crate) range: Option<ExprRange>,
    pub(crate) length: Option<(ExprRange, Length)>,
}

/// Applies all rules. `None` only along with an error.
pub(crate) fn check(function: &ToolFn, attr: ToolAttr, params: Vec<Param>, errors: &mut Errors) -> Option<CheckedTool> {
    check_signature(function, errors);
    check_flags(function, &attr, errors);
    let name = check_name(function, &attr, errors);
    let description = check_description(function, &attr, errors);
    let timeout_ms = attr.timeout.as_ref().and_then(|timeout| check_timeout(timeout, errors));
    let retries = check_retries(&attr, errors);
    let params: Vec<CheckedParam> = params.into_iter().filter_map(|param| check_param(param, errors)).collect();
    check_names_differ(&params, errors);
    let flags = FLAGS.iter().filter(|flag| **flag != "inline").filter_map(|flag| attr.flag(flag).cloned()).collect();
    Some(CheckedTool {
        name,
        description: description?,
        inline: attr.flag("inline").is_some(),
        label: attr.label,
        category: attr.category,
        tags: attr.tags,
        flags,
        timeout_ms,
        retries,
        krate: attr.krate,
        params,
    })
}

fn check_signature(function: &ToolFn, errors: &mut Errors) {
    let sig = &function.sig;
    if let Some(constness) = &sig.constness {
        errors.on(constness, "a tool cannot be `const`\nhelp: remove `const`");
    }
    if let Safety::Unsafe(safety) = &sig.safety {
        errors.on(safety, "a tool cannot be `unsafe`: a model decides when to call it\nhelp: remove `unsafe`");
    }
    if let Some(abi) = &sig.abi {
        errors.on(abi, "a tool cannot have another ABI\nhelp: remove `extern`");
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, "a tool cannot be variadic\nhelp: take a `Vec<T>`");
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && matches!(open_type((**ty).clone()), Type::Never(_))
    {
        errors.on(
            ty,
            "a tool must return: the model waits for its answer\nhelp: return `()`, or `Result<(), E>` if it can fail",
        );
    }
    for param in &sig.generics.params {
        let (GenericParam::Type(_) | GenericParam::Const(_)) = param else { continue };
        errors.on(
            param,
            "a tool cannot be generic: its schema must be known\nhelp: write a function for the concrete type that calls this one, and put `#[tool]` there",
        );
    }
}

fn check_flags(function: &ToolFn, attr: &ToolAttr, errors: &mut Errors) {
    if let (Some(_), Some(destructive)) = (attr.flag("read_only"), attr.flag("destructive")) {
        errors.on(destructive, "a tool that is `read_only` cannot be `destructive`\nhelp: keep one of them");
    }
    if let (Some(inline), Some(_)) = (attr.flag("inline"), &function.sig.asyncness) {
        errors.on(
            inline,
            "`inline` is for sync functions; an `async fn` is on the async thread anyway\nhelp: remove `inline`",
        );
    }
}

fn check_name(function: &ToolFn, attr: &ToolAttr, errors: &mut Errors) -> String {
    let ident = &function.sig.ident;
    let (name, span) = match &attr.name {
        Some(name) => (name.value(), name.span()),
        None => (ident.unraw().to_string(), ident.span()),
    };
    if !is_name(&name) {
        errors.at(
            span,
            format!("`{name}` cannot name a tool\nhelp: a name is 1 to 64 of `A-Z a-z 0-9 _ -`; set one with `#[tool(name = \"…\")]`"),
        );
    }
    name
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn check_description(function: &ToolFn, attr: &ToolAttr, errors: &mut Errors) -> Option<Text> {
    let given = attr.description.as_ref().map(LitStr::value).filter(|text| !text.trim().is_empty());
    let description = given.map(Text::Literal).or_else(|| docs(&function.attrs));
    if description.is_none() {
        let name = &function.sig.ident;
        errors.on(
            name,
            format!("the tool `{name}` has no description, and a model knows a tool only by it\nhelp: write a doc comment (`/// …`) above the function"),
        );
    }
    description
}

fn check_timeout(timeout: &LitStr, errors: &mut Errors) -> Option<u64> {
    let text = timeout.value();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60 * 1000),
        "h" => Some(60 * 60 * 1000),
        _ => None,
    };
    let milliseconds = number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    if milliseconds.is_none_or(|milliseconds| milliseconds == 0) {
        errors.on(timeout, format!("`{text}` is no timeout\nhelp: write `\"500ms\"`, `\"30s\"`, `\"2m\"` or `\"1h\"`"));
    }
    milliseconds
}

fn check_retries(attr: &ToolAttr, errors: &mut Errors) -> u32 {
    let Some(retries) = &attr.retries else { return 0 };
    let count = retries.base10_parse().unwrap_or_default();
    if count > 0 && attr.flag("idempotent").is_none() && attr.flag("read_only").is_none() {
        errors.on(
            retries,
            "only a tool that may run twice can be retried\nhelp: add `idempotent` or `read_only` if it is, or remove `retries`",
        );
    }
    count
}

fn check_param(param: Param, errors: &mut Errors) -> Option<CheckedParam> {
    let Param { ident, ty, docs, arg } = param;
    let argument = arg.is_some();
    let arg = arg.unwrap_or_default();
    let (ty, borrowed) = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            errors.on(
                reference,
                "a tool cannot change its arguments in place\nhelp: take it owned, or borrow it with `&`",
            );
            return None;
        }
        Type::Reference(reference)
            if reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static") =>
        {
            errors.on(
                reference,
                "an argument lives only as long as the call\nhelp: borrow it without `'static`, such as `&str`, or take it owned, such as `String`",
            );
            return None;
        }
        Type::Reference(reference) => (open_type(*reference.elem), true),
        owned => (owned, false),
    };
    if let Type::ImplTrait(opaque) = &ty {
        errors.on(opaque, "a tool's parameter needs a concrete type: its schema must be known\nhelp: write the type itself, such as `String`");
        return None;
    }
    if let Type::TraitObject(object) = &ty {
        errors.on(object, "a tool's parameter needs a concrete type: its schema must be known\nhelp: take the type itself, or state of the program as `Dep<T>`");
        return None;
    }
    if let Some(inner) = reference_inside(ty.to_token_stream()) {
        errors.at(
            inner,
            "a tool can borrow a parameter only as a whole\nhelp: write the owned type inside, such as `Option<String>` for `Option<&str>`",
        );
        return None;
    }
    let name = arg.rename.as_ref().map_or_else(|| ident.unraw().to_string(), LitStr::value);
    if !is_name(&name) {
        let span = arg.rename.as_ref().map_or_else(|| ident.span(), LitStr::span);
        errors.at(span, format!("`{name}` cannot name an argument\nhelp: a name is 1 to 64 of `A-Z a-z 0-9 _ -`"));
    }
    let length = limits::check(&arg, errors);
    let length = arg.length.map(|range| (range, length));
    let ident = match arg.rename {
        Some(rename) => Ident::new(&ident.to_string(), rename.span()),
        None => ident,
    };
    Some(CheckedParam {
        ident,
        name,
        ty,
        borrowed,
        description: arg.description.map(|text| Text::Literal(text.value())).or(docs),
        argument,
        default: arg.default,
        example: arg.example,
        range: arg.range,
        length,
    })
}

/// The first `&` or lifetime inside a type, which nothing could own.
fn reference_inside(ty: TokenStream) -> Option<Span> {
    let mut after_quote = None;
    for token in ty {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '&' => return Some(punct.span()),
            TokenTree::Punct(punct) if punct.as_char() == '\'' => after_quote = Some(punct.span()),
            TokenTree::Ident(name) => match after_quote.take() {
                Some(_) if name == "static" => {}
                Some(span) => return Some(span),
                None => {}
            },
            TokenTree::Group(group) => {
                if let Some(span) = reference_inside(group.stream()) {
                    return Some(span);
                }
            }
            _ => {}
        }
    }
    None
}

fn check_names_differ(params: &[CheckedParam], errors: &mut Errors) {
    for (at, param) in params.iter().enumerate() {
        if params[..at].iter().any(|earlier| earlier.name == param.name) {
            let message = format!(
                "two arguments are named `{}`\nhelp: give one of them another name with `#[arg(rename = \"…\")]`",
                param.name
            );
            errors.at(param.ident.span(), message);
        }
    }
}
