//! `read`.

use std::fs;

use agent_core::Content;
use agent_tools::{FileRoot, Home};
use serde_json::json;

use crate::{Place, details, text};

fn numbers(range: std::ops::RangeInclusive<usize>) -> String {
    range.fold(String::new(), |text, number| text + &number.to_string() + "\n")
}

#[tokio::test]
async fn rule_4_read_shows_lines_from_one_and_a_final_newline_is_no_line() {
    let place = Place::new();
    place.put("f", "a\nb\r\nc\n");
    let output = place.call("read", json!({"path": "f"})).await.unwrap();
    assert_eq!(text(&output), "a\nb\nc");
    assert_eq!(details(&output)["total_lines"], 3);
    assert_eq!(place.text("read", json!({"path": "f", "offset": 3})).await, "c");
    let part = place.text("read", json!({"path": "f", "offset": 2, "limit": 1})).await;
    assert_eq!(part, "b\n[Lines 2-2 of 3 shown; go on with offset=3]");
    let message = place.refusal("read", json!({"path": "f", "offset": 4})).await;
    assert_eq!(message, "offset 4 is beyond the end of `f`, which has 3 lines");
    place.put("empty", "");
    assert_eq!(place.text("read", json!({"path": "empty"})).await, "`empty` is empty.");
}

#[tokio::test]
async fn rule_4_read_keeps_the_head_of_what_is_too_long() {
    let place = Place::new();
    place.put("lines", numbers(1..=2_001));
    let shown = place.text("read", json!({"path": "lines"})).await;
    assert!(shown.ends_with("\n2000\n[Lines 1-2000 of 2001 shown; go on with offset=2001]"), "{shown}");
    assert_eq!(place.text("read", json!({"path": "lines", "offset": 2_001})).await, "2001");

    place.put("bytes", format!("{}\n", "é".repeat(500)).repeat(100));
    let shown = place.text("read", json!({"path": "bytes"})).await;
    assert!(shown.ends_with("\n[Lines 1-51 of 100 shown; go on with offset=52]"), "{}", &shown[shown.len() - 80..]);
    assert!(shown.len() <= 50 * 1024 + 100);
}

#[tokio::test]
async fn rule_4_read_cuts_a_huge_line_between_characters() {
    let place = Place::new();
    place.put("f", format!("x{}\nnext\n", "€".repeat(40_000)));
    let shown = place.text("read", json!({"path": "f"})).await;
    let (line, notices) = shown.split_once('\n').unwrap();
    assert!(line.len() <= 50 * 1024 && line.len() > 50 * 1024 - 3 && !line.contains('\u{FFFD}'));
    let at = line.len();
    let says = format!("[Line 1 has 120002 bytes and was cut at {at}; an offset cannot show the rest of it, but `sed");
    assert!(notices.contains(&says) && notices.contains(&format!("tail -c +{} ", at + 1)), "{notices}");
    assert!(notices.ends_with("[Lines 1-1 of 2 shown; go on with offset=2]"), "{notices}");
}

#[tokio::test]
async fn rule_4_read_names_only_an_offset_that_exists() {
    let place = Place::new();
    // Too large to be counted to its end, and of one line.
    place.put("f", "x".repeat(17 * 1024 * 1024));
    let shown = place.text("read", json!({"path": "f"})).await;
    let notices = &shown[50 * 1024..];
    assert!(notices.starts_with("\n[Line 1 has 17825792 bytes") && !notices.contains("offset="), "{notices}");
}

#[tokio::test]
async fn rule_4_read_shows_no_raw_control_character() {
    let place = Place::new();
    let start = "text\n".repeat(2_000 * 5);
    place.put("escapes", format!("{start}\u{1B}[2Jx\u{7}\u{C}\u{7F}\ty\n"));
    let shown = place.text("read", json!({"path": "escapes", "offset": 10_001})).await;
    assert!(shown.starts_with("␛[2Jx␇␌␡\ty\n[Control characters"), "{shown}");
    place.put("late", format!("{start}a\0b\nmore\n"));
    let shown = place.text("read", json!({"path": "late", "offset": 10_000})).await;
    assert_eq!(shown, "text\n[Line 10001 holds binary data (a NUL byte is in it); not shown from there on]");
    let shown = place.text("read", json!({"path": "late", "offset": 10_001})).await;
    assert!(shown.contains("holds binary data from line 10001 on"), "{shown}");
}

#[tokio::test]
async fn rule_4_read_knows_encodings() {
    let place = Place::new();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    place.put("bom", b"\xEF\xBB\xBFa\n");
    place.put("utf16", [b"\xFF\xFE".to_vec(), utf16("grün\r\n😀\r\n")].concat());
    place.put("latin1", b"gr\xFCn\n");
    assert_eq!(place.text("read", json!({"path": "bom"})).await, "a");
    assert_eq!(place.text("read", json!({"path": "utf16"})).await, "grün\n😀");
    let lossy = place.text("read", json!({"path": "latin1"})).await;
    assert!(lossy.starts_with("gr\u{FFFD}n\n[Not valid UTF-8"), "{lossy}");
    // Longer than any buffer on the way, with pairs across their ends.
    let long = format!("a{}\n", "😀".repeat(99)).repeat(300);
    place.put("long", [b"\xFF\xFE".to_vec(), utf16(&long)].concat());
    assert_eq!(place.text("read", json!({"path": "long", "offset": 300})).await, long.lines().next().unwrap());
}

