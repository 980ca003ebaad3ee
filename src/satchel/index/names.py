"""What a name alone says about a file or a folder, so that most of a tree is decided without opening anything."""

from __future__ import annotations

import re

from satchel.files import SkipReason


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Hidden names are left out, except those that people ask about: how the project is built, checked and released.
_VISIBLE_FOLDERS = frozenset(
    _words(".github .gitlab .circleci .buildkite .azure-pipelines .forgejo .gitea .woodpecker")
)
_VISIBLE_FILES = frozenset(
    _words("""
    .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .travis.yaml .appveyor.yml .cirrus.yml .drone.yml .woodpecker.yml
    .woodpecker.yaml .azure-pipelines.yml .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml
    .readthedocs.yml .readthedocs.yaml .codecov.yml .codecov.yaml .goreleaser.yml .goreleaser.yaml .golangci.yml
    .golangci.yaml .coveragerc .pylintrc .flake8 .ruff.toml .pytest.toml .pytest.ini .mypy.ini .editorconfig
    .clang-format .clang-tidy .rubocop.yml .bazelrc .babelrc .eslintrc .eslintrc.js .eslintrc.cjs .eslintrc.json
    .eslintrc.yml .prettierrc .mocharc.js .mocharc.json .mocharc.yml .swcrc .nycrc
    .dockerignore .env.example .env.sample .env.template
""")
)

_VENDOR_FOLDERS = frozenset(
    _words("""
    node_modules bower_components jspm_packages web_modules __pycache__ site-packages __pypackages__ .venv .tox .nox
    .eggs .mypy_cache .ruff_cache .pytest_cache .gradle .terraform .next .nuxt .svelte-kit .parcel-cache .turbo .yarn
""")
)

_BINARY = _words("""
    .png .jpg .jpeg .jfif .gif .bmp .ico .icns .cur .tif .tiff .webp .avif .heic .svg .svgz .psd .eps .xcf .sketch
    .dds .tga .exr
    .mp3 .mp4 .m4a .m4v .wav .flac .ogg .oga .ogv .opus .aac .mid .midi .avi .mov .mkv .webm .wmv .mpg .mpeg .flv
    .zip .gz .tgz .bz2 .tbz .tbz2 .xz .txz .zst .lz .lz4 .lzma .br .7z .rar .tar .cab .iso .dmg .img .deb .rpm .apk
    .jar .war .ear .aar
    .whl .egg .gem .nupkg .crx .xpi .vsix .msi .exe .dll .so .dylib .a .o .obj .lib .pdb .ilk .ko .elf .bin .class
    .dex
    .pyc .pyo .pyd .beam .hi .rlib .rmeta .wasm .nib .swf .node
    .ttf .otf .woff .woff2 .eot .pfb .pfm .afm .ttc .fon
    .pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .rtf .epub .mobi .djvu .ps .dvi .pages
    .db .sqlite .sqlite3 .db3 .mdb .accdb .ibd .rdb .ldb
    .npy .npz .pkl .pickle .joblib .h5 .hdf5 .hdf .nc .parquet .feather .arrow .orc .avro .mat .rdata .rds .sav .dta
    .fits
    .onnx .pt .pth .ckpt .safetensors .gguf .ggml .tflite .mlmodel .caffemodel .pb .tfrecord .tfrecords .qm .gmo
    .crt .cer .der .csr .crl .p7b .p7s .gpg .pgp
    .blend .fbx .glb .stl .3ds .dwg .skp .unity .unitypackage .uasset .umap .pak .wad .rom
    .inv .pack .idx .bundle .mmdb .pcap .pcapng
""")

_GENERATED_NAMES = frozenset(
    _words("""
    package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-lock.yml bun.lockb conda-lock.yml packages.lock.json
    project.assets.json gradle.lockfile go.sum go.work.sum cartfile.resolved package.resolved .terraform.lock.hcl
""")
)
_GENERATED_ENDINGS = _words("""
    _pb2.py _pb2.pyi _pb2_grpc.py .pb.go .pb.gw.go .pb.cc .pb.h .pb.swift .pb.rs _grpc.pb.go .pbobjc.h .pbobjc.m
    .g.dart .freezed.dart .g.cs .designer.cs .generated.cs .generated.ts .generated.js .generated.go .snap.new
    .lock .snap .snapshot .tsbuildinfo .storyboardc .lcov .xcuserstate
""")
_MINIFIED_ENDINGS = _words("""
    .min.js .min.mjs .min.cjs .min.css .min.html .min.svg -min.js -min.css .bundle.js .bundle.css .chunk.js .js.map
    .css.map .mjs.map .cjs.map .ts.map .wasm.map
""")
_TRANSLATION_ENDINGS = _words(".po .pot .xlf .xliff .arb .resx .resw")

# One table from the ending to the reason; most names are decided by one or two look-ups of the text after a dot.
_BY_ENDING = {
    **dict.fromkeys(_BINARY, SkipReason.BINARY),
    **{ending: SkipReason.GENERATED for ending in _GENERATED_ENDINGS if ending.startswith(".")},
    **{ending: SkipReason.MINIFIED for ending in _MINIFIED_ENDINGS if ending.startswith(".")},
    **dict.fromkeys(_TRANSLATION_ENDINGS, SkipReason.TRANSLATION),
}
_UNDOTTED = tuple(ending for ending in (*_GENERATED_ENDINGS, *_MINIFIED_ENDINGS) if not ending.startswith("."))
_SHARED_LIBRARY = re.compile(r".*\.so(?:\.\d+)+")


def reason_of_name(name: str) -> SkipReason | None:
    """Why a file of this name is left out unopened: binary, generated, minified, a translation; None where it is not.

    Drawings (`.svg`) count as binary: nobody reads their source.
    """
    lower = name.lower()
    if lower in _GENERATED_NAMES:
        return SkipReason.GENERATED
    stem, dot, ending = lower.rpartition(".")
    if not dot or not stem:
        return None
    reason = _BY_ENDING.get(f".{ending}")
    if reason is None and "." in stem:
        reason = _BY_ENDING.get(f".{stem.rpartition('.')[2]}.{ending}")
    if reason is None and lower.endswith(_UNDOTTED):
        return SkipReason.MINIFIED if lower.endswith(_MINIFIED_ENDINGS) else SkipReason.GENERATED
    if reason is None and ending.isdigit() and _SHARED_LIBRARY.fullmatch(lower):
        return SkipReason.BINARY
    return reason


def is_hidden(name: str, *, is_folder: bool) -> bool:
    """Tell whether a name begins with a dot and is not one of the few that are worth reading."""
    return name.startswith(".") and name not in (_VISIBLE_FOLDERS if is_folder else _VISIBLE_FILES)


def is_vendored(folder: str) -> bool:
    """Tell whether a folder of this name holds what a tool put there: packages of others, or a cache."""
    return folder in _VENDOR_FOLDERS
