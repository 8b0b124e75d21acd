//! Sessions in real files: what is written comes back, whatever a crash left of it.
#![expect(clippy::unwrap_used, reason = "a test's own functions may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::history;
use agent_core::message::{AssistantMessage, Message, Part, StopReason, ToolCall, ToolResult, Usage};
use agent_core::session::jsonl::{JsonlStore, SessionHeader};
use agent_core::session::{Entry, Record, Session, SessionError, SessionStore};
use serde_json::{Value, json};
use tempfile::TempDir;

fn header() -> SessionHeader {
    SessionHeader::new(Path::new("/projects/demo")).created("2026-01-02T03:04:05Z")
}

fn create(dir: &Path, id: &str) -> Session {
    Session::open(id, JsonlStore::create(dir, id, header()).unwrap()).unwrap()
}

fn open(dir: &Path, id: &str) -> Session {
    Session::open(id, JsonlStore::open(dir, id).unwrap()).unwrap()
}

fn calling(ids: &[&str]) -> AssistantMessage {
    let call = |id: &&str| Part::ToolCall(ToolCall::from_value(*id, "bash", json!({"command": "ls -l"})));
    AssistantMessage {
        parts: ids.iter().map(call).collect(),
        stop: StopReason::ToolCalls,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        provider: "scripted".to_owned(),
        model: "m".to_owned(),
    }
}

fn result(answer: &AssistantMessage, at: usize) -> Message {
    let call = answer.tool_calls().nth(at).unwrap();
    Message::ToolResult(ToolResult { is_error: false, ..ToolResult::error(call, "drwxr-xr-x ä\n") })
}

/// A conversation of several turns with calls and all kinds of records.
fn converse(session: &mut Session) {
    session.append(Message::user("List the files — süß \u{1F980}")).unwrap();
    let answer = calling(&["c1", "c2"]);
    session.append(Message::Assistant(answer.clone())).unwrap();
    session.append(result(&answer, 1)).unwrap();
    session.append(result(&answer, 0)).unwrap();
    session.record(Record::Label("files".to_owned())).unwrap();
    session.record(Record::ModelChanged { model: "other".to_owned() }).unwrap();
    let answer = calling(&["c3"]);
    session.append(Message::Assistant(answer.clone())).unwrap();
    session.append(result(&answer, 0)).unwrap();
    session.append(Message::user("Thanks")).unwrap();
}

fn file(dir: &Path, id: &str, extension: &str) -> PathBuf {
    dir.join(format!("{id}.{extension}"))
}

fn texts(session: &Session) -> Vec<Value> {
    session.messages().iter().map(|message| serde_json::to_value(&**message).unwrap()).collect()
}

#[test]
fn rule_3_1_what_is_written_comes_back() {
    let dir = TempDir::new().unwrap();
    let mut session = create(dir.path(), "s1");
    converse(&mut session);
    let (written, usage) = (texts(&session), session.usage());
    drop(session);
    let before = fs::read(file(dir.path(), "s1", "jsonl")).unwrap();
    let store = JsonlStore::open(dir.path(), "s1").unwrap();
    assert_eq!(store.header(), &header());
    assert!(store.notices().is_empty());
    let session = Session::open("s1", store).unwrap();
    assert_eq!(texts(&session), written);
    assert_eq!(session.usage(), usage);
    assert_eq!(fs::read(file(dir.path(), "s1", "jsonl")).unwrap(), before, "opening a whole session changes nothing");
}

#[test]
fn rule_3_1_a_session_is_created_once_and_under_a_plain_name() {
    let dir = TempDir::new().unwrap();
    drop(create(dir.path(), "s1"));
    assert!(matches!(JsonlStore::create(dir.path(), "s1", header()), Err(SessionError::Io { .. })));
    assert!(matches!(JsonlStore::open(dir.path(), "s2"), Err(SessionError::NotFound { .. })));
    for id in ["", "../s1", "a/b", "a.b", "ä", &"x".repeat(129)] {
        assert!(matches!(JsonlStore::create(dir.path(), id, header()), Err(SessionError::InvalidId { .. })), "{id}");
        assert!(matches!(JsonlStore::read(dir.path(), id), Err(SessionError::InvalidId { .. })), "{id}");
    }
}

