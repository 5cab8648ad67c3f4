//! Faults of image folders.

use std::path::PathBuf;

use thiserror::Error;
use undertone::neural::Shape;

/// What is wrong with a folder of images or its contents.
///
/// Shapes and names of files and folders are schema and are shown; pixels are not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImageFault {
    /// The path is a file.
    #[error("is not a folder with a subfolder of images for each class")]
    NotAFolder,
    /// There are no subfolders.
    #[error("has no subfolders: a folder of images has one for each class")]
    NoClasses,
    /// There are more subfolders than the program handles.
    #[error("more than {limit} subfolders, one for each class")]
    TooManyClasses {
        /// How many there may be.
        limit: usize,
    },
    /// A file is next to the subfolders.
    #[error(
        "is a file next to the subfolders of the classes: remove it, or move it into one of them"
    )]
    OutsideClasses,
    /// A class has no images.
    #[error("no images in the subfolder of this class")]
    EmptyClass,
    /// The name of a class is not text.
    #[error("the name of this class is not UTF-8")]
    ClassNameNotUtf8,
    /// A class is not among those given by the caller.
    #[error("is not one of the classes given")]
    UnknownClass,
    /// The task is regression.
    #[error("a folder of images has classes, but a regression needs numbers")]
    Regression,
    /// The subfolder of a class contains a folder.
    #[error(
        "is a folder inside the subfolder of a class, where only images may be: \
    is the path that of the folder with the classes?"
    )]
    NestedFolder,
    /// A file does not have the extension of an image, or is not a regular file.
    #[error("is not a PNG or JPEG file (.png .jpg .jpeg): remove it")]
    NotAnImage,
    /// A file has the extension of an image but not its content.
    #[error("does not begin like a PNG or JPEG file")]
    UnknownContent,
    /// A file is larger than any image that can be loaded.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The file does not follow its format.
    #[error("is a damaged {format} file, or of a kind that is not supported")]
    Damaged {
        /// Which format.
        format: &'static str,
    },
    /// Values have more than 8 bits.
    #[error("has 16 bits per value, but only 8 are supported: convert it")]
    SixteenBits,
    /// Some pixels are transparent.
    #[error("has transparent pixels: flatten it")]
    Transparent,
    /// There is more than one image in the file.
    #[error("is animated")]
    Animated,
    /// The image is neither greyscale nor RGB.
    #[error("is neither greyscale nor RGB (CMYK?): convert it")]
    OtherColours,
    /// The images have different shapes.
    #[error(
    "has shape {found}, but {} has {expected} (channels × height × width); all images must have one shape",
    first.display()
    )]
    OtherShape {
        /// The first image.
        first: PathBuf,
        /// The shape of the first image.
        expected: Shape,
        /// The shape of this image.
        found: Shape,
    },
}
