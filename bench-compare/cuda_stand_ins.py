"""Stand-ins for the CUDA libraries that PyTorch's package for Linux asks for when it is imported.

    environment-cnn/bin/python cuda_stand_ins.py FOLDER      then LD_LIBRARY_PATH=FOLDER

They are gigabytes, and nothing that runs on a processor calls them: PyTorch's own kernels for it are all in its own
package, and are used as they are. Every function of a stand-in answers "no device". Needs cc and binutils.
"""

import collections
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

CUDA = re.compile(r"^lib(cu\w+|nccl|nvrtc|nvshmem_host)\.so")
#: What libraries without versions of their symbols call their functions.
PREFIXES = {
    "nccl": "libnccl.so", "cuFile": "libcufile.so", "nvshmem": "libnvshmem_host.so", "cusparseLt": "libcusparseLt.so", "cudnn": "libcudnn.so",
}


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def owner(symbol, version, libraries):
    """The library that a function is looked for in: most name it as the function's version."""
    by_prefix = next((library for prefix, library in PREFIXES.items() if symbol.startswith(prefix)), None)
    return next((name for name in libraries if name == version or (by_prefix and name.startswith(by_prefix))), None)


def missing(parts):
    """For each library the functions that it must have, by version."""
    needed = {name for part in parts for name in re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", part))}
    wanted = {name: collections.defaultdict(set) for name in sorted(needed) if CUDA.match(name)}
    for part in parts:
        for line in said("nm", "-D", "--undefined-only", "--with-symbol-versions", part).splitlines():
            symbol, _, version = line.split()[-1].partition("@")
            library = owner(symbol, version, wanted)
            if library:
                wanted[library][version].add(symbol)
    return wanted


def build(library, versions, folder):
    # 100 is cudaErrorNoDevice.
    names = sorted(set().union(*versions.values()))
    source = "\n".join(f"int {name}(void) {{ return 100; }}" for name in names)
    nodes = [f"{version} {{ global: {'; '.join(sorted(names))}; }};" for version, names in versions.items() if version]
    script = folder / "versions"
    script.write_text("\n".join(nodes))
    command = ["cc", "-w", "-shared", "-x", "c", "-", f"-Wl,-soname,{library}", "-o", folder / library]
    command += [f"-Wl,--version-script={script}"] if nodes else []
    subprocess.run(command, input=source, text=True, check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    # Aside, and renamed at the end: a failure leaves nothing that looks finished.
    aside = folder.with_name(folder.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    # Found, not imported: that is what does not work yet.
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    for library, versions in missing(sorted(torch.glob("lib/lib*.so"))).items():
        build(library, versions, aside)
    aside.rename(folder)


main()