#[tokio::test]
async fn rule_4_read_describes_binaries_and_shows_pictures() {
    let place = Place::new();
    place.put("bin", b"\x7FELF\x02\0\0\0");
    let shown = place.text("read", json!({"path": "bin"})).await;
    assert_eq!(
        shown,
        "`bin` is an ELF program or library, 8 bytes; it is not shown as text. The first bytes are: 7f 45 4c 46 02 00 00 00"
    );
    for (start, media_type) in [
        (&b"\x89PNG\r\n\x1A\n"[..], "image/png"),
        (b"\xFF\xD8\xFF\xE0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ] {
        place.put("picture.txt", start);
        let output = place.call("read", json!({"path": "picture.txt"})).await.unwrap();
        let Content::Image { media_type: found, .. } = &output.content[1] else { panic!("no image") };
        assert_eq!(found, media_type);
    }
    place.put("large", [&b"GIF89a"[..], &vec![0; 6 * 1024 * 1024]].concat());
    assert!(place.refusal("read", json!({"path": "large"})).await.contains("cannot be shown"));
}

#[tokio::test]
async fn rule_4_read_lists_a_directory() {
    let place = Place::new();
    fs::create_dir(place.path("dir")).unwrap();
    assert_eq!(place.text("read", json!({"path": "dir"})).await, "`dir` is an empty directory.");
    fs::create_dir(place.path("dir/sub")).unwrap();
    place.put("dir/b", "");
    place.put("dir/a", "");
    let shown = place.text("read", json!({"path": "dir"})).await;
    assert_eq!(shown, "`dir` is a directory, not a file; 3 names:\na\nb\nsub/");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn rule_4_read_survives_names_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    fs::write(place.dir.path().join(std::ffi::OsStr::from_bytes(b"n\xFFme")), "x").unwrap();
    assert!(place.text("read", json!({"path": "."})).await.contains("n\u{FFFD}me"));
    assert!(place.refusal("read", json!({"path": "nme"})).await.contains("there is `n\u{FFFD}me`"));
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_read_refuses_a_pipe_and_a_device_at_once() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(made.success());
    for path in ["pipe", "/dev/zero"] {
        assert!(place.refusal("read", json!({"path": path})).await.contains("not a file that can be read"));
    }
}

/// The kernel's log passes for a regular file but waits for news like a pipe.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn rule_4_read_never_waits_for_data() {
    let place = Place::new();
    let cpus = place.text("read", json!({"path": "/proc/cpuinfo", "limit": 1})).await;
    assert!(cpus.contains("Lines 1-1"), "{cpus}");
    let call = place.call("read", json!({"path": "/proc/kmsg"}));
    let Ok(result) = tokio::time::timeout(std::time::Duration::from_secs(20), call).await else {
        // A thread that waits for ever would keep a failing test from ending.
        eprintln!("`read` waits for the kernel's log");
        std::process::abort();
    };
    if let Err(error) = result {
        let message = error.message();
        assert!(message.contains("gives no data now") || message.contains("os error"), "{message}");
    }
}

#[tokio::test]
async fn rule_4_read_names_what_is_near_a_missing_file() {
    let place = Place::new();
    place.put("README.md", "");
    place.put("zzz", "");
    let message = place.refusal("read", json!({"path": "Readme.txt"})).await;
    assert_eq!(message, "`Readme.txt` does not exist; there is `README.md`");
    assert_eq!(place.refusal("read", json!({"path": "qqqqqq"})).await, "`qqqqqq` does not exist");
}

#[tokio::test]
async fn rule_4_shared_paths_take_home_and_at() {
    let place = Place::with_state(|dir, state| state.insert(Home(dir.join("home"))));
    fs::create_dir(place.path("home")).unwrap();
    fs::create_dir(place.path("@types")).unwrap();
    place.put("home/f", "in home");
    place.put("@types/f", "typed");
    place.put("f", "here");
    for (path, shown) in
        [("~/f", "in home"), ("@f", "here"), ("@types/f", "typed"), ("@~/f", "in home"), ("home/../f", "here")]
    {
        assert_eq!(place.text("read", json!({"path": path})).await, shown, "{path}");
    }
    let message = Place::new().refusal("read", json!({"path": "~/f"})).await;
    assert!(message.contains("no home directory is known here"), "{message}");
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_shared_nothing_leaves_the_root() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let place = Place::with_state(|dir, state| state.insert(FileRoot(dir.to_owned())));
    place.put("f", "inside");
    std::os::unix::fs::symlink(outside.path(), place.path("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("new"), place.path("dangling")).unwrap();
    assert_eq!(place.text("read", json!({"path": "f"})).await, "inside");
    let absolute = outside.path().join("secret");
    for path in ["link/secret", "../x", absolute.to_str().unwrap(), "link/../../etc/passwd"] {
        let message = place.refusal("read", json!({"path": path})).await;
        assert!(message.contains("leads outside"), "{path}: {message}");
    }
    let message = place.refusal("write", json!({"path": "dangling", "content": "x"})).await;
    assert!(message.contains("leads outside"), "{message}");
    assert!(!outside.path().join("new").exists());
}

#[tokio::test]
async fn rule_4_read_stops_when_cancelled() {
    let mut place = Place::new();
    place.put("f", "x\n");
    let cancellation = agent_core::CancellationToken::new();
    cancellation.cancel();
    place.context = place.context.with_cancellation(cancellation);
    assert!(place.refusal("read", json!({"path": "f"})).await.contains("cancelled"));
}
