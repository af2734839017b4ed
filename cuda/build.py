#!/usr/bin/env python3
"""Builds the kernels into internal/kernels/fatbin.

    cuda/build.py              all architectures
    cuda/build.py --arch 90    some only, for trials: the manifest test refuses the result
    cuda/build.py --unit ntt   some units only, with --out: the result lacks the others

nvcc comes from NVIDIA's Python wheels, pinned below, in a virtual environment outside the tree
(CUZK_CUDA_VENV, by default "cuzk-cuda" in the user's cache folder), or from a toolkit of the same
version (CUZK_CUDA_HOME). No card is needed. Units are built side by side.

A unit whose source, headers, flags and result are those of the manifest is not built again.

Written: one fatbin for each unit (machine code for each architecture and PTX of the newest,
compressed), resources.txt (registers, stack, spills and shared memory of each kernel as ptxas
reports them) and manifest.json (digest of sources and flags, digests of the fatbins, compiler,
kernels with the size of their parameter struct and the threads of a block).
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

WHEELS = {
    "nvidia-cuda-nvcc": "13.0.88",
    "nvidia-cuda-crt": "13.0.88",
    "nvidia-nvvm": "13.0.88",
    "nvidia-cuda-runtime": "13.0.96",
    "nvidia-cuda-cccl": "13.0.85",
}
ARCHS = [80, 86, 89, 90, 100, 120]
UNITS = {
    "field": "field/field_kernels.cu",
    "ntt": "ntt/ntt_kernels.cu",
    "vector": "vector/vector_kernels.cu",
    "prepare": "msm/prepare_kernels.cu",
    "g1": "msm/g1_kernels.cu",
    "g2": "msm/g2_kernels.cu",
    "powers": "points/powers_kernels.cu",
    "points_g1": "points/g1_kernels.cu",
    "points_g2": "points/g2_kernels.cu",
    "pce": "pce/pce_kernels.cu",
}
FLAGS = ["-std=c++17", "-O3", "-lineinfo", "--compress-mode=size", "-Xptxas", "-v"]

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "internal" / "kernels" / "fatbin"


def toolkit():
    """Returns the toolkit's folder, made from the pinned wheels if need be."""
    if home := os.environ.get("CUZK_CUDA_HOME"):
        return pathlib.Path(home)
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    root = pathlib.Path(os.environ.get("CUZK_CUDA_VENV", cache / "cuzk-cuda"))
    python = root / "bin" / "python"
    if not python.exists():
        venv.create(root, with_pip=True)
    pins = [f"{name}=={version}" for name, version in WHEELS.items()]
    subprocess.run([python, "-m", "pip", "install", "-q", *pins], check=True)
    lib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True, capture_output=True, text=True).stdout.strip()
    return pathlib.Path(lib) / "nvidia" / "cu13"


def source_digest(flags):
    """Digest of every device source and of the flags; the Go test computes the same."""
    h = hashlib.sha256()
    files = [p for p in HERE.rglob("*") if p.suffix in (".cu", ".cuh", ".hpp")]
    for path in sorted(files, key=lambda p: p.relative_to(HERE).as_posix()):
        data = path.read_bytes()
        h.update(f"{path.relative_to(HERE).as_posix()}\0{len(data)}\0".encode())
        h.update(data)
    h.update(" ".join(flags).encode())
    return h.hexdigest()


def inputs_digest(source, flags):
    """Digest of one unit's source, of all headers below it and of the flags."""
    h = hashlib.sha256()
    todo, seen = [HERE / source], set()
    while todo:
        path = todo.pop().resolve()
        if path in seen:
            continue
        seen.add(path)
        todo += [path.parent / name for name in re.findall(r'#include "([^"]+)"', path.read_text())]
    for path in sorted(seen):
        h.update(path.read_bytes())
    h.update(" ".join(flags).encode())
    return h.hexdigest()


