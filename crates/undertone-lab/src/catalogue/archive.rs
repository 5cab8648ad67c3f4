//! Taking members out of packages: gzipped tar, zip, and Debian's.
//!
//! Members are asked for by their exact names and written under numbers, so that no name inside a
//! package ever becomes a path on this machine. What is not asked for is skipped.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;

use super::CatalogueError;

/// The most that is unpacked of one member; the largest known one has a hundred million bytes.
const MEMBER_BYTES_MAX: u64 = 1 << 28;

/// The most that is unpacked of a whole package, so that a small file cannot fill the disk or
/// keep the processor busy for ever.
const PACKAGE_BYTES_MAX: u64 = 1 << 31;

/// How much memory the xz decoder may use, in units of 1024 bytes; the highest preset needs 64 MiB.
const XZ_MEMORY_KIB: u32 = 1 << 17;

const AR_MAGIC: &[u8] = b"!<arch>\n";

/// Writes the members wanted into a folder, each under its position in the list.
///
/// # Errors
/// When the package cannot be read, or a member is missing or too large.
pub(super) fn extract(
    package: &Path,
    wanted: &[&str],
    into: &Path,
) -> Result<Vec<PathBuf>, CatalogueError> {
    let mut file = File::open(package).map_err(CatalogueError::io(package))?;
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(CatalogueError::io(package))?;
    file.rewind().map_err(CatalogueError::io(package))?;
    let mut members = Members { package, wanted, into, found: vec![false; wanted.len()] };
    let file = BufReader::new(file);
    if start.starts_with(&[0x1f, 0x8b]) {
        members.take_from_tar(GzDecoder::new(file))?;
    } else if start.starts_with(b"PK") {
        members.take_from_zip(file)?;
    } else if start == AR_MAGIC {
        members.take_from_deb(file)?;
    } else {
        return Err(CatalogueError::NotAPackage { path: package.to_path_buf() });
    }
    match members.found.iter().position(|found| !found) {
        None => Ok((0..wanted.len()).map(|place| members.path(place)).collect()),
        Some(place) => Err(CatalogueError::MissingMember {
            path: package.to_path_buf(),
            member: wanted[place].to_string(),
        }),
    }
}

struct Members<'a> {
    package: &'a Path,
    wanted: &'a [&'a str],
    into: &'a Path,
    found: Vec<bool>,
}

impl Members<'_> {
    fn path(&self, place: usize) -> PathBuf {
        self.into.join(place.to_string())
    }

    fn damaged(&self, reason: &impl ToString) -> CatalogueError {
        CatalogueError::Damaged { path: self.package.to_path_buf(), reason: reason.to_string() }
    }

    fn take_from_tar(&mut self, reader: impl Read) -> Result<(), CatalogueError> {
        let mut archive = tar::Archive::new(reader.take(PACKAGE_BYTES_MAX));
        for entry in archive.entries().map_err(|error| self.damaged(&error))? {
            let entry = entry.map_err(|error| self.damaged(&error))?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = entry.path_bytes().into_owned();
            let name = name.strip_prefix(b"./").unwrap_or(&name);
            if let Some(place) = self.wanted.iter().position(|wanted| wanted.as_bytes() == name) {
                self.keep(place, entry)?;
            }
        }
        Ok(())
    }

    fn take_from_zip(&mut self, reader: impl Read + Seek) -> Result<(), CatalogueError> {
        let mut archive = zip::ZipArchive::new(reader).map_err(|error| self.damaged(&error))?;
        for (place, name) in self.wanted.iter().enumerate() {
            match archive.by_name(name) {
                Ok(member) if member.is_file() => self.keep(place, member)?,
                Ok(_) | Err(zip::result::ZipError::FileNotFound) => {}
                Err(error) => return Err(self.damaged(&error)),
            }
        }
        Ok(())
    }

    /// A Debian package is an `ar` archive, in which a compressed tar archive holds the files.
    fn take_from_deb(&mut self, mut reader: impl Read + Seek) -> Result<(), CatalogueError> {
        let mut at = AR_MAGIC.len() as u64;
        loop {
            reader.seek(SeekFrom::Start(at)).map_err(|error| self.damaged(&error))?;
            let mut header = [0; 60];
            reader.read_exact(&mut header).map_err(|_| self.damaged(&"it has no data.tar"))?;
            let (name, size) = ar_member(&header).ok_or_else(|| self.damaged(&"a bad header"))?;
            let member = Read::by_ref(&mut reader).take(size);
            match name {
                "data.tar.xz" => {
                    return self.take_from_tar(XzReader::new_mem_limit(
                        member,
                        true,
                        XZ_MEMORY_KIB,
                    ));
                }
                "data.tar.gz" => return self.take_from_tar(GzDecoder::new(member)),
                "data.tar" => return self.take_from_tar(member),
                _ => {}
            }
            // Members begin at even places.
            at = at.saturating_add(60).saturating_add(size).saturating_add(size % 2);
        }
    }

    fn keep(&mut self, place: usize, member: impl Read) -> Result<(), CatalogueError> {
        let path = self.path(place);
        let mut file = File::create(&path).map_err(CatalogueError::io(&path))?;
        let copied = copy(member.take(MEMBER_BYTES_MAX + 1), &mut file);
        let bytes = match copied {
            Ok(bytes) => bytes,
            Err(CopyError::Read(error)) => return Err(self.damaged(&error)),
            Err(CopyError::Write(error)) => return Err(CatalogueError::io(&path)(error)),
        };
        if bytes > MEMBER_BYTES_MAX {
            let (path, limit) = (self.package.to_path_buf(), MEMBER_BYTES_MAX);
            return Err(CatalogueError::TooLarge {
                path,
                member: self.wanted[place].into(),
                limit,
            });
        }
        self.found[place] = true;
        Ok(())
    }
}

/// The name and size in the header of an `ar` member.
fn ar_member(header: &[u8; 60]) -> Option<(&str, u64)> {
    let text = |range: std::ops::Range<usize>| std::str::from_utf8(&header[range]).ok();
    let name = text(0..16)?.trim_end().trim_end_matches('/');
    let size = text(48..58)?.trim_end().parse().ok()?;
    (&header[58..] == b"`\n").then_some((name, size))
}

/// Which side of a copy failed: a damaged package and a full disk need different words.
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

fn copy(mut reader: impl Read, writer: &mut impl Write) -> Result<u64, CopyError> {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        writer.write_all(&buffer[..count]).map_err(CopyError::Write)?;
        bytes += count as u64;
    }
}
