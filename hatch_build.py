"""Build hook: compile the kernels if there is a C compiler; without one, install without them.

CANONRY_PURE=1 in the environment skips it.
"""

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_KERNELS = (
    "canon/pipeline/_kernel",
    "crawler/content/_sketch",
    "crawler/batch/_key_set",
)


class CustomBuildHook(BuildHookInterface[Any]):
    """Compiles the kernels into a wheel, or into the checkout of an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, if possible."""
        if os.environ.get("CANONRY_PURE"):
            return
        editable = version == "editable"
        root = Path(self.root)
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        target = root if editable else Path(tempfile.mkdtemp())
        for kernel in _KERNELS:
            source, built = root / f"{kernel}.c", target / f"{kernel}{suffix}"
            if not self._compile(source, built):
                continue
            if not editable:
                build_data["force_include"][str(built)] = f"canonry/{kernel}{suffix}"
                build_data["pure_python"] = False
                build_data["infer_tag"] = True

    def _compile(self, source: Path, built: Path) -> bool:
        """Compile one kernel; return False if that is not possible."""
        built.parent.mkdir(parents=True, exist_ok=True)
        linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "")
        command = [*linker, "-O3", "-fPIC", f"-I{sysconfig.get_path('include')}"]
        command += [str(source), "-o", str(built)]
        try:
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - Python's own compiler
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"{source.stem} is not compiled, so it is slower: {error}")
            return False
        return True
