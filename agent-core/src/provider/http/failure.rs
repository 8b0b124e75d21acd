//! What a service says when it fails → a [`ProviderError`] of the right class.

use std::borrow::Cow;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap};
use serde_json::Value;

use super::super::{ErrorKind, ProviderError, json};

/// The longest message taken from a service.
const LONGEST_MESSAGE: usize = 2048;

/// The texts by which services say that the conversation does not fit.
const OVERFLOW: [&str; 14] = [
    "context_length_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size",
    "exceeds the available context size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "maximum context length",
    "maximum prompt length",
    "context length of only",
    "context window",
    "reduce the length",
    "request_too_large",
    "greater than the context length",
];

/// The texts by which services say that the account is used up.
const QUOTA: [&str; 8] = [
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "billing",
    "payment required",
    "daily quota",
];

/// The error an answer with a bad status stands for.
pub(crate) fn from_answer(service: &str, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ProviderError {
    let body = String::from_utf8_lossy(body);
    let value = json::parse(body.trim()).map(|parsed| parsed.value).filter(|value| !value.is_null());
    let words = match &value {
        Some(value) => Words::of(value),
        None => Words { message: plain_text(&body), ..Words::default() },
    };
    words.error(service, Some(status)).with_retry_after(asked_pause(headers).or_else(|| words.pause()))
}

/// The error that an error object inside a good answer stands for.
pub(crate) fn from_object(service: &str, error: &Value) -> ProviderError {
    let words = Words::of(error);
    words.error(service, words.status()).with_retry_after(words.pause())
}

/// The error object of a message, if it is one: `"error": null` and `""` are none.
pub(crate) fn error_in(value: &Value) -> Option<&Value> {
    let error = value.get("error")?;
    let says_nothing = match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    (!says_nothing).then_some(value)
}

/// What a service said, taken out of whatever shape it said it in.
#[derive(Debug, Default)]
struct Words {
    message: String,
    /// Codes and types, in lower case.
    codes: String,
    /// Whether the limit that was hit is one of the day.
    daily: bool,
    code: Option<u16>,
    pause: Option<Duration>,
}

impl Words {
    fn of(value: &Value) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let inner = value.get("error").filter(|inner| !inner.is_null()).unwrap_or(value);
        let mut codes = String::new();
        for holder in [value, inner] {
            for key in ["type", "code", "status"] {
                if let Some(code) = json::text(holder, key) {
                    codes.push_str(&code.to_ascii_lowercase());
                    codes.push(' ');
                }
            }
        }
        let message = sentence(inner).or_else(|| sentence(value)).unwrap_or_else(|| value.to_string());
        let code = json::number(inner, "code").or_else(|| json::number(inner, "status"));
        let daily = inner.get("details").is_some_and(|details| details.to_string().contains("PerDay"));
        let code = code.and_then(|code| u16::try_from(code).ok());
        Self { message, codes, daily, code, pause: retry_info(inner) }
    }

    /// The HTTP status named inside of the error.
    fn status(&self) -> Option<StatusCode> {
        self.code.filter(|code| (400..600).contains(code)).and_then(|code| StatusCode::from_u16(code).ok())
    }

    fn error(&self, service: &str, status: Option<StatusCode>) -> ProviderError {
        let number = status.map(|status| status.as_u16());
        let said: Cow<'_, str> = match (self.message.trim(), status) {
            ("", Some(status)) => format!("{} without a word", status.canonical_reason().unwrap_or("an error")).into(),
            ("", None) => "an error without a word".into(),
            (said, _) => json::bounded(said, LONGEST_MESSAGE),
        };
        let message = match number {
            Some(number) => format!("{service}: {said} (HTTP {number})"),
            None => format!("{service}: {said}"),
        };
        let error = ProviderError::new(self.kind(number), message);
        match number {
            Some(number) => error.with_status(number),
            None => error,
        }
    }

    fn kind(&self, status: Option<u16>) -> ErrorKind {
        let message = self.message.to_ascii_lowercase();
        let says = |texts: &[&str]| texts.iter().any(|text| self.codes.contains(text) || message.contains(text));
        let codes = |texts: &[&str]| texts.iter().any(|text| self.codes.contains(text));
        let input_exceeds = message.contains("input") && message.contains("token") && message.contains("exceed");
        match status {
            Some(413) => return ErrorKind::ContextOverflow,
            Some(400 | 422 | 500) | None if says(&OVERFLOW) || (input_exceeds && !codes(&["rate_limit"])) => {
                return ErrorKind::ContextOverflow;
            }
            Some(402) => return ErrorKind::Quota,
            Some(400 | 403 | 429) | None if self.daily || says(&QUOTA) => return ErrorKind::Quota,
            _ => {}
        }
        match status {
            Some(429) => ErrorKind::RateLimited,
            Some(503 | 529) => ErrorKind::Overloaded,
            Some(401 | 403) => ErrorKind::Auth,
            Some(404) => ErrorKind::NotFound,
            Some(408 | 500..) if codes(&["overloaded"]) => ErrorKind::Overloaded,
            Some(408 | 500..) => ErrorKind::Server,
            Some(_) if codes(&["rate_limit"]) => ErrorKind::RateLimited,
            Some(_) => ErrorKind::BadRequest,
            None => self.kind_by_words(&message),
        }
    }

    /// The class where there is no status, as in the middle of a stream.
    fn kind_by_words(&self, message: &str) -> ErrorKind {
        let table: [(&[&str], ErrorKind); 6] = [
            (&["rate_limit", "rate limit", "resource_exhausted", "too many requests"], ErrorKind::RateLimited),
            (&["overloaded", "unavailable", "capacity"], ErrorKind::Overloaded),
            (&["authentication", "permission", "invalid_api_key", "unauthorized"], ErrorKind::Auth),
            (&["not_found", "not found", "does not exist", "unexpected endpoint"], ErrorKind::NotFound),
            (&["invalid_request", "invalid_argument", "bad_request", "content_filter"], ErrorKind::BadRequest),
            (&["server_error", "api_error", "timeout"], ErrorKind::Server),
        ];
        let by =
            |said: &str| table.iter().find(|(texts, _)| texts.iter().any(|t| said.contains(t))).map(|(_, kind)| *kind);
        // A code is exact; the sentence only helps where there is none we know.
        by(&self.codes).or_else(|| by(message)).unwrap_or(ErrorKind::Server)
    }

    fn pause(&self) -> Option<Duration> {
        self.pause.or_else(|| pause_in_text(&self.message.to_ascii_lowercase()))
    }
}

