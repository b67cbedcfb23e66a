//! The one version of ONNX Runtime that Refrain fetches, pinned by size and SHA-256 for each platform.
//!
//! The wheel is named down to its Python tag, so that every machine fetches the same bytes whatever Python it has.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::embed::manifest::Pinned;

/// The version that is fetched.
pub const VERSION: &str = "1.32.0";

/// Platforms that have a pinned library.
pub const SUPPORTED_PLATFORMS: &[&str] = &["linux-x86_64", "linux-aarch64", "macos-aarch64"];

/// Where the runtime library of one platform comes from, and what it must be.
#[derive(Clone, Debug)]
pub struct RuntimePin {
    /// Operating system and processor, as in `linux-x86_64`.
    pub platform: &'static str,
    /// The same in pip's words.
    pub pip_platform: &'static str,
    /// The wheel.
    pub wheel: Pinned,
    /// The library within the wheel.
    pub member: String,
    /// The library.
    pub library: Pinned,
}

impl RuntimePin {
    /// Where the library belongs under `models_dir`.
    pub fn path(&self, models_dir: &Path) -> PathBuf {
        models_dir.join("runtime").join(format!("onnxruntime-{VERSION}-{}", self.platform)).join(&self.library.name)
    }

    fn new(platform: &'static str, pip_platform: &'static str, wheel: Sum, library: &str, sum: Sum) -> Self {
        let pinned = |name: String, Sum(size, sha256): Sum| Pinned { name, size, sha256: sha256.into() };
        Self {
            platform,
            pip_platform,
            wheel: pinned(format!("onnxruntime-{VERSION}-cp311-cp311-{pip_platform}.whl"), wheel),
            member: format!("onnxruntime/capi/{library}"),
            library: pinned(library.into(), sum),
        }
    }
}

struct Sum(u64, &'static str);

/// Operating system and processor of this build.
pub fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The pin of this build's platform, if there is one.
pub fn runtime_pin() -> Option<&'static RuntimePin> {
    static PIN: LazyLock<Option<RuntimePin>> = LazyLock::new(|| pin_of(&platform()));
    PIN.as_ref()
}

fn pin_of(platform: &str) -> Option<RuntimePin> {
    match platform {
        "linux-x86_64" => Some(RuntimePin::new(
            "linux-x86_64",
            "manylinux_2_28_x86_64",
            Sum(27_773_237, "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d"),
            "libonnxruntime.so.1.32.0",
            Sum(34_824_680, "6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f"),
        )),
        "linux-aarch64" => Some(RuntimePin::new(
            "linux-aarch64",
            "manylinux_2_28_aarch64",
            Sum(23_195_070, "2303372a85299b6757b0e11e1cbf13e410ddf7e10c37f4b37e99d1c90e7daf7c"),
            "libonnxruntime.so.1.32.0",
            Sum(27_165_936, "49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a"),
        )),
        "macos-aarch64" => Some(RuntimePin::new(
            "macos-aarch64",
            "macosx_14_0_arm64",
            Sum(22_506_162, "366b9e53d07812cc5c92822cecf7563b76a8a0f32ba3bb8dd232a206ac3bcb6c"),
            "libonnxruntime.1.32.0.dylib",
            Sum(35_272_344, "fa585fabbea65b823b9a8f7e27d46aee3989d1be7e36b528203d3a1fd613aae7"),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_platform_has_a_pin_and_no_other() {
        for platform in SUPPORTED_PLATFORMS {
            let pin = pin_of(platform).unwrap();
            assert_eq!(pin.platform, *platform);
            assert_eq!(pin.library.sha256.len(), 64);
        }
        assert!(pin_of("plan9-mips").is_none());
    }
}
