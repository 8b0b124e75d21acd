//! `#[tool(…)]` and `#[arg(…)]`: token lists to [`ToolAttr`] and [`ArgAttr`].

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprRange, Lit, LitInt, LitStr, Path, RangeLimits, Token};

use crate::errors::Errors;
use crate::group::open_expr;
use crate::nearest::nearest;

/// The keys of `#[tool(…)]` that are on or off, in the order of the documentation.
pub(crate) const FLAGS: [&str; 9] =
    ["read_only", "destructive", "idempotent", "open_world", "sequential", "terminate", "cold", "hidden", "inline"];

const TOOL_KEYS: [&str; 17] = [
    "name",
    "label",
    "description",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "category",
    "tags",
    "sequential",
    "timeout",
    "retries",
    "terminate",
    "cold",
    "hidden",
    "inline",
    "crate",
];

const ARG_KEYS: [&str; 6] = ["default", "rename", "description", "example", "range", "length"];

/// What `#[tool(…)]` says.
#[derive(Default)]
pub(crate) struct ToolAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) label: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) category: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) timeout: Option<LitStr>,
    pub(crate) retries: Option<LitInt>,
    pub(crate) krate: Option<Path>,
    flags: Vec<Ident>,
}

impl ToolAttr {
    /// The flag's token, if it is set.
    pub(crate) fn flag(&self, key: &str) -> Option<&Ident> {
        self.flags.iter().find(|flag| *flag == key)
    }
}

/// What `#[arg(…)]` says.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) default: Option<DefaultValue>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) example: Option<Expr>,
    pub(crate) range: Option<ExprRange>,
    pub(crate) length: Option<ExprRange>,
}

/// `default` or `default = expr`.
pub(crate) enum DefaultValue {
    OfType(Span),
    Value(Expr),
}

struct Entry {
    key: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = Ident::parse_any(input)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(open_expr(input.parse()?))
        } else {
            None
        };
        Ok(Self { key, value })
    }
}

fn entries(tokens: TokenStream, errors: &mut Errors) -> Vec<Entry> {
    let parsed = Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens);
    let entries: Vec<Entry> = match parsed {
        Ok(list) => list.into_iter().collect(),
        Err(error) => {
            errors.push(error);
            Vec::new()
        }
    };
    for (at, entry) in entries.iter().enumerate() {
        if entries[..at].iter().any(|earlier| earlier.key == entry.key) {
            errors.at(entry.key.span(), format!("`{}` is given twice\nhelp: keep one of them", entry.key));
        }
    }
    entries
}

/// Reads the tokens inside `#[tool(…)]`.
pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> ToolAttr {
    let mut attr = ToolAttr::default();
    for Entry { key, value } in entries(tokens, errors) {
        let key_text = key.to_string();
        match key_text.as_str() {
            "name" => attr.name = text(&key, value, errors),
            "label" => attr.label = text(&key, value, errors),
            "description" => attr.description = text(&key, value, errors),
            "category" => attr.category = text(&key, value, errors),
            "timeout" => attr.timeout = text(&key, value, errors),
            "tags" => attr.tags = texts(&key, value, errors),
            "retries" => attr.retries = number(&key, value, errors),
            "crate" => attr.krate = path(&key, value, errors),
            flag if FLAGS.contains(&flag) => match value {
                None => attr.flags.push(key),
                Some(Expr::Lit(lit)) if matches!(&lit.lit, Lit::Bool(_)) => {
                    if matches!(&lit.lit, Lit::Bool(on) if on.value) {
                        attr.flags.push(key);
                    }
                }
                Some(value) => errors.at(value.span(), format!("`{flag}` takes no value\nhelp: write `{flag}`")),
            },
            _ => unknown(&key, "#[tool(…)]", &TOOL_KEYS, errors),
        }
    }
    attr
}

