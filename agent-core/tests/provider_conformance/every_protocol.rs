//! What a model does, the same in every protocol.

use agent_core::message::{AssistantMessage, Message, StopReason, Usage};
use agent_core::provider::ErrorKind;
use serde_json::json;

use super::support::answer::{Answer, ask};
use super::support::server::{Reply, Server};
use super::support::wire::{ALL, MODEL, Say, Wire, next_turn, request};

const TEXT: &[Say<'_>] = &[Say::Text(0, "Grüß"), Say::Text(0, " dich, 世"), Say::Text(0, "界 😀")];
const PARALLEL: &[Say<'_>] = &[
    Say::Text(0, "I look."),
    Say::Call(1, "a", "read"),
    Say::Arguments(1, "{\"path\":"),
    Say::Call(2, "b", "read"),
    Say::Arguments(2, "{\"pa"),
    Say::Arguments(1, "\"a.txt\"}"),
    Say::Arguments(2, "th\":\"b.txt\"}"),
];

async fn answer(wire: &Wire, reply: Reply) -> Answer {
    let server = Server::start([reply]).await;
    ask(&*wire.connect(&server.url), &request()).await
}

/// Asks, then sends the answer back with results, and has the second request judged.
async fn two_turns(wire: &Wire, stream: &str) -> Answer {
    let server = Server::start([Reply::sse(stream), Reply::sse(wire.stream(TEXT))]).await;
    let provider = wire.connect(&server.url);
    let first = ask(&*provider, &request()).await;
    let second = next_turn(request(), first.message(provider.name(), MODEL));
    assert_eq!(ask(&*provider, &second).await.error, None);
    for recorded in server.requests() {
        (wire.check)(&recorded.body())
            .unwrap_or_else(|why| panic!("{}: refused: {why}: {}", wire.name, recorded.body()));
    }
    assert_eq!(server.connections(), 1, "{}: one connection serves both turns", wire.name);
    first
}

#[tokio::test]
async fn text() {
    for wire in ALL {
        let answer = two_turns(&wire, &wire.stream(TEXT)).await;
        assert_eq!(
            (answer.text().as_str(), answer.stop),
            ("Grüß dich, 世界 😀", Some(StopReason::EndTurn)),
            "{}",
            wire.name
        );
        assert_eq!(answer.model.as_deref(), Some(MODEL), "{}", wire.name);
    }
}

#[tokio::test]
async fn usage() {
    for wire in ALL {
        let answer = answer(&wire, Reply::sse(wire.stream(TEXT))).await;
        let expected = Usage { input: 100, output: 20, cache_read: 60, ..Usage::default() };
        assert_eq!(answer.usage, expected, "{}", wire.name);
    }
}

#[tokio::test]
async fn thinking_before_text_and_calls() {
    for wire in ALL {
        let script = [
            Say::Thinking(0, "Let me "),
            Say::Thinking(0, "see."),
            Say::Text(1, "Yes."),
            Say::Call(2, "a", "read"),
            Say::Arguments(2, "{}"),
        ];
        let answer = two_turns(&wire, &wire.stream(&script)).await;
        assert_eq!((answer.thinking().as_str(), answer.text().as_str()), ("Let me see.", "Yes."), "{}", wire.name);
        assert_eq!(answer.stop, Some(StopReason::ToolCalls), "{}", wire.name);
        assert_eq!(answer.parts.len(), 3, "{}", wire.name);
    }
}

#[tokio::test]
async fn one_call() {
    for wire in ALL {
        let script = [Say::Call(0, "call_1", "read"), Say::Arguments(0, r#"{"path":"a.txt"}"#)];
        let answer = two_turns(&wire, &wire.stream(&script)).await;
        assert_eq!((answer.call().id.as_str(), answer.call().name.as_str()), ("call_1", "read"), "{}", wire.name);
        assert_eq!(answer.call().arguments["path"], "a.txt", "{}", wire.name);
    }
}

#[tokio::test]
async fn c6_a_call_without_arguments() {
    for wire in ALL {
        let answer = two_turns(&wire, &wire.stream(&[Say::Call(0, "call_1", "read")])).await;
        assert_eq!((answer.call().arguments.len(), &answer.call().unreadable), (0, &None), "{}", wire.name);
    }
}

#[tokio::test]
async fn parallel_calls_whose_pieces_mix() {
    for wire in ALL {
        let answer = two_turns(&wire, &wire.stream(PARALLEL)).await;
        let paths: Vec<_> =
            answer.calls().iter().map(|call| (call.id.as_str(), call.arguments["path"].clone())).collect();
        assert_eq!(paths, [("a", json!("a.txt")), ("b", json!("b.txt"))], "{}", wire.name);
    }
}

#[tokio::test]
async fn arguments_cut_at_every_byte() {
    let arguments = r#"{"path":"a\"\\b \u00e9\ud83d\ude00 ü世","n":[1,{"x":null}]}"#;
    for wire in ALL {
        for at in (1..arguments.len()).filter(|at| arguments.is_char_boundary(*at)) {
            let (head, tail) = arguments.split_at(at);
            let script = [Say::Call(0, "a", "read"), Say::Arguments(0, head), Say::Arguments(0, tail)];
            let answer = answer(&wire, Reply::sse(wire.stream(&script))).await;
            assert_eq!(answer.call().arguments["path"], "a\"\\b é😀 ü世", "{} at {at}", wire.name);
        }
    }
}

#[tokio::test]
async fn t1_the_body_cut_at_every_byte() {
    for wire in ALL {
        let script = [Say::Text(0, "ü世😀\n"), Say::Call(1, "a", "read"), Say::Arguments(1, r#"{"path":"é"}"#)];
        let body = wire.stream(&script).replace('\n', "\r\n");
        let whole = answer(&wire, Reply::sse(body.clone())).await;
        assert_eq!(whole.call().arguments["path"], "é", "{}", wire.name);
        let alone = answer(&wire, Reply::sse(body.clone()).byte_by_byte()).await;
        assert_eq!(alone.events, whole.events, "{}: every byte alone", wire.name);
        let server = Server::start((0..body.len()).map(|at| Reply::sse(body.clone()).split_at(at))).await;
        let provider = wire.connect(&server.url);
        for at in 0..body.len() {
            assert_eq!(ask(&*provider, &request()).await.events, whole.events, "{}: cut at {at}", wire.name);
        }
    }
}

#[tokio::test]
async fn t2_every_way_to_write_an_event_stream() {
    for wire in ALL {
        let body = wire.stream(TEXT);
        let expected = answer(&wire, Reply::sse(body.clone())).await.events;
        let ways = [
            ("CRLF", body.replace('\n', "\r\n")),
            ("CR", body.replace('\n', "\r")),
            ("a BOM", format!("\u{FEFF}{body}")),
            ("no blank after the colon", body.replace("data: ", "data:")),
            ("comments", format!(": hello\n\n{}", body.replace("\n\n", "\n: in between\n\n: and after\n\n"))),
            ("event without data", format!("event: x\n\nid: 7\nretry: 10\n\n{body}")),
            ("several data lines", body.replace("data: {", "data: {\ndata: ")),
            ("no blank line at the end", body.trim_end().to_owned()),
            ("more behind the end mark", format!("{body}data: rubbish\n\n")),
        ];
        for (way, body) in ways {
            for reply in [Reply::sse(body.clone()), Reply::sse(body.clone()).byte_by_byte()] {
                assert_eq!(answer(&wire, reply).await.events, expected, "{}: {way}", wire.name);
            }
        }
    }
}

#[tokio::test]
async fn t4_cut_after_some_text() {
    for wire in ALL {
        let begun = (wire.begin)(TEXT).concat();
        for reply in [Reply::sse(begun.clone()), Reply::sse(begun.clone()).break_off(), Reply::sse(begun).close()] {
            let answer = answer(&wire, reply).await;
            assert_eq!(answer.failure().kind, ErrorKind::Cut, "{}", wire.name);
            assert_eq!(answer.unfinished, ["Grüß dich, 世界 😀"], "{}", wire.name);
        }
    }
}

#[tokio::test]
async fn t4_cut_inside_arguments() {
    for wire in ALL {
        let script = [Say::Call(0, "a", "read"), Say::Arguments(0, r#"{"path":"a"#)];
        let begun = (wire.begin)(&script).concat();
        let half_an_event = format!("{begun}data: {{\"choi");
        let marked = format!("{begun}data: [DONE]\n\n");
        for body in [begun, half_an_event, marked] {
            let answer = answer(&wire, Reply::sse(body.clone())).await;
            assert_eq!(answer.failure().kind, ErrorKind::Cut, "{}: {body}", wire.name);
            assert_eq!((answer.calls().len(), answer.unfinished.len()), (0, 1), "{}: {body}", wire.name);
        }
    }
}

#[tokio::test]
async fn t4_only_the_end_mark_is_missing() {
    for wire in ALL {
        let body = format!("{}{}", (wire.begin)(PARALLEL).concat(), (wire.finish)(PARALLEL).concat());
        for reply in [Reply::sse(body.clone()), Reply::sse(body.clone()).break_off(), Reply::sse(body).close()] {
            let answer = answer(&wire, reply).await;
            assert_eq!((answer.calls().len(), answer.usage.input), (2, 100), "{}", wire.name);
        }
    }
}

#[tokio::test]
async fn t9_a_whole_answer_instead_of_a_stream() {
    for wire in ALL {
        let script = [
            Say::Thinking(0, "Hm."),
            Say::Text(1, "Yes."),
            Say::Call(2, "a", "read"),
            Say::Arguments(2, r#"{"path":"x"}"#),
        ];
        let body = (wire.whole)(&script).to_string();
        for content_type in ["content-type: application/json\r\n", "content-type: text/event-stream\r\n", ""] {
            let answer = answer(&wire, Reply::status("200 OK", content_type, format!("\n {body}"))).await;
            assert_eq!((answer.thinking().as_str(), answer.text().as_str()), ("Hm.", "Yes."), "{}", wire.name);
            assert_eq!(
                (answer.call().arguments["path"].as_str(), answer.stop),
                (Some("x"), Some(StopReason::ToolCalls))
            );
        }
    }
}

#[tokio::test]
async fn c4_unusable_ids_are_replaced_by_unique_ones() {
    for wire in ALL {
        let script = [
            Say::Call(0, "same", "read"),
            Say::Arguments(0, "{}"),
            Say::Call(1, "same", "read"),
            Say::Arguments(1, "{}"),
        ];
        let server = Server::start([Reply::sse(wire.stream(&script))]).await;
        let provider = wire.connect(&server.url);
        let mut turn = request();
        for turns in 1..=3 {
            let answer = ask(&*provider, &turn).await;
            assert_eq!(answer.calls().len(), 2, "{} turn {turns}", wire.name);
            turn = next_turn(turn, answer.message(provider.name(), MODEL));
        }
        let answers = turn.messages.iter().filter_map(|message| message.as_assistant());
        let ids: Vec<String> = answers.flat_map(AssistantMessage::tool_calls).map(|call| call.id.clone()).collect();
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (6, 6), "{}: {ids:?}", wire.name);
        turn.messages.push(Message::user("Go on.").into());
        ask(&*provider, &turn).await;
        for recorded in server.requests() {
            assert_eq!((wire.check)(&recorded.body()), Ok(()), "{}", wire.name);
        }
    }
}

#[tokio::test]
async fn c6_unreadable_arguments_are_shown_not_guessed() {
    for wire in ALL {
        for arguments in [r#"{"path":"a"}{"path":"b"}"#, r#"{"path":"a"} and so on"#, r#"{"path":"#, "[1]", "read it"] {
            let script = [Say::Call(0, "a", "read"), Say::Arguments(0, arguments)];
            let answer = two_turns(&wire, &wire.stream(&script)).await;
            assert!(
                answer.call().unreadable.is_some() && answer.call().arguments.is_empty(),
                "{}: {arguments}",
                wire.name
            );
        }
    }
}

#[tokio::test]
async fn c6_readable_slips_in_arguments_are_mended() {
    for wire in ALL {
        let cases = [
            ("{\"path\":\"a\nb\"}", "a\nb"),
            (r#""{\"path\":\"in a string\"}""#, "in a string"),
            (r#"{"path":"half \ud83d"}"#, "half \u{FFFD}"),
        ];
        for (arguments, path) in cases {
            let script = [Say::Call(0, "a", "read"), Say::Arguments(0, arguments)];
            let answer = answer(&wire, Reply::sse(wire.stream(&script))).await;
            assert_eq!(answer.call().arguments["path"], path, "{}: {arguments}", wire.name);
        }
    }
}

#[tokio::test]
async fn t1_a_surrogate_pair_in_two_pieces() {
    for wire in ALL {
        let body = wire.stream(&[Say::Text(0, "a#high"), Say::Text(0, "#low"), Say::Text(0, "#high")]);
        let body = body.replace("#high", "\\ud83d").replace("#low", "\\ude00b");
        let answer = answer(&wire, Reply::sse(body)).await;
        assert_eq!(answer.text(), "a\u{1F600}b\u{FFFD}", "{}", wire.name);
    }
}

#[tokio::test]
async fn large_answers_take_linear_time() {
    let begun = std::time::Instant::now();
    for wire in ALL {
        let long = "x".repeat(1 << 20);
        let one_event = answer(&wire, Reply::sse(wire.stream(&[Say::Text(0, &long)]))).await;
        assert_eq!(one_event.text().len(), 1 << 20, "{}", wire.name);
        let arguments = format!(r#"{{"path":"{}"}}"#, "}".repeat(300_000));
        let pieces =
            arguments.as_bytes().chunks(20).map(|piece| Say::Arguments(0, std::str::from_utf8(piece).unwrap()));
        let script: Vec<_> = std::iter::once(Say::Call(0, "a", "read")).chain(pieces).collect();
        let many = answer(&wire, Reply::sse(wire.stream(&script))).await;
        assert_eq!(many.call().arguments["path"].as_str().unwrap().len(), 300_000, "{}", wire.name);
    }
    assert!(begun.elapsed().as_secs() < 20, "took {:?}", begun.elapsed());
}