/// Every call has exactly one result, behind its answer.
fn assert_sendable(session: &Session, cut: usize) {
    let log: Vec<_> = history::sendable(session.messages());
    for (at, message) in log.iter().enumerate() {
        for call in message.as_assistant().into_iter().flat_map(AssistantMessage::tool_calls) {
            let results =
                log.iter().enumerate().filter(|(_, m)| m.as_tool_result().is_some_and(|r| r.call_id == call.id));
            let places: Vec<usize> = results.map(|(place, _)| place).collect();
            assert!(places.len() == 1 && places[0] > at, "cut at {cut}: call {} has results at {places:?}", call.id);
        }
    }
    let open = history::open_calls(session.messages());
    assert!(open.is_empty(), "cut at {cut}: {open:?}");
}

#[test]
fn rule_3_2_every_prefix_opens_and_can_be_sent() {
    let dir = TempDir::new().unwrap();
    let mut session = create(dir.path(), "whole");
    converse(&mut session);
    let full: Vec<Value> = texts(&session);
    drop(session);
    let bytes = fs::read(file(dir.path(), "whole", "jsonl")).unwrap();
    for cut in 0..=bytes.len() {
        let cut_dir = TempDir::new().unwrap();
        fs::write(file(cut_dir.path(), "s", "jsonl"), &bytes[..cut]).unwrap();
        let viewed = JsonlStore::read(cut_dir.path(), "s").unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let store = JsonlStore::open(cut_dir.path(), "s").unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let is_torn = cut > 0 && bytes[cut - 1] != b'\n';
        assert_eq!(store.notices().len(), usize::from(is_torn), "cut at {cut}");
        assert_eq!(viewed.notices.len(), usize::from(is_torn), "cut at {cut}");
        let torn = fs::read(file(cut_dir.path(), "s", "torn")).unwrap_or_default();
        let line_start = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        assert_eq!(torn.strip_suffix(b"\n").unwrap_or_default(), &bytes[line_start..cut], "cut at {cut}");
        let mut session = Session::open("s", store).unwrap();
        assert_sendable(&session, cut);
        session.append(Message::user("Go on")).unwrap();
        let expected = texts(&session);
        drop(session);
        let again = open(cut_dir.path(), "s");
        assert_eq!(texts(&again), expected, "cut at {cut}");
        let kept = viewed.entries.iter().filter(|entry| matches!(entry.record, Record::Message(_))).count();
        assert_eq!(texts(&again)[..kept], full[..kept], "cut at {cut}");
    }
}

#[test]
fn rule_3_2_garbage_and_nuls_at_the_end_are_set_aside() {
    for tail in [&b"\0\0\0\0"[..], b"\0\0\n\0\0\n", b"{\"id\":99,\"par\n", b"\xff\xfe\n", b"garbage"] {
        let dir = TempDir::new().unwrap();
        let mut session = create(dir.path(), "s");
        converse(&mut session);
        let written = texts(&session);
        drop(session);
        let path = file(dir.path(), "s", "jsonl");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], tail].concat()).unwrap();
        assert_eq!(texts(&open(dir.path(), "s")), written);
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::read(file(dir.path(), "s", "torn")).unwrap(), [tail, b"\n"].concat());
    }
}

#[test]
fn rule_3_2_damage_in_the_middle_is_refused_and_left_alone() {
    let dir = TempDir::new().unwrap();
    converse(&mut create(dir.path(), "s"));
    let path = file(dir.path(), "s", "jsonl");
    let damaged = fs::read_to_string(&path).unwrap().replacen("\"id\":2", "\"id\":2,,", 1);
    fs::write(&path, &damaged).unwrap();
    let error = JsonlStore::open(dir.path(), "s").unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}, line 3: ", path.display())), "{error}");
    fs::write(&path, "Dear diary").unwrap();
    assert!(matches!(JsonlStore::open(dir.path(), "s"), Err(SessionError::Corrupt { line: 1, .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "Dear diary");
    fs::write(&path, "{\"type\":\"session\",\"version\":2}\n").unwrap();
    assert!(matches!(JsonlStore::open(dir.path(), "s"), Err(SessionError::Version { found: 2, known: 1, .. })));
}

#[cfg(unix)]
const CHILD_DIR: &str = "SESSIONS_TEST_DIR";

/// Where the sessions are, in a process that [`in_child`] started.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a test's process is told its part by its environment")]
fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD_DIR).map(PathBuf::from)
}