/// Reads the tokens inside `#[arg(…)]`.
pub(crate) fn read_arg(tokens: TokenStream, errors: &mut Errors) -> ArgAttr {
    let mut attr = ArgAttr::default();
    for Entry { key, value } in entries(tokens, errors) {
        match key.to_string().as_str() {
            "default" => {
                attr.default = Some(value.map_or(DefaultValue::OfType(key.span()), DefaultValue::Value));
            }
            "rename" => attr.rename = text(&key, value, errors),
            "description" => attr.description = text(&key, value, errors),
            "example" if value.is_some() => attr.example = value,
            "example" => errors.at(key.span(), "`example` needs a value\nhelp: write `example = …`"),
            "range" => attr.range = range(&key, value, errors),
            "length" => attr.length = range(&key, value, errors),
            "flatten" => errors.at(
                key.span(),
                "`#[arg(flatten)]` is not supported\nhelp: list the fields as parameters, or take the struct as one argument",
            ),
            _ => unknown(&key, "#[arg(…)]", &ARG_KEYS, errors),
        }
    }
    attr
}

fn unknown(key: &Ident, place: &str, known: &[&str], errors: &mut Errors) {
    let near = nearest(&key.to_string(), known);
    let help = near.map(|near| format!("\nhelp: did you mean `{near}`?")).unwrap_or_default();
    errors.at(key.span(), format!("unknown key `{key}` in `{place}`{help}\nhelp: the keys are {}", known.join(", ")));
}

fn text(key: &Ident, value: Option<Expr>, errors: &mut Errors) -> Option<LitStr> {
    match value {
        Some(Expr::Lit(lit)) if matches!(&lit.lit, Lit::Str(_)) => match lit.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        other => {
            let span = other.map_or_else(|| key.span(), |value| value.span());
            errors.at(span, format!("`{key}` needs a text\nhelp: write `{key} = \"…\"`"));
            None
        }
    }
}

fn texts(key: &Ident, value: Option<Expr>, errors: &mut Errors) -> Vec<LitStr> {
    let Some(Expr::Array(list)) = value else {
        errors.at(key.span(), format!("`{key}` needs a list of texts\nhelp: write `{key} = [\"…\", \"…\"]`"));
        return Vec::new();
    };
    list.elems.into_iter().filter_map(|element| text(key, Some(open_expr(element)), errors)).collect()
}

fn number(key: &Ident, value: Option<Expr>, errors: &mut Errors) -> Option<LitInt> {
    if let Some(Expr::Lit(lit)) = &value
        && let Lit::Int(number) = &lit.lit
        && number.base10_parse::<u32>().is_ok()
    {
        return Some(number.clone());
    }
    let span = value.map_or_else(|| key.span(), |value| value.span());
    errors.at(span, format!("`{key}` needs a number\nhelp: write `{key} = 2`"));
    None
}

fn path(key: &Ident, value: Option<Expr>, errors: &mut Errors) -> Option<Path> {
    if let Some(Expr::Path(path)) = value {
        return Some(path.path);
    }
    errors.at(key.span(), "`crate` needs a path\nhelp: write `crate = my_crate::agent_core`");
    None
}

fn range(key: &Ident, value: Option<Expr>, errors: &mut Errors) -> Option<ExprRange> {
    let span = value.as_ref().map_or_else(|| key.span(), Spanned::span);
    match value {
        Some(Expr::Range(mut range))
            if (range.start.is_some() || range.end.is_some())
                && (range.end.is_none() || matches!(range.limits, RangeLimits::Closed(_))) =>
        {
            for end in [&mut range.start, &mut range.end] {
                *end = end.take().map(|end| Box::new(open_expr(*end)));
            }
            Some(range)
        }
        _ => {
            let help = format!("help: write `{key} = 1..=10`, `{key} = 1..` or `{key} = ..=10`");
            errors.at(span, format!("`{key}` needs a range with its greatest value inside\n{help}"));
            None
        }
    }
}
