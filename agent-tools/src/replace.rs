//! Puts new bytes in a file's place: all of them or none, and the file stays the same file to everybody else.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::Builder;

/// The largest file whose content is changed, in bytes; it is held in memory to be compared and, if need be, put back.
pub(crate) const MAX_CHANGED: u64 = 64 * 1024 * 1024;

/// Gives the file at `path` new content; makes it, and the directories above it, when it is not there.
///
/// `path` has no symbolic link in it. The bytes go to a temporary file beside it which then takes the name, so a
/// reader sees the old bytes or the new ones, and a failure leaves the old. The file's mode, access list and `user.*` attributes go with it. Where
/// that would split a hard link or change the owner, or these attributes do not go along, or the directory takes no new file, the bytes are written in place and put back on failure.
pub(crate) fn replace(path: &Path, old: Option<&[u8]>, new: &[u8]) -> io::Result<()> {
    let Some(old) = old else { return create(path, new) };
    // A file that may not be written is not to be exchanged either, though the directory would allow it.
    let file = OpenOptions::new().write(true).open(path)?;
    let meta = file.metadata()?;
    if links(&meta) > 1 {
        return write_in_place(file, old, new);
    }
    match temporary(path, new, Some((&file, &meta))) {
        Ok(Some(temp)) => {
            temp.persist(path).map_err(|error| error.error)?;
            sync_parent(path);
            Ok(())
        }
        Ok(None) => write_in_place(file, old, new),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => write_in_place(file, old, new),
        Err(error) => Err(error),
    }
}

fn create(path: &Path, new: &[u8]) -> io::Result<()> {
    let parent = parent(path);
    // Remembered so that directories made for a file that could not be written do not stay behind.
    let missing: Vec<&Path> =
        parent.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).collect();
    let made = fs::create_dir_all(parent).and_then(|()| {
        let temp = temporary(path, new, None)?.ok_or_else(|| io::Error::other("no temporary file"))?;
        temp.persist_noclobber(path).map_err(|error| error.error)
    });
    match made {
        Ok(_) => {
            sync_parent(path);
            Ok(())
        }
        Err(error) => {
            for dir in missing {
                // Only an empty directory goes; the write's own error is the one to tell.
                drop(fs::remove_dir(dir));
            }
            Err(error)
        }
    }
}

/// A synced temporary file beside `path` with the new bytes and the old file's mode, owner, access list and attributes.
///
/// `None`: one of these cannot be kept.
fn temporary(path: &Path, new: &[u8], old: Option<(&File, &Metadata)>) -> io::Result<Option<tempfile::NamedTempFile>> {
    let mut builder = Builder::new();
    builder.prefix(".").suffix(".tmp");
    #[cfg(unix)]
    let plain = {
        use std::os::unix::fs::PermissionsExt as _;
        // As any new file: the process's umask takes its part.
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    if old.is_none() {
        builder.permissions(plain);
    }
    let mut temp = builder.tempfile_in(parent(path)).map_err(|error| nameless(&error))?;
    temp.as_file_mut().write_all(new)?;
    if let Some((file, old)) = old {
        if !keep_owner(temp.as_file(), old) {
            return Ok(None);
        }
        temp.as_file().set_permissions(old.permissions())?;
        if !keep_attributes(temp.as_file(), file) {
            return Ok(None);
        }
    }
    temp.as_file().sync_all()?;
    Ok(Some(temp))
}

/// The error without the temporary file's name, which means nothing to whoever asked for another file.
fn nameless(error: &io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or_default())
}

/// Writes over the old bytes without first giving up their space, so that they can be put back on a full disk.
fn write_in_place(mut file: File, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut write = |bytes: &[u8]| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    write(new).inspect_err(|_| drop(write(old)))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Makes the new name last; a file system that cannot sync a directory is no reason to fail a finished write.
fn sync_parent(path: &Path) {
    if cfg!(unix) {
        drop(File::open(parent(path)).and_then(|dir| dir.sync_all()));
    }
}

#[cfg(unix)]
fn links(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(meta)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn keep_owner(temp: &File, old: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let Ok(new) = temp.metadata() else { return false };
    (new.uid(), new.gid()) == (old.uid(), old.gid()) || fchown(temp, Some(old.uid()), Some(old.gid())).is_ok()
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// Copies the access list and the attributes people set. The system's own, such as capabilities, are left: a change of
/// the content ends them.
#[cfg(unix)]
fn keep_attributes(temp: &File, old: &File) -> bool {
    use xattr::FileExt as _;
    // Where they cannot be listed there are none: the file system has no such thing.
    let Ok(names) = old.list_xattr() else { return true };
    let kept = |name: &std::ffi::OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"user.") || name == b"system.posix_acl_access"
    };
    names.filter(kept).all(|name| match old.get_xattr(&name) {
        Ok(Some(value)) => temp.set_xattr(&name, &value).is_ok(),
        Ok(None) => true,
        Err(_) => false,
    })
}

#[cfg(not(unix))]
fn keep_attributes(_: &File, _: &File) -> bool {
    true
}
