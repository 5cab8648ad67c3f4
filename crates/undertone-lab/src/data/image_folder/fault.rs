//! What can be wrong with a folder of images.

use std::path::PathBuf;

use thiserror::Error;
use undertone::neural::Shape;

/// What is wrong with a folder of images, or with what is in it.
///
/// Shapes and names of files and folders are schema and are shown; pixels are not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImageFault {
    /// The path leads to a file.
    #[error("is not a folder with a subfolder of images for each class")]
    NotAFolder,
    /// There is no subfolder.
    #[error("no subfolders: a folder of images has one for each class")]
    NoClasses,
    /// There are more subfolders than classes are handled.
    #[error("more than {limit} subfolders, one for each class")]
    TooManyClasses {
        /// How many there may be.
        limit: usize,
    },
    /// A file lies beside the subfolders.
    #[error("is a file beside the subfolders of the classes: move it away, or into one of them")]
    OutsideClasses,
    /// A class has no image.
    #[error("no images in the subfolder of this class")]
    EmptyClass,
    /// The name of a class is not text.
    #[error("the name of this class is not UTF-8")]
    ClassNameNotUtf8,
    /// A class is not among those given by the caller.
    #[error("is not one of the classes given")]
    UnknownClass,
    /// Numbers are to be predicted.
    #[error("images in folders have classes, and a regression needs numbers")]
    Regression,
    /// A folder lies in the subfolder of a class.
    #[error(
        "is a folder in that of a class, where only images may be: \
         does the path lead to the folder that holds the classes?"
    )]
    NestedFolder,
    /// A file is not called an image, or is no file at all.
    #[error("is not a PNG or JPEG file (.png .jpg .jpeg): move it away")]
    NotAnImage,
    /// A file is called an image and is not one.
    #[error("does not begin as a PNG or JPEG file does")]
    UnknownContent,
    /// A file is larger than an image that is loaded could be.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: u64,
    },
    /// The file does not keep to its format.
    #[error("damaged {format} file, or one of a rare kind that is not supported")]
    Damaged {
        /// Which format.
        format: &'static str,
    },
    /// Values have more than 8 bits.
    #[error("has 16 bits for each value, and 8 are supported: convert it")]
    SixteenBits,
    /// Some pixels can be seen through.
    #[error("is transparent in places: put it on a background")]
    Transparent,
    /// There is more than one image in the file.
    #[error("is animated")]
    Animated,
    /// Neither grey nor red, green and blue.
    #[error("is neither grey nor of red, green and blue (CMYK?): convert it")]
    OtherColours,
    /// Images must all be of one shape.
    #[error(
        "is an image of {found}, while {} is one of {expected} (channels × height × width); \
         all must be alike", first.display()
    )]
    OtherShape {
        /// The first image.
        first: PathBuf,
        /// The shape of the first image.
        expected: Shape,
        /// The shape of this one.
        found: Shape,
    },
}
