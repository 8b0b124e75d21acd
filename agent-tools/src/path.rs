//! Paths as a model writes them: where they lead, what they may reach, and one call at a time on each file.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent_core::{ToolContext, ToolError};
use similar::TextDiff;

/// The home directory `~` stands for. Give it to the agent with `.provide(Home(dir))`; without it `~` is an error.
#[derive(Debug, Clone)]
pub struct Home(pub PathBuf);

/// The directory that `read`, `write` and `edit` may not leave, symbolic links resolved.
///
/// Give it to the agent with `.provide(FileRoot(dir))`. It guards against mistakes of a model, not against another
/// process that exchanges directories between the check and the access.
#[derive(Debug, Clone)]
pub struct FileRoot(pub PathBuf);

/// A file or directory a call is about.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Absolute, with every symbolic link resolved; need not exist.
    pub(crate) real: PathBuf,
    /// The path as it is named to the model: relative to the working directory where it is written inside it.
    pub(crate) shown: String,
    /// The real path as patches name it, without `..` in it: from the working directory on where the file lies inside,
    /// and else the absolute one without its leading `/`, so that it applies from the file system's root.
    pub(crate) in_patch: String,
}

/// Finds what `path` means to the calling agent.
pub(crate) fn resolve(cx: &ToolContext, path: &str) -> Result<Target, ToolError> {
    if path.trim().is_empty() {
        return Err(ToolError::retry("the path is empty: name a file"));
    }
    if path.contains('\0') {
        return Err(ToolError::retry("the path contains a NUL character, which no file name can"));
    }
    let named = cx.working_dir().join(expand(cx, path)?);
    let real = real_path(&named).map_err(|error| ToolError::retry(format!("cannot follow `{path}`: {error}")))?;
    if let Some(root) = cx.state::<FileRoot>() {
        let root = real_path(&cx.working_dir().join(&root.0.0))?;
        if !real.starts_with(&root) {
            let root = root.display();
            return Err(ToolError::retry(format!("`{path}` leads outside of {root}, which file tools may not leave")));
        }
    }
    let shown = named.strip_prefix(cx.working_dir()).unwrap_or(&named).display().to_string();
    let inside = real_path(cx.working_dir()).ok().and_then(|dir| real.strip_prefix(dir).ok());
    let in_patch = inside.unwrap_or(&real).display().to_string();
    let in_patch = in_patch.trim_start_matches('/').to_owned();
    Ok(Target { real, in_patch, shown: if shown.is_empty() { ".".to_owned() } else { shown } })
}

/// Takes off a leading `@` and puts the home directory for `~`.
fn expand(cx: &ToolContext, path: &str) -> Result<PathBuf, ToolError> {
    let mut path = path;
    if let Some(rest) = path.strip_prefix('@') {
        // Front ends mark files with `@`; but directories such as `@types` do exist.
        let first = Path::new(path).components().next();
        let literal = first.is_some_and(|first| cx.working_dir().join(first).symlink_metadata().is_ok());
        if !literal && !rest.is_empty() {
            path = rest;
        }
    }
    let Some(rest) = path.strip_prefix('~') else { return Ok(PathBuf::from(path)) };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Ok(PathBuf::from(path));
    }
    match cx.state::<Home>() {
        Some(home) => Ok(home.0.0.join(rest.trim_start_matches('/'))),
        None => Err(ToolError::retry(format!("`{path}`: no home directory is known here; give an absolute path"))),
    }
}

/// The path with symbolic links and `..` resolved as far as it exists; a dangling link leads to where it points.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut real = PathBuf::new();
    let mut links = 0;
    let mut rest: VecDeque<OsString> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => continue,
            Some(Component::ParentDir) => {
                real.pop();
                continue;
            }
            Some(Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => real.push(&part),
        }
        let Ok(link) = fs::read_link(&real) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many symbolic links"));
        }
        real.pop();
        for part in link.components().rev() {
            rest.push_front(part.as_os_str().to_owned());
        }
    }
    Ok(real)
}

/// What is said of a thing in the file system that has no content of its own.
pub(crate) const NO_FILE: &str = "is a pipe, device or socket, not a file that can be read";

/// Opens a regular file, and nothing else, for reading; never waits, neither here nor in later reads.
///
/// What was looked at by name may have been exchanged since, so the open file is looked at again.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Some files of `/proc` pass for regular ones and block like pipes.
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other(format!("it {NO_FILE}"))) }
}

/// All of a regular file's bytes, without waiting for any.
pub(crate) fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error for a file whose reading failed; `what` was to be done, such as `read`.
pub(crate) fn unreadable(target: &Target, what: &str, error: &io::Error) -> ToolError {
    let shown = &target.shown;
    if error.kind() == io::ErrorKind::WouldBlock {
        return ToolError::failed(format!(
            "cannot {what} `{shown}`: it gives no data now, and one could wait for ever"
        ));
    }
    ToolError::failed(format!("cannot {what} `{shown}`: {error}"))
}

/// The error for a file that is not there, with the names that come near.
pub(crate) fn missing(target: &Target) -> ToolError {
    const MOST_ENTRIES: usize = 5_000;
    const LEAST_RATIO: f32 = 0.6;
    let shown = &target.shown;
    let (Some(dir), Some(name)) = (target.real.parent(), target.real.file_name()) else {
        return ToolError::retry(format!("`{shown}` does not exist"));
    };
    let Ok(entries) = fs::read_dir(dir) else {
        return ToolError::retry(format!("`{shown}` does not exist, nor does the directory it would be in"));
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let mut near: Vec<(f32, String)> = entries
        .flatten()
        .take(MOST_ENTRIES)
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ratio = TextDiff::from_chars(&wanted, name.to_lowercase()).ratio();
            (ratio >= LEAST_RATIO).then_some((ratio, name))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let near: Vec<String> = near
        .into_iter()
        .take(5)
        .map(|(_, name)| format!("`{}`", Path::new(shown).with_file_name(name).display()))
        .collect();
    if near.is_empty() {
        ToolError::retry(format!("`{shown}` does not exist"))
    } else {
        ToolError::retry(format!("`{shown}` does not exist; there is {}", near.join(", ")))
    }
}

/// One lock for each real path: two calls of a session on the same file never interleave.
#[derive(Debug, Default)]
pub(crate) struct PathLocks {
    locks: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
}

impl PathLocks {
    /// The lock of `path`; locks nobody holds any more are let go.
    pub(crate) fn of(&self, path: &Path) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(locks.entry(path.to_owned()).or_default())
    }
}
