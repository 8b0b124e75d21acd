//! A model server on loopback that plays a script in the Chat Completions protocol and remembers what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// One answer of the server.
#[derive(Clone)]
pub(crate) enum Answer {
    /// An answer of this text.
    Text(&'static str),
    /// An answer of so many lines.
    Lines(usize),
    /// A call of a tool, with its arguments as JSON text.
    Call(&'static str, &'static str),
    /// A failure, with the body's JSON.
    Status(u16, &'static str),
    /// The beginning of an answer, and then nothing until the client goes.
    Hang(&'static str),
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// One message for each answer that hangs, sent when its beginning is out.
    hanging: Receiver<()>,
}

impl Server {
    /// A server that gives these answers, one to each request. It ends with the test's process.
    pub(crate) fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (sender, hanging) = channel();
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log, sender) = (Arc::clone(&script), Arc::clone(&log), sender.clone());
                // A client that goes away in the middle is none of the test's business.
                thread::spawn(move || serve(&stream.unwrap(), &script, &log, &sender));
            }
        });
        Self { url, asked, hanging }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until the beginning of a hanging answer is out.
    pub(crate) fn wait_until_hanging(&self) {
        self.hanging.recv_timeout(Duration::from_secs(20)).expect("the agent asks the server");
    }
}

fn serve(
    stream: &TcpStream,
    script: &Mutex<VecDeque<Answer>>,
    log: &Mutex<Vec<Asked>>,
    hanging: &Sender<()>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let asked = read_request(&mut reader)?;
        log.lock().unwrap().push(asked);
        let answer = script.lock().unwrap().pop_front();
        let mut stream = stream;
        match answer {
            Some(Answer::Text(text)) => respond(stream, 200, "text/event-stream", &text_events(text)),
            Some(Answer::Lines(count)) => {
                let lines = event(&json!({"content": "line\n".repeat(500)}), None).repeat(count / 500);
                respond(stream, 200, "text/event-stream", &format!("{lines}{}", text_events("end")));
            }
            Some(Answer::Call(name, arguments)) => {
                respond(stream, 200, "text/event-stream", &call_events(name, arguments));
            }
            Some(Answer::Status(status, body)) => respond(stream, status, "application/json", body),
            Some(Answer::Hang(text)) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let begun = format!("{head}{}", event(&json!({"content": text}), None));
                stream.write_all(begun.as_bytes()).ok()?;
                hanging.send(()).ok()?;
                // Until the client goes.
                let _ = stream.read(&mut [0]);
                return None;
            }
            None => respond(stream, 500, "application/json", r#"{"error":{"message":"the script is over"}}"#),
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { path, key, body: serde_json::from_slice(&body).ok()? })
}

fn respond(mut stream: &TcpStream, status: u16, media_type: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n");
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn event(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "x", "model": "served", "choices": [choice]}))
}

fn text_events(text: &str) -> String {
    let pieces: String = text.split_inclusive(' ').map(|piece| event(&json!({"content": piece}), None)).collect();
    format!("{pieces}{}{}", event(&json!({}), Some("stop")), END)
}

fn call_events(name: &str, arguments: &str) -> String {
    let call =
        json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}});
    format!("{}{}{}", event(&json!({"tool_calls": [call]}), None), event(&json!({}), Some("tool_calls")), END)
}

const END: &str = concat!(
    r#"data: {"id":"x","model":"served","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}"#,
    "\n\ndata: [DONE]\n\n"
);
