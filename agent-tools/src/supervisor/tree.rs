//! Who runs below a process, read from `/proc`.

use std::collections::HashSet;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Each finds what was forked during the one before, so a few are enough even for one that forks all the time.
const STOP_ROUNDS: usize = 8;

/// One line of the process table.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    parent: Pid,
    group: Pid,
    session: Pid,
    zombie: bool,
    name: String,
}

impl Process {
    /// `1234 python3 -m http.server`, at most about 80 characters.
    pub(crate) fn describe(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let words = if line.trim().is_empty() { self.name.as_str() } else { line.trim() };
        let short: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(80).collect();
        format!("{} {short}", self.pid)
    }
}

/// The living processes below `root`, without it.
pub(crate) fn descendants(root: Pid) -> Vec<Process> {
    below(vec![root], process_table())
}

/// The living processes that a supervisor started, whether it still lives or not; without itself.
///
/// Those of its session, and what is below them. When it is dead, one that left the session and lost its parent is
/// missing.
pub(crate) fn started_by(supervisor: Pid) -> Vec<Process> {
    let (members, others): (Vec<_>, Vec<_>) =
        process_table().into_iter().partition(|process| process.session == supervisor && process.pid != supervisor);
    let parents = members.iter().map(|process| process.pid).chain([supervisor]).collect();
    let mut found = below(parents, others);
    found.extend(members.into_iter().filter(|process| !process.zombie));
    found
}

fn below(mut parents: Vec<Pid>, mut others: Vec<Process>) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    while let Some(parent) = parents.pop() {
        let (children, rest) = others.into_iter().partition(|process| process.parent == parent);
        others = rest;
        parents.extend(children.iter().map(|child: &Process| child.pid));
        found.extend(children);
    }
    found.retain(|process| !process.zombie);
    found
}

/// The living processes of a group.
pub(crate) fn group_members(group: Pid) -> Vec<Process> {
    let mut members = process_table();
    members.retain(|process| process.group == group && !process.zombie);
    members
}

/// Sends a signal to every living process below `root`; one that is gone meanwhile is no failure.
pub(crate) fn signal_descendants(root: Pid, signal: Signal) {
    for process in descendants(root) {
        let _ = kill(process.pid, signal);
    }
}

/// Ends what a supervisor started, by force and without its aid; false when nothing was left.
///
/// All are stopped before the first is ended: one that forks meanwhile would otherwise be gone, and its child, perhaps
/// in a session of its own by then, could no longer be found. What is still on its way out counts as left.
pub(crate) fn kill_started_by(supervisor: Pid) -> bool {
    let mut stopped = HashSet::new();
    for _ in 0..STOP_ROUNDS {
        let before = stopped.len();
        for process in started_by(supervisor) {
            if stopped.insert(process.pid) {
                let _ = kill(process.pid, Signal::SIGSTOP);
            }
        }
        if stopped.len() == before {
            break;
        }
    }
    for pid in &stopped {
        let _ = kill(*pid, Signal::SIGKILL);
    }
    !stopped.is_empty()
}

// The whole table instead of `/proc/…/children`: that file is optional in kernels, and this is the rare path.
fn process_table() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
        .filter_map(|entry| fs::read(entry.path().join("stat")).ok())
        .filter_map(|stat| parse_stat(&String::from_utf8_lossy(&stat)))
        .collect()
}

/// `pid (name) state parent group session …`; the name may itself contain blanks and parentheses.
fn parse_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let zombie = matches!(fields.next()?, "Z" | "X");
    let mut number = || fields.next()?.parse().ok().map(Pid::from_raw);
    let (parent, group, session) = (number()?, number()?, number()?);
    Some(Process { pid: Pid::from_raw(pid.parse().ok()?), parent, group, session, zombie, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_4_7_a_process_name_with_parentheses_does_not_shift_the_fields() {
        let process = parse_stat("41 (a) Z (b) S 7 9 5 0").expect("a process");
        assert_eq!((process.pid.as_raw(), process.parent.as_raw(), process.group.as_raw()), (41, 7, 9));
        assert_eq!(process.session.as_raw(), 5);
        assert_eq!((process.name.as_str(), process.zombie), ("a) Z (b", false));
    }
}