/// The sentence for people in an error object.
fn sentence(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    // What stands behind a gateway often knows more than the gateway's own words.
    let upstream = value.get("metadata").and_then(|metadata| json::text(metadata, "raw"));
    let found = ["message", "detail", "error_description", "msg"].iter().find_map(|key| match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        // Validation errors come as a list, each with its own sentence.
        Value::Array(list) => Some(list.iter().filter_map(sentence).collect::<Vec<_>>().join("; ")),
        _ => None,
    });
    match (found.filter(|text| !text.trim().is_empty()), upstream) {
        (Some(text), Some(upstream)) => Some(format!("{text}: {upstream}")),
        (found, upstream) => found.or_else(|| upstream.map(str::to_owned)),
    }
}

/// What a body that is not JSON says: of a web page its title, of anything else its beginning.
fn plain_text(body: &str) -> String {
    let body = body.trim();
    if !body.starts_with('<') {
        return body.to_owned();
    }
    let lower = body.to_ascii_lowercase();
    let inside = |open: &str, close: &str| {
        let start = lower.find(open)? + open.len();
        let end = start + lower[start..].find(close)?;
        Some(body[start..end].trim()).filter(|title| !title.is_empty())
    };
    match inside("<title>", "</title>").or_else(|| inside("<h1>", "</h1>")) {
        Some(title) => format!("a web page that says \"{title}\""),
        None => "a web page instead of an answer".to_owned(),
    }
}

/// The pause asked for in the headers. A date is read against the answer's own date, so no clock is needed.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds(millis / 1000.0);
    }
    let after = text(header::RETRY_AFTER.as_str())?;
    if let Ok(number) = after.parse::<f64>() {
        return seconds(number);
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = httpdate::parse_http_date(text(header::DATE.as_str())?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

/// Google's way to ask for a pause: `{"retryDelay": "17s"}` among the details.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    details.iter().find_map(|detail| duration(json::text(detail, "retryDelay")?))
}

/// `try again in 1.5s`, `Please retry after 20 seconds`.
fn pause_in_text(message: &str) -> Option<Duration> {
    ["try again in ", "retry in ", "retry after ", "try again after "].iter().find_map(|phrase| {
        let at = message.find(phrase)? + phrase.len();
        duration(&message[at..])
    })
}

/// A time like `6m0s`, `1.5s`, `500ms` or `20 seconds` at the beginning of `text`.
fn duration(text: &str) -> Option<Duration> {
    let (mut total, mut rest, mut any) = (0.0, text, false);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else { break };
        let unit_text = rest[digits..].trim_start();
        let letters = unit_text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit_text.len());
        let unit = match &unit_text[..letters] {
            "ms" | "milliseconds" => 0.001,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        total += number * unit;
        any = true;
        rest = &unit_text[letters..];
    }
    if any { seconds(total) } else { None }
}

/// A time that a service may ask for; one in the past is none at all, and an absurd one is the caller's to cap.
fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_way_services_write_them() {
        let cases = [
            ("1.5s.", 1500),
            ("6m0s", 360_000),
            ("500ms", 500),
            ("20 seconds", 20_000),
            ("7", 7000),
            ("1h2m", 3_720_000),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(duration("soon"), None);
        assert_eq!(pause_in_text("rate limit reached. please try again in 1.5s."), Some(Duration::from_millis(1500)));
    }
}
