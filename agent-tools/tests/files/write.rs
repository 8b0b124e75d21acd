//! `write`.

use std::fs;

use serde_json::json;

use crate::{Place, details, names};

#[tokio::test]
async fn rule_4_write_creates_and_overwrites_and_says_so() {
    let place = Place::new();
    let output = place.call("write", json!({"path": "a/b/f", "content": "one\ntwo"})).await.unwrap();
    assert_eq!(crate::text(&output), "Created `a/b/f`: 2 lines, 7 bytes.");
    assert_eq!(
        details(&output)["patch"],
        "--- /dev/null\n+++ b/a/b/f\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
    );
    let said = place.text("write", json!({"path": "a/b/f", "content": "1\n"})).await;
    assert_eq!(said, "Overwrote `a/b/f`: 1 line, 2 bytes, before 2 lines, 7 bytes.");
    assert_eq!(place.bytes("a/b/f"), b"1\n");
    assert_eq!(names(&place.path("a/b")), ["f"]);
}

#[tokio::test]
async fn rule_4_write_refuses_the_name_of_a_directory() {
    let place = Place::new();
    for path in ["zz/", "zz/.", "zz/y/.."] {
        let message = place.refusal("write", json!({"path": path, "content": "x"})).await;
        assert_eq!(message, format!("`{path}` names a directory; name a file in it"));
    }
    assert!(names(place.dir.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn rule_4_write_says_that_a_new_file_was_not_created() {
    let place = Place::new();
    // Nobody makes a file there, whatever they may do elsewhere.
    let message = place.refusal("write", json!({"path": "/proc/self/new", "content": "x"})).await;
    assert!(message.starts_with("cannot write `/proc/self/new`, which was not created: "), "{message}");
    assert!(message.ends_with(')') && !message.contains(".tmp") && !message.contains("path"), "{message}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn rule_4_write_keeps_extended_attributes() {
    let place = Place::new();
    place.put("f", "x");
    // Version 2 and five entries (tag, permissions, id): user 12345 may read, as by `setfacl -m u:12345:r`.
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in
        [(1_u16, 6_u16, u32::MAX), (2, 4, 12345), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    let attributes = [("user.note", b"mine".to_vec()), ("system.posix_acl_access", list)];
    let set = attributes.map(|(name, value)| (name, xattr::set(place.path("f"), name, &value).map(|()| value)));
    place.text("write", json!({"path": "f", "content": "y"})).await;
    for (name, value) in set {
        match value {
            Ok(value) => assert_eq!(xattr::get(place.path("f"), name).unwrap(), Some(value), "{name}"),
            Err(error) => eprintln!("skipped {name}: {error}"),
        }
    }
}

#[tokio::test]
async fn rule_4_write_over_a_file_never_read_says_so() {
    let place = Place::new();
    place.put("f", "x");
    let said = place.text("write", json!({"path": "f", "content": "y"})).await;
    assert!(said.ends_with("It had not been read here before."), "{said}");
}

#[tokio::test]
async fn rule_4_write_refuses_a_file_that_changed_since_it_was_read() {
    let place = Place::new();
    place.put("f", "old");
    place.text("read", json!({"path": "f"})).await;
    let before = fs::metadata(place.path("f")).unwrap().modified().unwrap();
    // Same size, same time: only the content tells.
    place.put("f", "new");
    fs::File::options().write(true).open(place.path("f")).unwrap().set_modified(before).unwrap();
    let message = place.refusal("write", json!({"path": "f", "content": "mine"})).await;
    assert!(message.contains("has changed on disk") && message.contains("read `f` again"), "{message}");
    assert_eq!(place.bytes("f"), b"new");
    place.text("read", json!({"path": "f"})).await;
    place.text("write", json!({"path": "f", "content": "mine"})).await;
    place.text("write", json!({"path": "f", "content": "mine too"})).await;
    assert_eq!(place.bytes("f"), b"mine too");
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_write_keeps_mode_symlink_and_hard_link() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let place = Place::new();
    place.put("f", "x");
    fs::set_permissions(place.path("f"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("f", place.path("link")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    place.text("write", json!({"path": "link", "content": "y"})).await;
    place.text("write", json!({"path": "dangling", "content": "z"})).await;
    assert!(place.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(place.bytes("f"), b"y");
    assert_eq!(fs::metadata(place.path("f")).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(place.bytes("nowhere"), b"z");
    fs::hard_link(place.path("f"), place.path("hard")).unwrap();
    place.text("write", json!({"path": "f", "content": "w"})).await;
    assert_eq!(place.bytes("hard"), b"w");
    assert_eq!(names(place.dir.path()), ["dangling", "f", "hard", "link", "nowhere"]);
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_write_gives_a_new_file_the_usual_mode() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    place.put("usual", "");
    place.text("write", json!({"path": "f", "content": ""})).await;
    let mode = |name| fs::metadata(place.path(name)).unwrap().mode();
    assert_eq!(mode("f"), mode("usual"));
}

#[tokio::test]
async fn rule_4_write_failure_leaves_nothing_behind() {
    let place = Place::new();
    place.put("file", "x");
    fs::create_dir(place.path("dir")).unwrap();
    for (path, says) in [("dir", "is a directory"), ("file/below/f", "cannot write"), ("", "the path is empty")] {
        let message = place.refusal("write", json!({"path": path, "content": "y"})).await;
        assert!(message.contains(says), "{message}");
    }
    let long = format!("a/b/{}", "n".repeat(300));
    place.refusal("write", json!({"path": long, "content": "y"})).await;
    assert_eq!(names(place.dir.path()), ["dir", "file"]);
    assert_eq!(place.bytes("file"), b"x");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn rule_4_write_refuses_a_device() {
    let place = Place::new();
    let message = place.refusal("write", json!({"path": "/dev/full", "content": "y"})).await;
    assert!(message.contains("is no regular file"), "{message}");
}

#[tokio::test]
async fn rule_4_write_of_the_same_content_has_no_patch() {
    let place = Place::new();
    place.put("f", "x\n");
    let output = place.call("write", json!({"path": "f", "content": "x\n"})).await.unwrap();
    assert!(crate::text(&output).starts_with("`f` already had this content"));
    assert_eq!(details(&output)["patch"], json!(null));
    assert_eq!(details(&output)["first_changed_line"], json!(null));
}

/// Tells the test below that it is to write, with only so much room for any file.
const CRAMPED: &str = "TEST_WRITES_IN";

#[cfg(unix)]
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the child process is told through its environment")]
async fn rule_4_write_without_room_leaves_the_old_bytes_whole() {
    if let Some(dir) = std::env::var_os(CRAMPED) {
        let place = Place { context: agent_core::ToolContext::new(&dir), dir: tempfile::tempdir().unwrap() };
        for (path, state) in [("single", "is as it was"), ("linked", "is as it was"), ("new/f", "was not created")] {
            let message = place.refusal("write", json!({"path": path, "content": "y".repeat(100_000)})).await;
            assert!(
                message.contains("cannot write") && message.contains(state) && !message.contains(".tmp"),
                "{message}"
            );
        }
        return;
    }
    let place = Place::new();
    place.put("single", "old one");
    place.put("linked", "old two".repeat(100));
    fs::hard_link(place.path("linked"), place.path("hard")).unwrap();
    // A limit on the size of files stands in for a full disk: a write stops in the middle, with an error.
    let child = std::process::Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact \"$1\" --test-threads 1"])
        .arg(std::env::current_exe().unwrap())
        .arg("write::rule_4_write_without_room_leaves_the_old_bytes_whole")
        .env(CRAMPED, place.dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(place.bytes("single"), b"old one");
    assert_eq!(place.bytes("linked"), "old two".repeat(100).as_bytes());
    assert_eq!(names(place.dir.path()), ["hard", "linked", "single"]);
}