/// Runs one test of this file in a process of its own, by `sh`, with [`CHILD_DIR`] set; gives what it printed.
#[cfg(unix)]
fn in_child(test: &str, dir: &Path, before: &str) -> String {
    let script = format!("{before}\nexec \"$0\" --exact {test} --nocapture");
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env(CHILD_DIR, dir);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

#[cfg(unix)]
#[test]
fn rule_3_3_a_second_writer_hears_who_holds_the_session() {
    if let Some(dir) = child_dir() {
        let error = JsonlStore::open(&dir, "s").unwrap_err();
        println!("<{error}>");
        assert_eq!(JsonlStore::read(&dir, "s").unwrap().entries.len(), 9);
        return;
    }
    let dir = TempDir::new().unwrap();
    let mut session = create(dir.path(), "s");
    converse(&mut session);
    let held = format!("the session s is in use by process {}", std::process::id());
    let said = in_child("rule_3_3_a_second_writer_hears_who_holds_the_session", dir.path(), "");
    assert!(said.contains(&format!("<{held}>")), "{said}");
    assert_eq!(JsonlStore::open(dir.path(), "s").unwrap_err().to_string(), held);
    drop(session);
    assert!(!file(dir.path(), "s", "pid").exists());
    // What a killed process leaves is in nobody's way.
    fs::write(file(dir.path(), "s", "pid"), "1\n").unwrap();
    let session = open(dir.path(), "s");
    assert_eq!(fs::read_to_string(file(dir.path(), "s", "pid")).unwrap(), format!("{}\n", std::process::id()));
    drop(session);
}

#[cfg(unix)]
#[test]
fn rule_3_3_only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = TempDir::new().unwrap();
    let sessions = dir.path().join("a/b");
    let session = create(&sessions, "s");
    assert_eq!(mode(&sessions), 0o700);
    assert_eq!(mode(&file(&sessions, "s", "jsonl")), 0o600);
    assert_eq!(mode(&file(&sessions, "s", "pid")), 0o600);
    drop(session);
    fs::write(file(&sessions, "s", "jsonl"), "{\"type\":\"ses").unwrap();
    drop(open(&sessions, "s"));
    assert_eq!(mode(&file(&sessions, "s", "torn")), 0o600);
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o750)).unwrap();
    drop(create(&shared, "s"));
    assert_eq!(mode(&shared), 0o750);
}

#[cfg(unix)]
#[test]
fn rule_3_2_a_write_that_fails_half_way_leaves_the_file_whole() {
    if let Some(dir) = child_dir() {
        let mut session = create(&dir, "s");
        session.append(Message::user("fits")).unwrap();
        let error = session.append(Message::user("x".repeat(200_000))).unwrap_err();
        assert!(matches!(error, SessionError::Io { action: "cannot write", .. }), "{error}");
        assert_eq!(session.messages().len(), 1);
        session.append(Message::user("fits too")).unwrap();
        println!("<reached the limit>");
        return;
    }
    let dir = TempDir::new().unwrap();
    let test = "rule_3_2_a_write_that_fails_half_way_leaves_the_file_whole";
    // Files may not grow beyond 50 or 100 KB, and a write that tries to is cut short and then fails.
    let said = in_child(test, dir.path(), "trap '' XFSZ; ulimit -f 100");
    assert!(said.contains("<reached the limit>"), "{said}");
    let store = JsonlStore::open(dir.path(), "s").unwrap();
    assert!(store.notices().is_empty());
    assert_eq!(Session::open("s", store).unwrap().messages().len(), 2);
}

