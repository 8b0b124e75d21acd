//! The expansion of an accepted function: the function itself, and one unnamed constant that registers it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, Lit, ReturnType};

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
    let slots = tool.params.iter().enumerate().map(|(at, param)| slot(at, param, &private));
    let registration = registration(function, tool, &private);
    quote! {
        // A call hands over what it read and what was injected; by value is the plain way to take it.
        #[allow(clippy::needless_pass_by_value)]
        #plain

        #(#conditions)*
        #[allow(clippy::all, clippy::pedantic, non_local_definitions)]
        const _: () = {
            #marker
            #(#slots)*
            #registration
        };
    }
}

/// Exported macros all stand at the crate's root, so a second tool of this name is an error that shows both functions.
fn marker(function: &ToolFn, tool: &CheckedTool) -> TokenStream {
    let name = tool.name.replace('-', "__dash__");
    let marker = format_ident!("__tool_named_{name}", span = function.sig.ident.span());
    quote_spanned! {function.sig.ident.span()=>
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #marker { () => {}; }
    }
}

fn slot_name(at: usize) -> Ident {
    format_ident!("__slot{at}")
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
    let limits = limits(param, private);
    quote! {
        fn #slot() -> #private::Slot<#owned> {
            #private::#constructor::<#owned, _>(#name) #(#description)* #(#default)* #(#example)* #limits
        }
    }
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

fn limits(param: &CheckedParam, private: &TokenStream) -> Option<TokenStream> {
    let (min_length, max_length) = param.length;
    if param.range.is_none() && (min_length, max_length) == (None, None) {
        return None;
    }
    let ends = param.range.as_ref().map(|range| (&range.start, &range.end));
    let (minimum, maximum) = ends.unwrap_or((&None, &None));
    let fields = [("minimum", minimum), ("maximum", maximum)].into_iter().filter_map(|(field, end)| {
        let (field, end) = (Ident::new(field, Span::call_site()), end.as_ref()?);
        Some(quote!(#field: ::core::option::Option::Some(|| { let end = #end; #private::shown(&end) }),))
    });
    let lengths = [("min_length", min_length), ("max_length", max_length)].into_iter().filter_map(|(field, end)| {
        let (field, end) = (Ident::new(field, Span::call_site()), end?);
        Some(quote!(#field: ::core::option::Option::Some(#end),))
    });
    Some(quote!(.limits(#private::Limits { #(#fields)* #(#lengths)* ..#private::Limits::NONE })))
}

fn registration(function: &ToolFn, tool: &CheckedTool, private: &TokenStream) -> TokenStream {
    let ident = &function.sig.ident;
    let name = &tool.name;
    let attributes = attributes(tool, private);
    let slots: Vec<Ident> = (0..tool.params.len()).map(slot_name).collect();
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
                signature: |#signature| { #(#slots().declare(#signature);)* },
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
    let slots: Vec<Ident> = (0..tool.params.len()).map(slot_name).collect();
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
            #(let #values = #slots().take(&mut #call);)*
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
