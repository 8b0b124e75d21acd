//! A home, a working directory and a server for one test, and what a command did there as text to compare.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::server::{Answer, Server};

pub(crate) struct Scene {
    dir: tempfile::TempDir,
    pub(crate) server: Option<Server>,
}

impl Scene {
    /// No key, no server, no configuration.
    pub(crate) fn bare() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir, server: None }
    }

    /// A server that gives these answers, found through the environment.
    pub(crate) fn with(script: impl IntoIterator<Item = Answer>) -> Self {
        Self { server: Some(Server::start(script)), ..Self::bare() }
    }

    fn path(&self, name: &str) -> PathBuf {
        // As the program sees it, without links.
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("the scene has a server")
    }

    /// Writes the configuration.
    pub(crate) fn config(self, text: &str) -> Self {
        fs::write(self.home().join("config.toml"), text).unwrap();
        self
    }

    /// Writes a file of the working directory.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.work().join(name), text).unwrap();
        self
    }

    /// The command, with nothing of this process's environment but the search path.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.prepared(env!("CARGO_BIN_EXE_agent"), args)
    }

    /// A shell that finds the program as `$AGENT`.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = self.prepared("bash", &["-c", script]);
        command.env("AGENT", env!("CARGO_BIN_EXE_agent"));
        command
    }

    fn prepared(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().current_dir(self.work()).stdin(Stdio::null());
        command.env("AGENT_HOME", self.home());
        for name in ["PATH", "SYSTEMROOT", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Some(server) = &self.server {
            command.env("OPENAI_BASE_URL", &server.url);
        }
        command
    }

    /// Runs the command and gives all of what it did as text.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.text(&self.command(args).output().unwrap())
    }

    /// The same with this on standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = self.command(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        self.text(&child.wait_with_output().unwrap())
    }

    /// Standard output, standard error and exit code as one text, with what differs from run to run replaced.
    pub(crate) fn text(&self, output: &Output) -> String {
        let mut text = String::new();
        for (mark, bytes) in [("", &output.stdout), ("! ", &output.stderr)] {
            for line in String::from_utf8_lossy(bytes).lines() {
                writeln!(text, "{}", format!("{mark}{line}").trim_end()).unwrap();
            }
        }
        match output.status.code() {
            Some(code) => writeln!(text, "exit {code}").unwrap(),
            None => writeln!(text, "{}", output.status).unwrap(),
        }
        self.steady(&text)
    }

    /// Text without what differs from run to run: directories, the server's address, session ids, durations.
    pub(crate) fn steady(&self, text: &str) -> String {
        let mut text =
            text.replace(self.home().to_str().unwrap(), "$HOME").replace(self.work().to_str().unwrap(), "$WORK");
        if let Some(server) = &self.server {
            text = text
                .replace(&server.url, "$URL")
                .replace(server.url.trim_start_matches("http://").trim_end_matches("/v1"), "$ADDRESS");
        }
        for id in self.session_ids() {
            text = text.replace(&id, "$ID");
        }
        without_durations(&text)
    }

    /// The ids of all sessions, oldest first.
    pub(crate) fn session_ids(&self) -> Vec<String> {
        let files = self.session_files();
        files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    /// The files of all sessions, oldest first.
    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let mut files = files_below(&self.home().join("sessions"));
        files.retain(|path| path.extension() == Some(OsStr::new("jsonl")));
        files.sort();
        files
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// `1.2 s` becomes `N s`.
fn without_durations(text: &str) -> String {
    let is_number = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let shown = words.iter().enumerate().map(|(at, word)| {
            let follows = words.get(at + 1).is_some_and(|next| next.trim_end_matches([',', ';', '.']) == "s");
            if follows && is_number(word) { "N" } else { word }
        });
        shown.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

/// Compares text line by line, and shows both if they differ.
#[track_caller]
pub(crate) fn check(actual: &str, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert!(lines(actual) == lines(expected), "--- came\n{}\n--- was expected\n{}\n", actual.trim(), expected.trim());
}
