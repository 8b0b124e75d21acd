//! What services say when they fail, and the class it is put in.

use std::time::Duration;

use agent_core::provider::{ErrorKind, ProviderError};

use super::support::answer::ask;
use super::support::server::{Reply, Server};
use super::support::wire::{ALL, Say, Wire, request};

async fn failure(wire: &Wire, reply: Reply) -> ProviderError {
    let server = Server::start([reply]).await;
    ask(&*wire.connect(&server.url), &request()).await.failure().clone()
}

async fn status(wire: &Wire, status: &str, headers: &str, body: &str) -> ProviderError {
    failure(wire, Reply::status(status, headers, body)).await
}

#[tokio::test]
async fn t6_every_status_has_its_class() {
    let classes = [
        ("400 Bad Request", ErrorKind::BadRequest),
        ("401 Unauthorized", ErrorKind::Auth),
        ("402 Payment Required", ErrorKind::Quota),
        ("403 Forbidden", ErrorKind::Auth),
        ("404 Not Found", ErrorKind::NotFound),
        ("408 Request Timeout", ErrorKind::Server),
        ("409 Conflict", ErrorKind::BadRequest),
        ("413 Payload Too Large", ErrorKind::ContextOverflow),
        ("422 Unprocessable Entity", ErrorKind::BadRequest),
        ("429 Too Many Requests", ErrorKind::RateLimited),
        ("500 Internal Server Error", ErrorKind::Server),
        ("502 Bad Gateway", ErrorKind::Server),
        ("503 Service Unavailable", ErrorKind::Overloaded),
        ("504 Gateway Timeout", ErrorKind::Server),
        ("529 Overloaded", ErrorKind::Overloaded),
    ];
    let bodies = [
        (r#"{"error":{"message":"What went wrong","type":"x"}}"#, "What went wrong"),
        (r#"{"type":"error","error":{"type":"x","message":"What went wrong"}}"#, "What went wrong"),
        (r#"{"error":"What went wrong"}"#, "What went wrong"),
        (r#"{"detail":[{"msg":"What went wrong","loc":["body"]}]}"#, "What went wrong"),
        (r#"[{"error":{"code":1,"message":"What went wrong"}}]"#, "What went wrong"),
        ("What went wrong", "What went wrong"),
        ("<html><head><title>What went wrong</title></head><body>…</body></html>", "What went wrong"),
        (r#"{"error":{"mess"#, "mess"),
        ("", "without a word"),
    ];
    for wire in ALL {
        for (line, kind) in classes {
            for (body, words) in bodies {
                let error = status(&wire, line, "", body).await;
                assert_eq!(error.kind, kind, "{}: {line}: {body}", wire.name);
                assert_eq!(error.status, line[..3].parse().ok(), "{}", wire.name);
                assert!(error.message.contains(words), "{}: {line}: {}", wire.name, error.message);
            }
        }
    }
}

#[tokio::test]
async fn t6_a_huge_body_is_bounded() {
    for wire in ALL {
        let error = status(&wire, "500 Oh", "", &"x".repeat(3 << 20)).await;
        assert!(error.message.len() < 2300, "{}: {} bytes", wire.name, error.message.len());
    }
    let hanging = ALL.map(|wire| async move { failure(&wire, Reply::status("500 Oh", "", "half a sen").hang()).await });
    for error in futures_util::future::join_all(hanging).await {
        assert!(error.message.contains("half a sen"), "{error}");
    }
}

#[tokio::test]
async fn t6_how_long_to_wait() {
    let millis = |n| Some(Duration::from_millis(n));
    let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let cases = [
        ("retry-after: 7\r\n".to_owned(), "", millis(7000)),
        ("retry-after: 1.5\r\n".to_owned(), "", millis(1500)),
        ("retry-after-ms: 250\r\nretry-after: 7\r\n".to_owned(), "", millis(250)),
        (format!("{date}retry-after: Sun, 06 Nov 1994 08:49:57 GMT\r\n"), "", millis(20_000)),
        (format!("{date}retry-after: Sun, 06 Nov 1994 08:00:00 GMT\r\n"), "", millis(0)),
        ("retry-after: -3\r\n".to_owned(), "", millis(0)),
        ("retry-after: 999999999\r\n".to_owned(), "", millis(999_999_999_000)),
        ("retry-after: soon\r\n".to_owned(), "", None),
        (String::new(), r#"{"error":{"message":"Rate limit reached. Please try again in 1.5s."}}"#, millis(1500)),
        (String::new(), r#"{"error":{"message":"Try again in 6m0s."}}"#, millis(360_000)),
        (
            String::new(),
            r#"{"error":{"message":"x","details":[{"@type":"RetryInfo","retryDelay":"17s"}]}}"#,
            millis(17_000),
        ),
        (String::new(), "", None),
    ];
    for wire in ALL {
        for (headers, body, expected) in &cases {
            let error = status(&wire, "429 Too Many Requests", headers, body).await;
            assert_eq!(error.retry_after, *expected, "{}: {headers}{body}", wire.name);
        }
    }
}

#[tokio::test]
async fn l4_a_conversation_that_is_too_long_in_every_services_words() {
    let bodies = [
        r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}"#,
        r#"{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed"}}"#,
        r#"{"error":{"message":"Please reduce the length of the messages"}}"#,
        r#"{"error":{"message":"This model's maximum prompt length is 131072"}}"#,
        r#"{"error":"input length exceeds the context window"}"#,
    ];
    for wire in ALL {
        for body in bodies {
            assert_eq!(
                status(&wire, "400 Bad Request", "", body).await.kind,
                ErrorKind::ContextOverflow,
                "{}: {body}",
                wire.name
            );
            let in_stream = failure(&wire, Reply::sse(format!("data: {body}\n\n"))).await;
            assert_eq!(in_stream.kind, ErrorKind::ContextOverflow, "{} in the stream: {body}", wire.name);
        }
    }
}

#[tokio::test]
async fn a_used_up_account_is_not_a_rate_limit() {
    for wire in ALL {
        let openai = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
        assert_eq!(status(&wire, "429 Too Many Requests", "", openai).await.kind, ErrorKind::Quota, "{}", wire.name);
        let anthropic =
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
        assert_eq!(status(&wire, "400 Bad Request", "", anthropic).await.kind, ErrorKind::Quota, "{}", wire.name);
        let google =
            r#"{"error":{"message":"Slow down","details":[{"violations":[{"quotaId":"RequestsPerDayPerModel"}]}]}}"#;
        assert_eq!(status(&wire, "429 Too Many Requests", "", google).await.kind, ErrorKind::Quota, "{}", wire.name);
    }
}

#[tokio::test]
async fn t7_an_error_inside_a_good_answer() {
    let bodies = [
        (r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#, ErrorKind::Overloaded),
        (r#"{"error":{"message":"Slow down","code":429}}"#, ErrorKind::RateLimited),
        (r#"{"error":{"message":"Slow down","type":"rate_limit_error"}}"#, ErrorKind::RateLimited),
        (r#"{"error":{"message":"Bad key","code":"invalid_api_key"}}"#, ErrorKind::Auth),
        (r#"{"error":"model 'x' not found"}"#, ErrorKind::NotFound),
        (r#"{"error":{"message":"x","type":"invalid_request_error"}}"#, ErrorKind::BadRequest),
        (r#"{"error":{"message":"Something broke"}}"#, ErrorKind::Server),
    ];
    for wire in ALL {
        for (body, kind) in bodies {
            assert_eq!(status(&wire, "200 OK", "", body).await.kind, kind, "{}: {body}", wire.name);
            let begun = (wire.begin)(&[Say::Text(0, "Hel")]).concat();
            let server = Server::start([Reply::sse(format!("{begun}data: {body}\n\n"))]).await;
            let answer = ask(&*wire.connect(&server.url), &request()).await;
            assert_eq!(
                (answer.failure().kind, answer.unfinished.as_slice()),
                (kind, &["Hel".to_owned()][..]),
                "{}: {body}",
                wire.name
            );
        }
        let begun = (wire.begin)(&[Say::Text(0, "Hel")]).concat();
        let error = failure(&wire, Reply::sse(format!("{begun}{}{}", wire.overloaded, wire.mark))).await;
        assert_eq!(error.kind, ErrorKind::Overloaded, "{}", wire.name);
    }
}

#[tokio::test]
async fn t7_something_that_is_not_the_protocol() {
    for wire in ALL {
        for body in ["<html><body>Welcome</body></html>", r#"{"hello":"world"}"#, "data: not JSON\n\n"] {
            let error = status(&wire, "200 OK", "", body).await;
            assert_eq!(error.kind, ErrorKind::Protocol, "{}: {body}: {}", wire.name, error.message);
        }
        for body in ["", "\n\n", "Welcome\n", r#"{"choices":[{"mess"#] {
            let error = status(&wire, "200 OK", "", body).await;
            assert_eq!(error.kind, ErrorKind::Cut, "{}: {body}: {}", wire.name, error.message);
        }
    }
}
