"""The wheel installs one name and works beside a user's own modules; the sdist tests itself."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from canonry.canon.pipeline import is_compiled

pytest.importorskip("hatchling", reason="needs hatchling")

ROOT = Path(__file__).parents[2]


def build(kind: str, source: Path, target: Path) -> Path:
    """Build an sdist or a wheel from a source tree; return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=60)
    [built] = target.iterdir()
    return built


def names_in(wheel: Path) -> set[str]:
    """Return the paths in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-O0")  # compiling takes long otherwise
        return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the wheel is installed. Do not write to it."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - our own wheel
    return folder


def test_the_wheel_has_one_name_at_the_top(wheel: Path) -> None:
    names = names_in(wheel)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {"canonry"}
    assert {"canonry/config/policies/web@1.toml", "canonry/py.typed"} <= names
    page = {"templates/page.html", "templates/now.html", "static/page.js", "static/style.css"}
    assert {f"canonry/crawler/web/{name}" for name in page} <= names


def test_the_wheel_has_completions(wheel: Path) -> None:
    shared = {name.partition(".data/data/share/")[2] for name in names_in(wheel)}
    assert {
        "bash-completion/completions/canonry",
        "zsh/site-functions/_canonry",
        "fish/vendor_completions.d/canonry.fish",
    } <= shared


@pytest.mark.skipif(not is_compiled(), reason="needs a C compiler")
def test_the_wheel_has_all_kernels_and_names_them_in_its_sbom(wheel: Path) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    names = ("canon/pipeline/_kernel", "crawler/batch/_key_set", "crawler/documents/_page_scan")
    kernels = {f"canonry/{name}{suffix}" for name in names}
    binary = {name for name in names_in(wheel) if not name.startswith("canonry-")}
    assert {name for name in binary if name.endswith((".so", ".pyd"))} == kernels
    with zipfile.ZipFile(wheel) as archive:
        [sbom] = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
        product = json.loads(archive.read(sbom))["metadata"]["component"]
        hashes = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in kernels}
    assert product["purl"] == f"pkg:pypi/canonry@{version('canonry')}"
    assert {part["name"]: part["hashes"][0]["content"] for part in product["components"]} == hashes


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"CC": "/bin/false"}, "3 of 3 kernels are not compiled, so the same answers take longer"),
        ({"CC": "no-such-compiler"}, "No such file or directory: 'no-such-compiler'"),
        ({"CFLAGS": "-include no-such.h"}, "no-such.h" if is_compiled() else "are not compiled"),
        ({"CANONRY_PURE": "1"}, "the kernels are left out: CANONRY_PURE is set"),
    ],
)
def test_a_build_without_kernels_says_so(
    tmp_path: Path, given: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert says in done.stderr
    [built] = tmp_path.iterdir()
    assert built.name.endswith("-py3-none-any.whl"), "it is for every platform"
    assert not [name for name in names_in(built) if name.endswith((".so", ".pyd"))]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder / "built")) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and newer
            archive.extractall(folder / "source", filter="data")
        else:
            archive.extractall(folder / "source")  # noqa: S202 - our own sdist
    [source] = (folder / "source").iterdir()
    return source


def test_an_sdist_gives_the_same_wheel(
    wheel: Path, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the checkout, `canonry` holds symbolic links; in an sdist, it holds real folders."""
    monkeypatch.setenv("CFLAGS", "-O0")  # only the names count
    assert not any(path.is_symlink() for path in sdist.rglob("*"))
    assert names_in(build("wheel", sdist, tmp_path / "wheel")) == names_in(wheel)


def test_an_sdist_has_all_that_its_tests_read(sdist: Path) -> None:
    """Whole folders: what a test reads tomorrow is in it, too."""
    files = [path for path in (ROOT / "tests").rglob("*.*") if "__pycache__" not in path.parts]
    files += [*ROOT.glob("docs/[!s]*/*.*"), *ROOT.glob("benchmarks/**/*.*"), *ROOT.glob("*.md")]
    names = {path.relative_to(ROOT) for path in files if path.suffix not in {"", ".pyc"}}
    assert len(names) > 300
    assert {name for name in names if not (sdist / name).exists()} == set()


@pytest.mark.slow
def test_an_sdist_tests_itself(site: Path, sdist: Path, tmp_path: Path) -> None:
    """With an installed wheel: the tree and the links of its pages hold together."""
    links = "tests/docs/test_docs.py::test_links_between_pages_lead_somewhere"
    chosen = ("tests/test_structure.py", "tests/canon/rules/test_ladder.py", links)
    run = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
    few = ("--hypothesis-profile=fast", "-k", "structure or rung or links")
    done = subprocess.run(
        [*run, f"--basetemp={tmp_path / 'base'}", *few, *chosen],
        cwd=sdist,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_the_wheel_survives_a_users_own_modules(site: Path, tmp_path: Path) -> None:
    """A folder `crawler` is usual in Scrapy projects, and PyPI has all of these names."""
    for name in ("canon", "crawler", "storage", "config"):
        folder = tmp_path / "project" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"raise ImportError('the user own {name}')\n")
    url, store = "HTTP://A.example/%7e", "sqlite:///canonry.db"
    code = "import canonry; print(canonry.__file__, canonry.canonicalize('HTTP://a'))"
    for words, printed in (
        (["-c", code], f"{site / 'canonry/__init__.py'} http://a/\n"),
        (
            ["-c", f"from canonry.compat import w3lib; print(w3lib.canonicalize_url({url!r}))"],
            "http://a.example/~\n",
        ),
        (["-m", "canonry", "canon", url], "http://a.example/~\n"),
        (["-m", "canonry", "dedup", "in.txt", "--store", store], "http://a.example/\n"),
    ):
        (tmp_path / "project" / "in.txt").write_text("http://a.example/\nhttp://a.example\n")
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path / "project",
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_the_adapters_work_from_the_wheel(site: Path, tmp_path: Path) -> None:
    """The plugins are found by their entry points, the modules by their names."""
    query = "select canonry_host('http://A.example:81/') as h"
    frames = (
        "import canonry.polars, canonry.pandas, canonry.scrapy, canonry.sql, polars, pandas\n"
        "print(polars.Series(['HTTP://A']).canonry.identity()[0],"
        " pandas.Series(['HTTP://A']).canonry.host()[0], canonry.sql.register.__name__,"
        " canonry.scrapy.__file__, canonry.scrapy.Canonry.__name__)"
    )
    for words, printed in (
        (["-m", "sqlite_utils", "memory", query], '[{"h": "a.example"}]\n'),
        (["-c", frames], f"http://a/ a register {site / 'canonry/scrapy.py'} Canonry\n"),
    ):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, printed), done.stderr
    datasette = [sys.executable, "-m", "datasette", "plugins"]
    env = {**os.environ, "PYTHONPATH": str(site)}
    shown = subprocess.run(datasette, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert b"canonry" in shown.stdout
