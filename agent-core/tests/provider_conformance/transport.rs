//! Connections, time limits, aborts.

use std::time::{Duration, Instant};

use agent_core::provider::ErrorKind;
use futures_util::StreamExt;

use super::support::answer::ask;
use super::support::server::{Reply, Server};
use super::support::wire::{ALL, Say, request};

const TEXT: &[Say<'_>] = &[Say::Text(0, "Hello")];
const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn t5_silence_is_idle() {
    for wire in ALL {
        let begun = (wire.begin)(TEXT).concat();
        for (body, unfinished) in [(begun, 1), (String::new(), 0)] {
            let server = Server::start([Reply::sse(body).hang()]).await;
            let answer = ask(&*wire.impatient(&server.url, SHORT), &request()).await;
            assert_eq!(
                (answer.failure().kind, answer.unfinished.len()),
                (ErrorKind::Idle, unfinished),
                "{}",
                wire.name
            );
            tokio::time::timeout(Duration::from_secs(1), server.disconnected())
                .await
                .expect("the connection is closed");
        }
    }
}

#[tokio::test]
async fn t5_keep_alives_are_not_silence() {
    for wire in ALL {
        let limit = Duration::from_millis(500);
        let reply = Reply::sse(wire.comment).every(limit / 5, 8, wire.stream(TEXT));
        let server = Server::start([reply]).await;
        let begun = Instant::now();
        let answer = ask(&*wire.impatient(&server.url, limit), &request()).await;
        assert_eq!((answer.text().as_str(), &answer.error), ("Hello", &None), "{}", wire.name);
        assert!(begun.elapsed() > limit, "{}: the silence was not long enough to prove anything", wire.name);
    }
}

#[tokio::test]
async fn t5_an_answer_behind_its_end_mark_is_not_waited_for() {
    for wire in ALL {
        let server = Server::start([Reply::sse(wire.stream(TEXT)).hang()]).await;
        let begun = Instant::now();
        assert_eq!(ask(&*wire.connect(&server.url), &request()).await.text(), "Hello", "{}", wire.name);
        assert!(begun.elapsed() < Duration::from_secs(2), "{}", wire.name);
    }
}

#[tokio::test]
async fn t10_an_abort_closes_the_connection() {
    for wire in ALL {
        for reply in [Reply::sse((wire.begin)(TEXT).concat()).hang(), Reply::sse("").hang(), Reply::silent()] {
            let waits = !reply.says_something();
            let server = Server::start([reply]).await;
            let provider = wire.connect(&server.url);
            let request = request();
            let mut stream = provider.stream(&request);
            if waits {
                let silence = tokio::time::timeout(SHORT, stream.next()).await;
                assert!(silence.is_err() && !server.requests().is_empty(), "{}: {silence:?}", wire.name);
            } else {
                assert!(stream.next().await.unwrap().is_ok());
            }
            drop(stream);
            let closed = tokio::time::timeout(Duration::from_secs(1), server.disconnected()).await;
            closed.unwrap_or_else(|_| panic!("{}: the server still has the connection", wire.name));
        }
    }
}

#[tokio::test]
async fn t9_one_connection_serves_a_hundred_turns() {
    for wire in ALL {
        let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        let provider = wire.connect(&server.url);
        for _ in 0..100 {
            assert_eq!(ask(&*provider, &request()).await.text(), "Hello", "{}", wire.name);
        }
        assert_eq!((server.connections(), server.requests().len()), (1, 100), "{}", wire.name);
    }
}

#[tokio::test]
async fn t9_compressed_answers_and_old_servers() {
    for wire in ALL {
        let whole = Reply::sse(wire.stream(TEXT));
        for reply in [whole.clone().gzip(), whole.clone().gzip().byte_by_byte(), whole.clone().http_1_0(), whole] {
            let server = Server::start([reply]).await;
            let provider = wire.connect(&server.url);
            for _ in 0..2 {
                assert_eq!(ask(&*provider, &request()).await.text(), "Hello", "{}", wire.name);
            }
            assert!(server.requests()[0].head.contains("accept-encoding: gzip"), "{}", server.requests()[0].head);
        }
        let refused = Reply::status("400 Bad Request", "", r#"{"error":{"message":"Not so"}}"#).gzip();
        let server = Server::start([refused]).await;
        let answer = ask(&*wire.connect(&server.url), &request()).await;
        assert!(answer.failure().message.contains("Not so"), "{}", answer.failure().message);
    }
}

#[tokio::test]
async fn t5_a_server_that_never_answers() {
    for wire in ALL {
        let server = Server::start([Reply::silent()]).await;
        let answer = ask(&*wire.impatient(&server.url, SHORT), &request()).await;
        assert_eq!(answer.failure().kind, ErrorKind::Idle, "{}", wire.name);
        let closed = tokio::time::timeout(Duration::from_secs(1), server.disconnected()).await;
        closed.unwrap_or_else(|_| panic!("{}: the server still has the connection", wire.name));
    }
}

#[tokio::test]
async fn tls_is_set_up_for_the_client_alone() {
    for wire in ALL {
        let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        let answer = ask(&*wire.connect(&server.url.replace("http:", "https:")), &request()).await;
        assert_eq!(answer.failure().kind, ErrorKind::Connection, "{}: {}", wire.name, answer.failure());
        assert!(server.requests().is_empty(), "{}: nothing was sent in the clear", wire.name);
        assert!(rustls::crypto::CryptoProvider::get_default().is_none(), "{}: a library chooses for itself", wire.name);
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    for wire in ALL {
        let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        drop(wire.connect(&server.url).stream(&request()));
        tokio::task::yield_now().await;
        assert_eq!(server.connections(), 0, "{}", wire.name);
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    for wire in ALL {
        let answer = ask(&*wire.connect(&url), &request()).await;
        let error = answer.failure();
        assert_eq!(error.kind, ErrorKind::Connection, "{}", wire.name);
        for part in [url.as_str(), "refused", "check"] {
            assert!(error.message.contains(part), "{}: {}", wire.name, error.message);
        }
    }
}

#[tokio::test]
async fn a_base_url_that_is_none_is_named() {
    for wire in ALL {
        for url in ["", "localhost:8080", "ftp://example.org"] {
            let answer = ask(&*wire.connect(url), &request()).await;
            assert_eq!(answer.failure().kind, ErrorKind::BadRequest, "{}: {url}", wire.name);
            assert!(answer.failure().message.contains("base URL"), "{}", answer.failure().message);
        }
    }
}

#[tokio::test]
async fn t4_closed_before_the_first_byte() {
    for wire in ALL {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.readable().await.unwrap();
                drop(stream);
            }
        });
        let answer = ask(&*wire.connect(&url), &request()).await;
        assert!(answer.failure().kind.is_transient(), "{}: {:?}", wire.name, answer.failure());
    }
}

#[tokio::test]
async fn t8_a_redirect_is_not_followed() {
    for wire in ALL {
        let target = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        let location = format!("location: {}/elsewhere\r\n", target.url);
        let server = Server::start([Reply::status("307 Temporary Redirect", &location, "")]).await;
        let answer = ask(&*wire.connect(&server.url), &request()).await;
        assert!(answer.failure().message.contains(&target.url), "{}", answer.failure().message);
        assert!(!answer.failure().kind.is_transient(), "{}", wire.name);
        assert_eq!(target.connections(), 0, "{}: no credentials went there", wire.name);
    }
}