#[test]
fn rule_3_5_unknown_kinds_and_fields_are_kept_and_carry_the_chain() {
    let dir = TempDir::new().unwrap();
    let lines = [
        r#"{"type":"session","version":1,"id":"s","working_dir":"/w","colour":"red"}"#,
        r#"{"id":1,"parent":null,"type":"message","message":{"role":"user","content":[{"type":"text","text":"one"}]},"mood":3}"#,
        r#"{"id":2,"parent":1,"type":"hologram","data":{"x":[1.5]}}"#,
        // The message before its type is read as well.
        r#"{"message":{"role":"user","content":[{"type":"text","text":"two"}]},"id":3,"parent":2,"type":"message"}"#,
    ];
    let text = lines.join("\n") + "\n";
    fs::write(file(dir.path(), "s", "jsonl"), &text).unwrap();
    let log = JsonlStore::read(dir.path(), "s").unwrap();
    assert_eq!(serde_json::to_string(&log.entries[1]).unwrap(), lines[2]);
    let mut session = open(dir.path(), "s");
    assert_eq!(session.messages().len(), 2);
    session.append(Message::user("three")).unwrap();
    let now = fs::read_to_string(file(dir.path(), "s", "jsonl")).unwrap();
    assert!(now.starts_with(&text), "nothing is rewritten");
    assert!(now[text.len()..].starts_with(r#"{"id":4,"parent":3,"type":"message""#), "{now}");
}

#[test]
fn rule_3_1_a_session_goes_on_from_the_branch_appended_last() {
    let dir = TempDir::new().unwrap();
    let mut store = JsonlStore::create(dir.path(), "s", header()).unwrap();
    let user = |text: &str| Record::Message(Message::user(text));
    for (id, parent, text) in [(1, None, "a"), (2, Some(1), "b"), (9, Some(2), "c"), (4, Some(1), "d")] {
        store.append(&Entry { id, parent, record: user(text) }).unwrap();
    }
    drop(store);
    let mut session = open(dir.path(), "s");
    session.append(Message::user("e")).unwrap();
    drop(session);
    let last = JsonlStore::read(dir.path(), "s").unwrap().entries.pop().unwrap();
    assert_eq!((last.id, last.parent), (10, Some(4)));
    let said: Vec<Value> = texts(&open(dir.path(), "s")).iter().map(|m| m["content"][0]["text"].clone()).collect();
    assert_eq!(said, ["a", "d", "e"]);
}

#[test]
fn rule_3_4_a_list_reads_heads_and_names_what_is_no_session() {
    let dir = TempDir::new().unwrap();
    assert!(JsonlStore::list(&dir.path().join("nothing")).unwrap().sessions.is_empty());
    for (age, id) in (0..).zip(["b-new", "b-old", "empty"]) {
        let mut session = create(dir.path(), id);
        if id != "empty" {
            session.append(Message::user(format!("Hello\n {id} {}", "x".repeat(300)))).unwrap();
            // What comes after the head is never looked at.
            session.append(Message::user("y".repeat(1_000_000))).unwrap();
        }
        drop(session);
        let file = fs::File::options().append(true).open(file(dir.path(), id, "jsonl")).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_modified(modified - std::time::Duration::from_secs(60 * age)).unwrap();
    }
    fs::write(dir.path().join("foreign.jsonl"), "{\"a\":1}\n").unwrap();
    fs::write(dir.path().join("notes.txt"), "x").unwrap();
    let listing = JsonlStore::list(dir.path()).unwrap();
    let ids: Vec<&str> = listing.sessions.iter().map(|head| head.id.as_str()).collect();
    assert_eq!(ids, ["b-new", "b-old", "empty"]);
    let head = &listing.sessions[0];
    assert_eq!(head.header, header());
    let text = head.first_text.as_deref().unwrap();
    assert!(text.starts_with("Hello b-new xxx") && text.chars().count() == 201, "{text}");
    assert!(head.size > 1_000_000);
    assert_eq!(listing.sessions[2].first_text, None);
    assert_eq!(listing.problems, [format!("{}: not a session", dir.path().join("foreign.jsonl").display())]);
}

#[test]
fn rule_3_4_a_session_is_found_by_the_beginning_of_its_id() {
    let dir = TempDir::new().unwrap();
    for id in ["ab1", "ab2", "ab", "c1"] {
        drop(create(dir.path(), id));
    }
    let find = |prefix| JsonlStore::find(dir.path(), prefix);
    assert_eq!(find("c").unwrap(), "c1");
    assert_eq!(find("ab").unwrap(), "ab", "a whole id wins");
    assert_eq!(find("a").unwrap_err().to_string(), "`a` is the beginning of several sessions: ab, ab1, ab2");
    assert!(matches!(find("x"), Err(SessionError::NotFound { .. })));
}

#[cfg(unix)]
#[test]
fn rule_3_1_a_working_directory_that_is_not_unicode_is_survived() {
    use std::os::unix::ffi::OsStrExt;
    let dir = TempDir::new().unwrap();
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"/w/\xff"));
    drop(JsonlStore::create(dir.path(), "s", SessionHeader::new(odd)).unwrap());
    assert_eq!(JsonlStore::read(dir.path(), "s").unwrap().header.working_dir, "/w/\u{fffd}");
}

/// A child that is between fork and exec holds a copy of the descriptor; closing ours is then not enough.
#[test]
fn rule_3_3_a_session_is_free_again_at_once_while_processes_are_started() {
    let dir = TempDir::new().unwrap();
    drop(create(dir.path(), "s"));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        let opened = (0..300).all(|_| JsonlStore::open(dir.path(), "s").is_ok());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(opened, "it was locked by nobody");
    });
}
