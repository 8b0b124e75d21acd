//! `range` and `length` of `#[arg(…)]`: what literals already show to be impossible.

use std::fmt;

use syn::{Expr, ExprRange, Lit, UnOp};

use crate::attr::{ArgAttr, DefaultValue};
use crate::errors::Errors;
use crate::group::open_expr;

/// Least and greatest length, in characters or elements.
pub(crate) type Length = (Option<usize>, Option<usize>);

/// Reads `length`, and refuses limits that contradict each other, or the default, or the example.
pub(crate) fn check(arg: &ArgAttr, errors: &mut Errors) -> Length {
    let length = arg.length.as_ref().map_or((None, None), |range| check_length(range, errors));
    if let Some(range) = &arg.range {
        check_range(range, errors);
    }
    let default = match &arg.default {
        Some(DefaultValue::Value(value)) => Some(("default", value)),
        _ => None,
    };
    let example = arg.example.as_ref().map(|value| ("example", value));
    for (key, value) in default.into_iter().chain(example) {
        check_value(key, value, arg, length, errors);
    }
    length
}

fn check_length(range: &ExprRange, errors: &mut Errors) -> Length {
    let mut bound = |end: &Option<Box<Expr>>| {
        let end = end.as_deref()?;
        if let Expr::Lit(lit) = end
            && let Lit::Int(number) = &lit.lit
            && let Ok(number) = number.base10_parse()
        {
            return Some(number);
        }
        errors.on(end, "a length is a whole number\nhelp: write `length = 1..=80`");
        None
    };
    let length = (bound(&range.start), bound(&range.end));
    if let (Some(least), Some(greatest)) = length
        && least > greatest
    {
        errors.on(
            range,
            format!("no length is at least {least} and at most {greatest}\nhelp: write the least one first"),
        );
    }
    length
}

fn check_range(range: &ExprRange, errors: &mut Errors) {
    for end in [&range.start, &range.end].into_iter().flatten() {
        if let Expr::Lit(lit) = &**end
            && !matches!(lit.lit, Lit::Int(_) | Lit::Float(_))
        {
            errors.on(end, "a range is of numbers\nhelp: write `range = 1..=10`, or `length = …` for a text or a list");
            return;
        }
    }
    if let (Some(least), Some(greatest)) = (number_at(range.start.as_deref()), number_at(range.end.as_deref()))
        && least.is_above(greatest)
    {
        errors
            .on(range, format!("no value is at least {least} and at most {greatest}\nhelp: write the least one first"));
    }
}

fn check_value(key: &str, value: &Expr, arg: &ArgAttr, length: Length, errors: &mut Errors) {
    if let (Some(range), Some(number)) = (&arg.range, number(value)) {
        let too_small = number_at(range.start.as_deref()).is_some_and(|least| least.is_above(number));
        let too_great = number_at(range.end.as_deref()).is_some_and(|greatest| number.is_above(greatest));
        if too_small || too_great {
            errors.on(value, format!("the {key} is outside of the argument's `range`\nhelp: change one of them"));
        }
    }
    if let Expr::Lit(lit) = value
        && let Lit::Str(text) = &lit.lit
    {
        let chars = text.value().chars().count();
        if length.0.is_some_and(|least| chars < least) || length.1.is_some_and(|greatest| chars > greatest) {
            errors.on(value, format!("the {key} is outside of the argument's `length`\nhelp: change one of them"));
        }
    }
}

/// A number written as a literal.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn is_above(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a > b,
            (a, b) => a.as_float() > b.as_float(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "compared with a float, which has no more precision")]
    fn as_float(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

fn number_at(end: Option<&Expr>) -> Option<Number> {
    number(end?)
}

fn number(value: &Expr) -> Option<Number> {
    match value {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(number) => number.base10_parse().ok().map(Number::Whole),
            Lit::Float(number) => number.base10_parse().ok().map(Number::Float),
            _ => None,
        },
        Expr::Unary(negated) if matches!(negated.op, UnOp::Neg(_)) => {
            match number(&open_expr((*negated.expr).clone()))? {
                Number::Whole(number) => Some(Number::Whole(-number)),
                Number::Float(number) => Some(Number::Float(-number)),
            }
        }
        _ => None,
    }
}
