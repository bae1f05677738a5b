"""Build hook: compile the kernels if there is a C compiler, and list them in an SBOM (PEP 770).

Without a compiler, or with CANONRY_PURE=1 in the environment, the wheel has none and is for every
platform. The variables CC, CFLAGS and LDFLAGS have their usual meaning. Whether the kernels were
compiled is said at the end; pip shows it with -v only, so ``canonry --version`` says it, too.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_KERNELS = (  # one in a folder, from all C files there
    "canon/pipeline/_kernel",
    "crawler/batch/_key_set",
    "crawler/documents/_page_scan",
)


class CustomBuildHook(BuildHookInterface[Any]):
    """Compiles the kernels into a wheel, or into the checkout of an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, if possible; a wheel also gets its SBOM."""
        editable = version == "editable"
        root = Path(self.root)
        if editable:
            # In an sdist, "canonry" holds no links, and only what is in it is imported.
            self._compile_into(root / "canonry", root)
            return
        self._folder = Path(tempfile.mkdtemp())
        compiled = self._compile_into(self._folder, root)
        for name, built in compiled.items():
            build_data["force_include"][str(built)] = name
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
        sbom = self._folder / "canonry.cdx.json"
        sbom.write_text(json.dumps(self._sbom(compiled), indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(sbom))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove what was only made for the wheel."""
        if version != "editable":
            shutil.rmtree(self._folder)

    def _compile_into(self, target: Path, root: Path) -> dict[str, Path]:
        """Compile what can be compiled; return the files by their names in the wheel."""
        if os.environ.get("CANONRY_PURE"):
            self.app.display_warning("the kernels are left out: CANONRY_PURE is set")
            return {}
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        built, failed = {}, {}
        for kernel in _KERNELS:
            file = target / f"{kernel}{suffix}"
            fault = _compile(sorted((root / kernel).parent.glob("_*.c")), file)
            if fault is None:
                built[f"canonry/{kernel}{suffix}"] = file
            else:
                failed[kernel] = fault
        if failed:
            first = next(iter(failed.values()))
            self.app.display_warning(
                f"{len(failed)} of {len(_KERNELS)} kernels are not compiled, so the same answers "
                f"take longer: {first}\n"
                "To have them: install a C compiler and the headers of Python (Debian: apt install "
                "gcc libc6-dev python3-dev), and install again."
            )
        else:
            self.app.display_info(f"all {len(_KERNELS)} kernels are compiled")
        return built

    def _sbom(self, compiled: dict[str, Path]) -> dict[str, Any]:
        """Return what the wheel contains, as CycloneDX 1.6.

        That is Canonry alone: no file of others is in it, and what it depends on is in the wheel's
        metadata. The binary files are named one by one. Equal files give an equal SBOM.
        """
        core = self.metadata.core
        purl = f"pkg:pypi/{core.name}@{self.metadata.version}"
        files = [
            {
                "type": "file",
                "bom-ref": name,
                "name": name,
                "hashes": [
                    {"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}
                ],
            }
            for name, file in sorted(compiled.items())
        ]
        wheel = {
            "type": "library",
            "bom-ref": purl,
            "name": core.name,
            "version": self.metadata.version,
            "description": core.description,
            "licenses": [{"expression": core.license_expression}],
            "purl": purl,
            "components": files,
        }
        return {
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": wheel},
            "compositions": [{"aggregate": "complete", "assemblies": [purl]}],
        }


def _compile(sources: list[Path], built: Path) -> str | None:
    """Compile one kernel; return what went wrong, or None."""
    built.parent.mkdir(parents=True, exist_ok=True)
    command = [*_compiler(), "-O3", "-fPIC", "-fvisibility=hidden"]
    command += [f"-I{sysconfig.get_path('include')}", *_given("CFLAGS"), *map(str, sources)]
    command += ["-o", str(built), *_given("LDFLAGS")]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - the builder's own compiler
    except OSError as error:
        return str(error)
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if "error" in line]
        return "\n".join([f"{command[0]} ended with code {error.returncode}", *said[:3]])
    return None


def _compiler() -> list[str]:
    """Return the command that makes a shared library: Python's own, or that with CC for its own."""
    own = shlex.split(sysconfig.get_config_var("CC") or "")
    linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "")
    given = _given("CC")
    if not given:
        return linker
    return given + linker[len(own) if linker[: len(own)] == own else 1 :]


def _given(name: str) -> list[str]:
    """Return the words of an environment variable."""
    return shlex.split(os.environ.get(name, ""))
