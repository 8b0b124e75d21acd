//! The expansion of an accepted function: the function itself, and a struct nobody sees that registers it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Expr, Lit, ReturnType, Type};

use crate::attr::DefaultValue;
use crate::check::{CheckedParam, CheckedTool};
use crate::fallback::plain;
use crate::krate;
use crate::model::ToolFn;

/// The function and its registration.
pub(crate) fn expand(function: &ToolFn, tool: &CheckedTool) -> TokenStream {
    let krate = tool.krate.as_ref().map_or_else(krate::path, ToTokens::to_token_stream);
    let private = quote!(#krate::__private);
    let plain = plain(function);
    let conditions = function.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    let marker = marker(function, tool);
    let place = format_ident!("__tool_{}", function.sig.ident.unraw(), span = function.sig.ident.span());
    let slots = tool.params.iter().enumerate().map(|(at, param)| slot(at, param, &private));
    let registration = registration(function, tool, &private);
    // A constant in an `impl` block is almost right, and gets an error for every name it uses. A struct is one error.
    let registration = quote! {
        const _: () = {
            #marker
            #(#slots)*
            #registration
        };
    };
    let in_a_struct = quote_spanned! {function.sig.ident.span()=>
        #[allow(non_camel_case_types)]
        struct #place([(); { #registration 0 }]);
    };
    quote! {
        // A call hands over what it read and what was injected; by value is the plain way to take it.
        #[allow(clippy::needless_pass_by_value)]
        #plain

        #(#conditions)*
        #[allow(clippy::all, clippy::pedantic, non_local_definitions)]
        #in_a_struct
    }
}

/// Exported macros all stand at the crate's root, so a second tool of this name is an error that shows both functions.
fn marker(function: &ToolFn, tool: &CheckedTool) -> TokenStream {
    let name = tool.name.replace('-', "__dash__");
    let marker = format_ident!("__two_tools_are_named_{name}", span = function.sig.ident.span());
    quote_spanned! {function.sig.ident.span()=>
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #marker { () => {}; }
    }
}

fn slot_name(at: usize) -> Ident {
    format_ident!("__slot{at}")
}

/// A slot, made at the user's type: whatever is wrong with that type is said there, and once.
fn slot_made((at, param): (usize, &CheckedParam)) -> TokenStream {
    let (first, last) = ends(&param.ty);
    let mut slot = slot_name(at);
    slot.set_span(first);
    quote_spanned!(last=> #slot())
}

/// The one place where a parameter's bound must be met, at the user's own type.
fn slot(at: usize, param: &CheckedParam, private: &TokenStream) -> TokenStream {
    let slot = slot_name(at);
    let CheckedParam { name, ty, .. } = param;
    let owned = if param.borrowed { quote!(<#ty as #private::Lend>::Owned) } else { quote!(#ty) };
    let constructor = match param {
        CheckedParam { default: Some(_), .. } | CheckedParam { example: Some(_), .. } => quote!(shown_argument),
        CheckedParam { argument: true, .. } => quote!(argument),
        _ => quote!(param),
    };
    let description = param.description.iter().map(|text| quote!(.description(#text)));
    let default = param.default.iter().map(|default| match default {
        DefaultValue::OfType(span) => quote_spanned!(*span=> .default(::core::default::Default::default)),
        DefaultValue::Value(value) => {
            let (value, span) = (lazily(value, private), ends(value).0);
            quote_spanned!(span=> .default(#value))
        }
    });
    let example = param.example.iter().map(|example| {
        let (value, span) = (lazily(example, private), ends(example).0);
        quote_spanned!(span=> .example(#value))
    });
    let made = local("slot");
    let (limits, check_limits) = (limits(param, private), check_limits(param, &made, private));
    let head = slot_head(&slot, ty, &owned, private);
    quote! {
        #head {
            let #made = #private::#constructor::<#owned, _>(#name) #(#description)* #(#default)* #(#example)* #limits;
            #check_limits
            #made
        }
    }
}

/// The head of the function that makes a slot, wholly at the user's type: there it is said if that type cannot go to
/// another thread.
fn slot_head(slot: &Ident, ty: &Type, owned: &TokenStream, private: &TokenStream) -> TokenStream {
    let (first, last) = ends(ty);
    let private = respanned(private.clone(), first);
    let begin = quote_spanned!(first=> fn #slot() -> #private::Slot<);
    let known = quote_spanned!(first=> #private::Known);
    quote_spanned!(last=> #begin <#owned as #known>::Type>)
}

/// A closure that makes a default or an example.
fn lazily(value: &Expr, private: &TokenStream) -> TokenStream {
    match value {
        // A text literal stands for whatever a text turns into: `String`, `PathBuf`.
        Expr::Lit(lit) if matches!(lit.lit, Lit::Str(_)) => {
            let (first, _) = ends(lit);
            // rustc points at the path, so the path stands where the text stands.
            let private: TokenStream = private.clone().into_iter().map(|token| at(token, first)).collect();
            quote_spanned!(first=> || #private::FromText::from_text(#lit))
        }
        value => quote!(|| #value),
    }
}

fn at(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

/// The calls that set the limits.
fn limits(param: &CheckedParam, private: &TokenStream) -> TokenStream {
    let option = |value: Option<TokenStream>| {
        value.map_or_else(|| quote!(::core::option::Option::None), |value| quote!(::core::option::Option::Some(#value)))
    };
    let range = param.range.as_ref().map(|range| {
        let end = |end: &Option<Box<Expr>>| {
            option(end.as_ref().map(|end| quote!(|| { let end = #end; #private::shown(&end) })))
        };
        let (minimum, maximum) = (end(&range.start), end(&range.end));
        quote!(.range(#minimum, #maximum))
    });
    let length = param.length.as_ref().map(|(_, (least, greatest))| {
        let end = |end: Option<usize>| option(end.map(|end| quote!(#end)));
        let (least, greatest) = (end(*least), end(*greatest));
        quote!(.length(#least, #greatest))
    });
    quote!(#range #length)
}

/// Asserts that a type can have such limits, at the place in `#[arg(…)]` that asks for them.
fn check_limits(param: &CheckedParam, slot: &Ident, private: &TokenStream) -> TokenStream {
    let range = param.range.as_ref().map(|range| (range, "ranged"));
    let length = param.length.as_ref().map(|(range, _)| (range, "lengthy"));
    let checks = range.into_iter().chain(length).map(|(range, check)| {
        let (first, last) = ends(range);
        let (check, private) = (Ident::new(check, first), respanned(private.clone(), first));
        // Not hygienic, because its span must be wholly the range's.
        let here = Ident::new("__slot", last);
        let check = quote_spanned!(first=> #private::#check);
        let reference = quote_spanned!(first=> &);
        let check = quote_spanned!(last=> #check(#reference #here););
        quote!(let #here = #slot; #check let #slot = #here;)
    });
    quote!(#(#checks)*)
}

fn registration(function: &ToolFn, tool: &CheckedTool, private: &TokenStream) -> TokenStream {
    let ident = &function.sig.ident;
    let name = &tool.name;
    let attributes = attributes(tool, private);
    let slots: Vec<TokenStream> = tool.params.iter().enumerate().map(slot_made).collect();
    let call = call(function, tool, private);
    let signature = local("_signature");
    quote! {
        #private::inventory::submit! {
            #private::FunctionTool {
                name: #name,
                file: ::core::file!(),
                line: ::core::line!(),
                attributes: #attributes,
                identity: || #private::identity(&#ident),
                signature: |#signature| { #(#slots.declare(#signature);)* },
                call: #call,
            }
        }
    }
}

fn attributes(tool: &CheckedTool, private: &TokenStream) -> TokenStream {
    let CheckedTool { description, tags, flags, retries, .. } = tool;
    let some = |field: &str, value: TokenStream| {
        let field = Ident::new(field, Span::call_site());
        quote!(#field: ::core::option::Option::Some(#value),)
    };
    let label = tool.label.iter().map(|text| some("label", quote!(#text)));
    let category = tool.category.iter().map(|text| some("category", quote!(#text)));
    let timeout = tool.timeout_ms.iter().map(|ms| some("timeout", quote!(#private::Duration::from_millis(#ms))));
    let tags = (!tags.is_empty()).then(|| quote!(tags: &[#(#tags),*],));
    let retries = (*retries > 0).then(|| quote!(retries: #retries,));
    let flags = flags.iter().map(|flag| {
        let flag = Ident::new(&flag.to_string(), Span::call_site());
        quote!(#flag: true,)
    });
    quote! {
        #private::Attributes {
            #(#label)* #(#category)* #(#timeout)* #tags #retries #(#flags)*
            ..#private::Attributes::new(#description)
        }
    }
}

/// Takes every argument, refuses all that do not fit at once, and runs the function.
fn call(function: &ToolFn, tool: &CheckedTool, private: &TokenStream) -> TokenStream {
    let ident = &function.sig.ident;
    let names = tool.params.iter().map(|param| &param.name);
    let slots: Vec<TokenStream> = tool.params.iter().enumerate().map(slot_made).collect();
    let values: Vec<Ident> = (0..tool.params.len()).map(|at| local(&format!("value{at}"))).collect();
    let passed = tool.params.iter().zip(&values).map(|(param, value)| {
        let ty = &param.ty;
        if param.borrowed { quote!(<#ty as #private::Lend>::lend(&#value)) } else { quote!(#value) }
    });
    // Not hygienic, because its span must be wholly the return type's; nothing of the user's is read after it.
    let returned = Ident::new("__returned", return_span(function).1);
    let check = check_return(function, &returned, private);
    let run = |call: TokenStream| {
        quote! {
            let #returned = { use #private::SplitPlain as _; #private::Returned(#call).split() };
            #check
            #private::reply!(#returned)
        }
    };
    let body = match (&function.sig.asyncness, tool.inline) {
        (Some(_), _) => run(quote!(#ident(#(#passed),*).await)),
        (None, true) => run(quote!(#ident(#(#passed),*))),
        (None, false) => {
            let run = run(quote!(#ident(#(#passed),*)));
            quote!(#private::blocking(move || { #run }).await)
        }
    };
    let [context, arguments, call] = ["context", "arguments", "call"].map(local);
    let mutable = (!slots.is_empty()).then(|| quote!(mut));
    let boxed = respanned(quote!(#private::boxed), ident.span());
    quote_spanned! {ident.span()=>
        |#context, #arguments| #boxed(async move {
            let #mutable #call = #private::Call::new(#context, #arguments, &[#(#names),*]);
            #(let #values = #slots.take(&mut #call);)*
            #call.finish()?;
            #(let #values = #values?;)*
            #body
        })
    }
}

/// Asserts the return type's bounds, at the return type.
fn check_return(function: &ToolFn, returned: &Ident, private: &TokenStream) -> TokenStream {
    let (first, last) = return_span(function);
    let check = respanned(quote!(#private::check), first);
    let reference = quote_spanned!(first=> &);
    quote_spanned!(last=> #check(#reference #returned);)
}

fn return_span(function: &ToolFn) -> (Span, Span) {
    match &function.sig.output {
        ReturnType::Type(_, ty) => ends(ty),
        ReturnType::Default => (function.sig.ident.span(), function.sig.ident.span()),
    }
}

/// The same path, standing where the user should look.
fn respanned(path: TokenStream, span: Span) -> TokenStream {
    let respan = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    path.into_iter().map(respan).collect()
}

/// A local of the expansion, which no name of the user's can meet.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Where a node begins and ends; an expression with both spans is underlined as a whole.
fn ends(node: &impl ToTokens) -> (Span, Span) {
    let mut tokens = node.to_token_stream().into_iter().map(|token: TokenTree| token.span());
    let first = tokens.next().unwrap_or_else(Span::call_site);
    (first, tokens.last().unwrap_or(first))
}