def resources(log):
    """One line a kernel and architecture from what ptxas printed."""
    rows, name, arch, frame = [], None, None, ""
    for line in log.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)' for '(sm_\w+)'", line):
            name, arch = m.groups()
        elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if name and not frame:
                frame = "stack %s, spill stores %s, spill loads %s" % m.groups()
        elif m := re.search(r"Used (\d+) registers(.*)", line):
            if name:
                smem = re.search(r"(\d+) bytes smem", m.group(2))
                rows.append(f"{name} {arch}: {m.group(1)} registers, {frame}"
                            + (f", shared {smem.group(1)}" if smem else ""))
            name, frame = None, ""
    return sorted(rows)


def compile_unit(nvcc, flags, source, out, archs):
    """Builds one fatbin; returns ptxas's messages and, of each kernel, what the manifest says."""
    with tempfile.TemporaryDirectory() as tmp:
        run = subprocess.run(
            [nvcc, *flags, "--threads=8", "--keep", f"--keep-dir={tmp}", "-fatbin", "-o", str(out),
             source],
            cwd=HERE, capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stdout + run.stderr)
        ptx = next(p for p in pathlib.Path(tmp).glob("*.ptx")
                   if len(archs) == 1 or f"compute_{archs[-1]}" in p.name).read_text()
    found = re.findall(r"\.entry (\w+)\(\s*\.param [^\n]*?\[(\d+)\]\s*\)\s*\.maxntid (\d+)", ptx)
    return run.stdout + run.stderr, {
        name: {"param_bytes": int(size), "threads": int(threads)} for name, size, threads in found}


def version(nvcc):
    text = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", text).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", type=int, action="append", help="build for this one only")
    parser.add_argument("--unit", action="append", choices=UNITS, help="build this one only")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="where to write")
    options = parser.parse_args()
    if options.unit and options.out == OUT:
        sys.exit("--unit needs --out: the module embeds all units")
    archs = options.arch or ARCHS
    nvcc = str(toolkit() / "bin" / "nvcc")
    if version(nvcc) != WHEELS["nvidia-cuda-nvcc"]:
        sys.exit(f"{nvcc} is {version(nvcc)}, not {WHEELS['nvidia-cuda-nvcc']}")
    flags = list(FLAGS)
    for a in archs:
        flags.append(f"-gencode=arch=compute_{a},code=sm_{a}")
    flags.append(f"-gencode=arch=compute_{archs[-1]},code=compute_{archs[-1]}")
    options.out.mkdir(parents=True, exist_ok=True)
    manifest = {"fatbins": {}, "kernels": {}}
    rows = []
    path = options.out / "manifest.json"
    if path.exists():
        manifest = json.loads(path.read_text())
        rows = (options.out / "resources.txt").read_text().splitlines()

    def build(unit):
        out = options.out / f"{unit}.fatbin"
        digest = inputs_digest(UNITS[unit], flags)
        known = manifest["fatbins"].get(unit, {})
        if known.get("inputs_sha256") == digest and out.exists() \
                and known["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest():
            return unit, known, None, None
        log, found = compile_unit(nvcc, flags, UNITS[unit], out, archs)
        data = out.read_bytes()
        print(f"{unit}: {len(data)} bytes", flush=True)
        return unit, {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data),
                      "inputs_sha256": digest}, resources(log), found

    fatbins, kernels = {}, {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for unit, entry, lines, found in pool.map(build, options.unit or UNITS):
            fatbins[unit] = entry
            if found is None:
                kernels |= {n: k for n, k in manifest["kernels"].items() if k["fatbin"] == unit}
                continue
            kernels |= {n: {"fatbin": unit, **k} for n, k in found.items()}
            rows = [row for row in rows if row.split()[0] not in found] + lines
    path.write_text(json.dumps({
        "sources_sha256": source_digest(flags),
        "nvcc": version(nvcc),
        "flags": flags,
        "architectures": archs,
        "fatbins": dict(sorted(fatbins.items())),
        "kernels": dict(sorted(kernels.items())),
    }, indent=1) + "\n")
    rows = [row for row in rows if row.split()[0] in kernels]
    (options.out / "resources.txt").write_text("\n".join(sorted(rows)) + "\n")


if __name__ == "__main__":
    main()
